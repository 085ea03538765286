// The menu of a track: all that can be done to it.
import { signal } from "@preact/signals";
import type { JSX, TargetedKeyboardEvent } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { App } from "../app";
import { copyText } from "../panels/clipboard";
import type { TraceInfo, TrackInfo } from "../data/model";
import { messageOf } from "../data/request";
import { offsetOf, showRange } from "../tools/navigate";
import {
  canCollapse, countHidden, hide, isCollapsed, isPinned, keyOf, moveBefore, moveBy, setCollapsed, showHidden, showHiddenOf, showOnly, siblingsOf, toggleCollapsed, togglePinned, tracksBelow,
} from "./actions";
import { tracksOf } from "../tools/select";
import { say } from "../tools/select_actions";

interface Menu {
  track: TrackInfo;
  x: number;
  y: number;
  back: Element | null; // what had the focus
}

const menu = signal<Menu | null>(null);

export function openMenu(track: TrackInfo, x: number, y: number): void {
  menu.value = { track, x, y, back: document.activeElement };
}

function close(): void {
  const back = menu.peek()?.back;
  menu.value = null;
  if (back instanceof HTMLElement && back.isConnected) back.focus({ preventScroll: true });
}

interface Item {
  text: string;
  keys?: string;
  run(): void;
}

function itemsOf(app: App, track: TrackInfo): Item[] {
  const { state } = app;
  const items: Item[] = [];
  const add = (text: string, run: () => void, keys?: string): void => void items.push(keys ? { text, run, keys } : { text, run });
  if (canCollapse(track)) add(isCollapsed(state, track) ? "Expand" : "Collapse", () => toggleCollapsed(state, track), "← →");
  if (track.kind === "section") {
    const below = tracksBelow(state.tracks.value, track).filter(canCollapse);
    if (below.length) {
      add("Expand all in it", () => setCollapsed(state, [track, ...below], false));
      add("Collapse all in it", () => setCollapsed(state, below, true));
    }
  }
  if (track.kind !== "section") add(isPinned(state, track) ? "Unpin" : "Pin to the top", () => togglePinned(state, track));
  add("Hide", () => hide(state, [track]), "Del");
  add("Show only this", () => showOnly(state, track));
  if (countHidden(state, track.trace)) add("Show hidden tracks of this trace", () => showHiddenOf(state, track.trace));
  if (state.hidden.value.size) add("Show all hidden tracks", () => showHidden(state));
  if (siblingsOf(state, track).length > 1) {
    add("Move up", () => void moveBy(state, track, -1), "Alt+↑");
    add("Move down", () => void moveBy(state, track, 1), "Alt+↓");
    add("Move to the top", () => void moveBefore(state, track, siblingsOf(state, track)[0] ?? null));
    add("Move to the end", () => void moveBefore(state, track, null));
  }
  const { start, end } = track;
  if (start !== null && end !== null) {
    const offset = offsetOf(app, track.trace);
    add("Fit its events into the view", () => showRange(app, start + offset, end + offset));
    add("Table of what is in view", () => {
      const place = app.layout().seenAt(keyOf(track));
      state.area.value = { ...state.range.value, tracks: place?.track === track ? tracksOf([place], app.layout()) : [keyOf(track)] };
      state.tab.value = "selection";
    });
  }
  const session = state.session.value;
  const trace = session?.traces.find(({ id }) => id === track.trace);
  if (session && trace && session.traces.length > 1 && !session.diff) add(`Close ${trace.name}`, () => void closeTrace(app, trace));
  add("Copy its name", () => void copyText(app, track.name, "the name of the track"));
  return items;
}

async function closeTrace(app: App, { id, name }: TraceInfo): Promise<void> {
  try {
    await app.source.close(id);
    say(app, `${name} is closed.`);
  } catch (error) {
    say(app, messageOf(error), true);
  }
}

export function TrackMenu({ app }: { app: App }): JSX.Element | null {
  const open = menu.value;
  const box = useRef<HTMLDivElement>(null);
  // Before it is drawn: a key or a click that follows at once is already for the menu.
  useLayoutEffect(() => {
    if (!open || !box.current) return undefined;
    const element = box.current;
    const size = element.getBoundingClientRect();
    element.style.left = `${Math.max(0, Math.min(open.x, innerWidth - size.width - 4))}px`;
    element.style.top = `${Math.max(0, Math.min(open.y, innerHeight - size.height - 4))}px`;
    element.querySelector("button")?.focus();
    const outside = (event: Event): void => {
      if (!(event.target instanceof Node && element.contains(event.target))) menu.value = null;
    };
    document.addEventListener("pointerdown", outside, true);
    return () => document.removeEventListener("pointerdown", outside, true);
  }, [open]);
  if (!open) return null;
  return (
    <div ref={box} class="trackmenu" role="menu" aria-label={`Actions for ${open.track.name}`} onKeyDown={onKey}>
      {itemsOf(app, open.track).map((item) => (
        <button key={item.text} type="button" role="menuitem" tabIndex={-1} onClick={() => { close(); item.run(); }}>
          <span>{item.text}</span><span class="dim">{item.keys ?? ""}</span>
        </button>
      ))}
    </div>
  );
}

function onKey(event: TargetedKeyboardEvent<HTMLDivElement>): void {
  const items = [...event.currentTarget.querySelectorAll("button")];
  const at = items.findIndex((item) => item === document.activeElement);
  const focus = (to: number): void => items[(to + items.length) % items.length]?.focus();
  event.stopPropagation();
  switch (event.key) {
    case "ArrowDown": focus(at + 1); break;
    case "ArrowUp": focus(at - 1); break;
    case "Home": focus(0); break;
    case "End": focus(items.length - 1); break;
    case "Escape": case "Tab": close(); break;
    default: return;
  }
  event.preventDefault();
}
