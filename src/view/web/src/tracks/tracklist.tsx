// The column of track names left of the canvas, scrolled with it. Only rows in view are in the document.
import { signal } from "@preact/signals";
import { render, type JSX, type TargetedKeyboardEvent, type TargetedPointerEvent } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { App } from "../app";
import { clockText, clockTitle } from "../data/clocks";
import { formatCount, plural } from "../format";
import { firstBelow, type Layout, type Place } from "./layout";
import { trackCountText, viewHeight } from "../tools/navigate";
import type { TrackKey } from "../state";
import { addTrackCommands, canCollapse, countHidden, hide, moveBefore, moveBy, showHiddenOf, siblingsOf, toggleCollapsed, keyOf } from "./actions";
import { TrackMenu, openMenu } from "./menu";
import { trackLabel, trackTitle } from "./text";
import { cutName, nameBelow } from "../data/trace_names";
import { rem, scaled } from "../scale";

const SPARE = 6; // rows above and below the view

const FILTER_TITLE = `Tracks whose name, or that of a section they are in, has all of these:
stream 7\twhole words; a number belongs to the word before it
rank:3\trank, device, stream, pid or tid
/gemm|nccl/\ta regular expression
-word\tnone of these`;

const focused = signal<TrackKey | null>(null);
const dropAt = signal<{ key: TrackKey; before: TrackKey | null; y: number } | null>(null);

export function mountTrackList(el: HTMLElement, app: App): void {
  const corner = document.createElement("div");
  corner.id = "corner";
  document.getElementById("overview")?.before(corner);
  render(<TrackFilter app={app} />, corner);
  render(<TrackList app={app} />, el);
  new ResizeObserver(() => { viewHeight.value = el.clientHeight; }).observe(el);
  el.addEventListener("wheel", (event) => {
    if (event.ctrlKey) return;
    event.preventDefault();
    scrollBy(app, event.deltaMode === 1 ? event.deltaY * 20 : event.deltaY);
  }, { passive: false });
  addTrackCommands(app);
}

export function scrollBy(app: App, px: number): void {
  const layout = app.layout();
  const most = Math.max(0, layout.height + layout.pinnedHeight - viewHeight.value);
  app.state.scroll.value = Math.max(0, Math.min(most, app.state.scroll.value + px));
}

// Those places that a view of `height` px at `scroll` shows, and a few more.
function placesInView(layout: Layout, scroll: number, height: number): Place[] {
  const first = Math.max(0, firstBelow(layout.places, scroll) - SPARE);
  const end = firstBelow(layout.places, scroll + height) + 1 + SPARE;
  return layout.places.slice(first, end);
}

function TrackFilter({ app }: { app: App }): JSX.Element {
  const { state } = app;
  const hidden = state.hidden.value.size;
  const error = app.layout().filterError;
  return (
    <>
      <input id="track-filter" type="search" placeholder="Filter tracks" aria-label="Filter tracks by name" value={state.trackFilter.value} spellcheck={false}
        title={FILTER_TITLE} aria-invalid={error !== ""} aria-describedby="track-count"
        onInput={(event) => { state.trackFilter.value = event.currentTarget.value; state.scroll.value = 0; }}
        onKeyDown={(event) => {
          if (event.key === "Escape") state.trackFilter.value = ""; // and the tracks take the focus
        }} />
      <div class="cornerbar">
        <span id="track-count" class={error ? "bad" : "dim"} title={error} aria-live="polite">{error ? `⚠ ${error}` : trackCountText(app)}</span>
        {hidden > 0 && (
          <button type="button" class="small" onClick={() => app.commands.run("show-hidden")} title="Show hidden tracks">{formatCount(hidden)} hidden</button>
        )}
        <span class="push" />
        <button type="button" class="icon" title="Collapse all sections" aria-label="Collapse all sections" onClick={() => app.commands.run("collapse-all")}>⊟</button>
        <button type="button" class="icon" title="Expand all sections" aria-label="Expand all sections" onClick={() => app.commands.run("expand-all")}>⊞</button>
      </div>
    </>
  );
}

