// A job: figures of each rank in each step, in rows (ranks) and columns (steps). Pure: an answer in, a job out.
import type { TraceId } from "./model";

export const MEASURES = ["time", "exposed", "idle", "late"] as const;
export type Measure = (typeof MEASURES)[number];

export interface JobRow {
  name: string; // "rank 3", with the device where a rank has several
  rank: number | null;
  host: string; // "": not known
  trace: TraceId | null; // null: not open
}

// The dimension of a process group of the job: tensor-parallel, pipeline, data, expert, context.
export type Dimension = "tp" | "pp" | "dp" | "ep" | "cp";
export interface Roles {
  name: Dimension;
  at: (number | null)[]; // by row; null: in no such group
}

// Figures are ns, of row r and step s at r * steps.length + s; NaN: unknown.
export interface Job {
  number: number; // of the picture, as the server has it
  rows: JobRow[];
  world: number | null; // ranks of the job, from its traces; null: unknown
  steps: string[];
  figures: Record<Measure, Float64Array>;
  roles: Roles[]; // of the dimensions that there are
  notes: string[]; // incomplete or missing data, as texts
}

// Figures requested after the first picture, which are shown only on request.
export type MoreFigures = Pick<Record<Measure, Float64Array>, "exposed" | "idle">;
export interface MoreAnswer {
  number: number; // of the picture
  figures: MoreFigures;
}

export interface LateAnswer {
  late: Float64Array;
  roles: Roles[];
  notes: string[];
}

// The texts of an answer (docs/reference/view-protocol.md).
interface JobHead {
  number: number;
  world: number | null;
  rank: (number | null)[];
  device: (number | null)[];
  source: number[];
  member: number[];
  trace: number[];
  host: string[];
  file: string[];
  steps: string[];
  notes: string[];
}

const UNKNOWN = 0xffffffff;
const aligned = (at: number): number => (at + 7) & ~7;

function widened(narrow: Uint32Array): Float64Array {
  const wide = new Float64Array(narrow); // Float64Array.from with a function takes ten times as long
  const first = narrow.indexOf(UNKNOWN); // a loop over all is slow while the web UI starts, and mostly finds none
  for (let at = first; at >= 0 && at < narrow.length; at++) if (narrow[at] === UNKNOWN) wide[at] = NaN;
  return wide;
}

export function decodeFigures<T>(bytes: ArrayBuffer): { head: T; figures: Record<string, Float64Array> } {
  const view = new DataView(bytes);
  if (view.getUint32(0) !== 0x48444a31) throw new Error("The server's answer is not a picture of a job."); // "HDJ1"
  const size = view.getUint32(4, true);
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 8, size))) as T & { cells: number; figures: { name: string; bytes: number }[] };
  const figures: Record<string, Float64Array> = {};
  let at = aligned(8 + size);
  for (const { name, bytes: wide } of head.figures) {
    figures[name] = wide === 8 ? new Float64Array(bytes, at, head.cells) : widened(new Uint32Array(bytes, at, head.cells));
    at = aligned(at + wide * head.cells);
  }
  return { head, figures };
}

function rowOf(head: JobHead, at: number): JobRow {
  const isSame = (other: number): boolean => head.rank[other] === head.rank[at] && head.source[other] === head.source[at] && head.member[other] === head.member[at];
  const several = isSame(at - 1) || isSame(at + 1);
  const rank = head.rank[at] ?? null;
  const name = rank === null ? head.file[at] || `trace ${head.trace[at]}` : `rank ${rank}`;
  const trace = head.trace[at] ?? -1;
  return { name: several ? `${name}, device ${head.device[at]}` : name, rank, host: head.host[at] ?? "", trace: trace < 0 ? null : trace };
}

export function jobOf(bytes: ArrayBuffer): Job {
  const { head, figures: { time, exposed, idle } } = decodeFigures<JobHead>(bytes);
  if (!time) throw new Error("The server's answer lacks figures.");
  const none = new Float64Array(time.length).fill(NaN); // not requested yet
  return { number: head.number, rows: head.rank.map((_, at) => rowOf(head, at)), world: head.world, steps: head.steps, figures: { time, exposed: exposed ?? none, idle: idle ?? none, late: none }, roles: [], notes: head.notes };
}

export function moreOf(bytes: ArrayBuffer): MoreAnswer {
  const { head, figures: { exposed, idle } } = decodeFigures<JobHead>(bytes);
  if (!exposed || !idle) throw new Error("The server's answer lacks figures.");
  return { number: head.number, figures: { exposed, idle } };
}
