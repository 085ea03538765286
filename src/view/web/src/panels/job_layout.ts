// The heat map of a job without pixels: figures, order, scale, and hit testing. Pure.
import type { Dimension, Job, Measure } from "../data/job";

export type Order = "rank" | "host" | "most" | Dimension;

export interface Window {
  from: number; // the first of the rows in view, in their order
  count: number;
}

const median = (values: number[]): number => {
  const sorted = values.sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  if (sorted.length === 0) return NaN;
  return sorted.length % 2 ? sorted[middle] as number : ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2;
};

const column = (figures: Float64Array, steps: number, step: number): number[] => {
  const values: number[] = [];
  for (let at = step; at < figures.length; at += steps) if (!Number.isNaN(figures[at])) values.push(figures[at] as number);
  return values;
};

// The figures shown by colours: absolute, or relative to the median of the step, so that a step that is slow on all
// ranks does not hide a single slow rank.
export function shownFigures(job: Job, measure: Measure, against: boolean): Float64Array {
  const figures = job.figures[measure];
  if (!against) return figures;
  const shown = new Float64Array(figures.length);
  for (let step = 0; step < job.steps.length; step++) {
    const middle = median(column(figures, job.steps.length, step));
    for (let at = step; at < figures.length; at += job.steps.length) shown[at] = (figures[at] as number) - middle;
  }
  return shown;
}

const SAMPLE_RANKS = 64;
const FAR = 3; // times the quartiles' distance from them

// Whether a step is as long as steps are: the first, which compiles, or the last, which the recording cut, may not be.
function usualSteps(figures: Float64Array, steps: number): boolean[] {
  const stride = steps * Math.ceil(figures.length / steps / SAMPLE_RANKS);
  const middles = Array.from({ length: steps }, (_, step) => median(column(figures, stride, step)));
  const known = middles.filter((middle) => !Number.isNaN(middle)).sort((a, b) => a - b);
  const quartile = (part: number): number => known[Math.round((known.length - 1) * part)] as number;
  const fence = FAR * (quartile(0.75) - quartile(0.25));
  return middles.map((middle) => !(middle < quartile(0.25) - fence || middle > quartile(0.75) + fence));
}

export interface Extent {
  low: number;
  high: number;
  isBelow: boolean; // there is less than that, with the same colour
  isAbove: boolean;
}

// The range of colours: all figures of usual steps. Null: none known.
export function extentOf(figures: Float64Array, steps: number): Extent | null {
  const isUsual = usualSteps(figures, steps);
  let [low, high, least, most] = [Infinity, -Infinity, Infinity, -Infinity];
  for (let at = 0; at < figures.length; at++) {
    const figure = figures[at] as number;
    if (figure < least) least = figure;
    if (figure > most) most = figure;
    if ((figure >= low && figure <= high) || !isUsual[at % steps]) continue;
    if (figure < low) low = figure;
    if (figure > high) high = figure;
  }
  if (!(low < high)) [low, high] = [least, most];
  return least <= most ? { low, high, isBelow: least < low, isAbove: most > high } : null;
}

// How many ranks are there, and of how many if some are missing.
export function countRanks({ rows, world }: Job): [there: number, of: number | null] {
  const there = new Set(rows.map(({ rank }, at) => (rank === null ? `row ${at}` : rank))).size;
  return [there, world !== null && world > there ? world : null];
}

// The group of a row in an order, as a text; null: the order has none.
export function groupsOf(job: Job, by: Order): ((row: number) => string) | null {
  if (by === "rank" || by === "most") return null;
  if (by === "host") return (row) => job.rows[row]?.host ?? "";
  const at = job.roles.find((each) => each.name === by)?.at;
  return (row) => (typeof at?.[row] === "number" ? `${by} ${at[row]}` : `${by} none`);
}

export function orderOf(job: Job, by: Order, figures: Float64Array): number[] {
  const rows = job.rows.map((_, row) => row);
  const groupOf = groupsOf(job, by);
  if (groupOf) {
    const groups = rows.map(groupOf);
    const { compare } = new Intl.Collator("en", { numeric: true });
    return rows.sort((a, b) => compare(groups[a] as string, groups[b] as string) || a - b);
  }
  if (by === "rank") return rows;
  const sums = rows.map((row) => figures.subarray(row * job.steps.length, (row + 1) * job.steps.length).reduce((sum, each) => sum + (Number.isNaN(each) ? 0 : each), 0));
  return rows.sort((a, b) => (sums[b] as number) - (sums[a] as number) || a - b);
}

