// One row of slices as bars: the height of the bar in a device pixel, from the bottom of the row up, is the share of
// its time covered by slices (its topmost pixel has fractional opacity); its colour is the name with most of that time.
// A column of an aggregate contributes its overlap to each pixel, so that the total area of bars is the busy time at
// every zoom. Slices over whole pixels are one rectangle. Events of length 0 hang from the top of the row.
import type { SliceRow } from "../data/model";
import type { Piece } from "./cover";
import { withAlpha, type Rgba } from "./color";
import type { Rects } from "./rects";
import { HIT as IS_HIT, firstBehind, segmentsOf, type Segments } from "./segments";
import { HIDDEN, type Tones } from "./tones";

export interface LabelSpot {
  x: number;
  width: number;
  y: number;
  height: number;
  name: number;
  tone: Rgba;
  dim: boolean; // not a search hit
}

// The position of a row, and its time scale.
export interface RowBox {
  width: number; // of the canvas, px
  y: number;
  height: number;
  top: number; // upper clipping edge
  from: number; // trace time at x 0
  scale: number; // px per ns
  hit: Rgba; // colour of search hits
}

const FULL = 0.999; // larger shares are a full pixel
const DARKER = 0.82;
const HIT = 1;
const MARK = 2;
const NO_END = 1; // flags of an event
const SEVERAL = 4;
const PARTS = 16; // heights are counted in these of a pixel
const FAINT = 4; // of the parts: less than that is not seen

export class RowPainter {
  labelWidth = 30; // px a slice needs for a label
  edgeWidth = 5; // px from which a slice shows where it starts
  // The pixel that is being summed up: parts of time come in order.
  private at = -1;
  private sum = 0;
  private best = 0;
  private tone: Rgba = 0;
  // Pixels of one height and colour: one rectangle.
  private runFrom = 0;
  private runUntil = -1;
  private runHeight = 0;
  private runTone: Rgba = 0;
  private flags = new Uint8Array(0); // by pixel: HIT, MARK
  private markTone = new Uint32Array(0);
  private flagged = false;
  private lastRow = -1; // the slice that has its label already
  private lastStart = 0;

  constructor(
    private readonly bars: Rects,
    private readonly marks: Rects,
    private readonly labels: LabelSpot[],
  ) {}

  begin(width: number): void {
    if (this.flags.length < width + 2) {
      this.flags = new Uint8Array(width + 2);
      this.markTone = new Uint32Array(width + 2);
    } else if (this.flagged) {
      this.flags.fill(0, 0, width + 2);
    }
    this.flagged = false;
    this.at = this.runUntil = this.lastRow = -1;
    this.sum = this.best = this.runHeight = 0;
  }

  piece(row: SliceRow, piece: Piece, tileStart: number, columnNs: number, box: RowBox, tones: Tones): void {
    const low = Math.max(0, (piece.from - box.from) * box.scale);
    const high = Math.min(box.width, (piece.until - box.from) * box.scale);
    if (high <= low) return;
    const x0 = (tileStart - box.from) * box.scale;
    const segments = segmentsOf(row, columnNs);
    const hits = tones.byEvent && row.hit !== null; // else names say it, or nothing does yet
    this.shares(segments, hits, x0, low, high, box, tones);
    if (segments.instants.length > 0) this.instants(segments, hits, x0, low, high, box.scale, tones);
    if (segments.longest * box.scale >= this.edgeWidth) this.slices(row, hits, x0, low, high, box, tones);
  }

  // The inner loop of drawing: it runs for each column and slice in view, in each frame.
  private shares(segments: Segments, hits: boolean, x0: number, low: number, high: number, box: RowBox, tones: Tones): void {
    const { from, until, share, name, hit, count } = segments;
    const { scale } = box;
    const { table } = tones;
    const searching = tones.searching();
    let { at, sum, best, tone } = this;
    for (let k = firstBehind(segments, (low - x0) / scale); k < count; k++) {
      let a = x0 + from[k] * scale;
      if (a >= high) break;
      let b = x0 + until[k] * scale;
      if (a < low) a = low;
      if (b > high) b = high;
      if (b <= a) continue;
      const id = name[k];
      let own = id < table.length ? table[id] : 0;
      if (own === 0) own = tones.of(id);
      if (hits && hit[k] === 0) own = tones.faint(own);
      if (own === HIDDEN) continue;
      const p = a | 0;
      if (searching && (hits ? hit[k] === 1 : tones.isHit(id))) {
        this.flags[p] |= HIT;
        this.flagged = true;
      }
      if (p !== at) {
        if (sum > 0) this.run(at, at + 1, partsOf(sum, box.height), tone, box);
        at = p;
        sum = best = 0;
      }
      const part = share[k];
      const given = ((b < p + 1 ? b : p + 1) - a) * part;
      sum += given;
      if (own === tone) best += given;
      else if (given > best) {
        best = given;
        tone = own;
      }
      if (b <= p + 1) continue;
      this.run(at, at + 1, partsOf(sum, box.height), tone, box);
      at = b | 0;
      if (at > p + 1) this.run(p + 1, at, partsOf(part, box.height), own, box);
      sum = best = (b - at) * part;
      tone = own;
    }
    this.at = at;
    this.sum = sum;
    this.best = best;
    this.tone = tone;
  }

  private run(from: number, until: number, height: number, tone: Rgba, box: RowBox): void {
    if (from === this.runUntil && height === this.runHeight && tone === this.runTone) {
      this.runUntil = until;
      return;
    }
    this.flush(box);
    this.runFrom = from;
    this.runUntil = until;
    this.runHeight = height;
    this.runTone = tone;
  }

