// One row of slices as bars: of each device pixel the share of its time that a slice covers is the height of its bar,
// from the bottom of the row up; its colour is the name with most of that time. A column of an aggregate gives each pixel
// what it overlaps of it, so that the areas of all bars together are the busy time, whatever the zoom. Slices that cover
// whole pixels are one rectangle. Whatever has no length hangs from the top of the row.
import type { SliceRow } from "../model";
import type { Piece } from "./cover";
import { withAlpha, type Rgba } from "./color";
import type { Rects } from "./rects";
import { HIDDEN, type Tones } from "./tones";

export interface LabelSpot {
  x: number;
  width: number;
  y: number;
  height: number;
  name: number;
  tone: Rgba;
}

// Where a row stands and how time becomes pixels.
export interface RowBox {
  width: number; // of the canvas, px
  y: number;
  height: number;
  top: number; // nothing is drawn above it
  from: number; // trace time at x 0
  scale: number; // px per ns
  hit: Rgba; // colour of what a search found
}

const FULL = 0.999; // what is more is a full pixel
const DARKER = 0.82;

export class RowPainter {
  labelWidth = 30; // px a slice needs for a label
  edgeWidth = 5; // px from which a slice shows where it starts
  private busy = new Float64Array(0);
  private best = new Float64Array(0);
  private tone = new Uint32Array(0);
  private flags = new Uint8Array(0); // HIT, MARK
  private lastRow = -1; // the slice that has its label already
  private lastStart = 0;

  constructor(
    private readonly bars: Rects,
    private readonly marks: Rects,
    private readonly labels: LabelSpot[],
  ) {}

  begin(width: number): void {
    if (this.busy.length < width + 2) {
      this.busy = new Float64Array(width + 2);
      this.best = new Float64Array(width + 2);
      this.tone = new Uint32Array(width + 2);
      this.flags = new Uint8Array(width + 2);
    } else {
      this.busy.fill(0, 0, width + 2);
      this.best.fill(0, 0, width + 2);
      this.flags.fill(0, 0, width + 2);
    }
    this.lastRow = -1;
  }

  piece(row: SliceRow, piece: Piece, tileStart: number, columnNs: number, box: RowBox, tones: Tones): void {
    const low = Math.max(0, (piece.from - box.from) * box.scale);
    const high = Math.min(box.width, (piece.until - box.from) * box.scale);
    if (high <= low) return;
    const x0 = (tileStart - box.from) * box.scale;
    this.aggregates(row, x0, columnNs * box.scale, 1 / columnNs, low, high, tones);
    if (row.events > 0) this.events(row, x0, columnNs * box.scale, low, high, box, tones);
  }

  private aggregates(row: SliceRow, x0: number, columnWidth: number, perNs: number, low: number, high: number, tones: Tones): void {
    const { column, busy, name, count } = row;
    const searching = tones.searching();
    for (let k = firstColumn(column, (low - x0) / columnWidth); k < column.length; k++) {
      let a = x0 + column[k] * columnWidth;
      if (a >= high) break;
      let b = a + columnWidth;
      if (a < low) a = low;
      if (b > high) b = high;
      const share = busy[k] * perNs;
      const tone = tones.of(name[k]);
      if (tone === HIDDEN || b <= a) continue;
      let p = Math.floor(a);
      if (share <= 0) {
        if (count[k] > 0) this.instant(p, tone);
        continue;
      }
      if (searching && tones.isHit(name[k])) this.flags[p] |= 1;
      for (; p + 1 < b; p++) {
        this.give(p, (p + 1 - a) * share, tone);
        a = p + 1;
      }
      this.give(p, (b - a) * share, tone);
    }
  }

  private give(p: number, part: number, tone: Rgba): void {
    this.busy[p] += part;
    if (this.best[p] === 0 || (this.tone[p] !== tone && part > this.best[p])) {
      this.tone[p] = tone;
      this.best[p] = part;
    } else if (this.tone[p] === tone) {
      this.best[p] += part;
    }
  }

  private instant(p: number, tone: Rgba): void {
    if (this.busy[p] === 0) this.tone[p] = tone;
    this.flags[p] |= 2;
  }

  // Events in start order, and the aggregate columns among them, which count those parts of events already.
  private events(row: SliceRow, x0: number, columnWidth: number, low: number, high: number, box: RowBox, tones: Tones): void {
    const { start, duration, eventName, eventFlags, column } = row;
    const { scale } = box;
    const columns = column.length;
    let k = 0;
    for (let e = 0; e < start.length; e++) {
      const xs = x0 + start[e] * scale;
      if (xs >= high) break;
      const xe = xs + duration[e] * scale;
      if (duration[e] === 0) {
        if (xs < low) continue;
        const tone = tones.of(eventName[e]);
        if (tone !== HIDDEN) this.instant(Math.floor(xs), tone);
        continue;
      }
      if (xe <= low) continue;
      const tone = tones.of(eventName[e]);
      if (tone === HIDDEN) continue;
      const hit = tones.searching() && tones.isHit(eventName[e]);
      let a = xs < low ? low : xs;
      const b = xe > high ? high : xe;
      while (k < columns && x0 + (column[k] + 1) * columnWidth <= a) k++;
      for (let j = k; j < columns; j++) {
        const left = x0 + column[j] * columnWidth;
        if (left >= b) break;
        if (left > a) this.span(a, left, tone, box);
        a = Math.max(a, left + columnWidth);
      }
      if (a < b) this.span(a, b, tone, box);
      if (hit) this.flags[Math.floor(Math.max(low, xs))] |= 1;
      if (xe - xs >= this.edgeWidth) this.wide(row, e, xs, xe, tone, hit, low, high, box, eventFlags[e]);
    }
  }

