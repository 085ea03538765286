// The server's answers (docs/reference/view-protocol.md) as types. Times are ns; "global" ones are trace time + offset of the
// trace, the axis that is shown.

import type { Json } from "./json_digits";

export type TraceId = number;
export type TrackId = number;

export interface TraceInfo {
  id: TraceId;
  name: string;
  format: string;
  state: "reading" | "ready" | "failed";
  asked?: boolean; // a page opened it, this one or another
  done: number;
  total: number;
  error?: string;
  memory?: { here: number; needed?: number; head?: boolean }; // it does not fit: bytes of the page, about what it needs, whether a part may fit
  part?: string; // "first 1.5 s": it is not whole
  start_ns: string;
  span_ns: number;
  offset_ns: number;
  told_ns?: number; // added by the web UI: the server's offset_ns, from the times in the files
  clock?: ClockInfo | null; // likewise
  device_kind?: string; // "GPU", "TPU": what its devices are called, once it is ready
  rank: number | null;
  unix_ns: string | null;
  sql_shift_ns?: string; // what times of SQL have more: that of several traces is on one clock
  tracks: number;
  busy: string;
}

export interface Session {
  version: string;
  session: string;
  revision: number;
  traces: TraceInfo[];
  diff?: { before: number; traces: number }; // the first of so many traces are the side before of a diff
  job: JobReading | null; // summaries that were given instead of traces
  lists?: (TrackList | null)[]; // of the tracks of each trace, in the first answer
}

export interface JobReading {
  revision: number;
  files: number;
  done: number;
}

// A step of a trace that the diff has seen; those of one `pair` are compared with each other. Times are the trace's own.
export interface DiffStep {
  trace: TraceId;
  step: string;
  start: number;
  length: number; // of its window on the device
  compared: boolean;
  pair?: number;
}

export interface DiffAnswer {
  verdict: "same" | "slower" | "faster" | "inconclusive";
  sentence: string;
  steps: DiffStep[];
  tables: ReportTable[];
}

// A trace's clock; null where unknown.
export interface ClockInfo {
  trace: TraceId;
  basis: "unknown" | "reference" | "ends" | "bounds" | "hint" | "refused" | "step"; // step: the web UI's own, of a diff
  host: number | null; // equal: one clock
  offset_ns: number | null; // in the place of the trace's own
  bar_ns: number | null; // how far off that may be
  why: string | null; // why nothing is known about it
  collectives: number;
  ranks: number; // whose collectives were compared
  of: "job" | "open"; // which those are
}

// The part of a collective in one trace; times are the trace's own.
export interface MeetingPart {
  trace: TraceId;
  track: TrackId; // -1: on none
  depth: number;
  start: number;
  duration: number;
  row: number;
  rank: number | null;
  device: number | null;
}

// A collective of several ranks. longest, shortest: durations on any rank, null: not compared.
export interface Meeting {
  group: string | null;
  stream: number | null;
  operation: string | null;
  sequence: number;
  counted: boolean; // from the start of the step, as the trace has no numbers
  step: number | null; // counted: its number
  size: number | null;
  ranks: number;
  last_rank: number | null;
  last_device: number | null;
  longest: number | null;
  shortest: number | null;
  parts: MeetingPart[];
}

export interface MeetingResult {
  collectives: Meeting[];
  count: number;
}

export interface TrackList {
  revision: number;
  names: number;
  tracks: TrackInfo[];
  next?: number; // where to continue; absent: these are all
}

export interface SeriesInfo {
  name: string;
  unit: string;
  min: number;
  max: number;
}

type TrackKind = "section" | "slices" | "counter";

export interface TrackInfo {
  trace: TraceId; // put in by the page
  id: TrackId;
  parent: TrackId | null;
  kind: TrackKind;
  role: string;
  name: string;
  detail?: string;
  derived?: boolean;
  pid?: string;
  tid?: string;
  rank?: number;
  device?: number;
  stream?: number;
  rows: number;
  exact: boolean;
  events: number;
  on_lanes: number;
  start: number | null;
  end: number | null;
  busy: number | null; // null: it has no busy time, since it describes other tracks or is derived
  covers?: number; // of derived slices
  events_kind?: string;
  series?: SeriesInfo[];
  collapsed: boolean;
  label?: string; // of its trace, with which its name begins
  draws?: readonly TrackId[]; // of the section of a rank: the sections of its GPUs, whose rows it shows
}

// The section of a rank is the page's own; the server never gives this number.
export const RANK_SECTION: TrackId = 2 ** 32 - 1;

