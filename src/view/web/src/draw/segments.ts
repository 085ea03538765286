// A row of a tile prepared for repeated drawing: parts of time with their busy share, in order, without overlaps. An
// aggregate's column is one; a slice is one, minus the aggregate columns that already include it.
import type { SliceRow } from "../data/model";

export interface Segments {
  count: number;
  from: Float64Array; // ns from the tile's start
  until: Float64Array;
  share: Float64Array; // 0 < share <= 1
  name: Uint32Array;
  hit: Uint8Array; // of the search for which the row was loaded
  instants: Float64Array; // events of length 0: ns from the tile's start
  instantName: Uint32Array;
  instantHit: Uint8Array;
  longest: number; // duration of the longest of the exact slices
}

export const HIT = 8; // flag of an event

const made = new WeakMap<SliceRow, Segments>();

export function segmentsOf(row: SliceRow, columnNs: number): Segments {
  let found = made.get(row);
  if (!found) made.set(row, (found = make(row, columnNs)));
  return found;
}

// Place of the first segment that ends after a time.
export function firstBehind(segments: Segments, time: number): number {
  let low = 0;
  let high = segments.count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (segments.until[middle] <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}

// Fills the arrays, which have room for the most that there can be.
class Maker {
  count = 0;
  marks = 0;
  readonly from: Float64Array;
  readonly until: Float64Array;
  readonly share: Float64Array;
  readonly name: Uint32Array;
  readonly hit: Uint8Array;
  readonly instants: Float64Array;
  readonly instantName: Uint32Array;
  readonly instantHit: Uint8Array;

  constructor(most: number) {
    this.from = new Float64Array(most);
    this.until = new Float64Array(most);
    this.share = new Float64Array(most);
    this.name = new Uint32Array(most);
    this.hit = new Uint8Array(most);
    this.instants = new Float64Array(most);
    this.instantName = new Uint32Array(most);
    this.instantHit = new Uint8Array(most);
  }

  add(from: number, until: number, share: number, name: number, hit: number): void {
    const n = this.count++;
    this.from[n] = from;
    this.until[n] = until;
    this.share[n] = share;
    this.name[n] = name;
    this.hit[n] = hit;
  }

  mark(time: number, name: number, hit: number): void {
    const n = this.marks++;
    this.instants[n] = time;
    this.instantName[n] = name;
    this.instantHit[n] = hit;
  }

  aggregate(row: SliceRow, k: number, columnNs: number): void {
    const at = row.column[k] * columnNs;
    if (row.busy[k] > 0) this.add(at, at + columnNs, Math.min(1, row.busy[k] / columnNs), row.name[k], row.hit ? row.hit[k] : 0);
    else if (row.count[k] > 0) this.mark(at, row.name[k], row.hit ? row.hit[k] : 0);
  }
}

// A buffer reused for each row.
let maker = new Maker(4096);

function make(row: SliceRow, columnNs: number): Segments {
  const { column, columns, start, duration, eventName } = row;
  const most = 2 * columns + row.events;
  if (most > maker.from.length) maker = new Maker(2 * most);
  maker.count = 0;
  maker.marks = 0;
  let longest = 0;
  let k = 0;
  let counted = -Infinity; // end of the last aggregate column: it includes slices that start before that
  for (let e = 0; e < row.events; e++) {
    const hit = (row.eventFlags[e] & HIT) >> 3;
    if (duration[e] === 0) {
      maker.mark(start[e], eventName[e], hit);
      continue;
    }
    const end = start[e] + duration[e];
    if (duration[e] > longest) longest = duration[e];
    let a = Math.max(start[e], counted);
    // The slice up to each aggregate column, then that column.
    for (; k < columns && column[k] * columnNs < end; k++) {
      const left = column[k] * columnNs;
      if (left > a) maker.add(a, left, 1, eventName[e], hit);
      maker.aggregate(row, k, columnNs);
      counted = left + columnNs;
      a = Math.max(a, counted);
    }
    if (a < end) maker.add(a, end, 1, eventName[e], hit);
  }
  for (; k < columns; k++) maker.aggregate(row, k, columnNs);
  const { count, marks } = maker;
  return {
    count, from: maker.from.slice(0, count), until: maker.until.slice(0, count), share: maker.share.slice(0, count),
    name: maker.name.slice(0, count), hit: maker.hit.slice(0, count),
    instants: maker.instants.slice(0, marks), instantName: maker.instantName.slice(0, marks), instantHit: maker.instantHit.slice(0, marks), longest,
  };
}
