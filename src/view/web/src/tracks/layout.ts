// The position of each track: from sections, collapse, hiding, pins, filter and order. Pure: tracks and state in,
// places out.
import { drawnOf, type TrackInfo } from "../data/model";
import { scaled } from "../scale";
import { trackKey, type State, type TrackKey } from "../state";
import { isFilter, parseFilter, type Term } from "./filter";

export interface Place {
  key: TrackKey;
  track: TrackInfo;
  depth: number; // of the tree: sections in sections
  y: number; // px from the top of all tracks; pinned ones count from the top of their own area
  height: number;
  rowHeight: number;
  rows: number; // drawn: 1 of a collapsed track or section
  summary: boolean; // one row: the union
  collapsed: boolean;
  pinned: boolean;
}

// A track that is to be seen: at a place of its own, or in that of the section above it that is collapsed.
interface Seen {
  key: TrackKey;
  track: TrackInfo;
  depth: number;
  place: Place;
  row: number | null; // of the place, where that is a collapsed section: its GPU's, as ranks have a row for each
}

export interface Layout {
  pinned: Place[];
  places: Place[]; // in order of y
  pinnedHeight: number;
  height: number; // of all that is not pinned
  seen: readonly Seen[]; // parents before children, sections too; neither hidden nor filtered out
  filterError: string; // the filter cannot be understood, and nothing is left out
  find(key: TrackKey): Place | undefined;
  seenAt(key: TrackKey): Place | undefined; // where its events are drawn
  rowAt(key: TrackKey, depth: number): number; // in which row of that place
  tracksSeen(below?: TrackKey): TrackInfo[]; // without sections; all, or those in a section
  at(y: number): Place | undefined; // among those not pinned
}

// The user's choices about tracks.
interface LayoutChoices {
  collapsed: ReadonlyMap<TrackKey, boolean>;
  folded?: ReadonlySet<TrackKey>; // sections that are collapsed under the filter
  hidden: ReadonlySet<TrackKey>;
  pinned: readonly TrackKey[];
  moved: ReadonlyMap<TrackKey, number>;
  trackFilter: string;
}

export function choicesOf(state: State): LayoutChoices {
  const trackFilter = state.trackFilter.value;
  const { filter, sections } = state.folded.value;
  return {
    collapsed: state.collapsed.value, hidden: state.hidden.value, pinned: state.pinned.value, moved: state.moved.value, trackFilter,
    folded: filter === trackFilter ? sections : undefined,
  };
}

// px, of letters of the usual size
const ROW_HEIGHT = 18;
export const SECTION_HEIGHT = 26;
const DEVICE_HEIGHT = 8; // at least, of each GPU in the row of a rank
export const SUMMARY_HEIGHT = 22;
const SERIES_HEIGHT = 40;
export const GAP = 3; // below each track, whatever the letters

interface Node {
  track: TrackInfo;
  key: TrackKey;
  order: number;
  children: Node[];
}

export function makeLayout(tracks: readonly TrackInfo[], choices: LayoutChoices): Layout {
  const places: Place[] = [];
  const seen: Seen[] = [];
  const filter = parseFilter(choices.trackFilter);
  let y = 0;
  const visit = (node: Node, depth: number, within: Place | null, above: number | null): void => {
    if (choices.hidden.has(node.key)) return;
    let place = within;
    if (!place) {
      place = placeOf(node, depth, choices, false);
      place.y = y;
      y += place.height;
      places.push(place);
    }
    const device = within?.track.draws?.indexOf(node.track.id) ?? -1;
    const row = device < 0 ? above : device;
    seen.push({ key: node.key, track: node.track, depth, place, row });
    for (const child of node.children) visit(child, depth + 1, place.collapsed ? place : null, place.collapsed ? row ?? 0 : null);
  };
  const roots = tree(tracks, choices.moved);
  for (const root of filter.terms.length > 0 ? filtered(roots, filter.terms) : roots) visit(root, 0, null, null);

  const byKey = new Map(tracks.map((track) => [trackKey(track.trace, track.id), track]));
  const pinned: Place[] = [];
  let pinnedHeight = 0;
  for (const key of choices.pinned) {
    const track = byKey.get(key);
    if (!track) continue;
    const place = placeOf({ track, key, order: 0, children: [] }, 0, choices, true);
    place.y = pinnedHeight;
    pinnedHeight += place.height;
    pinned.push(place);
  }

  const found = new Map(places.map((place) => [place.key, place]));
  const drawn = new Map(seen.map((each) => [each.key, each]));
  for (const place of pinned) {
    const { key, track } = place;
    const itself: Seen = { key, track, depth: 0, place, row: null };
    if (!drawn.has(key)) seen.push(itself);
    if (!found.has(key)) drawn.set(key, itself); // rather than in a section that is collapsed
  }
  return {
    pinned, places, pinnedHeight, seen, height: y, filterError: filter.error,
    find: (key) => found.get(key),
    seenAt: (key) => drawn.get(key)?.place,
    rowAt: (key, depth) => {
      const each = drawn.get(key);
      return each ? each.row ?? rowOfDepth(each.place, depth) : 0;
    },
    tracksSeen: (below) => tracksOf(seen, below),
    at: (at) => {
      const k = firstBelow(places, at);
      return k < places.length && places[k].y <= at ? places[k] : undefined;
    },
  };
}

