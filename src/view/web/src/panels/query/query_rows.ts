// Cells of SQL results: display, sorting, and what they refer to. Pure. Integers keep all their digits.
import { Digits, Members, member, type Json } from "../../data/json_digits";
import type { QueryColumn, QueryResult, TraceId } from "../../data/model";
import { formatDuration } from "../../format";
import type { TextColumn } from "../text_table";

export type QueryRow = readonly Json[];

// SQL's order: null, numbers, texts, bytes.
const rankOf = (cell: Json | undefined): number => (cell === null || cell === undefined ? 0 : cell instanceof Digits ? 1 : typeof cell === "string" ? 2 : 3);
export const isWhole = (cell: Json | undefined): cell is Digits => cell instanceof Digits && /^-?\d+$/.test(cell.text);
export const bigOf = (cell: Json | undefined): bigint | null => (isWhole(cell) ? BigInt(cell.text) : null);

function blobText(cell: Members): string {
  const hex = String(member(cell, "hex") ?? "");
  const bytes = Number(String(member(cell, "bytes") ?? 0));
  return `x'${hex}${hex.length < 2 * bytes ? "…" : ""}' (${bytes} ${bytes === 1 ? "byte" : "bytes"})`;
}

export function textOf(cell: Json | undefined): string {
  if (cell === null || cell === undefined) return "null";
  if (cell instanceof Members) return blobText(cell);
  if (cell instanceof Digits) return /^-?1e999$/.test(cell.text) ? cell.text.replace("1e999", "Inf") : cell.text;
  return String(cell);
}

export function compareCells(a: Json | undefined, b: Json | undefined): number {
  const byRank = rankOf(a) - rankOf(b);
  if (byRank !== 0 || a === null || a === undefined) return byRank;
  if (a instanceof Digits && b instanceof Digits) {
    const x = bigOf(a) ?? Number(a.text);
    const y = bigOf(b) ?? Number(b.text);
    return x < y ? -1 : x > y ? 1 : 0;
  }
  const [x, y] = [textOf(a), textOf(b)];
  return x < y ? -1 : x > y ? 1 : 0;
}

export function sortedRows(rows: readonly QueryRow[], column: number, down: boolean): readonly QueryRow[] {
  if (column < 0) return rows;
  const way = down ? -1 : 1;
  return [...rows].sort((a, b) => way * compareCells(a[column], b[column]));
}

// Rows in which each word occurs in some cell.
export function queryRowsWith(rows: readonly QueryRow[], words: string): readonly QueryRow[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  if (wanted.length === 0) return rows;
  return rows.filter((row) => {
    const text = row.map(textOf).join("\n").toLowerCase();
    return wanted.every((word) => text.includes(word));
  });
}

export const isNumeric = (rows: readonly QueryRow[], column: number): boolean =>
  rows.some((row) => row[column] instanceof Digits) && rows.every((row) => row[column] === null || row[column] instanceof Digits);

export function csvOf(columns: readonly QueryColumn[], rows: readonly QueryRow[]): [TextColumn[], (string | null)[][]] {
  return [
    columns.map(({ name }, c) => ({ title: name, right: isNumeric(rows, c) })),
    rows.map((row) => row.map((cell) => (cell === null ? null : cell instanceof Members ? String(member(cell, "hex") ?? "") : textOf(cell)))),
  ];
}

// ---- the track of a row ----

const columnOf = (result: QueryResult, role: string): number => result.columns.findIndex((column) => column.role === role);
const named = (result: QueryResult, name: string): number => result.columns.findIndex((column) => column.name === name);

export interface RowPlace {
  trace: TraceId;
  slice: bigint | null; // its id
  start: bigint | null; // on the trace's clock
  duration: number | null;
  name: string | null;
}

type Ids = Pick<QueryResult, "inputs" | "id_bits" | "row_bits">;

function traceOfId(result: Ids, id: bigint): TraceId | null {
  return (id < 0n ? undefined : result.inputs[Number(id >> BigInt(result.id_bits))])?.trace ?? null;
}

// The track of the file.
export function splitTrackId(result: Ids, id: bigint): { trace: TraceId; track: number } | null {
  const trace = traceOfId(result, id);
  return trace === null ? null : { trace, track: Number(BigInt.asUintN(result.id_bits, id)) };
}

// The event; kind null: not a row of a table.
export function splitSliceId(result: Ids, id: bigint): { trace: TraceId; kind: "slice" | "instant" | null; row: number } | null {
  const trace = traceOfId(result, id);
  const kind = Number(BigInt.asUintN(result.id_bits, id) >> BigInt(result.row_bits));
  return trace === null ? null : { trace, kind: kind === 0 ? "slice" : kind === 1 ? "instant" : null, row: Number(BigInt.asUintN(result.row_bits, id)) };
}

function traceOf(result: QueryResult, row: QueryRow): TraceId | null {
  for (const role of ["slice", "track"]) {
    const id = bigOf(row[columnOf(result, role)]);
    if (id !== null) return traceOfId(result, id);
  }
  if (result.inputs.length <= 1) return result.inputs[0]?.trace ?? null;
  const rank = row[named(result, "rank")];
  return isWhole(rank) ? (result.inputs.find((input) => String(input.rank) === rank.text)?.trace ?? null) : null;
}

// What times of the result have more than those of the trace.
export const shiftOf = (result: QueryResult, trace: TraceId): bigint => BigInt(result.inputs.find((input) => input.trace === trace)?.shift_ns ?? 0);

// Null: of no trace, or of one of several.
export function placeOf(result: QueryResult, row: QueryRow): RowPlace | null {
  const trace = traceOf(result, row);
  if (trace === null) return null;
  const id = bigOf(row[columnOf(result, "slice")]);
  const time = bigOf(row[columnOf(result, "time")]);
  const duration = bigOf(row[columnOf(result, "duration")]);
  const name = row[named(result, "name")];
  return {
    trace,
    slice: id,
    start: time === null ? null : time - shiftOf(result, trace),
    duration: duration === null || duration < 0n ? null : Number(duration),
    name: typeof name === "string" && name !== "" ? name : null,
  };
}

// Slices, or a counter.
export function canBeTrack(result: QueryResult): boolean {
  const time = columnOf(result, "time");
  if (time < 0 || result.rows.length === 0) return false;
  return columnOf(result, "duration") >= 0
    || result.columns.some((column, c) => !column.role && !["rank", "device", "stream"].includes(column.name) && isNumeric(result.rows, c));
}

// The traces of its rows, as far as known.
export function tracesOf(result: QueryResult): TraceId[] {
  const found = new Set(result.rows.map((row) => traceOf(result, row)));
  return result.inputs.map(({ trace }) => trace).filter((trace) => found.has(trace));
}

// With its unit, where the column has one.
export function unitText(cell: Json | undefined, role: string | undefined, startNs: bigint | null): string | null {
  const value = bigOf(cell);
  if (value === null) return null;
  if (role === "duration") return value === -1n ? "no end" : formatDuration(value);
  return role === "time" && startNs !== null ? formatDuration(value - startNs) : null;
}
