// The stack of an event: the user's own frames are shown, runs of others are folded to the modules that they are of.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { App } from "../../app";
import type { FrameInfo } from "../../data/model";
import { plural } from "../../format";
import { Copy, Name } from "../parts";
import { editor, editorUrl, setEditor } from "./editor";

export const whereText = (frame: FrameInfo): string => `${frame.file ?? ""}${frame.line !== undefined ? `:${frame.line}` : ""}`;

// The frame whose line is meant by "which line launched it": the innermost of the user's own code, else of a library.
export function sourceFrame(stack: readonly FrameInfo[]): FrameInfo | undefined {
  const last = (level: string): FrameInfo | undefined => [...stack].reverse().find((frame) => frame.level === level && frame.file !== undefined);
  return last("user") ?? last("library");
}

// "torch/nn/linear.py" is of torch, "<built-in …>" of Python, what has no file of its kind.
function moduleOf(frame: FrameInfo): string {
  if (!frame.file) return frame.kind || "other";
  const parts = frame.file.split("/").filter(Boolean);
  const at = Math.max(parts.lastIndexOf("site-packages"), parts.lastIndexOf("dist-packages"));
  return (parts[at + 1] ?? frame.file).replace(/\.py$/, "");
}

// "Your line", where the frame is of the user's own code.
export const lineTitle = (frame: FrameInfo): string => (frame.level === "user" ? "Your line" : "Library line");

export interface FrameRun {
  own: boolean; // one frame that is shown; else frames that are folded
  frames: FrameInfo[];
  modules: string[];
}

// Without a frame of the user those of libraries are shown; without either, all.
export function runsOf(frames: readonly FrameInfo[]): FrameRun[] {
  const runs: FrameRun[] = [];
  const kept = (["user", "library"] as const).find((level) => frames.some((frame) => frame.level === level));
  for (const frame of frames) {
    const own = kept === undefined || frame.level === kept;
    const last = runs[runs.length - 1];
    if (own || !last || last.own) runs.push({ own, frames: [frame], modules: [moduleOf(frame)] });
    else {
      last.frames.push(frame);
      if (!last.modules.includes(moduleOf(frame))) last.modules.push(moduleOf(frame));
    }
  }
  return runs;
}

export function EditorLink({ frame }: { frame: FrameInfo }): JSX.Element | null {
  const url = frame.file === undefined ? null : editorUrl(editor.value, frame.file, frame.line);
  return url === null ? null : <a class="small" href={url} title={url}>Open in the editor</a>;
}

function EditorChoice(): JSX.Element {
  const { template, folder, skip } = editor.value;
  return (
    <details class="editor">
      <summary>Editor, your own code</summary>
      <label class="pick"><span>Address</span><input type="text" size={30} value={template} onChange={(event) => setEditor({ template: event.currentTarget.value })} /></label>
      <label class="pick"><span>Folder of the sources</span><input type="text" size={24} value={folder} placeholder="/home/me/project" onChange={(event) => setEditor({ folder: event.currentTarget.value })} /></label>
      <label class="pick"><span>Folders of frameworks</span><input type="text" size={24} value={skip} placeholder="mylib, /opt/tools" onChange={(event) => setEditor({ skip: event.currentTarget.value })} /></label>
      <span class="dim">{"{file} and {line} are filled in; files without a leading / are in the folder of the sources. \u201cYour line\u201d and the tracks \u201cSource line\u201d skip torch, jax, what is installed, and files in the folders of frameworks."}</span>
    </details>
  );
}

function Frame({ frame }: { frame: FrameInfo }): JSX.Element {
  return (
    <li class={frame.level === "user" ? "own" : ""}>
      <Name text={frame.name} /> {frame.file && <bdi class="dim mono">{whereText(frame)}</bdi>} {frame.kind && <span class="tag">{frame.kind}</span>} {frame.level === "user" && <EditorLink frame={frame} />}
    </li>
  );
}

export function Stack({ app, stack, from }: { app: App; stack: FrameInfo[]; from: string | undefined }): JSX.Element {
  const [rootFirst, setRootFirst] = useState(false);
  const frames = rootFirst ? stack : [...stack].reverse();
  const text = frames.map((frame) => frame.name + (frame.file ? ` (${whereText(frame)})` : "")).join("\n");
  return (
    <section aria-label="Stack">
      <h4>
        Stack <span class="dim">{plural(stack.length, "frame")}{from ? `, ${from}` : ""}</span>{" "}
        <button type="button" class="small" aria-pressed={rootFirst} onClick={() => setRootFirst(!rootFirst)}>
          {rootFirst ? "root first" : "leaf first"}
        </button>{" "}
        <Copy app={app} text={text} what="the stack" />
      </h4>
      {runsOf(frames).map((run, at) => (run.own || run.frames.length === 1
        ? <ul class="stack" key={at}>{run.frames.map((frame, k) => <Frame key={k} frame={frame} />)}</ul>
        : (
          <details key={at} class="frames">
            <summary>{plural(run.frames.length, "frame")} <span class="dim">of <bdi>{run.modules.join(", ")}</bdi></span></summary>
            <ul class="stack">{run.frames.map((frame, k) => <Frame key={k} frame={frame} />)}</ul>
          </details>
        )))}
      {stack.some((frame) => frame.file !== undefined) && <EditorChoice />}
    </section>
  );
}
