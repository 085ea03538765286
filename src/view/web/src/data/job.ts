// A job: what each rank did in each step, as figures in rows (ranks) and columns (steps). Pure: reports in, a job out.
import type { ReportCell, ReportTable, TraceId } from "./model";

export const MEASURES = ["time", "exposed", "idle", "late"] as const;
export type Measure = (typeof MEASURES)[number];

export interface JobRow {
  name: string; // "rank 3", with the device where a rank has several
  rank: number | null;
  host: string; // "": not known
  trace: TraceId | null; // null: not open
}

// Figures are ns, of row r and step s at r * steps.length + s; NaN: not known.
export interface Job {
  rows: JobRow[];
  steps: string[];
  figures: Record<Measure, Float64Array>;
  start: Float64Array; // of the step, in its trace's time
  notes: string[]; // what is not told, for people
}

// What a trace says: the tables steps, breakdown and collectives of reports that were asked for by step.
export interface StepTables {
  trace: TraceId;
  rank: number | null;
  host: string;
  tables: readonly ReportTable[];
}

// Rows of a table with the cells of some columns, in that order; null where there is no such column.
function cellsOf({ tables }: StepTables, name: string, ...columns: string[]): ReportCell[][] {
  const table = tables.find((each) => each.name === name);
  const at = columns.map((column) => table?.columns.findIndex((each) => each.name === column) ?? -1);
  return (table?.rows ?? []).map((row) => at.map((index) => row[index] ?? null));
}

const isCut = ({ tables }: StepTables): boolean => tables.some((table) => table.count > table.rows.length);

// What becomes a row: a device of a rank of a trace.
interface Place {
  trace: TraceId;
  rank: number | null;
  device: number | null;
  host: string;
  cells: Map<number, StepOf>; // by the start of the step
  names: Map<string, number>; // how often each was met
}

interface StepOf {
  name: string;
  span: number;
  exposed: number;
  idle: number;
}

class Places {
  readonly all = new Map<string, Place>();

  at(of: StepTables, own: ReportCell, number: ReportCell): Place {
    const [rank, device] = [(own as number | null) ?? of.rank, number as number | null];
    const key = `${of.trace}/${rank}/${device}`;
    let place = this.all.get(key);
    if (!place) this.all.set(key, (place = { trace: of.trace, rank, device, host: of.host, cells: new Map(), names: new Map() }));
    return place;
  }
}

// A name that comes again in a row is another step.
function addSteps(places: Places, of: StepTables): void {
  for (const [rank, device, step, start, span, exposed, idle] of cellsOf(of, "breakdown", "rank", "device", "step", "step_start", "span", "exposed_communication", "idle")) {
    if (step === null) continue;
    const place = places.at(of, rank as ReportCell, device as ReportCell);
    const times = (place.names.get(String(step)) ?? 0) + 1;
    place.names.set(String(step), times);
    place.cells.set(Number(start), { name: times > 1 ? `${step} (${times})` : String(step), span: Number(span), exposed: Number(exposed), idle: Number(idle) });
  }
}

const numberOf = (name: string): number => Number(/(\d+)\D*$/.exec(name)?.[1] ?? NaN);

// By the numbers in their names where all have one, else as they were met.
function sortedSteps(names: Set<string>): string[] {
  const all = [...names];
  return all.some((name) => Number.isNaN(numberOf(name)) || name.endsWith(")")) ? all : all.sort((a, b) => numberOf(a) - numberOf(b));
}

const order = (a: number | null, b: number | null): number => (a ?? Infinity) === (b ?? Infinity) ? 0 : (a ?? Infinity) - (b ?? Infinity);

function rowOf(place: Place, sorted: readonly Place[], at: number): JobRow {
  const { trace, rank, device, host } = place;
  const several = [sorted[at - 1], sorted[at + 1]].some((other) => other?.trace === trace && other.rank === rank);
  const name = rank === null ? `trace ${trace}` : `rank ${rank}`;
  return { name: several ? `${name}, device ${device}` : name, rank, host, trace };
}

interface Arrival {
  at: number; // of its cell
  duration: number;
  what: string; // must be the same on all ranks
  size: number; // of the group; 0: not known
}