function TrackList({ app }: { app: App }): JSX.Element {
  const layout = app.layout();
  const scroll = app.state.scroll.value;
  const height = viewHeight.value;
  const room = height - layout.pinnedHeight;
  const shown = placesInView(layout, scroll, Math.max(0, room));
  const drop = dropAt.value;
  const current = focused.value !== null && shown.some((place) => place.key === focused.value) ? focused.value : shown.find((place) => place.y >= scroll)?.key;
  return (
    <>
      {layout.pinned.length > 0 && (
        <div class="pinned" role="list" aria-label="Pinned tracks" style={{ height: `${layout.pinnedHeight}px` }}>
          {layout.pinned.map((place) => <Row key={place.key} app={app} place={place} top={place.y} current={false} item="listitem" />)}
        </div>
      )}
      <div class="unpinned" role="tree" aria-label="Tracks" style={{ top: `${layout.pinnedHeight}px` }}>
        {shown.map((place) => <Row key={place.key} app={app} place={place} top={place.y - scroll} current={place.key === current} item="treeitem" />)}
        {drop && <div class="drop" style={{ top: `${drop.y - scroll}px` }} />}
      </div>
      <TrackMenu app={app} />
    </>
  );
}

interface RowProps {
  app: App;
  place: Place;
  top: number;
  current: boolean;
  item: "treeitem" | "listitem";
}

function Row({ app, place, top, current, item }: RowProps): JSX.Element {
  const { track } = place;
  const element = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (current && focused.peek() === place.key && item === "treeitem" && wantsFocus) {
      wantsFocus = false;
      element.current?.focus({ preventScroll: true });
    }
  });
  const folds = canCollapse(track);
  const [head, tail] = cutName(nameBelow(track));
  const small = place.height < scaled(30);
  const info = track.parent === null ? app.state.session.value?.traces.find((each) => each.id === track.trace) : undefined;
  const isFirst = info !== undefined && app.layout().places.find((each) => each.track.trace === track.trace)?.key === place.key;
  const clock = isFirst && info.clock ? clockText(info) : "";
  const more = isFirst && (app.state.session.value?.traces.length ?? 0) > 1 ? countHidden(app.state, track.trace) : 0;
  const classes = ["track", track.kind, track.derived ? "derived" : "", place.collapsed ? "collapsed" : "", small ? "" : "tall"].join(" ");
  const tree = item === "treeitem" ? { "aria-level": place.depth + 1, "aria-expanded": folds ? !place.collapsed : undefined } : {};
  return (
    <div ref={element} class={classes} role={item} {...tree} aria-label={trackLabel(place)} tabIndex={current ? 0 : -1} title={trackTitle(track)}
      data-track={place.key} style={{ top: `${top}px`, height: `${place.height}px`, paddingLeft: rem(4 + place.depth * 12) }}
      onFocus={() => { focused.value = place.key; }} onKeyDown={(event) => onKey(app, place, event)} onPointerDown={(event) => onPress(app, place, event)}
      onClick={(event) => { if (track.kind === "section" && !onButton(event.target) && !dragged) toggleCollapsed(app.state, track); }}
      onDblClick={() => { if (folds && track.kind !== "section") toggleCollapsed(app.state, track); }}
      onContextMenu={(event) => { event.preventDefault(); openMenu(track, event.clientX, event.clientY); }}>
      {folds
        ? <button type="button" class="fold" tabIndex={-1} aria-hidden="true" title={place.collapsed ? "Expand" : "Collapse"} onClick={() => toggleCollapsed(app.state, track)}>{place.collapsed ? "▸" : "▾"}</button>
        : <span class="fold" />}
      {track.derived && <span class="mark" title="Worked out of other events" aria-hidden="true">ƒ</span>}
      <bdi class="trackname" aria-hidden="true"><span class="head">{head}</span>{tail && <span class="tail">{tail}</span>}</bdi>
      {info && clock && <span class="clock" title={clockTitle(info)}>{clock.split(/(?=± |unknown|refused)/).map((part) => <span key={part}>{part}</span>)}</span>}
      {more > 0
        ? <button type="button" class="rest" tabIndex={-1} aria-label={`Show ${plural(more, "hidden track")} of ${info?.name}`} title={`Show ${plural(more, "hidden track")} of this trace`} onClick={() => showHiddenOf(app.state, track.trace)}>+{more}</button>
        : <span class="info">{track.role === "instants" && track.parent !== null ? "instants " : ""}{track.events > 0 ? formatCount(track.events) : ""}</span>}
      <button type="button" class="more" tabIndex={-1} aria-label={`Actions for ${track.name}`} title="Actions" onClick={(event) => {
        const box = event.currentTarget.getBoundingClientRect();
        openMenu(track, box.left, box.bottom);
      }}>⋯</button>
    </div>
  );
}

let wantsFocus = false; // after a key: the current row takes the focus once it is in the document

function focusPlace(app: App, place: Place | undefined): void {
  if (!place) return;
  focused.value = place.key;
  wantsFocus = true;
  const layout = app.layout();
  const room = viewHeight.value - layout.pinnedHeight;
  const scroll = app.state.scroll.value;
  if (place.y < scroll) app.state.scroll.value = place.y;
  else if (place.y + place.height > scroll + room) app.state.scroll.value = Math.max(0, Math.min(place.y, place.y + place.height - room));
}

