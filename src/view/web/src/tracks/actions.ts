// Actions on tracks: functions of the state, and commands that need no track.
import { batch } from "@preact/signals";
import type { App } from "../app";
import { choicesOf, collapsedIn } from "./layout";
import type { TraceId, TrackInfo } from "../data/model";
import { trackKey, type State, type TrackKey } from "../state";
import { isFilter } from "./filter";

export const keyOf = (track: TrackInfo): TrackKey => trackKey(track.trace, track.id);

export function canCollapse(track: TrackInfo): boolean {
  return track.kind === "section" || track.rows > 1 || (track.series?.length ?? 0) > 1;
}

export const isCollapsed = (state: State, track: TrackInfo): boolean => collapsedIn(choicesOf(state), track);

// Under a filter sections have separate choices (see layout.ts), which are dropped with it.
export function setCollapsed(state: State, tracks: readonly TrackInfo[], collapsed: boolean): void {
  const filter = state.trackFilter.value;
  const filtering = isFilter(filter);
  const map = new Map(state.collapsed.value);
  const sections = new Set(choicesOf(state).folded);
  for (const track of tracks) {
    if (!filtering || track.kind !== "section") map.set(keyOf(track), collapsed);
    else if (collapsed) sections.add(keyOf(track));
    else sections.delete(keyOf(track));
  }
  batch(() => {
    state.collapsed.value = map;
    if (filtering) state.folded.value = { filter, sections };
  });
}

export function toggleCollapsed(state: State, track: TrackInfo): void {
  setCollapsed(state, [track], !isCollapsed(state, track));
}

export function collapseSections(state: State, collapsed: boolean): void {
  setCollapsed(state, state.tracks.value.filter((track) => track.kind === "section"), collapsed);
}

// The tracks of one section, at all levels.
export function tracksBelow(tracks: readonly TrackInfo[], section: TrackInfo): TrackInfo[] {
  const open = new Set([section.id]);
  const found: TrackInfo[] = [];
  for (const track of tracks) {
    if (track.trace !== section.trace || track.parent === null || !open.has(track.parent)) continue;
    open.add(track.id);
    found.push(track);
  }
  return found;
}

export function hide(state: State, tracks: readonly TrackInfo[]): void {
  const hidden = new Set(state.hidden.value);
  for (const track of tracks) hidden.add(keyOf(track));
  state.hidden.value = hidden;
}

export function showHidden(state: State): void {
  state.hidden.value = new Set();
}

// Number of hidden tracks of each trace: needed for each drawn row, counted once.
const counted = new WeakMap<ReadonlySet<TrackKey>, { tracks: readonly TrackInfo[]; counts: Map<TraceId, number> }>();

export function countHidden(state: Pick<State, "hidden" | "tracks">, trace: TraceId): number {
  const [hidden, tracks] = [state.hidden.value, state.tracks.value];
  let known = counted.get(hidden);
  if (known?.tracks !== tracks) {
    const counts = new Map<TraceId, number>();
    for (const track of tracks) if (hidden.has(keyOf(track))) counts.set(track.trace, (counts.get(track.trace) ?? 0) + 1);
    counted.set(hidden, known = { tracks, counts });
  }
  return known.counts.get(trace) ?? 0;
}

export function showHiddenOf(state: State, trace: TraceId): void {
  const hidden = new Set(state.hidden.value);
  for (const track of state.tracks.value) if (track.trace === trace) hidden.delete(keyOf(track));
  state.hidden.value = hidden;
}

// Hides all siblings of the track and of its ancestors.
export function showOnly(state: State, track: TrackInfo): void {
  const keep = new Set<TrackKey>();
  let at: TrackInfo | undefined = track;
  for (let depth = 0; at && depth < 16; depth++) {
    keep.add(keyOf(at));
    const above: TrackInfo = at;
    at = above.parent === null ? undefined : state.tracks.value.find((each) => each.trace === above.trace && each.id === above.parent);
  }
  for (const below of tracksBelow(state.tracks.value, track)) keep.add(keyOf(below));
  state.hidden.value = new Set(state.tracks.value.map(keyOf).filter((key) => !keep.has(key)));
}

