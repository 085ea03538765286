// Hit testing of a pixel of the tracks: the place, the row, the time, and from the tiles the event.
import type { Core } from "../app";
import { hitRow, nearestEdge, touchesAggregate, type RowHit } from "./hit";
import type { Place } from "./layout";
import type { EventRef, SliceRow, TraceId, TrackId } from "../data/model";
import { drawnOf, TILE_COLUMNS } from "../data/model";
import { spanOf, timeAt } from "../tools/nav";

export interface Spot {
  x: number;
  y: number;
  time: number; // global ns
  place: Place | null;
  depth: number; // row of the place; 0 of a summary
}

export const offsetOf = (app: Core, trace: TraceId): number =>
  app.state.session.value?.traces.find((info) => info.id === trace)?.offset_ns ?? 0;

// The place at y px below the top of the canvas: pinned tracks are above the others.
export function placeAt(app: Core, y: number): { place: Place; top: number } | null {
  const layout = app.layout();
  if (y < layout.pinnedHeight) {
    const place = layout.pinned.find((one) => y >= one.y && y < one.y + one.height);
    return place ? { place, top: place.y } : null;
  }
  const place = layout.at(y - layout.pinnedHeight + app.state.scroll.value);
  return place ? { place, top: place.y - app.state.scroll.value + layout.pinnedHeight } : null;
}

export function spotAt(app: Core, canvas: HTMLElement, x: number, y: number): Spot {
  const time = timeAt(app.state.range.value, canvas.clientWidth, x);
  const found = placeAt(app, y);
  if (!found) return { x, y, time, place: null, depth: 0 };
  const row = Math.floor((y - found.top) / found.place.rowHeight);
  return { x, y, time, place: found.place, depth: Math.max(0, Math.min(found.place.rows - 1, row)) };
}

interface LoadedRow {
  row: SliceRow;
  z: number;
  i: number;
}

// The track whose tiles are at a row.
function drawnAt(place: Place, row: number): TrackId | undefined {
  const drawn = drawnOf(place.track);
  return drawn[drawn.length > 1 ? row : 0];
}

// The row of the most detailed loaded tile at a time, beginning with the drawn zoom.
function loadedRow(app: Core, spot: Spot, time: number, nsPerPx: number): LoadedRow | null {
  const place = spot.place;
  if (!place || place.track.kind === "counter") return null;
  const { trace } = place.track;
  const id = drawnAt(place, spot.depth);
  if (id === undefined) return null;
  const ideal = Math.max(0, Math.min(54, Math.floor(Math.log2(nsPerPx))));
  for (let off = 0; off <= 54; off++) {
    for (const z of off === 0 ? [ideal] : [ideal - off, ideal + off]) {
      if (z < 0 || z > 54) continue;
      const i = Math.floor(time / (TILE_COLUMNS * 2 ** z));
      const tile = app.tiles.get(trace, id, z, i, place.summary);
      const row = tile?.rows[place.summary ? 0 : spot.depth];
      if (row) return { row, z, i };
    }
  }
  return null;
}

export type Hit =
  | { exact: true; event: EventRef }
  | { exact: false; row: number; longest: number; count: number; from: number; until: number }; // global ns

// The event shown at a spot. Null: none, or not loaded.
export function hitAt(app: Core, spot: Spot, width: number): Hit | null {
  const place = spot.place;
  if (!place) return null;
  const nsPerPx = spanOf(app.state.range.value) / Math.max(width, 1);
  const offset = offsetOf(app, place.track.trace);
  const time = spot.time - offset;
  const loaded = loadedRow(app, spot, time, nsPerPx);
  if (!loaded) return null;
  const hit: RowHit | null = hitRow(loaded.row, loaded.z, loaded.i, time, nsPerPx * 3);
  if (!hit) return null;
  if (hit.what === "column") {
    return { exact: false, row: hit.row, longest: hit.longest, count: hit.count, from: hit.from + offset, until: hit.until + offset };
  }
  const { trace, events_kind } = place.track;
  const id = drawnAt(place, spot.depth) ?? place.track.id;
  return { exact: true, event: { trace, track: id, kind: events_kind ?? "slice", row: hit.row,
    depth: place.summary ? -1 : spot.depth, start: hit.start, duration: hit.duration, name: hit.name } };
}

interface Snapped {
  time: number; // global ns
  place: Place;
}

// The nearest edge of a loaded event on the row under the pointer, else on a nearby row; `server`: some nearby edges
// are not known exactly here.
export function snapLoaded(app: Core, spot: Spot, width: number, withinPx: number): { edge: Snapped | null; server: boolean } {
  const nsPerPx = spanOf(app.state.range.value) / Math.max(width, 1);
  const within = nsPerPx * withinPx;
  const near = placesNear(app, spot);
  let best: Snapped | null = null;
  let least = Infinity;
  let server = false;
  for (const { place, depth, away } of near) {
    const offset = offsetOf(app, place.track.trace);
    const time = spot.time - offset;
    const loaded = loadedRow(app, { ...spot, place, depth }, time, nsPerPx);
    if (!loaded) {
      server = server || away === 0;
      continue;
    }
    if (away === 0 && touchesAggregate(loaded.row, loaded.z, loaded.i, time, within)) server = true;
    const edge = nearestEdge(loaded.row, loaded.z, loaded.i, time, within);
    if (!edge) continue;
    // A row further away counts as some px further off, so that the row under the pointer is preferred.
    const off = Math.abs(edge.time - time) / nsPerPx + away * 0.25;
    if (off < least) {
      least = off;
      best = { time: edge.time + offset, place };
    }
  }
  return { edge: best, server };
}

const NEAR_PX = 40; // above and below the pointer

function placesNear(app: Core, spot: Spot): { place: Place; depth: number; away: number }[] {
  const out: { place: Place; depth: number; away: number }[] = [];
  const seen = new Set<string>();
  for (let dy = 0; dy <= NEAR_PX; dy += 6) {
    for (const y of dy === 0 ? [spot.y] : [spot.y - dy, spot.y + dy]) {
      const found = y < 0 ? null : placeAt(app, y);
      if (!found || found.place.track.kind === "counter") continue;
      const depth = Math.max(0, Math.min(found.place.rows - 1, Math.floor((y - found.top) / found.place.rowHeight)));
      const id = `${found.place.key}/${depth}/${found.place.pinned ? 1 : 0}`;
      if (seen.has(id)) continue;
      seen.add(id);
      out.push({ place: found.place, depth, away: dy });
    }
  }
  return out;
}
