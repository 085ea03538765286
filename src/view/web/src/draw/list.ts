// The draw list: layers of rectangles, from back to front, and texts. Made for each frame from the state, the layout
// and loaded data (compose.ts); a backend draws it.
import type { TraceId } from "../data/model";
import { Rects } from "./rects";
import type { LabelSpot } from "./row";

export interface Text {
  text: string;
  x: number;
  y: number; // of the middle
  tone: number;
  align: "left" | "right" | "center";
  boxed: boolean; // on a ground of the page's colour
}

export interface Curve {
  x0: number;
  y0: number;
  x1: number;
  y1: number;
  backward: boolean;
}

// A collective across tracks, from the upper to the lower: its position on each, and the arrival of its last rank.
export interface Band {
  spots: { x0: number; x1: number; y: number; half: number }[];
  strong: boolean;
  last: number | null;
}

export class DrawList {
  width = 0;
  height = 0;
  ratio = 1; // device px a CSS px
  readonly background = new Rects(256);
  readonly bars = new Rects(1 << 15);
  readonly marks = new Rects(1 << 13);
  readonly hatches = new Rects(64);
  readonly overlay = new Rects(256);
  readonly labels = new Map<TraceId, LabelSpot[]>();
  readonly texts: Text[] = [];
  readonly curves: Curve[] = [];
  readonly bands: Band[] = [];
  rows = 0; // rows of tracks that are in view
  private kept = 0; // texts of the picture, without overlays

  clear(width: number, height: number, ratio: number): void {
    this.width = width;
    this.height = height;
    this.ratio = ratio;
    for (const layer of this.layers()) layer.clear();
    for (const spots of this.labels.values()) spots.length = 0;
    this.texts.length = 0;
    this.curves.length = this.bands.length = 0;
    this.rows = this.kept = 0;
  }

  // The picture is complete: further items are overlays and are cleared separately.
  keep(): void {
    this.kept = this.texts.length;
  }

  clearOver(): void {
    this.overlay.clear();
    this.texts.length = this.kept;
    this.curves.length = this.bands.length = 0;
  }

  layers(): Rects[] {
    return [this.background, this.bars, this.marks, this.hatches, this.overlay];
  }

  labelsOf(trace: TraceId): LabelSpot[] {
    let spots = this.labels.get(trace);
    if (!spots) this.labels.set(trace, (spots = []));
    return spots;
  }
}