// The tracks whose tiles a track shows; of several each is a row.
export const drawnOf = (track: TrackInfo): readonly TrackId[] => track.draws ?? [track.id];

// One row of a tile. Aggregates are in columns of their own, exact events in start order.
export interface SliceRow {
  columns: number;
  events: number;
  starting: number;
  busy: Uint32Array | Float64Array;
  longest: Uint32Array | Float64Array;
  count: Uint32Array;
  name: Uint32Array;
  row: Uint32Array;
  column: Uint16Array;
  start: Int32Array | Float64Array; // relative to the tile's start
  duration: Uint32Array | Float64Array;
  eventName: Uint32Array;
  eventRow: Uint32Array;
  eventFlags: Uint8Array; // 1: no end, 2: no length, 4: several events, of a summary, 8: a hit of the search
  hit: Uint8Array | null; // by column: an event in it is a hit of the search; null: loaded for no search
}

export interface CounterRow {
  columns: number;
  starting: number;
  min: Float64Array;
  max: Float64Array;
  first: Float64Array;
  last: Float64Array;
  count: Uint32Array;
  column: Uint16Array; // 65535: the last sample before the tile
}

export const TILE_COLUMNS = 512;

export interface Tile {
  track: TrackId;
  z: number;
  i: number;
  exact: boolean;
  counter: boolean;
  absent: boolean;
  rows: SliceRow[]; // unless counter
  series: CounterRow[]; // of a counter
  bytes: number;
}

export interface NameInfo {
  id: number;
  text: string;
  short?: string;
  category: string;
  role: string;
  class?: string; // what its colour means (color.ts)
  group?: string; // of a kernel, by --groups: "model/attention"
  colour?: string; // of that group: "#1f77b4"
}

// The identity of an event: enough to select it, to put it into the URL and to request its details.
export interface EventRef {
  trace: TraceId;
  track: TrackId;
  kind: string;
  row: number;
  depth: number;
  start: number; // trace time
  duration: number;
  name: number;
}

export interface FrameInfo {
  name: string;
  kind: string;
  file?: string;
  line?: number;
  level?: "user" | "library"; // whose code; absent: a framework's, Python's own, or not known
}

export interface LinkInfo {
  row: number;
  track: TrackId;
  name: string;
  start: number;
  duration?: number;
  latency?: number;
}

export interface FlowInfo extends LinkInfo {
  id: string;
  category: string;
  direction: "in" | "out";
  backward: boolean;
}

export interface EventDetail {
  kind: string;
  row: number;
  track: TrackId; // absent, and depth, while its track is still being laid out
  depth: number;
  name: string;
  short?: string;
  demangled?: string;
  category: string;
  start: number;
  duration: number | null;
  start_ps?: number;
  self?: number;
  phase?: string;
  args?: unknown;
  members?: unknown; // keys of the event itself: sf, id, tts …
  stack?: FrameInfo[];
  stack_from?: string;
  launch?: LinkInfo;
  works?: LinkInfo[];
  works_count?: number;
  flows?: FlowInfo[];
  flows_count?: number;
  slack?: number;
  bound?: { by: string; row?: number; name?: string }; // what it waited for last; without row: a gap
  parent?: { row: number; name: string };
  occupancy?: number;
  bandwidth?: number;
  bytes?: number;
  source?: string;
  offset?: number;
}

// A slice of a derived track: it is not an event of the file.
export interface DerivedDetail {
  track: TrackId;
  depth: number;
  role: string;
  name: string;
  short?: string;
  start: number;
  duration: number;
  how: string;
  of?: LinkInfo; // the event that it is named after
  before?: LinkInfo; // of idle time: the activities around it
  after?: LinkInfo;
  works: LinkInfo[];
  works_count: number;
}

export interface SelectRow {
  name: number;
  text: string;
  short?: string;
  count: number;
  total: number;
  mean: number;
  p50: number;
  p99: number;
  min: number;
  max: number;
  share: number | null;
  self: number;
  longest_row: number;
  longest_track?: TrackId;
}

export interface SelectResult {
  from: number; // trace time: the requested range, cut to the trace
  until: number;
  span: number;
  busy: number | null; // null: no event on these tracks counts as busy
  idle: number | null;
  events: number;
  cut: number; // events that reach beyond the stretch
  derived: boolean; // all tracks are derived
  left_out: number; // derived tracks that are not counted along with those that they were made from
  aside: number; // tracks below Other that are not counted along with those of the program
  names: number;
  gaps: { count: number; total: number; longest: { start: number; duration: number }[] };
  table: SelectRow[];
  counters: { track: TrackId; series: string; min: number; max: number; mean: number; first: number; last: number }[];
}

