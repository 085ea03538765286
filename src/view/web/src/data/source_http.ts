// Asks the server (docs/reference/view-protocol.md).
import type { ClockInfo, DiffAnswer, EventRef, Meeting, MeetingResult, NameInfo, Session, Tile, TrackId, TrackList } from "./model";
import type { DerivedDetail, EventDetail, Fidelity, FidelityList, FindQuery, FindResult, FlameResult, FlowResult, QueryFailure, QueryResult, QueryTable, ReportAbout, ReportAnswer, SearchQuery, SearchResult, SelectResult } from "./model";
import { decodeFigures, jobOf, moreOf, type Job, type LateAnswer, type MoreAnswer, type Roles } from "./job";
import { parseKeeping } from "./json_digits";
import type { SearchPlace, Source } from "./source";
import { decodeTiles } from "./tile_decode";

const searchParams = (query: SearchQuery) => ({ q: query.q, mode: query.mode, in: query.in, case: query.case ? 1 : undefined });

// An answer of 400 and above; status 0: no answer at all.
class ServerError extends Error {
  constructor(
    message: string,
    readonly status: number,
  ) {
    super(message);
    this.name = "ServerError";
  }
}

const FIRST_REVISION = 1; // of a job, as the server's Link header has it

type Param = string | number | undefined;

// "4,5,9-12": sorted numbers where three or more follow each other become a range.
function listOf(ids: readonly number[]): string {
  const parts: string[] = [];
  for (let k = 0; k < ids.length; ) {
    let end = k;
    while (end + 1 < ids.length && ids[end + 1] === ids[end] + 1) end++;
    if (end - k >= 2) parts.push(`${ids[k]}-${ids[end]}`);
    else for (let j = k; j <= end; j++) parts.push(String(ids[j]));
    k = end + 1;
  }
  return parts.join(",");
}

const whole = (time: number): number => Math.round(time);

// Where requests go; a page with the engine inside has one of its own (engine/host.ts).
export interface Transport {
  readonly isLocal?: boolean; // there is no server: the page has the engine
  fetch(url: string, init: RequestInit): Promise<Response>;
  // Sends a file; the number of its trace.
  upload(url: string, file: File, progress: (done: number, total: number) => void): Promise<number>;
  // Where the page has the engine: reads a trace again, of which so many bytes of memory hold the first seconds.
  openHead?(trace: number, memory: number): Promise<void>;
}

const server: Transport = {
  fetch: (url, init) => fetch(url, { ...init, credentials: "same-origin" }),
  // fetch does not report upload progress; XMLHttpRequest does.
  upload: (url, file, progress) =>
    new Promise((resolve, reject) => {
      const request = new XMLHttpRequest();
      request.open("POST", url);
      request.responseType = "json";
      request.upload.onprogress = (event) => progress(event.loaded, event.total);
      request.onerror = () => reject(new ServerError("The server does not take the file.", 0));
      request.onload = () => {
        const answer = request.response as { trace?: number; error?: string } | null;
        if (request.status < 400 && answer && typeof answer.trace === "number") resolve(answer.trace);
        else reject(new ServerError(answer?.error ?? `The server says ${request.status}.`, request.status));
      };
      request.send(file);
    }),
};

export class HttpSource implements Source {
  private early: Promise<ArrayBuffer> | null = null; // the job's first picture, which index.html preloads

  constructor(
    private readonly transport: Transport = server,
    private readonly base: string = "api/",
  ) {}

  get isLocal(): boolean {
    return this.transport.isLocal ?? false;
  }

  private url(path: string, params: Record<string, Param>): string {
    const query: string[] = [];
    for (const [key, value] of Object.entries(params)) {
      if (value !== undefined) query.push(`${key}=${encodeURIComponent(value).replace(/%2C/g, ",")}`);
    }
    return this.base + path + (query.length ? `?${query.join("&")}` : "");
  }

  private async ask(path: string, params: Record<string, Param>, signal?: AbortSignal, method = "GET", body?: string): Promise<Response> {
    let response: Response;
    try {
      response = await this.transport.fetch(this.url(path, params), { method, signal, body });
    } catch (error) {
      if (error instanceof DOMException && error.name === "AbortError") throw error;
      throw new ServerError("The server does not answer. Is `heddle view` still running?", 0);
    }
    if (!response.ok) throw new ServerError(await messageOf(response), response.status);
    return response;
  }