// The keys of a tree, and those of the menu: true if the key was one of them.
function treeKey(app: App, place: Place, event: KeyboardEvent): boolean {
  const layout = app.layout();
  const { state } = app;
  const at = layout.places.findIndex((each) => each.key === place.key);
  const folds = canCollapse(place.track);
  const alone = !event.altKey && !event.ctrlKey && !event.metaKey;
  if (event.altKey && (event.key === "ArrowUp" || event.key === "ArrowDown")) {
    if (moveBy(state, place.track, event.key === "ArrowUp" ? -1 : 1)) focusPlace(app, app.layout().find(place.key));
    return true;
  }
  if (!alone) return false;
  switch (event.key) {
    case "ArrowDown": focusPlace(app, layout.places[at + 1]); return true;
    case "ArrowUp": focusPlace(app, layout.places[at - 1]); return true;
    case "Home": focusPlace(app, layout.places[0]); return true;
    case "End": focusPlace(app, layout.places[layout.places.length - 1]); return true;
    case "ArrowRight":
      if (folds && place.collapsed) toggleCollapsed(state, place.track);
      else if ((layout.places[at + 1]?.depth ?? 0) > place.depth) focusPlace(app, layout.places[at + 1]);
      return true;
    case "ArrowLeft":
      if (folds && !place.collapsed) toggleCollapsed(state, place.track);
      else focusPlace(app, layout.places.slice(0, at).reverse().find((each) => each.depth < place.depth));
      return true;
    case "Enter":
      if (folds) toggleCollapsed(state, place.track);
      return true;
    case "Delete":
      focusPlace(app, layout.places[at + 1] ?? layout.places[at - 1]);
      hide(state, [place.track]);
      return true;
    default: return false;
  }
}

function onKey(app: App, place: Place, event: TargetedKeyboardEvent<HTMLDivElement>): void {
  if (event.key === "ContextMenu" || (event.shiftKey && event.key === "F10")) {
    const box = event.currentTarget.getBoundingClientRect();
    openMenu(place.track, box.left + 40, box.bottom);
  } else if (!treeKey(app, place, event)) {
    return;
  }
  event.preventDefault();
  event.stopPropagation();
}

function onButton(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest("button") !== null;
}

let dragged = false; // the last press became a drag: the click after it is ignored

// Dragging a name moves its track among those of its parent.
function onPress(app: App, place: Place, down: TargetedPointerEvent<HTMLDivElement>): void {
  if (down.button !== 0 || onButton(down.target)) return;
  dragged = false;
  if (place.pinned) return;
  const row = down.currentTarget;
  const list = row.parentElement;
  // Listens on the window, since the first step of a quick drag is already outside of the row.
  const move = (event: PointerEvent): void => {
    if (!dropAt.peek() && Math.abs(event.clientY - down.clientY) < 5) return;
    dragged = true;
    if (!row.hasPointerCapture(event.pointerId)) row.setPointerCapture(event.pointerId);
    const top = list?.getBoundingClientRect().top ?? 0;
    dropAt.value = dropPlace(app, place, event.clientY - top + app.state.scroll.value);
  };
  const end = (event: PointerEvent): void => {
    window.removeEventListener("pointermove", move);
    window.removeEventListener("pointerup", end);
    window.removeEventListener("pointercancel", end);
    const drop = dropAt.value;
    dropAt.value = null;
    if (!drop || event.type !== "pointerup") return;
    const before = drop.before === null ? null : app.layout().find(drop.before)?.track ?? null;
    moveBefore(app.state, place.track, before);
  };
  window.addEventListener("pointermove", move);
  window.addEventListener("pointerup", end);
  window.addEventListener("pointercancel", end);
}

// The sibling before which a track would be dropped at y, and the position of the line.
function dropPlace(app: App, place: Place, y: number): { key: TrackKey; before: TrackKey | null; y: number } {
  const layout = app.layout();
  const siblings = siblingsOf(app.state, place.track).map((each) => layout.find(keyOf(each))).filter((each) => each !== undefined);
  const next = siblings.find((each) => y < each.y + each.height / 2);
  const last = siblings[siblings.length - 1] ?? place;
  return { key: place.key, before: next?.key ?? null, y: next ? next.y : endOf(layout, last) };
}

// The end of a place and everything in it.
function endOf(layout: Layout, place: Place): number {
  const at = layout.places.indexOf(place);
  const after = layout.places.slice(at + 1).find((each) => each.depth <= place.depth);
  return after ? after.y : layout.height;
}
