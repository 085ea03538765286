// The source of data. source_http.ts requests it from the server; tests have one of their own.
import type { Job, LateAnswer, MoreAnswer } from "./job";
import type {
  ClockInfo, DerivedDetail, DiffAnswer, EventDetail, EventRef, Fidelity, FidelityList, FindQuery, FindResult, FlameResult, FlowResult, MeetingResult, NameInfo, QueryFailure, QueryResult, QueryTable, ReportAbout, ReportAnswer, SearchQuery, SearchResult,
  SelectResult, Session, Tile, TraceId, TrackId, TrackInfo,
} from "./model";

export interface SearchPlace {
  kind?: string;
  row?: number;
  track?: TrackId;
}

// All except close() reject with an Error whose message is for users; an aborted one with a DOMException AbortError.
export interface Source {
  session(after?: number, signal?: AbortSignal): Promise<Session>;
  tracks(trace: TraceId): Promise<{ revision: number; names: number; tracks: TrackInfo[] }>;
  tiles(trace: TraceId, z: number, i: number, tracks: TrackId[], summary: boolean, signal?: AbortSignal, search?: SearchQuery | null): Promise<Tile[]>;
  // `final` false: categories may still change.
  names(trace: TraceId, ids: number[]): Promise<{ final: boolean; names: NameInfo[] }>;
  event(trace: TraceId, kind: string, row: number, signal?: AbortSignal, skip?: string): Promise<EventDetail>;
  // Tracks of source lines in which code in the folders `skip` is not the user's; they are added to the session.
  lines(trace: TraceId, skip: string): Promise<{ tracks: TrackId[] }>;
  derived(trace: TraceId, track: TrackId, depth: number, start: number, signal?: AbortSignal): Promise<DerivedDetail>;
  step(trace: TraceId, track: TrackId, depth: number | null, time: number, go: "next" | "previous" | "first" | "last", row?: number): Promise<EventRef | null>;
  // The longest event that touches a column of a tile (column 512 i + c of zoom z); without a depth of all rows.
  longest(trace: TraceId, track: TrackId, depth: number | null, z: number, column: number): Promise<EventRef | null>;
  snap(trace: TraceId, time: number, within: number, tracks: TrackId[]): Promise<{ time: number; track: TrackId; row: number; edge: string } | null>;
  // next and previous relative to a time, or to an event (kind, row) that starts then; of one track, or of all.
  search(trace: TraceId, query: SearchQuery, from: number, signal?: AbortSignal, more?: SearchPlace): Promise<SearchResult>;
  // tracks null: all of the file.
  find(trace: TraceId, query: FindQuery, tracks: TrackId[] | null, signal?: AbortSignal): Promise<FindResult>;
  select(trace: TraceId, from: number, until: number, tracks: TrackId[] | null, sort: string, signal?: AbortSignal, order?: "up" | "down", limit?: number): Promise<SelectResult>;
  flows(trace: TraceId, what: { row?: number; category?: string; all?: boolean }, from: number, until: number, tracks: TrackId[] | null, signal?: AbortSignal): Promise<FlowResult>;
  // Of all traces that are ready.
  clocks(signal?: AbortSignal): Promise<ClockInfo[]>;
  // What changed between the two sides of the session.
  diff(signal?: AbortSignal): Promise<DiffAnswer>;
  // Collectives of a trace, in a range or of one event, with their parts in those of the traces `of` that have them.
  collectives(trace: TraceId, what: { row: number } | { from: number; until: number; limit: number }, of: readonly TraceId[], signal?: AbortSignal): Promise<MeetingResult>;
  flame(trace: TraceId, from: number, until: number, of: string, by: string, signal?: AbortSignal): Promise<FlameResult>;
  reports(signal?: AbortSignal): Promise<ReportAbout[]>;
  // trace null: of all ranks, for a report that compares them.
  report(trace: TraceId | null, name: string, options: Record<string, string>, signal?: AbortSignal): Promise<ReportAnswer>;
  // A table as derived tracks, which are added to the session; left_out: rows without a time.
  reportTracks(trace: TraceId, name: string, table: string, options: Record<string, string>, signal?: AbortSignal): Promise<{ tracks: TrackId[]; left_out: number }>;
  // SQL over all traces; ":from" and the like are set from `params`. An error in the SQL is an answer.
  query(sql: string, params: Record<string, string>, signal?: AbortSignal): Promise<QueryResult | QueryFailure>;
  queryTables(signal?: AbortSignal): Promise<QueryTable[]>;
  // The rows of one trace as derived tracks, like reportTracks.
  queryTracks(trace: TraceId, sql: string, params: Record<string, string>, title: string, signal?: AbortSignal): Promise<{ tracks: TrackId[]; left_out: number }>;
  // The viewer's track for a track of the file; null: not shown.
  queryTrack(trace: TraceId, of: number, signal?: AbortSignal): Promise<TrackId | null>;
  // The first picture, of times. revision: of the session's job, which may be the next; 0: of the open traces.
  job(revision: number, signal?: AbortSignal): Promise<Job>;
  jobMore(signal?: AbortSignal): Promise<MoreAnswer>;
  // The lateness of a job's cells, with notes.
  jobLate(of: number, signal?: AbortSignal): Promise<LateAnswer>;
  // Opens the trace of a row unless it is open; `start`: of the step, on the trace's own clock.
  jobOpen(of: number, row: number, step: number): Promise<{ trace: TraceId; start: string | null; duration: number | null }>;
  fidelity(trace: TraceId): Promise<Fidelity>;
  fidelityList(trace: TraceId, what: string, at: number): Promise<FidelityList>;
  // Whether the page itself reads files, so that they are sent nowhere.
  readonly isLocal: boolean;
  // The page with its engine, without traces (data/save_html.ts).
  engine(): Promise<string>;
  // A range as a store.
  store(trace: TraceId, from: number, until: number): Promise<Blob>;
  cropUrl(trace: TraceId, from: number, until: number, format: string, tracks: TrackId[] | null): string;
  // For all clients of the server.
  close(trace: TraceId): Promise<void>;
  open(file: File, progress: (done: number, total: number) => void): Promise<TraceId>;
  // Reads the first seconds of a trace, as many as this memory has room for; of a page with the engine.
  openHead(trace: TraceId, memory: number): Promise<void>;
}