  // A part of a slice: whole pixels as one rectangle, the rest as shares.
  private span(a: number, b: number, tone: Rgba, box: RowBox): void {
    let p = Math.floor(a);
    if (b <= p + 1) {
      this.give(p, b - a, tone);
      return;
    }
    if (a > p) {
      this.give(p, p + 1 - a, tone);
      p++;
    }
    const q = Math.floor(b);
    if (q > p) {
      const y = Math.max(box.y, box.top);
      if (box.y + box.height > y) this.bars.add(p, y, q - p, box.y + box.height - y, tone);
    }
    if (b > q) this.give(q, b - q, tone);
  }

  // What a slice of some width has besides its bar: an edge where it starts, a label, fading where its end is not known.
  private wide(row: SliceRow, e: number, xs: number, xe: number, tone: Rgba, hit: boolean, low: number, high: number, box: RowBox, flags: number): void {
    const y = Math.max(box.y, box.top);
    const height = box.y + box.height - y;
    if (height <= 0) return;
    if (xs >= low) this.marks.add(Math.floor(xs), y, 1, height, darker(tone));
    if (hit) {
      const from = Math.floor(Math.max(low, xs));
      this.marks.add(from, y, Math.ceil(Math.min(high, xe)) - from, Math.min(2, height), box.hit);
    }
    if ((flags & 1) !== 0 && xe <= high) {
      for (let s = 0; s < 6; s++) this.marks.add(Math.floor(xe) - 2 - 2 * s, y, 1, height, withAlpha(0xffffff, 200 - 30 * s));
    }
    if (row.eventRow[e] === this.lastRow && Math.abs(xs - this.lastStart) < 0.01) return;
    const left = Math.max(0, xs);
    const width = Math.min(box.width, xe) - left;
    if (width < this.labelWidth) return;
    this.lastRow = row.eventRow[e];
    this.lastStart = xs;
    if (box.y >= box.top) this.labels.push({ x: left, width, y: box.y, height: box.height, name: row.eventName[e], tone });
  }

  // Bars of what was summed up: runs of one height and colour are one rectangle.
  end(box: RowBox): void {
    const { busy, tone, flags } = this;
    const base = box.y + box.height;
    const most = box.height;
    const room = base - box.top;
    if (room <= 0) return;
    let runAt = 0;
    let runHeight = 0;
    let runTone = 0;
    for (let p = 0; p <= box.width; p++) {
      const share = p < box.width ? busy[p] : 0;
      let height = 0;
      if (share > 0) height = share >= FULL ? most : Math.max(1, Math.min(most - 1, Math.round(share * most)));
      if (height !== runHeight || (height > 0 && tone[p] !== runTone)) {
        if (runHeight > 0) this.bars.add(runAt, base - Math.min(runHeight, room), p - runAt, Math.min(runHeight, room), runTone);
        runAt = p;
        runHeight = height;
        runTone = tone[p];
      }
      if (p < box.width && flags[p] !== 0) this.flag(p, flags[p], tone[p], box);
    }
  }

  private flag(p: number, flags: number, tone: Rgba, box: RowBox): void {
    const y = Math.max(box.y, box.top);
    const bottom = box.y + box.height;
    if ((flags & 2) !== 0) {
      const length = Math.min(bottom, box.y + Math.ceil(box.height * 0.55)) - y;
      if (length > 0) this.marks.add(p, y, 1, length, tone);
      if (box.y >= box.top) this.marks.add(p - 1, box.y, 3, Math.min(3, box.height), tone);
    }
    if ((flags & 1) !== 0 && bottom > y) this.marks.add(p, y, 1, Math.min(2, bottom - y), box.hit);
  }
}

function darker(tone: Rgba): Rgba {
  const part = (shift: number): number => Math.round(((tone >>> shift) & 255) * DARKER) << shift;
  return ((tone & 0xff000000) | part(16) | part(8) | part(0)) >>> 0;
}

// Place of the first column that ends behind `at`, in columns from the tile's start.
function firstColumn(column: Uint16Array, at: number): number {
  let low = 0;
  let high = column.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (column[middle] + 1 <= at) low = middle + 1;
    else high = middle;
  }
  return low;
}
