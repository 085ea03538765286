// Texts on a 2D canvas above the bars: labels of slices, cut to fit, bands of collectives and curves of flows. Widths are measured once a text.
import type { Names } from "../data/names";
import { css, lightness, type Rgba, type Theme } from "./color";
import type { Band, Curve, DrawList, Text } from "./list";
import { scale } from "../scale";
import type { LabelSpot } from "./row";

const LABELS = 2000; // a frame at most: the widest come first where there are more
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]/;
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

// One line, without characters that change the direction of adjacent text.
export function safeText(text: string): string {
  const flat = text.replace(CONTROL, " ");
  return RIGHT_TO_LEFT.test(flat) ? `\u2068${flat}\u2069` : flat;
}

// The longest prefix of a text that fits with "…" after it; "" if fewer than three letters fit.
export function cutText(text: string, width: number, measure: (text: string) => number): string {
  if (measure(text) <= width) return text;
  const letters = Array.from(text.length > 400 ? text.slice(0, 400) : text);
  let low = 0;
  let high = letters.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (measure(`${letters.slice(0, middle).join("")}…`) <= width) low = middle;
    else high = middle - 1;
  }
  return low < 2 ? "" : `${letters.slice(0, low).join("")}…`;
}

interface CutName {
  raw: string;
  full: number; // width of the whole
  letter: number; // mean width of a letter
  cuts: Map<number, string>; // by width in steps of some px
}

export class TextPainter {
  private readonly context: CanvasRenderingContext2D;
  private readonly cache = new Map<string, CutName>();
  private readonly tones = new Map<Rgba, boolean>();
  private font = "";

  constructor(readonly canvas: HTMLCanvasElement) {
    const found = canvas.getContext("2d");
    if (!found) throw new Error("this browser has no canvas");
    this.context = found;
  }

  draw(list: DrawList, theme: Theme, names: Names): void {
    const { canvas, context } = this;
    if (canvas.width !== list.width || canvas.height !== list.height) {
      canvas.width = list.width;
      canvas.height = list.height;
    } else {
      context.clearRect(0, 0, list.width, list.height);
    }
    const font = `${Math.round(11 * scale.value * list.ratio)}px system-ui, "Segoe UI", "Noto Sans", "DejaVu Sans", sans-serif`;
    if (font !== this.font) this.cache.clear();
    this.font = font;
    context.font = font;
    context.textBaseline = "middle";
    context.direction = "ltr";
    context.textAlign = "left";
    for (const [trace, spots] of list.labels) this.labels(trace, spots, list, theme, names);
    for (const text of list.texts) this.text(text, list, theme);
    this.bands(list.bands, list, theme);
    this.curves(list.curves, list, theme);
  }

  // Texts of the labels that were drawn, for tests: as many as there is room for.
  fitted(text: string, width: number): string {
    const cut = this.cutOf(text);
    if (cut.full <= width) return cut.raw;
    const step = Math.floor(width / 6);
    let found = cut.cuts.get(step);
    if (found === undefined) {
      found = cutText(cut.raw, step * 6, (part) => this.context.measureText(part).width);
      cut.cuts.set(step, found);
    }
    return found;
  }

  private cutOf(text: string): CutName {
    let cut = this.cache.get(text);
    if (!cut) {
      if (this.cache.size > 5000) this.cache.clear();
      const raw = safeText(text);
      const full = this.context.measureText(raw).width;
      cut = { raw, full, letter: full / Math.max(1, raw.length), cuts: new Map() };
      this.cache.set(text, cut);
    }
    return cut;
  }

  private labels(trace: number, spots: LabelSpot[], list: DrawList, theme: Theme, names: Names): void {
    const { context } = this;
    const pad = 4 * list.ratio;
    if (spots.length > LABELS) {
      spots.sort((a, b) => b.width - a.width);
      spots.length = LABELS;
    }
    const light = css(theme.dark ? theme.text : theme.background);
    const dark = css(theme.dark ? theme.background : theme.text);
    // Texts of one colour together, since changing it is expensive.
    for (const style of [dark, light, css(theme.muted)]) {
      context.fillStyle = style;
      for (const spot of spots) {
        const own = spot.dim ? 2 : this.isLight(spot.tone) ? 0 : 1;
        if (own !== (style === dark ? 0 : style === light ? 1 : 2)) continue;
        const text = names.label(trace, spot.name);
        if (text === "") continue;
        const fitted = this.fitted(text, spot.width - 2 * pad);
        if (fitted !== "") context.fillText(fitted, spot.x + pad, spot.y + spot.height / 2 + list.ratio / 2);
      }
    }
  }