  private async json<T>(path: string, params: Record<string, Param>, signal?: AbortSignal, method = "GET", body?: string): Promise<T> {
    const response = await this.ask(path, params, signal, method, body);
    try {
      return (await response.json()) as T;
    } catch (error) {
      if (error instanceof DOMException && error.name === "AbortError") throw error;
      throw new ServerError("The server's answer broke off.", 0);
    }
  }

  // The first answer, which index.html preloads, includes the tracks.
  async session(after?: number, signal?: AbortSignal): Promise<Session> {
    const session = await this.json<Session>("session", { after, with: after === undefined ? "tracks" : undefined }, signal);
    if (after === undefined && session.job && session.job.revision <= FIRST_REVISION) {
      this.early = this.jobBytes(FIRST_REVISION);
      this.early.catch(() => undefined); // the consumer sees the error
    }
    for (const [k, list] of (session.lists ?? []).entries()) {
      if (list) await this.rest(list, session.traces[k].id, signal);
    }
    return session;
  }

  async tracks(trace: number): Promise<TrackList> {
    return this.rest(await this.json<TrackList>("tracks", { trace }), trace);
  }

  // Reads the rest of the list. Its revision stays that of the first part, so that tracks laid out meanwhile are
  // requested again.
  private async rest(list: TrackList, trace: number, signal?: AbortSignal): Promise<TrackList> {
    if (list.next === undefined) return completed(list, trace);
    const all = new Map(list.tracks.map((track) => [track.id, track]));
    for (let from: number | undefined = list.next; from !== undefined; ) {
      const more: TrackList = await this.json<TrackList>("tracks", { trace, from }, signal);
      for (const track of more.tracks) if (!all.has(track.id)) all.set(track.id, track);
      from = more.next;
    }
    list.tracks = [...all.values()];
    list.next = undefined;
    return completed(list, trace);
  }

  async tiles(trace: number, z: number, i: number, tracks: TrackId[], summary: boolean, signal?: AbortSignal, search: SearchQuery | null = null): Promise<Tile[]> {
    const detail = summary ? "summary" : "rows";
    const response = await this.ask("tiles", { trace, z, i, tracks: listOf(tracks), detail, ...(search ? searchParams(search) : {}) }, signal);
    return decodeTiles(await this.bytes(response), z, i);
  }

  private async bytes(response: Response): Promise<ArrayBuffer> {
    try {
      return await response.arrayBuffer();
    } catch (error) {
      if (error instanceof DOMException && error.name === "AbortError") throw error;
      throw new ServerError("The server's answer broke off.", 0);
    }
  }

  async job(revision: number, signal?: AbortSignal): Promise<Job> {
    const early = revision === FIRST_REVISION ? this.early : null;
    this.early = null;
    return jobOf(await (early ?? this.jobBytes(revision, signal)));
  }

  private async jobBytes(revision: number, signal?: AbortSignal): Promise<ArrayBuffer> {
    for (;;) {
      const response = await this.ask("job", { revision: revision || undefined, figures: "time" }, signal);
      if (response.status !== 202) return this.bytes(response); // 202: it is still being read
    }
  }

  async jobMore(signal?: AbortSignal): Promise<MoreAnswer> {
    return moreOf(await this.bytes(await this.ask("job", { figures: "exposed,idle" }, signal)));
  }

  async jobLate(of: number, signal?: AbortSignal): Promise<LateAnswer> {
    const { head, figures } = decodeFigures<{ roles: Roles[]; notes: string[] }>(await this.bytes(await this.ask("job/late", { of }, signal)));
    return { late: figures.late ?? new Float64Array(), roles: head.roles, notes: head.notes };
  }

  jobOpen(of: number, row: number, step: number): Promise<{ trace: number; start: string | null; duration: number | null }> {
    return this.json("job/open", { of, row, step }, undefined, "POST");
  }

  diff(signal?: AbortSignal): Promise<DiffAnswer> {
    return this.json("diff", {}, signal);
  }