// Whether a section is collapsed, or a track one row. Filter matches are shown even in a section that was collapsed
// before: under a filter sections have separate choices.
export function collapsedIn(choices: Pick<LayoutChoices, "collapsed" | "folded" | "trackFilter">, track: TrackInfo): boolean {
  const key = trackKey(track.trace, track.id);
  if (track.kind === "section" && isFilter(choices.trackFilter)) return choices.folded?.has(key) ?? false;
  return choices.collapsed.get(key) ?? track.collapsed;
}

// The row of a depth in a place of its track.
export function rowOfDepth(place: Place, depth: number): number {
  return Math.min(Math.max(0, depth), place.rows - 1);
}

function tracksOf(seen: readonly Seen[], below?: TrackKey): TrackInfo[] {
  const at = below === undefined ? -1 : seen.findIndex((each) => each.key === below);
  if (below !== undefined && at < 0) return [];
  const depth = seen[at]?.depth ?? -1;
  const found: TrackInfo[] = [];
  for (let k = at + 1; k < seen.length; k++) {
    const each = seen[k] as Seen;
    if (each.depth <= depth) break;
    if (each.track.kind !== "section") found.push(each.track);
  }
  return found;
}

// The places in a view of `height` px, including pinned ones.
export function placesShown(layout: Layout, scroll: number, height: number): Place[] {
  const { places, pinned, pinnedHeight } = layout;
  const seen = pinned.filter((place) => place.y < height);
  for (let k = firstBelow(places, scroll); k < places.length && places[k].y - scroll < height - pinnedHeight; k++) seen.push(places[k]);
  return seen;
}

// Number of the first place that ends below y.
export function firstBelow(places: readonly Place[], y: number): number {
  let low = 0;
  let high = places.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (places[middle].y + places[middle].height <= y) low = middle + 1;
    else high = middle;
  }
  return low;
}

function placeOf(node: Node, depth: number, choices: LayoutChoices, pinned: boolean): Place {
  const { track, key } = node;
  const collapsed = collapsedIn(choices, track);
  const place: Place = {
    key, track, depth, y: 0, height: 0, rowHeight: scaled(ROW_HEIGHT), rows: Math.max(1, track.rows), summary: false, collapsed, pinned,
  };
  if (track.kind === "section") {
    const rows = Math.max(1, drawnOf(track).length);
    Object.assign(place, { rows, summary: true, rowHeight: Math.max(scaled(SECTION_HEIGHT) / rows, rows > 1 ? scaled(DEVICE_HEIGHT) : 0) - GAP / rows });
  } else if (track.kind === "counter") {
    place.rows = collapsed ? 1 : Math.max(1, track.series?.length ?? 1);
    place.rowHeight = scaled(collapsed ? SUMMARY_HEIGHT : SERIES_HEIGHT);
  } else if (collapsed) {
    Object.assign(place, { rows: 1, summary: true, rowHeight: scaled(SUMMARY_HEIGHT) });
  } else if (place.rows === 1) {
    place.rowHeight = scaled(SUMMARY_HEIGHT);
  }
  place.height = place.rows * place.rowHeight + GAP;
  return place;
}

// Tracks by parent, in the server's order, except where the user moved them.
function tree(tracks: readonly TrackInfo[], moved: ReadonlyMap<TrackKey, number>): Node[] {
  const nodes = new Map<TrackKey, Node>();
  for (const track of tracks) {
    const key = trackKey(track.trace, track.id);
    nodes.set(key, { track, key, order: 0, children: [] });
  }
  const roots: Node[] = [];
  for (const node of nodes.values()) {
    const { trace, parent } = node.track;
    const above = parent === null ? undefined : nodes.get(trackKey(trace, parent));
    const siblings = above && above !== node ? above.children : roots;
    node.order = siblings.length;
    siblings.push(node);
  }
  if (moved.size > 0) {
    reorder(roots, moved);
    for (const node of nodes.values()) reorder(node.children, moved);
  }
  return roots;
}

function reorder(nodes: Node[], moved: ReadonlyMap<TrackKey, number>): void {
  if (!nodes.some((node) => moved.has(node.key))) return;
  // A moved track is at its position, the others fill the rest in order.
  const rest = nodes.filter((node) => !moved.has(node.key));
  const chosen = nodes.filter((node) => moved.has(node.key)).sort((a, b) => (moved.get(a.key) ?? 0) - (moved.get(b.key) ?? 0));
  for (const node of chosen) rest.splice(Math.max(0, Math.min(rest.length, moved.get(node.key) ?? 0)), 0, node);
  nodes.splice(0, nodes.length, ...rest);
}

// `above`: terms that a section above has met.
function filtered(nodes: Node[], terms: readonly Term[], above: readonly boolean[] = []): Node[] {
  const kept: Node[] = [];
  for (const node of nodes) {
    const met = terms.map((term, k) => above[k] === true || term.meets(node.track));
    const children = filtered(node.children, terms, met);
    const own = node.track.kind !== "section" && terms.every((term, k) => met[k] !== term.not);
    if (own || children.length > 0) kept.push({ ...node, children });
  }
  return kept;
}
