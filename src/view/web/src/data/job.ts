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

type Cells = Record<string, ReportCell>;

function rowsOf({ tables }: StepTables, name: string): Cells[] {
  const table = tables.find((each) => each.name === name);
  return (table?.rows ?? []).map((row) => Object.fromEntries(table?.columns.map((column, at) => [column.name, row[at] ?? null]) ?? []));
}

const isCut = ({ tables }: StepTables): boolean => tables.some((table) => table.count > table.rows.length);

interface Place {
  trace: TraceId;
  rank: number | null;
  device: number | null;
  host: string;
}

const placeOf = (of: StepTables, row: Cells): Place =>
  ({ trace: of.trace, host: of.host, rank: (row.rank as number | null) ?? of.rank, device: (row.device as number | null) ?? null });
const keyOf = (place: Place): string => `${place.trace}/${place.rank}/${place.device}`;

// Steps have names; one that comes again in the same row is another step.
interface StepOf {
  place: Place;
  name: string;
  start: number;
  row: Cells;
}

function stepsOf(of: StepTables): StepOf[] {
  const seen = new Map<string, number>();
  return rowsOf(of, "breakdown").filter((row) => row.step !== null).map((row) => {
    const place = placeOf(of, row);
    const key = `${keyOf(place)}/${row.step}`;
    const times = (seen.get(key) ?? 0) + 1;
    seen.set(key, times);
    return { place, name: times > 1 ? `${row.step} (${times})` : String(row.step), start: Number(row.step_start), row };
  });
}

const numberOf = (name: string): number => Number(/(\d+)\D*$/.exec(name)?.[1] ?? NaN);

// By the numbers in their names where all have one, else as they were met.
function sortedSteps(names: Set<string>): string[] {
  const all = [...names];
  return all.some((name) => Number.isNaN(numberOf(name)) || name.endsWith(")")) ? all : all.sort((a, b) => numberOf(a) - numberOf(b));
}

const order = (a: number | null, b: number | null): number => (a ?? Infinity) === (b ?? Infinity) ? 0 : (a ?? Infinity) - (b ?? Infinity);

function rowsByRank(places: Map<string, Place>): Map<string, JobRow> {
  const sorted = [...places].sort(([, a], [, b]) => order(a.rank, b.rank) || a.trace - b.trace || order(a.device, b.device));
  return new Map(sorted.map(([key, { trace, rank, device, host }]) => {
    const several = sorted.filter(([, other]) => other.trace === trace && other.rank === rank).length > 1;
    const name = rank === null ? `trace ${trace}` : `rank ${rank}`;
    return [key, { name: several ? `${name}, device ${device}` : name, rank, host, trace }];
  }));
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
function fillLateness(late: Float64Array, groups: Map<string, Map<number, Arrival[]>>): boolean {
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
      const longest = Math.max(...lists.map((list) => list[k]?.duration ?? 0));
      for (const { at, duration } of lists.flatMap((list) => list[k] ?? [])) {
        if (at >= 0) late[at] = Math.max(Number.isNaN(late[at]) ? 0 : late[at] as number, longest - duration);
      }
    });
  }
  return all;
}

// By group, and by row within it.
function arrivalsOf(traces: readonly StepTables[], rowAt: (place: Place) => number, cellAt: (place: Place, start: number) => number): Map<string, Map<number, Arrival[]>> {
  const groups = new Map<string, Map<number, Arrival[]>>();
  for (const of of traces) {
    for (const row of rowsOf(of, "collectives")) {
      const group = row.ranks ?? row.group;
      const place = placeOf(of, row);
      if (group === null || rowAt(place) < 0) continue;
      const key = `${row.group}/${row.ranks}`;
      const ranks = groups.get(key) ?? new Map<number, Arrival[]>();
      const list = ranks.get(rowAt(place)) ?? [];
      list.push({
        at: row.step === null ? -1 : cellAt(place, Number(row.step_start)), duration: Number(row.duration),
        what: `${row.collective}/${row.dtype}/${row.in}/${row.out}`,
        size: Number(row.size ?? 0),
      });
      groups.set(key, ranks.set(rowAt(place), list));
    }
  }
  return groups;
}

export function jobOfTables(traces: readonly StepTables[]): Job {
  const found = traces.flatMap(stepsOf);
  const rows = rowsByRank(new Map(found.map(({ place }) => [keyOf(place), place])));
  const steps = sortedSteps(new Set(found.map(({ name }) => name)));
  const [rowAt, stepAt] = [new Map([...rows.keys()].map((key, at) => [key, at])), new Map(steps.map((name, at) => [name, at]))];
  const empty = (): Float64Array => new Float64Array(rows.size * steps.length).fill(NaN);
  const job: Job = { rows: [...rows.values()], steps, figures: { time: empty(), exposed: empty(), idle: empty(), late: empty() }, start: empty(), notes: [] };
  const durations = new Map(traces.flatMap((of) => rowsOf(of, "steps").map((row) =>
    [`${of.trace}/${(row.rank as number | null) ?? of.rank}/${row.start}`, Number(row.duration)] as const)));
  const cells = new Map<string, number>();
  for (const { place, name, start, row } of found) {
    const at = (rowAt.get(keyOf(place)) ?? 0) * steps.length + (stepAt.get(name) ?? 0);
    cells.set(`${keyOf(place)}/${start}`, at);
    job.start[at] = start;
    job.figures.time[at] = durations.get(`${place.trace}/${place.rank}/${start}`) ?? Number(row.span);
    job.figures.exposed[at] = Number(row.exposed_communication);
    job.figures.idle[at] = Number(row.idle);
  }
  const arrivals = arrivalsOf(traces.filter((of) => !isCut(of)), (place) => rowAt.get(keyOf(place)) ?? -1, (place, start) => cells.get(`${keyOf(place)}/${start}`) ?? -1);
  if (!fillLateness(job.figures.late, arrivals)) job.notes.push("Ranks of a group differ in their collectives: no lateness of those is told.");
  if (traces.some(isCut)) job.notes.push("Of some traces only the first rows of a report are here: later steps, and lateness, are not told.");
  return job;
}
