// From an event's number to the event in view: the action of every link in the panels.
import { signal } from "@preact/signals";
import type { App, Core } from "../app";
import { formatCount, plural } from "../format";
import type { EventRef, TraceId, TrackInfo } from "../data/model";
import { isAbort, messageOf } from "../data/request";
import { deviceKindOf, nameBelow } from "../data/trace_names";
import { trackKey, type Range, type TrackKey } from "../state";
import { isCollapsed, keyOf, setCollapsed } from "../tracks/actions";
import { isFilter } from "../tracks/filter";
import { eventOfId } from "../url_text";

// px of the tracks that are in view; set by the track list (tracklist.tsx).
export const viewHeight = signal(0);

const LEAST_SHARE = 1 / 300; // of the view: an event narrower than this is zoomed to
const ZOOMED_SHARE = 1 / 12;

export function offsetOf(app: App, trace: TraceId): number {
  return app.state.session.value?.traces.find((each) => each.id === trace)?.offset_ns ?? 0;
}

export function traceName(app: App, trace: TraceId): string {
  const info = app.state.session.value?.traces.find((each) => each.id === trace);
  if (!info) return `trace ${trace}`;
  return info.rank === null || info.rank === undefined ? info.name : `rank ${info.rank}: ${info.name}`;
}

// What the devices of a trace are called, without one those of all open traces.
export function deviceKind(app: Core, trace?: TraceId): string {
  return deviceKindOf((app.state.session.value?.traces ?? []).filter(({ id }) => trace === undefined || id === trace));
}

// A table of ten thousand rows needs ten thousand lookups: the tracks by key, made once for each list.
const byKey = new WeakMap<readonly TrackInfo[], Map<TrackKey, TrackInfo>>();

export function findTrack(app: Core, key: TrackKey): TrackInfo | undefined {
  const tracks = app.state.tracks.value;
  let found = byKey.get(tracks);
  if (!found) byKey.set(tracks, (found = new Map(tracks.map((each) => [trackKey(each.trace, each.id), each]))));
  return found.get(key);
}

// A derived slice: it has no event of its own in the file, so no flows and no arguments.
export function isDerived(app: Core, event: EventRef): boolean {
  return findTrack(app, trackKey(event.trace, event.track))?.derived ?? false;
}

// The tracks that are shown, also in a section that is collapsed; null: all.
export function tracksShown(app: Core): ReadonlySet<TrackKey> | null {
  const { hidden, trackFilter } = app.state;
  return hidden.value.size > 0 || isFilter(trackFilter.value) ? new Set(app.layout().tracksSeen().map(keyOf)) : null;
}

// "8 of 104 tracks", as in the list of tracks.
export function trackCountText(app: Core): string {
  const all = app.state.tracks.value.filter((track) => track.kind !== "section").length;
  const shown = tracksShown(app)?.size ?? all;
  return shown < all ? `${formatCount(shown)} of ${plural(all, "track")}` : plural(all, "track");
}

// "python 1234 / stream 7"
export function trackPath(app: App, key: TrackKey): string {
  const names: string[] = [];
  let track = findTrack(app, key);
  for (let depth = 0; track && depth < 16; depth++) {
    names.unshift(nameBelow(track));
    track = track.parent === null ? undefined : findTrack(app, trackKey(track.trace, track.parent));
  }
  return names.join(" / ");
}

// The range in which an event can be seen, starting from one that is in view.
export function rangeShowing(view: Range, start: number, duration: number): Range {
  const span = Math.max(1, view.until - view.from);
  const end = start + duration;
  const wide = duration > span;
  const narrow = duration > 0 && duration < span * LEAST_SHARE;
  if (!wide && !narrow && start >= view.from && end <= view.until) return view;
  const next = wide ? duration * 1.25 : narrow ? duration / ZOOMED_SHARE : span;
  const middle = start + duration / 2;
  return { from: middle - next / 2, until: middle + next / 2 };
}

