// The tables of reports as the start panel shows them: records by column name, steps with their parts, differences. Pure.
import type { ReportCell, ReportTable } from "../../data/model";

export type Fields = Readonly<Record<string, ReportCell>>;

export function recordsOf(tables: readonly ReportTable[], name: string): Fields[] {
  const table = tables.find((each) => each.name === name);
  return table ? table.rows.map((row) => Object.fromEntries(table.columns.map((column, c) => [column.name, row[c] ?? null]))) : [];
}

export const numberOf = (fields: Fields, name: string): number | null => {
  const cell = fields[name];
  return typeof cell === "number" ? cell : null;
};
export const textOf = (fields: Fields, name: string): string => {
  const cell = fields[name];
  return cell === null || cell === undefined ? "" : String(cell);
};

// Parts of a device's time, as report breakdown names them: they add up to the span.
export const PARTS = [
  ["compute", "compute"], ["exposed_communication", "exposed communication"], ["exposed_copy", "exposed copies"], ["idle", "idle"],
] as const;
export type Part = (typeof PARTS)[number][0];

export interface Parts {
  span: number;
  parts: Record<Part, number>;
  doubt: string; // what these figures rest on and cannot be trusted; "": nothing
}

export interface DeviceParts extends Parts {
  rank: number | null;
  device: number | null;
  process: string;
}

// null: a part is not known.
function partsOf(row: Fields): Parts | null {
  const span = numberOf(row, "span");
  const parts = Object.fromEntries(PARTS.map(([name]) => [name, numberOf(row, name)]));
  if (span === null || Object.values(parts).some((each) => each === null)) return null;
  return { span, parts: parts as Record<Part, number>, doubt: textOf(row, "doubt") };
}

const placeOf = (row: Fields): Omit<DeviceParts, keyof Parts> => ({ rank: numberOf(row, "rank"), device: numberOf(row, "device"), process: textOf(row, "process") });

export function devicesOf(breakdown: readonly Fields[]): DeviceParts[] {
  return breakdown.flatMap((row) => {
    const parts = partsOf(row);
    return parts ? [{ ...placeOf(row), ...parts }] : [];
  });
}

export interface Step extends DeviceParts {
  name: string;
  start: number; // trace time
  duration: number | null; // of the annotation; null: report steps does not have the step
}

// The steps of each device, by start. breakdown: by step.
export function stepsOf(breakdown: readonly Fields[], steps: readonly Fields[]): Step[][] {
  const durations = new Map(steps.map((row) => [`${row.rank} ${row.start}`, numberOf(row, "duration")]));
  const devices = new Map<string, Step[]>();
  for (const row of breakdown) {
    const parts = partsOf(row);
    const start = numberOf(row, "step_start");
    if (!parts || start === null) continue;
    const place = placeOf(row);
    const key = JSON.stringify(place);
    const list = devices.get(key) ?? [];
    list.push({ ...place, ...parts, name: textOf(row, "step"), start, duration: durations.get(`${row.rank} ${start}`) ?? null });
    devices.set(key, list);
  }
  return [...devices.values()].map((list) => numbered(list.sort((a, b) => a.start - b.start)));
}

// Steps of one name, as guessed ones are, get numbers.
function numbered(steps: Step[]): Step[] {
  const isOne = steps.length > 1 && steps.every(({ name }) => name === steps[0]?.name);
  return isOne ? steps.map((step, at) => ({ ...step, name: `${step.name} #${at + 1}` })) : steps;
}

// A step is as long as its annotation, or where none is known as what its GPU activities span.
export const lengthOf = (step: Step): number => step.duration ?? step.span;

// The middle one by length, of an even count the shorter: a step that was, not a mean of two.
export function medianStep(steps: readonly Step[]): Step | null {
  const sorted = [...steps].sort((a, b) => lengthOf(a) - lengthOf(b));
  return sorted[(sorted.length - 1) >> 1] ?? null;
}

export const slowestStep = (steps: readonly Step[]): Step | null =>
  steps.reduce<Step | null>((slowest, step) => (slowest && lengthOf(slowest) >= lengthOf(step) ? slowest : step), null);

// Bars of a strip: at most `most`, each of so many steps one after the other; the longest of them is shown.
export function barsOf(steps: readonly Step[], most: number): { step: Step; of: number; first: number }[] {
  const each = Math.max(1, Math.ceil(steps.length / most));
  const bars = [];
  for (let first = 0; first < steps.length; first += each) {
    const group = steps.slice(first, first + each);
    bars.push({ step: slowestStep(group) as Step, of: group.length, first });
  }
  return bars;
}

export interface Change {
  name: string;
  there: number; // in the step
  usual: number; // in the other
}

// Sums of `value` by `name` in the two steps, the largest difference first.
export function changesOf(rows: readonly Fields[], name: string, value: string, step: Step, other: Step): Change[] {
  const changes = new Map<string, Change>();
  for (const row of rows) {
    const sum = numberOf(row, value);
    if (sum === null || numberOf(row, "rank") !== step.rank) continue;
    const change = changes.get(textOf(row, name)) ?? { name: textOf(row, name), there: 0, usual: 0 };
    if (row.step_start === step.start) change.there += sum;
    else if (row.step_start === other.start) change.usual += sum;
    else continue;
    changes.set(change.name, change);
  }
  const difference = ({ there, usual }: Change): number => Math.abs(there - usual);
  return [...changes.values()].filter((change) => change.there !== 0 || change.usual !== 0).sort((a, b) => difference(b) - difference(a));
}

// The last part of a step's name where that is a number: "ProfilerStep#12" is "#12".
export const shortStep = (name: string): string => /#\d+$/.exec(name)?.[0] ?? name;