export interface SearchQuery {
  q: string;
  mode: "text" | "regex" | "glob";
  in: "names" | "args" | "all";
  case: boolean;
}

// A query for slices that match all of these; times are of the trace.
export interface FindQuery {
  name?: string | undefined;
  start?: number | undefined;
  duration?: number | undefined;
  from?: number; // those that touch a range
  until?: number;
}

export interface FindResult {
  count: number;
  events: EventRef[]; // the first
}

export interface SearchResult {
  count: number;
  more: boolean;
  by_event: boolean; // tiles say which events are hits, names alone do not
  buckets: number[];
  tracks: [TrackId, number][];
  names: number[];
  names_count: number;
  name_ranges?: string; // all of them, "4,9-12", where `names` has only the first
  next?: EventRef;
  previous?: EventRef;
  index?: number; // how many hits lie before `next`
  ms: number;
}

// [from_track, from_depth, from_time, to_track, to_depth, to_time, backward, from_row, to_row]
export type FlowLine = [number, number, number, number, number, number, number, number, number];

export interface FlowResult {
  flows: FlowLine[];
  count: number;
  categories: [string, number][];
}

export interface FlameResult {
  of: string;
  unit: string;
  total: number;
  no_stack: number;
  nodes: [number, number, number, number, string][]; // parent, name, self, total, kind
  small: [number, number, number, number][]; // frames that were left out, by node above and name: node, name, self, total
  names: string[];
  left_out: number;
}

export interface Fidelity {
  slices: { read: number; shown: number; dropped: number };
  on_lanes: number;
  before_launch: number;
  without_launch: number;
  before_recording: number;
  after_recording: number;
  without_work: number;
  no_end?: number;
  negative?: number;
  no_time?: number;
  events: number;
  lost: number;
  repaired: number;
  instants: number;
  counters: number;
  flows: { count: number; bound: number; unbound: number; backward: number; without_start: number; without_end: number };
  ledger: { stage: string; code: string; level: string; count: number; text: string }[];
  trust?: { sentence: string; doubts: Doubt[] }; // once launches are known
}

// Missing or impossible GPU activities, and the figures that depend on them.
export interface Doubt {
  code: string;
  level: string;
  count: number;
  sentence: string;
  figures: string;
}

export interface FidelityList {
  count: number;
  events: (Omit<EventRef, "track" | "start"> & { track: TrackId | null; start: number | null; name_text?: string; note: string })[];
}

// ---- reports ----

export interface ReportAbout {
  name: string;
  title: string;
  text: string;
  of_job: boolean; // compares ranks
  options: { name: string; kind: string; fallback: string; meaning: string; words?: string }[];
}

export interface ReportColumn {
  name: string;
  type: string; // text, number, count, decimal, bytes, duration, time, bool
  meaning: string;
}

export interface ReportAnswer {
  trust?: string; // what is missing or impossible, in a sentence; absent: nothing is known about that
  tables: ReportTable[];
}

export type ReportCell = string | number | boolean | null; // times and durations: ns, times since the trace's start

export interface ReportTable {
  name: string;
  meaning: string;
  chart?: "bars" | "lanes" | "series" | "scatter"; // preferred chart, with comma-separated columns
  label?: string;
  values?: string;
  count: number; // of rows; fewer may have been sent
  columns: ReportColumn[];
  rows: ReportCell[][];
}

// ---- SQL ----

export interface QueryColumn {
  name: string;
  role?: "slice" | "time" | "duration" | "track"; // its values: rows of slices, ns on the trace's clock, ns, tracks
}

export interface QueryResult {
  columns: QueryColumn[];
  rows: Json[][]; // with all digits; bytes: {hex, bytes}
  inputs: { trace: TraceId; rank?: number; shift_ns?: string }[]; // the traces that were read; what times have more than theirs
  id_bits: number; // an id is the place of its trace among the inputs, and so many bits of a number,
  row_bits: number; // for slices: a kind, and this many bits of a row
  stopped: "rows" | "bytes" | null; // why there are no more rows
  cut: number; // cells that are shorter than they were
  ms: number;
}

export interface QueryFailure {
  error: { message: string; offset: number | null }; // bytes of UTF-8
  ms: number;
}

export interface QueryTable {
  name: string;
  meaning: string;
  columns: { name: string; type: string; meaning: string; argument?: boolean }[];
}
