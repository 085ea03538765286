// Where each track stands on the page: sections, collapse, hiding, pins, filter and order put together.
// Pure: tracks and state in, places out.
import type { TrackInfo } from "./model";
import type { TrackKey } from "./state";

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

export interface Layout {
  pinned: Place[];
  places: Place[]; // in order of y
  pinnedHeight: number;
  height: number; // of all that is not pinned
  find(key: TrackKey): Place | undefined;
  at(y: number): Place | undefined; // among those not pinned
}