  async clocks(signal?: AbortSignal): Promise<ClockInfo[]> {
    return (await this.json<{ clocks: ClockInfo[] }>("clocks", {}, signal)).clocks;
  }

  async collectives(trace: number, what: { row: number } | { from: number; until: number; limit: number }, of: readonly number[], signal?: AbortSignal): Promise<MeetingResult> {
    type Told = Omit<Meeting, "parts"> & { parts: [number, number, number, number, number, number, number | null, number | null][] };
    const answer = await this.json<{ collectives: Told[]; count: number }>("collectives", { trace, with: listOf(of), ...what }, signal);
    const collectives = answer.collectives.map((each): Meeting => ({
      ...each,
      parts: each.parts.map(([trace, track, depth, start, duration, row, rank, device]) => ({ trace, track, depth, start, duration, row, rank, device })),
    }));
    return { collectives, count: answer.count };
  }

  names(trace: number, ids: number[]): Promise<{ final: boolean; names: NameInfo[] }> {
    return this.json("names", { trace, ids: listOf(ids) });
  }

  // Arguments keep their digits (json_digits.ts). `skip`: folders of frameworks.
  async event(trace: number, kind: string, row: number, signal?: AbortSignal, skip?: string): Promise<EventDetail> {
    const response = await this.ask("event", { trace, kind, row, skip: skip || undefined }, signal);
    return parseKeeping(await response.text(), "args", "members") as EventDetail;
  }

  derived(trace: number, track: TrackId, depth: number, start: number, signal?: AbortSignal): Promise<DerivedDetail> {
    return this.json("derived", { trace, track, depth, start: whole(start) }, signal);
  }

  async step(trace: number, track: TrackId, depth: number | null, time: number, go: string, row?: number): Promise<EventRef | null> {
    const found = await this.json<Partial<EventRef>>("step", { trace, track, depth: depth ?? undefined, time: whole(time), go, row });
    return found.row === undefined ? null : ({ ...found, trace } as EventRef);
  }

  async longest(trace: number, track: TrackId, depth: number | null, z: number, column: number): Promise<EventRef | null> {
    const found = await this.json<Partial<EventRef>>("step", { trace, track, depth: depth ?? undefined, go: "longest", z, column: whole(column) });
    return found.row === undefined ? null : ({ ...found, trace } as EventRef);
  }

  async snap(trace: number, time: number, within: number, tracks: TrackId[]): Promise<{ time: number; track: TrackId; row: number; edge: string } | null> {
    const params = { trace, time: whole(time), within: Math.max(1, Math.ceil(within)), tracks: tracks.length ? listOf(tracks) : undefined };
    const found = await this.json<{ time?: number; track: TrackId; row: number; edge: string }>("snap", params);
    return found.time === undefined ? null : { ...found, time: found.time };
  }

  async search(trace: number, query: SearchQuery, from: number, signal?: AbortSignal, more?: SearchPlace): Promise<SearchResult> {
    const params = { trace, ...searchParams(query), from: whole(from), ...more };
    const result = await this.json<SearchResult>("search", params, signal);
    for (const hit of [result.next, result.previous]) if (hit) hit.trace = trace;
    if (result.next?.row === undefined) delete result.next;
    if (result.previous?.row === undefined) delete result.previous;
    return result;
  }

  async find(trace: number, query: FindQuery, tracks: TrackId[] | null, signal?: AbortSignal): Promise<FindResult> {
    const { from, until } = query;
    const range = { from: from === undefined ? from : whole(from), until: until === undefined ? until : whole(until) };
    const found = await this.json<FindResult>("find", { trace, ...query, ...range, tracks: tracks ? listOf(tracks) : undefined }, signal);
    for (const event of found.events) event.trace = trace;
    return found;
  }

  select(trace: number, from: number, until: number, tracks: TrackId[] | null, sort: string, signal?: AbortSignal, order?: "up" | "down", limit?: number): Promise<SelectResult> {
    const params = { trace, from: whole(from), until: whole(until), tracks: tracks ? listOf(tracks) : undefined, sort, order, limit };
    return this.json("select", params, signal);
  }