// From the theme's background to the most prominent colour; lightness alone distinguishes them, for any colour vision.
const LIGHT = [0xf1f3d6, 0xc9dfb8, 0x86c2b8, 0x4a9fbf, 0x2f74ab, 0x274a8c, 0x14235c];
const DARK = [0x00224e, 0x123570, 0x3b496c, 0x575d6d, 0x707173, 0x8a8678, 0xa59c74, 0xc3b369, 0xe1cc55, 0xfee838]; // cividis

export function colorAt(share: number, dark: boolean): [number, number, number] {
  const stops = dark ? DARK : LIGHT;
  const place = Math.min(1, Math.max(0, share)) * (stops.length - 1);
  const below = Math.min(stops.length - 2, Math.floor(place));
  const [a, b] = [stops[below] as number, stops[below + 1] as number];
  const mix = (shift: number): number => Math.round(((a >> shift) & 255) + (((b >> shift) & 255) - ((a >> shift) & 255)) * (place - below));
  return [mix(16), mix(8), mix(0)];
}

// The largest figure of each of width x height fields, row by row: if there are more ranks or steps than pixels,
// outliers stay visible. NaN if none is known.
export function fieldsOf(figures: Float64Array, steps: number, order: readonly number[], { from, count }: Window, width: number, height: number): Float64Array {
  const fields = new Float64Array(width * height).fill(NaN);
  const columns = Uint32Array.from({ length: steps }, (_, step) => Math.floor((step * width) / steps));
  for (let at = 0; at < count; at++) {
    const first = (order[from + at] as number) * steps;
    const top = Math.floor((at * height) / count) * width;
    for (let step = 0; step < steps; step++) {
      const figure = figures[first + step] as number;
      const field = top + (columns[step] as number);
      if (!(figure <= (fields[field] as number))) fields[field] = Number.isNaN(figure) ? fields[field] as number : figure;
    }
  }
  return fields;
}

// Row and step of a field's figure, the first of several; if none is known, the first in it.
export function cellOf(figures: Float64Array, steps: number, order: readonly number[], { from, count }: Window, width: number, height: number, x: number, y: number): { row: number; step: number } | null {
  let [found, most] = [null as { row: number; step: number } | null, NaN];
  for (let at = Math.ceil((y * count) / height); at < count && Math.floor((at * height) / count) === y; at++) {
    for (let step = Math.ceil((x * steps) / width); step < steps && Math.floor((step * width) / steps) === x; step++) {
      const row = order[from + at] as number;
      const figure = figures[row * steps + step] as number;
      if (found === null || figure > most || (Number.isNaN(most) && !Number.isNaN(figure))) [found, most] = [{ row, step }, figure];
    }
  }
  return found;
}

// The window zoomed by a share of the rows, around the one at `pointer` (0 to 1 of the height).
export function zoomed({ from, count }: Window, all: number, factor: number, pointer: number): Window {
  const next = Math.min(all, Math.max(Math.min(all, 4), Math.round(count * factor)));
  const first = Math.round(from + pointer * count - pointer * next);
  return { from: Math.min(all - next, Math.max(0, first)), count: next };
}

// The window moved so that a row of the order is in it.
export function showing(window: Window, place: number): Window {
  const from = Math.min(place, Math.max(window.from, place - window.count + 1));
  return { from, count: window.count };
}

// Ranks that do the same work: all positions are equal, except the data-parallel one.
export const isAlike = (job: Job, a: number, b: number): boolean => job.roles.every(({ name, at }) => name === "dp" || at[a] === at[b]);

// Rows to compare a row with in a step: of those that do the same work, if any, the median and the smallest one,
// without duplicates and without itself.
export function peersOf(job: Job, measure: Measure, row: number, step: number): number[] {
  const [figures, steps] = [job.figures[measure], job.steps.length];
  const rows: number[] = [];
  for (let each = 0; each * steps < figures.length; each++) if (!Number.isNaN(figures[each * steps + step])) rows.push(each);
  rows.sort((a, b) => (figures[a * steps + step] as number) - (figures[b * steps + step] as number) || a - b);
  const alike = rows.filter((each) => each !== row && isAlike(job, each, row));
  const others = alike.length > 0 ? alike : rows.filter((each) => each !== row);
  return [...new Set([others[others.length >> 1], others[0]])].filter((each): each is number => each !== undefined);
}