// Makes the track visible: opens sections above it, unhides it, clears the filter; `itself`: also expands the track.
export function uncover(app: Core, key: TrackKey, itself = true): void {
  const { state } = app;
  const hidden = new Set(state.hidden.value);
  const closed: TrackInfo[] = [];
  for (let at = key, depth = 0; depth < 16; depth++) {
    const track = findTrack(app, at);
    if (!track) break;
    hidden.delete(at);
    if ((itself || at !== key) && isCollapsed(state, track)) closed.push(track);
    if (track.parent === null) break;
    at = trackKey(track.trace, track.parent);
  }
  if (hidden.size !== state.hidden.value.size) state.hidden.value = hidden;
  if (closed.length > 0) setCollapsed(state, closed, false);
  if (app.layout().seenAt(key) || !state.trackFilter.value) return;
  state.trackFilter.value = "";
  if (!app.layout().seenAt(key)) uncover(app, key, itself); // sections may have been open under the filter alone
}

export function scrollTo(app: App, key: TrackKey, depth: number): void {
  const layout = app.layout();
  const place = layout.find(key);
  if (!place || place.pinned) return;
  const room = Math.max(place.rowHeight, viewHeight.value - layout.pinnedHeight);
  const top = place.y + (place.summary ? 0 : Math.min(depth, place.rows - 1) * place.rowHeight);
  const scroll = app.state.scroll.value;
  if (top >= scroll && top + place.rowHeight <= scroll + room) return;
  app.state.scroll.value = Math.max(0, Math.min(layout.height - room, top - room / 2));
}

export function reveal(app: App, ref: EventRef): void {
  const key = trackKey(ref.trace, ref.track);
  uncover(app, key);
  const range = rangeShowing(app.state.range.value, ref.start + offsetOf(app, ref.trace), ref.duration);
  if (range !== app.state.range.value) app.state.range.value = range;
  scrollTo(app, key, ref.depth);
}

export function selectEvent(app: App, ref: EventRef): void {
  app.state.selected.value = [ref];
  reveal(app, ref);
}

let going: AbortController | null = null;

// Selects an event given only by its row. The last of several calls wins.
export async function goTo(app: App, trace: TraceId, kind: string, row: number): Promise<void> {
  going?.abort();
  const abort = new AbortController();
  going = abort;
  try {
    const found = await app.source.event(trace, kind, row, abort.signal);
    if (abort.signal.aborted) return;
    if (found.track === undefined) throw new Error(`The track of ${kind} ${row} is still being laid out.`);
    selectEvent(app, {
      trace, kind, row, track: found.track, depth: found.depth ?? 0, start: found.start, duration: found.duration ?? 0, name: 0,
    });
  } catch (error) {
    if (!isAbort(error)) app.state.message.value = { text: messageOf(error), error: true };
  }
}

// The event with an id of the table slice of SQL; the panel stays open.
export async function goToId(app: App, trace: TraceId, id: number): Promise<void> {
  const event = eventOfId(id % 2 ** 40); // without the place of the trace among several
  if (!event) return;
  const tab = app.state.tab.value;
  await goTo(app, trace, event.kind, event.row);
  app.state.tab.value = tab;
}

// Shows a time, on a track if given, when there is no event to select.
export function showPlace(app: App, trace: TraceId, track: number | null, start: number, text: string): void {
  const { range } = app.state;
  const time = start + offsetOf(app, trace);
  const span = range.value.until - range.value.from;
  range.value = { from: time - span / 2, until: time + span / 2 };
  if (track !== null) {
    uncover(app, trackKey(trace, track));
    scrollTo(app, trackKey(trace, track), 0);
  }
  app.state.timing.value = { from: time, until: time };
  app.state.message.value = { text, error: false };
  app.redraw();
}

// A range of global time, in view with some room around it.
export function showRange(app: App, from: number, until: number): void {
  const room = Math.max(1, (until - from) * 0.25);
  app.state.range.value = { from: from - room, until: until + room };
}
