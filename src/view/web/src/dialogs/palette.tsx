// The palette: finds commands, marks and tracks by some of their letters.
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { App } from "../app";
import { Keys } from "./help";
import { ranked } from "./fuzzy";
import { trackKey } from "../state";

interface Choice {
  id: string;
  text: string;
  kind: string;
  keys: readonly string[];
  run(): void;
}

const MOST = 60;

// Commands first, then marks, then tracks (of which there may be thousands).
export function choicesOf(app: App): Choice[] {
  const { state } = app;
  const out: Choice[] = app.commands.all()
    .filter((command) => command.id !== "palette" && (command.enabled?.() ?? true))
    .map((command) => ({ id: `command-${command.id}`, text: command.title, kind: command.group, keys: command.keys ?? [],
      run: () => app.commands.run(command.id) }));
  for (const mark of state.marks.value) {
    out.push({ id: `mark-${mark.id}`, text: `Go to mark ${mark.name}`, kind: "Mark", keys: [], run: () => app.hands.actions.showMark(mark) });
  }
  for (const track of state.tracks.value) {
    out.push({ id: `track-${track.trace}-${track.id}`, text: `Go to track ${track.name}`, kind: "Track", keys: [],
      run: () => goToTrack(app, trackKey(track.trace, track.id)) });
  }
  return out;
}

function goToTrack(app: App, key: string): void {
  const track = app.state.tracks.value.find((one) => trackKey(one.trace, one.id) === key);
  if (!track) return;
  app.hands.actions.showTrack({ trace: track.trace, track: track.id, kind: "", row: 0, depth: 0, start: 0, duration: 0, name: 0 });
  app.hands.focusTrack.value = key;
  document.getElementById("track-tree")?.focus();
}

function marked(text: string, at: readonly number[]): (string | JSX.Element)[] {
  const places = new Set(at);
  return Array.from({ length: text.length }, (_, k) => (places.has(k) ? <b key={k}>{text[k]}</b> : (text[k] as string)));
}

export function Palette({ app }: { app: App }): JSX.Element {
  const query = useSignal("");
  const chosen = useSignal(0);
  const all = useRef<Choice[]>([]);
  if (all.current.length === 0) all.current = choicesOf(app);
  const found = ranked(query.value, all.current, (choice) => choice.text, MOST);
  const at = Math.min(chosen.value, found.length - 1);
  const list = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    list.current?.children[at]?.scrollIntoView({ block: "nearest" });
  }, [at, query.value]);
  const run = (choice: Choice | undefined): void => {
    if (!choice) return;
    app.state.dialog.value = null;
    // When the dialog is gone and the focus is where it was.
    setTimeout(() => choice.run(), 0);
  };
  const onKey = (event: KeyboardEvent): void => {
    const by: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 };
    const step = by[event.key];
    if (step !== undefined && found.length > 0) {
      const wraps = Math.abs(step) === 1;
      chosen.value = wraps ? (at + step + found.length) % found.length : Math.max(0, Math.min(found.length - 1, at + step));
    } else if (event.key === "Enter") {
      run(found[at]?.item);
    } else {
      return;
    }
    event.preventDefault();
  };
  return (
    <div class="palette">
      <input type="text" autofocus placeholder="Command, mark or track" aria-label="Command, mark or track" role="combobox" aria-expanded="true"
        aria-controls="palette-list" aria-autocomplete="list" aria-activedescendant={found[at] ? `palette-${at}` : undefined}
        spellcheck={false} autocomplete="off" onKeyDown={onKey} onInput={(event) => {
          query.value = event.currentTarget.value;
          chosen.value = 0;
        }} />
      <div class="palette-list" id="palette-list" role="listbox" aria-label="What was found" ref={list}>
        {found.map(({ item, match }, k) => (
          <div class="found" role="option" id={`palette-${k}`} key={item.id} aria-selected={k === at} onClick={() => run(item)}>
            <span>{marked(item.text, match.at)}</span>
            <span class="found-kind">{item.kind}</span>
            <span class="found-keys"><Keys keys={item.keys} /></span>
          </div>
        ))}
      </div>
      {found.length === 0 && <p class="dialog-note" role="status">Nothing of that name.</p>}
    </div>
  );
}