// Lateness without clocks: who comes last to a collective spends the least time in it, so it came later than the first
// by the longest duration less its own; of a step the most of any collective. Matched by the number within the group,
// which holds only where all ranks have as many, of the same kinds and sizes; false: that is not so for some group.
function fillLateness(late: Float64Array, groups: Map<string, Map<Place, Arrival[]>>): boolean {
  let all = true;
  for (const ranks of groups.values()) {
    const lists = [...ranks.values()];
    const first = lists[0] ?? [];
    if (lists.length < 2) continue;
    if ((first[0]?.size && lists.length > first[0].size) || lists.some((list) => list.length !== first.length || list.some((each, k) => each.what !== first[k]?.what))) {
      all = false;
      continue;
    }
    first.forEach((_, k) => {
      const longest = lists.reduce((most, list) => Math.max(most, list[k]?.duration ?? 0), 0);
      for (const { at, duration } of lists.flatMap((list) => list[k] ?? [])) {
        if (at >= 0) late[at] = Math.max(Number.isNaN(late[at]) ? 0 : late[at] as number, longest - duration);
      }
    });
  }
  return all;
}

// By group, and by row within it.
function arrivalsOf(traces: readonly StepTables[], places: Places, cellAt: (place: Place, start: number) => number): Map<string, Map<Place, Arrival[]>> {
  const groups = new Map<string, Map<Place, Arrival[]>>();
  for (const of of traces) {
    for (const [rank, device, step, start, group, ranks, size, duration, ...what] of cellsOf(of, "collectives",
      "rank", "device", "step", "step_start", "group", "ranks", "size", "duration", "collective", "dtype", "in", "out")) {
      if ((ranks ?? group ?? null) === null) continue;
      const place = places.at(of, rank as ReportCell, device as ReportCell);
      const key = `${group}/${ranks}`;
      let members = groups.get(key);
      if (!members) groups.set(key, (members = new Map()));
      const list = members.get(place) ?? [];
      list.push({ at: step === null ? -1 : cellAt(place, Number(start)), duration: Number(duration), size: Number(size), what: what.join("/") });
      members.set(place, list);
    }
  }
  return groups;
}

// The durations of steps by where they start, of each rank of a trace.
function durationsOf(traces: readonly StepTables[]): (place: Place, start: number) => number | undefined {
  const found = new Map<string, Map<number, number>>();
  for (const of of traces) {
    for (const [rank, start, duration] of cellsOf(of, "steps", "rank", "start", "duration")) {
      const key = `${of.trace}/${rank ?? of.rank}`;
      let steps = found.get(key);
      if (!steps) found.set(key, (steps = new Map()));
      steps.set(Number(start), Number(duration));
    }
  }
  return (place, start) => found.get(`${place.trace}/${place.rank}`)?.get(start);
}

export function jobOfTables(traces: readonly StepTables[]): Job {
  const places = new Places();
  for (const of of traces) addSteps(places, of);
  const sorted = [...places.all.values()].sort((a, b) => order(a.rank, b.rank) || a.trace - b.trace || order(a.device, b.device));
  const steps = sortedSteps(new Set(sorted.flatMap((place) => [...place.cells.values()].map(({ name }) => name))));
  const empty = (): Float64Array => new Float64Array(sorted.length * steps.length).fill(NaN);
  const job: Job = { rows: sorted.map((place, at) => rowOf(place, sorted, at)), steps, figures: { time: empty(), exposed: empty(), idle: empty(), late: empty() }, start: empty(), notes: [] };
  const [rowAt, stepAt, durationOf] = [new Map(sorted.map((place, at) => [place, at])), new Map(steps.map((name, at) => [name, at])), durationsOf(traces)];
  const cellAt = (place: Place, start: number): number => {
    const step = place.cells.get(start);
    return step ? (rowAt.get(place) ?? 0) * steps.length + (stepAt.get(step.name) ?? 0) : -1;
  };
  for (const place of sorted) {
    for (const [start, { span, exposed, idle }] of place.cells) {
      const at = cellAt(place, start);
      job.start[at] = start;
      job.figures.time[at] = durationOf(place, start) ?? span;
      job.figures.exposed[at] = exposed;
      job.figures.idle[at] = idle;
    }
  }
  if (!fillLateness(job.figures.late, arrivalsOf(traces.filter((of) => !isCut(of)), places, cellAt))) {
    job.notes.push("Ranks of a group differ in their collectives: no lateness of those is told.");
  }
  if (traces.some(isCut)) job.notes.push("Of some traces only the first rows of a report are here: later steps, and lateness, are not told.");
  return job;
}