  flows(trace: number, what: { row?: number; category?: string; all?: boolean }, from: number, until: number, tracks: TrackId[] | null, signal?: AbortSignal): Promise<FlowResult> {
    const params = {
      trace, from: whole(from), until: whole(until), row: what.row, category: what.category, all: what.all ? 1 : undefined,
      tracks: tracks ? listOf(tracks) : undefined,
    };
    return this.json("flows", params, signal);
  }

  flame(trace: number, from: number, until: number, of: string, by: string, signal?: AbortSignal): Promise<FlameResult> {
    return this.json("flame", { trace, from: whole(from), until: whole(until), of, by }, signal);
  }

  async reports(signal?: AbortSignal): Promise<ReportAbout[]> {
    return (await this.json<{ reports: ReportAbout[] }>("reports", {}, signal)).reports;
  }

  report(trace: number | null, name: string, options: Record<string, string>, signal?: AbortSignal): Promise<ReportAnswer> {
    return this.json("report", trace === null ? { name, ...options } : { trace, name, ...options }, signal);
  }

  lines(trace: number, skip: string): Promise<{ tracks: TrackId[] }> {
    return this.json("lines", { trace, skip }, undefined, "POST");
  }

  reportTracks(trace: number, name: string, table: string, options: Record<string, string>, signal?: AbortSignal): Promise<{ tracks: TrackId[]; left_out: number }> {
    return this.json("report/tracks", { trace, name, table, ...options }, signal, "POST");
  }

  // Cells keep their digits.
  async query(sql: string, params: Record<string, string>, signal?: AbortSignal): Promise<QueryResult | QueryFailure> {
    const response = await this.ask("query", asParameters(params), signal, "POST", sql);
    return parseKeeping(await response.text(), "rows") as QueryResult | QueryFailure;
  }

  async queryTables(signal?: AbortSignal): Promise<QueryTable[]> {
    return (await this.json<{ tables: QueryTable[] }>("query/tables", {}, signal)).tables;
  }

  queryTracks(trace: number, sql: string, params: Record<string, string>, title: string, signal?: AbortSignal): Promise<{ tracks: TrackId[]; left_out: number }> {
    return this.json("query/tracks", { trace, title, ...asParameters(params) }, signal, "POST", sql);
  }

  async queryTrack(trace: number, of: number, signal?: AbortSignal): Promise<TrackId | null> {
    return (await this.json<{ track?: TrackId }>("query/track", { trace, of }, signal)).track ?? null;
  }

  fidelity(trace: number): Promise<Fidelity> {
    return this.json("fidelity", { trace });
  }

  async fidelityList(trace: number, what: string, at: number): Promise<FidelityList> {
    const list = await this.json<FidelityList & { events: { name_text?: string; name: number | string }[] }>("fidelity/list", { trace, what, at });
    for (const event of list.events) event.trace = trace;
    return list;
  }

  async engine(): Promise<string> {
    return (await this.ask("engine", {})).text();
  }

  async store(trace: number, from: number, until: number): Promise<Blob> {
    return (await this.ask("crop", { trace, from: whole(from), until: whole(until), format: "heddle" })).blob();
  }

  cropUrl(trace: number, from: number, until: number, format: string, tracks: TrackId[] | null): string {
    return this.url("crop", { trace, from: whole(from), until: whole(until), format, tracks: tracks ? listOf(tracks) : undefined });
  }

  async close(trace: number): Promise<void> {
    await this.json("close", { trace }, undefined, "POST");
  }

  async openHead(trace: number, memory: number): Promise<void> {
    await this.transport.openHead?.(trace, memory);
  }

  open(file: File, progress: (done: number, total: number) => void): Promise<number> {
    return this.transport.upload(this.url("open", { name: file.name }), file, progress);
  }
}

const asParameters = (params: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(params).map(([name, value]) => [`:${name}`, value]));

function completed(list: TrackList, trace: number): TrackList {
  for (const track of list.tracks) {
    track.trace = trace;
    track.parent = track.parent ?? null;
    track.collapsed = track.collapsed ?? false;
  }
  return list;
}

async function messageOf(response: Response): Promise<string> {
  try {
    const body = (await response.json()) as { error?: unknown };
    if (typeof body.error === "string") return body.error;
  } catch {
    // not JSON: from a proxy between browser and server
  }
  return `The server says ${response.status}.`;
}