  private flush(box: RowBox): void {
    const parts = this.runHeight;
    if (parts === 0) return;
    this.runHeight = 0;
    const base = box.y + box.height;
    const whole = (parts / PARTS) | 0;
    const rest = parts - whole * PARTS;
    const height = whole < base - box.top ? whole : base - box.top;
    const width = this.runUntil - this.runFrom;
    if (height > 0) this.bars.add(this.runFrom, base - height, width, height, this.runTone);
    if (rest > 0 && base - whole - 1 >= box.top) {
      this.bars.add(this.runFrom, base - whole - 1, width, 1, ((this.runTone & 0xffffff) | (((rest * 255) / PARTS) << 24)) >>> 0);
    }
  }

  private instants(segments: Segments, hits: boolean, x0: number, low: number, high: number, scale: number, tones: Tones): void {
    const { instants, instantName, instantHit } = segments;
    for (let k = 0; k < instants.length; k++) {
      const x = x0 + instants[k] * scale;
      if (x < low || x >= high) continue;
      const isHit = hits ? instantHit[k] === 1 : tones.isHit(instantName[k]);
      const own = tones.of(instantName[k]);
      const tone = hits && !isHit ? tones.faint(own) : own;
      if (tone === HIDDEN) continue;
      const p = x | 0;
      this.flags[p] |= isHit ? MARK | HIT : MARK;
      this.markTone[p] = tone;
      this.flagged = true;
    }
  }

  // Slices that are wide enough to be distinguishable.
  private slices(row: SliceRow, hits: boolean, x0: number, low: number, high: number, box: RowBox, tones: Tones): void {
    const { start, duration, eventName, eventFlags } = row;
    const { scale } = box;
    for (let e = 0; e < start.length; e++) {
      const xs = x0 + start[e] * scale;
      if (xs >= high) break;
      const xe = xs + duration[e] * scale;
      if (xe <= low || xe - xs < this.edgeWidth) continue;
      const isHit = hits ? (eventFlags[e] & IS_HIT) !== 0 : tones.isHit(eventName[e]);
      const own = tones.of(eventName[e]);
      const tone = hits && !isHit ? tones.faint(own) : own;
      if (tone === HIDDEN) continue;
      this.wide(row, e, xs, xe, tone, isHit, hits ? !isHit && tones.dimming : tones.dims(eventName[e]), low, high, box, eventFlags[e]);
    }
  }

  // Additional parts of a slice of some width: an edge at its start, a label, fading if its end is unknown.
  private wide(row: SliceRow, e: number, xs: number, xe: number, tone: Rgba, isHit: boolean, dim: boolean, low: number, high: number, box: RowBox, flags: number): void {
    const y = Math.max(box.y, box.top);
    const height = box.y + box.height - y;
    if (height <= 0) return;
    // On the first pixel that it covers fully: a partly covered one has no full bar.
    if (xs >= low) this.marks.add(Math.ceil(xs), y, 1, height, darker(tone));
    if (isHit) {
      const from = Math.floor(Math.max(low, xs));
      this.marks.add(from, y, Math.ceil(Math.min(high, xe)) - from, Math.min(2, height), box.hit);
    }
    if ((flags & NO_END) !== 0 && xe <= high) {
      for (let s = 0; s < 6; s++) this.marks.add(Math.floor(xe) - 2 - 2 * s, y, 1, height, withAlpha(0xffffff, 200 - 30 * s));
    }
    if ((flags & SEVERAL) !== 0) return; // its name is that of one of several
    if (row.eventRow[e] === this.lastRow && Math.abs(xs - this.lastStart) < 0.01) return;
    const left = Math.max(0, xs);
    const width = Math.min(box.width, xe) - left;
    if (width < this.labelWidth) return;
    this.lastRow = row.eventRow[e];
    this.lastStart = xs;
    if (box.y >= box.top) this.labels.push({ x: left, width, y: box.y, height: box.height, name: row.eventName[e], tone, dim });
  }

  end(box: RowBox): void {
    if (this.sum > 0) this.run(this.at, this.at + 1, partsOf(this.sum, box.height), this.tone, box);
    this.flush(box);
    if (!this.flagged) return;
    for (let p = 0; p < box.width; p++) if (this.flags[p] !== 0) this.flag(p, this.flags[p], this.markTone[p], box);
  }

  private flag(p: number, flags: number, tone: Rgba, box: RowBox): void {
    const y = Math.max(box.y, box.top);
    const bottom = box.y + box.height;
    if ((flags & MARK) !== 0) {
      const length = Math.min(bottom, box.y + Math.ceil(box.height * 0.55)) - y;
      if (length > 0) this.marks.add(p, y, 1, length, tone);
      if (box.y >= box.top) this.marks.add(p - 1, box.y, 3, Math.min(3, box.height), tone);
    }
    if ((flags & HIT) !== 0 && bottom > y) this.marks.add(p, y, 1, Math.min(2, bottom - y), box.hit);
  }
}

// A share of a row's height in parts of a pixel: nonzero shares are visible, and only full ones are full.
function partsOf(share: number, height: number): number {
  const full = height * PARTS;
  if (share >= FULL) return full;
  const parts = (share * full + 0.5) | 0;
  return parts < FAINT ? FAINT : parts > full - FAINT ? full - FAINT : parts;
}

function darker(tone: Rgba): Rgba {
  const part = (shift: number): number => Math.round(((tone >>> shift) & 255) * DARKER) << shift;
  return ((tone & 0xff000000) | part(16) | part(8) | part(0)) >>> 0;
}
