// Changes of the view: zoom, pan, fit and transitions. Pure: ranges in, ranges out. Ranges are doubles of ns relative
// to the origin, so that below 2^53 ns (104 days) a pixel of 0.1 ns is still representable.
import type { Range } from "../state";

export const MIN_NS_PER_PX = 0.1;
const MAX_OF_WHOLE = 1.1; // of the whole that can be in view
export const ANIMATION_MS = 180;

export const spanOf = (range: Range): number => range.until - range.from;
export const middleOf = (range: Range): number => range.from + spanOf(range) / 2;
export const sameRange = (a: Range, b: Range): boolean => a.from === b.from && a.until === b.until;

// How little and how much can be in view of a canvas of that width.
export function spanLimits(whole: Range, width: number): { min: number; max: number } {
  const span = Math.max(spanOf(whole), 1);
  // Doubles far from the origin are less dense: a view is never narrower than 64 of them.
  const gap = Math.max(Math.abs(whole.from), Math.abs(whole.until)) * Number.EPSILON;
  const min = Math.max(Math.max(width, 1) * MIN_NS_PER_PX, gap * 64);
  return { min, max: Math.max(span * MAX_OF_WHOLE, min) };
}

// The nearest valid view: not too narrow, not too wide, and only a little outside of the whole.
export function clampRange(range: Range, whole: Range, width: number): Range {
  const { min, max } = spanLimits(whole, width);
  if (!Number.isFinite(range.from) || !Number.isFinite(range.until)) return fitRange(whole, whole, width, 0);
  const wanted = spanOf(range);
  const span = Math.min(Math.max(wanted, min), max);
  let from = span === wanted ? range.from : middleOf(range) - span / 2;
  const wholeSpan = Math.max(spanOf(whole), 1);
  // Outside of the whole there is room for half a view, so that its ends can be in the middle, but at most 5 %.
  const room = Math.max(Math.min(wholeSpan * ((MAX_OF_WHOLE - 1) / 2), span / 2), (span - wholeSpan) / 2);
  from = Math.min(Math.max(from, whole.from - room), Math.max(whole.until + room - span, whole.from - room));
  return { from, until: from + span };
}

// `factor` above 1 shows less: the time stays under the same pixel.
export function zoomAt(range: Range, whole: Range, width: number, time: number, factor: number): Range {
  const { min, max } = spanLimits(whole, width);
  const span = spanOf(range);
  const next = Math.min(Math.max(span / factor, min), max);
  if (next === span) return range;
  const from = time - (time - range.from) * (next / span);
  return clampRange({ from, until: from + next }, whole, width);
}

// `share` of the view: positive goes to later times.
export function panBy(range: Range, whole: Range, width: number, share: number): Range {
  const step = spanOf(range) * share;
  return clampRange({ from: range.from + step, until: range.until + step }, whole, width);
}

// The view of `target` with a margin (a share of it) on both sides.
export function fitRange(target: Range, whole: Range, width: number, margin = 0.05): Range {
  const { min, max } = spanLimits(whole, width);
  const span = Math.min(Math.max(spanOf(target) * (1 + 2 * margin), min), max);
  const from = middleOf(target) - span / 2;
  const fitted = { from, until: from + span };
  return target === whole ? fitted : clampRange(fitted, whole, width);
}

// The view that shows `target` with the least change: unchanged, else panned, else fitted.
export function reveal(range: Range, target: Range, whole: Range, width: number): Range {
  const span = spanOf(range);
  const length = spanOf(target);
  if (target.until > range.from && target.from < range.until) {
    const seen = Math.min(target.until, range.until) - Math.max(target.from, range.from);
    if (seen >= length || length > span) return range;
  }
  if (length > span * 0.9) return fitRange(target, whole, width);
  const from = middleOf(target) - span / 2;
  return clampRange({ from, until: from + span }, whole, width);
}

export const timeAt = (range: Range, width: number, x: number): number =>
  range.from + (x / Math.max(width, 1)) * spanOf(range);
export const xAt = (range: Range, width: number, time: number): number =>
  ((time - range.from) / spanOf(range)) * width;

// Between two views at 0 ≤ t ≤ 1: spans change exponentially, so that it looks uniform, and the fixed point (there is
// one if spans differ) does not move.
export function between(from: Range, until: Range, t: number): Range {
  if (t <= 0) return from;
  if (t >= 1) return until;
  const eased = t * t * (3 - 2 * t);
  const a = spanOf(from);
  const b = spanOf(until);
  const span = a * Math.pow(b / a, eased);
  // Progress of the start: linear if spans are equal, else by the progress of the span.
  const share = Math.abs(a - b) < 1e-6 * a ? eased : (a - span) / (a - b);
  const start = from.from + (until.from - from.from) * share;
  return { from: start, until: start + span };
}

// ---- held keys: how fast the view moves while they are down ----

export interface Motion {
  zoom: number; // e-folds per second, positive shows less
  pan: number; // views per second
  scroll: number; // px per second
}

export const STILL: Motion = { zoom: 0, pan: 0, scroll: 0 };

export function addMotions(motions: Iterable<Motion>): Motion {
  const sum = { ...STILL };
  for (const motion of motions) {
    sum.zoom += motion.zoom;
    sum.pan += motion.pan;
    sum.scroll += motion.scroll;
  }
  return sum;
}

export const isStill = (motion: Motion): boolean => motion.zoom === 0 && motion.pan === 0 && motion.scroll === 0;

// The view after `seconds` of that motion; zoom is about `anchor`.
export function moved(range: Range, whole: Range, width: number, anchor: number, motion: Motion, seconds: number): Range {
  let next = range;
  if (motion.zoom !== 0) next = zoomAt(next, whole, width, anchor, Math.exp(motion.zoom * seconds));
  if (motion.pan !== 0) next = panBy(next, whole, width, motion.pan * seconds);
  return next;
}

// ---- two fingers ----

// The view in which the times that were under two fingers (at x of `before`) are under them now.
export function pinched(
  range: Range, whole: Range, width: number, before: [number, number], now: [number, number],
): Range {
  const timeA = timeAt(range, width, before[0]);
  const timeB = timeAt(range, width, before[1]);
  const apart = now[1] - now[0];
  const wasApart = before[1] - before[0];
  // Fingers on top of each other, or that changed sides: only pan.
  if (Math.abs(wasApart) < 8 || apart / wasApart <= 0.05) {
    const shift = (now[0] + now[1] - before[0] - before[1]) / 2;
    return panBy(range, whole, width, -shift / Math.max(width, 1));
  }
  const perPx = (timeB - timeA) / apart;
  const from = timeA - now[0] * perPx;
  const { min, max } = spanLimits(whole, width);
  const span = perPx * width;
  if (span >= min && span <= max) return clampRange({ from, until: from + span }, whole, width);
  return zoomAt(range, whole, width, (timeA + timeB) / 2, spanOf(range) / span);
}

// A wheel event in px; deltaMode 1 counts lines, 2 pages.
export function wheelPx(delta: number, mode: number, page: number): number {
  const px = mode === 1 ? delta * 18 : mode === 2 ? delta * page : delta;
  return Math.max(-page, Math.min(page, px));
}

export const wheelZoom = (px: number): number => Math.exp(-px * 0.0035);
