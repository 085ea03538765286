// Hit testing on loaded tiles: an exact event, or an aggregate column with its longest event; and the nearest edge of
// an event. Pure: rows of tiles in, answers out.
import type { SliceRow } from "../data/model";
import { TILE_COLUMNS } from "../data/model";

export type RowHit =
  | { what: "event"; row: number; name: number; start: number; duration: number; flags: number }
  | { what: "column"; row: number; longest: number; from: number; until: number; count: number };

// Index of the last element of ascending `values` that is not above `value`; -1: all are.
export function lastNotAbove(values: ArrayLike<number>, value: number): number {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((values[middle] as number) <= value) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

// Aggregate column at place `at`, if it is there.
function columnAt(row: SliceRow, at: number): number {
  const found = lastNotAbove(row.column, at);
  return found >= 0 && row.column[found] === at ? found : -1;
}

// How far `time` is from [start, start + duration].
function away(time: number, start: number, duration: number): number {
  return time < start ? start - time : Math.max(0, time - (start + duration));
}

// The event of one row of tile i at zoom z at a time (trace time). `within`: distance in ns at which a short event
// still counts, so that events one pixel wide can be hit. An aggregate column is above the events that extend into it.
export function hitRow(row: SliceRow, z: number, i: number, time: number, within: number): RowHit | null {
  const width = 2 ** z;
  const zero = i * TILE_COLUMNS * width;
  const relative = time - zero;
  const at = columnAt(row, Math.floor(relative / width));
  if (at >= 0) {
    const from = zero + (row.column[at] as number) * width;
    return { what: "column", row: row.row[at] as number, longest: row.longest[at] as number, from,
      until: from + width, count: row.count[at] as number };
  }
  // Slices of a row do not overlap: only the last one that starts at or before the time can cover it; those of length 0
  // may share a time, and near ones are hit on both sides.
  let best = -1;
  let bestAway = Infinity;
  const last = lastNotAbove(row.start, relative + within);
  for (let k = last; k >= 0 && k > last - 64; k--) {
    const start = row.start[k] as number;
    const distance = away(relative, start, row.duration[k] as number);
    if (distance > within) {
      if (start + (row.duration[k] as number) < relative - within) break;
      continue;
    }
    // Of two at the same distance the shorter: it is the harder to meet.
    if (distance < bestAway
      || (distance === bestAway && (row.duration[k] as number) < (row.duration[best] as number))) {
      best = k;
      bestAway = distance;
    }
  }
  if (best < 0) return null;
  return { what: "event", row: row.eventRow[best] as number, name: row.eventName[best] as number,
    start: zero + (row.start[best] as number), duration: row.duration[best] as number,
    flags: row.eventFlags[best] as number };
}

interface Edge {
  time: number; // trace time
  row: number;
  edge: "start" | "end";
}

// The edge of an exact event nearest to a time, at most `within` away.
export function nearestEdge(row: SliceRow, z: number, i: number, time: number, within: number): Edge | null {
  const zero = i * TILE_COLUMNS * 2 ** z;
  const relative = time - zero;
  let best: Edge | null = null;
  let distance = within;
  const take = (k: number, at: number, edge: "start" | "end"): void => {
    const off = Math.abs(at - relative);
    if (off > distance || (best && off === distance)) return;
    distance = off;
    best = { time: zero + at, row: row.eventRow[k] as number, edge };
  };
  // Rows have no overlaps, so ends are in order, too: walk from the last start that is near enough.
  for (let k = lastNotAbove(row.start, relative + within); k >= 0; k--) {
    const start = row.start[k] as number;
    const end = start + (row.duration[k] as number);
    take(k, start, "start");
    if (((row.eventFlags[k] as number) & 1) === 0) take(k, end, "end");
    if (end < relative - within) break;
  }
  return best;
}

// Whether a part of [time - within, time + within] is in an aggregate: there the server knows more.
export function touchesAggregate(row: SliceRow, z: number, i: number, time: number, within: number): boolean {
  const width = 2 ** z;
  const zero = i * TILE_COLUMNS * width;
  const first = Math.floor((time - within - zero) / width);
  const found = lastNotAbove(row.column, Math.floor((time + within - zero) / width));
  return found >= 0 && (row.column[found] as number) >= first;
}
