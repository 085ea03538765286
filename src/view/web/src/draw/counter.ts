// One series of a counter: in each pixel the band from the least to the greatest of its samples and of the value before
// them; between samples the last value is drawn. Nothing is decimated.
import type { CounterRow } from "../data/model";
import type { Piece } from "./cover";
import { withAlpha, type Rgba } from "./color";
import type { Rects } from "./rects";
import type { RowBox } from "./row";

const BEFORE = 65535; // column of the last sample before the tile

export class CounterPainter {
  private low = new Float64Array(0);
  private high = new Float64Array(0);

  constructor(private readonly bars: Rects) {}

  begin(width: number): void {
    if (this.low.length < width + 2) {
      this.low = new Float64Array(width + 2);
      this.high = new Float64Array(width + 2);
    }
    this.low.fill(Infinity, 0, width + 2);
    this.high.fill(-Infinity, 0, width + 2);
  }

  piece(row: CounterRow, piece: Piece, tileStart: number, columnNs: number, box: RowBox): void {
    const from = Math.max(0, (piece.from - box.from) * box.scale);
    const until = Math.min(box.width, (piece.until - box.from) * box.scale);
    if (until <= from) return;
    const x0 = (tileStart - box.from) * box.scale;
    const columnWidth = columnNs * box.scale;
    let count = row.column.length;
    let value = NaN;
    if (count > 0 && row.column[count - 1] === BEFORE) value = row.last[--count];
    let x = from;
    for (let k = 0; k < count; k++) {
      const a = x0 + row.column[k] * columnWidth;
      if (a >= until) break;
      const b = a + columnWidth;
      if (b > from) {
        this.level(x, Math.max(a, from), value, value);
        const before = Number.isNaN(value) ? row.first[k] : value;
        this.level(Math.max(a, from), Math.min(b, until), Math.min(before, row.min[k]), Math.max(before, row.max[k]));
        x = Math.min(b, until);
      }
      value = row.last[k];
    }
    this.level(x, until, value, value);
  }

  private level(a: number, b: number, low: number, high: number): void {
    if (!(low <= high) || b <= a) return;
    for (let p = Math.floor(a); p < b; p++) {
      if (low < this.low[p]) this.low[p] = low;
      if (high > this.high[p]) this.high[p] = high;
    }
  }

  // The scale always has zero in it: a height is the value.
  end(box: RowBox, min: number, max: number, tone: Rgba, filled = true): void {
    const least = Math.min(0, min);
    const most = Math.max(0, max);
    const perValue = most > least ? (box.height - 1) / (most - least) : 0;
    const zero = box.y + box.height - 1 - Math.round((0 - least) * perValue);
    const fill = withAlpha(tone, 90);
    const place = (value: number): number => {
      const at = box.y + box.height - 1 - Math.round((value - least) * perValue);
      return Math.max(box.y, Math.min(box.y + box.height - 1, at));
    };
    let runAt = 0;
    let runTop = -1;
    let runBottom = -1;
    const flush = (until: number): void => {
      if (runTop < 0 || until <= runAt) return;
      this.clipped(runAt, runTop, until - runAt, runBottom - runTop + 1, tone, box.top);
      if (!filled) return;
      if (zero > runBottom) this.clipped(runAt, runBottom + 1, until - runAt, zero - runBottom, fill, box.top);
      else if (zero < runTop) this.clipped(runAt, zero, until - runAt, runTop - zero, fill, box.top);
    };
    for (let p = 0; p <= box.width; p++) {
      const there = p < box.width && this.low[p] <= this.high[p];
      const top = there ? place(this.high[p]) : -1;
      const bottom = there ? place(this.low[p]) : -1;
      if (top !== runTop || bottom !== runBottom) {
        flush(p);
        runAt = p;
        runTop = top;
        runBottom = bottom;
      }
    }
    flush(box.width);
  }

  private clipped(x: number, y: number, w: number, h: number, tone: Rgba, top: number): void {
    const from = Math.max(y, top);
    if (y + h > from) this.bars.add(x, from, w, y + h - from, tone);
  }
}
