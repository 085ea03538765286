// Rows of a report: display, and what they refer to: an event, the events of a name, a track. Pure.
import type { ReportAbout, ReportCell, ReportTable, TraceId, TrackInfo } from "../data/model";
import { formatBytes, formatCount, formatDuration, formatShort } from "../format";

export type Row = readonly ReportCell[];
type Head = Pick<ReportTable, "columns">;

// Columns with names of events, the main one first.
const NAMES: readonly string[] = ["name", "op", "work", "call", "frame"];
// Columns with places, the wider first: each is used with those before it.
const PLACES: readonly string[] = ["rank", "device", "stream", "row", "pid", "tid"];

// Columns with the id of an event, as in the table slice of SQL; "call_id" is that of the event in "call".
const IDS: readonly string[] = ["id", "work_id", "call_id", "longest_id"];

export type Goal =
  | { what: "id"; id: number }
  | { what: "event"; start: number; duration: number | null; name: string | null } // trace time
  | { what: "name"; name: string }
  | { what: "track" };

// The name of a column as a heading: hd_table_heading.
export const headingOf = (name: string): string => name.replaceAll("_", " ").replace(/\bwork(s?)\b/g, "GPU op$1");

export function cellText(cell: ReportCell, type: string): string {
  if (cell === null) return "–";
  if (typeof cell === "boolean") return cell ? "yes" : "no";
  if (typeof cell === "string") return cell;
  switch (type) {
    case "duration": case "time": return formatDuration(cell);
    case "bytes": return formatBytes(cell);
    case "decimal": return cell.toFixed(2);
    case "count": return formatCount(cell);
    default: return String(cell);
  }
}

// For a column that has no room for all digits: four of them and the unit; the rest is on hover.
export function shortText(cell: ReportCell, type: string): string {
  return typeof cell === "number" && (type === "duration" || type === "time") ? formatShort(cell) : cellText(cell, type);
}

// Null sorts below all others.
export function cellKey(cell: ReportCell, type: string): number | string {
  if (type === "text") return cell === null ? "" : String(cell);
  return cell === null ? -Infinity : Number(cell);
}

// Rows in which each word occurs in some cell, as displayed or raw.
export function rowsWith(table: ReportTable, words: string): readonly Row[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  if (wanted.length === 0) return table.rows;
  return table.rows.filter((row) => {
    const text = row.map((cell, c) => `${cell ?? ""}\n${cellText(cell, table.columns[c]?.type ?? "")}`).join("\n").toLowerCase();
    return wanted.every((word) => text.includes(word));
  });
}

const has = (table: Head, name: string): boolean => table.columns.some((column) => column.name === name);

function cellOf(table: Head, row: Row, name: string): ReportCell {
  return row[table.columns.findIndex((column) => column.name === name)] ?? null;
}

// Rows of tracks or processes, which `name` is that of.
const isOfTracks = (table: Head): boolean => has(table, "pid");

export const namesEvents = (table: Head, column: string): boolean => NAMES.includes(column) && !isOfTracks(table);
export const namesTracks = (table: Head, column: string): boolean =>
  (PLACES.includes(column) && column !== "rank") || (column === "name" && isOfTracks(table));

// Whether a track matches the row's place; null: the row has none. `column`: only up to that column, a device without
// its streams.
function placeOf(table: Head, row: Row, trace: TraceId, column = ""): ((track: TrackInfo) => boolean) | null {
  const told = PLACES.slice(0, PLACES.includes(column) ? PLACES.indexOf(column) + 1 : PLACES.length)
    .map((name) => [name, cellOf(table, row, name)] as const)
    .filter(([name, cell]) => cell !== null && (typeof cell === "number" || !["device", "stream", "rank"].includes(name)));
  if (told.every(([name]) => name === "rank")) return null;
  return (track) => track.trace === trace && track.kind !== "section" && told.every(([name, cell]) => {
    switch (name) {
      case "rank": return track.rank === undefined || track.rank === cell;
      case "device": return track.device === cell;
      case "stream": return track.stream === cell;
      case "row": return `${track.pid} ${track.tid}` === cell;
      case "pid": return track.pid === cell;
      default: return track.tid === cell;
    }
  });
}

export function hasTracks(table: Head, row: Row, tracks: readonly TrackInfo[], trace: TraceId, column = ""): boolean {
  const isThere = placeOf(table, row, trace, column);
  return isThere !== null && tracks.some(isThere);
}

// The tracks of the row's events, those of the file first; empty: the row has no place.
export function tracksAt(table: Head, row: Row, tracks: readonly TrackInfo[], trace: TraceId, column = ""): TrackInfo[] {
  const isThere = placeOf(table, row, trace, column);
  const found = isThere ? tracks.filter(isThere) : [];
  return [...found.filter((track) => !track.derived), ...found.filter((track) => track.derived)];
}

// The target of a click on the row; null: nothing that can be shown.
export function goalOf(table: Head, row: Row, tracks: readonly TrackInfo[], trace: TraceId): Goal | null {
  const text = (name: string): string | null => {
    const cell = cellOf(table, row, name);
    return typeof cell === "string" && cell !== "" ? cell : null;
  };
  const id = idOf(table, row, "id");
  if (id !== null) return { what: "id", id };
  const start = cellOf(table, row, "start");
  const duration = cellOf(table, row, "duration");
  if (typeof start === "number" && !isOfTracks(table) && !has(table, "column")) {
    return { what: "event", start, duration: typeof duration === "number" ? duration : null, name: text("name") ?? text("step") };
  }
  if (!isOfTracks(table)) {
    const name = NAMES.map(text).find((each) => each !== null);
    if (name) return { what: "name", name };
  }
  return hasTracks(table, row, tracks, trace) ? { what: "track" } : null;
}

// The one event that a cell refers to; null: only its text is known.
export function idOf(table: Head, row: Row, column: string): number | null {
  const cell = cellOf(table, row, IDS.includes(column) ? column : `${column}_id`);
  return typeof cell === "number" && (IDS.includes(column) || IDS.includes(`${column}_id`)) ? cell : null;
}

export const isOneEvent = (table: Head, column: string): boolean =>
  IDS.includes(column) || (IDS.includes(`${column}_id`) && has(table, `${column}_id`));

// Whether the table can be shown as tracks: slices, or a counter.
export function canBeTracks(table: ReportTable): boolean {
  const typeOf = (name: string): string | undefined => table.columns.find((column) => column.name === name)?.type;
  return (typeOf("start") === "time" && typeOf("duration") === "duration") || table.chart === "series";
}

// The options for that: of the whole trace, and all rows.
export function optionsOfTracks(about: ReportAbout, options: Record<string, string>): Record<string, string> {
  const { from: _from, until: _until, ...rest } = options;
  return about.options.some(({ name }) => name === "rows") ? { ...rest, rows: "1000000000" } : rest;
}