  private isLight(tone: Rgba): boolean {
    let light = this.tones.get(tone);
    if (light === undefined) {
      if (this.tones.size > 5000) this.tones.clear();
      this.tones.set(tone, (light = lightness(tone) > 0.6));
    }
    return light;
  }

  private text(text: Text, list: DrawList, theme: Theme): void {
    const { context } = this;
    const shown = safeText(text.text);
    const width = context.measureText(shown).width;
    const left = text.align === "left" ? text.x : text.align === "right" ? text.x - width : text.x - width / 2;
    if (text.boxed) {
      const height = 14 * list.ratio;
      context.fillStyle = css(theme.background);
      context.globalAlpha = 0.82;
      context.fillRect(left - 3 * list.ratio, text.y - height / 2, width + 6 * list.ratio, height);
      context.globalAlpha = 1;
    }
    context.fillStyle = css(text.tone);
    context.fillText(shown, left, text.y);
  }

  // A band between adjacent tracks of a collective, with lines from start to start and from end to end; for a selected
  // one a dashed line at the last arrival, which all bars left of it waited for.
  private bands(bands: readonly Band[], { ratio }: DrawList, theme: Theme): void {
    const { context } = this;
    context.strokeStyle = context.fillStyle = css(theme.accent);
    for (const { spots, strong, last } of bands) {
      context.lineWidth = ratio;
      const path = (edge: "x0" | "x1"): void => {
        spots.forEach((spot, at) => {
          if (at === 0) context.moveTo(spot[edge], spot.y - spot.half);
          else context.lineTo(spot[edge], spot.y - spot.half);
          context.lineTo(spot[edge], spot.y + spot.half);
        });
      };
      context.beginPath();
      for (let at = 1; at < spots.length; at++) {
        const [a, b] = [spots[at - 1], spots[at]] as [Band["spots"][0], Band["spots"][0]];
        context.moveTo(a.x0, a.y + a.half);
        context.lineTo(b.x0, b.y - b.half);
        context.lineTo(b.x1, b.y - b.half);
        context.lineTo(a.x1, a.y + a.half);
        context.closePath();
      }
      context.globalAlpha = strong ? 0.22 : 0.1;
      context.fill();
      context.globalAlpha = strong ? 0.95 : 0.5;
      context.beginPath();
      path("x0");
      path("x1");
      if (strong) { // on a background colour, since bars may have the line's colour
        context.strokeStyle = css(theme.background);
        context.lineWidth = 4 * ratio;
        context.stroke();
        context.strokeStyle = css(theme.accent);
        context.lineWidth = 1.6 * ratio;
      }
      context.stroke();
      const [first, end] = [spots[0], spots[spots.length - 1]];
      if (last === null || !first || !end) continue;
      context.setLineDash([3 * ratio, 3 * ratio]);
      context.beginPath();
      context.moveTo(last, first.y - first.half);
      context.lineTo(last, end.y + end.half);
      context.stroke();
      context.setLineDash([]);
    }
    context.globalAlpha = 1;
  }

  // Arrows from the end of one to the start of the other; dashed if they run backward in time.
  private curves(curves: readonly Curve[], list: DrawList, theme: Theme): void {
    if (curves.length === 0) return;
    const { context } = this;
    const { ratio } = list;
    context.strokeStyle = context.fillStyle = css(theme.accent);
    context.lineWidth = 1.2 * ratio;
    context.globalAlpha = curves.length > 200 ? 0.45 : 0.85;
    for (const backward of [false, true]) {
      context.setLineDash(backward ? [4 * ratio, 3 * ratio] : []);
      context.beginPath();
      for (const curve of curves) {
        if (curve.backward !== backward) continue;
        const bend = Math.max(12 * ratio, Math.min(80 * ratio, Math.abs(curve.x1 - curve.x0) / 2));
        context.moveTo(curve.x0, curve.y0);
        context.bezierCurveTo(curve.x0 + bend, curve.y0, curve.x1 - bend, curve.y1, curve.x1, curve.y1);
      }
      context.stroke();
    }
    context.setLineDash([]);
    context.beginPath();
    for (const { x1, y1 } of curves) {
      context.moveTo(x1, y1);
      context.lineTo(x1 - 6 * ratio, y1 - 3 * ratio);
      context.lineTo(x1 - 6 * ratio, y1 + 3 * ratio);
      context.closePath();
    }
    context.fill();
    context.globalAlpha = 1;
  }
}
