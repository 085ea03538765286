// The open traces, or a range of one, as one HTML file with this page and its engine: what `heddle view --save` writes.
import type { App } from "../app";
import { save } from "../panels/clipboard";
import { say } from "../tools/select_actions";
import type { TraceInfo } from "./model";
import { messageOf } from "./request";

// Of src/view/engine/save.c, which replaces them by the same texts.
const TITLE = "<!--heddle:title-->";
const TRACES = "<!--heddle:traces-->";
const NAMED = 3; // traces in the title
const GROUP = 3 << 13; // bytes of base64 at once: whole groups

const escaped = (text: string): string =>
  text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/"/g, "&quot;");

async function base64Of(blob: Blob): Promise<string> {
  const bytes = new Uint8Array(await blob.arrayBuffer());
  const parts: string[] = [];
  for (let at = 0; at < bytes.length; at += GROUP) parts.push(btoa(String.fromCharCode(...bytes.subarray(at, at + GROUP))));
  return parts.join("");
}

const nameOf = (trace: TraceInfo): string => trace.name.replace(/^.*\//, "");

interface Part {
  trace: TraceInfo;
  from: number;
  until: number;
}

async function htmlOf(app: App, parts: readonly Part[]): Promise<Blob> {
  const page = await app.source.engine();
  const [title, traces] = [page.indexOf(TITLE), page.indexOf(TRACES)];
  if (title < 0 || traces < title) throw new Error("The engine is not of this version: run make wasm again.");
  const names = parts.map(({ trace }) => escaped(nameOf(trace)));
  const pieces: BlobPart[] = [page.slice(0, title), `${names.slice(0, NAMED).join(", ")}${names.length > NAMED ? " …" : ""} – `, page.slice(title + TITLE.length, traces)];
  for (const [k, { trace, from, until }] of parts.entries()) {
    const store = await base64Of(await app.source.store(trace.id, from, until));
    pieces.push(`<script type="text/plain" class="heddle-trace" data-name="${names[k]}">`, store, "</script>\n");
  }
  return new Blob([...pieces, page.slice(traces + TRACES.length)], { type: "text/html" });
}

async function saveParts(app: App, parts: readonly Part[]): Promise<void> {
  try {
    say(app, "Writing the HTML file…");
    const html = await htmlOf(app, parts);
    save(html, `${nameOf(parts[0].trace).replace(/(\.(json|heddle|pftrace|gz|zst))+$/, "") || "trace"}.html`);
    say(app, "Saved one HTML file, which any browser opens without a server.");
  } catch (error) {
    say(app, messageOf(error), true);
  }
}

const readyOf = (app: App): TraceInfo[] => (app.state.session.value?.traces ?? []).filter((trace) => trace.state === "ready");

export async function saveHtml(app: App): Promise<void> {
  const parts = readyOf(app).map((trace) => ({ trace, from: 0, until: trace.span_ns + 1 }));
  if (parts.length > 0) await saveParts(app, parts);
  else say(app, "There is no trace to save.", true);
}

// Times of the trace.
export async function saveRangeHtml(app: App, trace: number, from: number, until: number): Promise<void> {
  const found = readyOf(app).find(({ id }) => id === trace);
  if (found) await saveParts(app, [{ trace: found, from, until }]);
}