export function isPinned(state: State, track: TrackInfo): boolean {
  return state.pinned.value.includes(keyOf(track));
}

export function togglePinned(state: State, track: TrackInfo): void {
  const key = keyOf(track);
  const rest = state.pinned.value.filter((each) => each !== key);
  state.pinned.value = rest.length < state.pinned.value.length ? rest : [...rest, key];
}

function parentKey(tracks: ReadonlyMap<TrackKey, TrackInfo>, track: TrackInfo): TrackKey | null {
  if (track.parent === null) return null;
  const key = trackKey(track.trace, track.parent);
  return tracks.has(key) ? key : null;
}

// The tracks of one parent in current order; without a parent those of all traces.
export function siblingsOf(state: Pick<State, "tracks" | "moved">, track: TrackInfo): TrackInfo[] {
  const tracks = new Map(state.tracks.value.map((each) => [keyOf(each), each]));
  const parent = parentKey(tracks, track);
  const all = state.tracks.value.filter((each) => parentKey(tracks, each) === parent);
  const moved = state.moved.value;
  const order = all.filter((each) => !moved.has(keyOf(each)));
  const chosen = all.filter((each) => moved.has(keyOf(each))).sort((a, b) => (moved.get(keyOf(a)) ?? 0) - (moved.get(keyOf(b)) ?? 0));
  for (const each of chosen) order.splice(Math.min(order.length, moved.get(keyOf(each)) ?? 0), 0, each);
  return order;
}

// Moves a track before a sibling, or to the end. Every sibling gets a position, so that later moves of one do not shift
// others.
export function moveBefore(state: Pick<State, "tracks" | "moved">, track: TrackInfo, before: TrackInfo | null): boolean {
  const siblings = siblingsOf(state, track);
  const order = siblings.filter((each) => keyOf(each) !== keyOf(track));
  const at = before === null ? order.length : order.findIndex((each) => keyOf(each) === keyOf(before));
  if (at < 0) return false;
  order.splice(at, 0, track);
  if (order.every((each, place) => keyOf(each) === keyOf(siblings[place] ?? each))) return false;
  const moved = new Map(state.moved.value);
  order.forEach((each, place) => moved.set(keyOf(each), place));
  state.moved.value = moved;
  return true;
}

// Moves one place up or down among the visible siblings.
export function moveBy(state: State, track: TrackInfo, way: 1 | -1): boolean {
  const hidden = state.hidden.value;
  const shown = siblingsOf(state, track).filter((each) => !hidden.has(keyOf(each)) || keyOf(each) === keyOf(track));
  const at = shown.findIndex((each) => keyOf(each) === keyOf(track));
  const target = at + (way > 0 ? 2 : -1);
  if (target < 0 || at + way < 0 || at + way >= shown.length) return false;
  return moveBefore(state, track, shown[target] ?? null);
}

function resetOrder(state: State): void {
  state.moved.value = new Map();
}

export function addTrackCommands(app: App): void {
  const { state } = app;
  app.commands.add(
    { id: "collapse-all", title: "Collapse all sections", group: "Tracks", run: () => collapseSections(state, true) },
    { id: "expand-all", title: "Expand all sections", group: "Tracks", run: () => collapseSections(state, false) },
    {
      id: "expand-lanes", title: "Expand all tracks to their rows", group: "Tracks",
      run: () => setCollapsed(state, state.tracks.value.filter(canCollapse), false),
    },
    { id: "show-hidden", title: "Show hidden tracks", group: "Tracks", run: () => showHidden(state), enabled: () => state.hidden.value.size > 0 },
    { id: "unpin-all", title: "Unpin all tracks", group: "Tracks", run: () => { state.pinned.value = []; }, enabled: () => state.pinned.value.length > 0 },
    { id: "reset-order", title: "Put tracks into the order of the file", group: "Tracks", run: () => resetOrder(state), enabled: () => state.moved.value.size > 0 },
    { id: "filter-tracks", title: "Filter tracks by name", group: "Tracks", run: focusFilter },
  );
}

function focusFilter(): void {
  document.getElementById("track-filter")?.focus();
}
