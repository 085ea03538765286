// The view as text after the # of the address, and back. Pure; parsing gives a view for every text. Times are integers
// (narrow ranges: to a hundredth) of ns from the start of the earliest trace: a link stays valid for the same files.
import { MOST_MARKS, markName } from "./marks";
import type { SearchQuery } from "./data/model";
import type { ColorBy, FlowMode, Mark, Range, Tab, Tool, TrackKey } from "./state";

// Enough to find an event again: the server completes it.
export interface EventKey {
  trace: number;
  track: number;
  depth: number;
  row: number;
  start: number; // trace time
}

// Values not in the text are absent.
export interface ViewText {
  of?: string; // filesText() of the traces that it was a view of
  range?: Range;
  scroll?: number;
  selected?: EventKey[];
  id?: number; // of an event to select, as in SQL: slice.id
  area?: Range & { tracks: TrackKey[] | null };
  timing?: Range;
  marks?: Mark[];
  query?: SearchQuery;
  filter?: "dim" | "hide";
  tool?: Tool;
  tab?: Tab;
  sql?: string;
  flows?: FlowMode;
  clocks?: "raw";
  colorBy?: ColorBy;
  axis?: "absolute";
  collapsed?: Map<TrackKey, boolean>;
  hidden?: Set<TrackKey>;
  pinned?: TrackKey[];
  moved?: Map<TrackKey, number>;
  trackFilter?: string;
  folded?: ReadonlySet<TrackKey>; // sections that are collapsed under the filter
}

export const MOST_CHARACTERS = 16000; // longest text that is read; browsers and chats cut longer addresses
const MOST_EVENTS = 50;
const MOST_TRACKS = 200000;
const TIME_LIMIT = 2 ** 63;
const LONGEST_TEXT = 1000;
export const LONGEST_SQL = 4000; // longer ones are not in the address

const TOOLS: readonly Tool[] = ["select", "pan", "zoom", "time"];
const TABS: readonly Tab[] = ["start", "diff", "details", "selection", "flame", "reports", "query", "job", "fidelity", "search"];

// ---- numbers and ranges ----

function timeText(time: number, exact: boolean): string {
  const rounded = Number.isInteger(time) ? time : exact ? Math.round(time) : Math.round(time * 100) / 100;
  return Number.isInteger(rounded) ? BigInt(rounded).toString() : String(rounded);
}

const isWide = (range: Range): boolean => range.until - range.from >= 100000;

export function rangeText(range: Range): string {
  const exact = isWide(range);
  return `${timeText(range.from, exact)}~${timeText(range.until, exact)}`;
}

function parseTime(text: string | undefined): number | null {
  if (text === undefined || !/^-?[0-9]{1,19}(\.[0-9]{1,2})?$/.test(text)) return null;
  const time = Number(text);
  return Math.abs(time) < TIME_LIMIT ? time + 0 : null; // + 0: no -0
}

export function parseRange(text: string | null, mayBeEmpty = false): Range | undefined {
  const parts = text?.split("~") ?? [];
  const from = parseTime(parts[0]);
  const until = parseTime(parts[1]);
  if (parts.length !== 2 || from === null || until === null) return undefined;
  if (!(until > from || (mayBeEmpty && until === from))) return undefined;
  return isWide({ from, until }) ? { from: Math.round(from) + 0, until: Math.round(until) + 0 } : { from, until };
}

function parseCount(text: string | undefined, below: number): number | null {
  if (text === undefined || !/^[0-9]{1,15}$/.test(text)) return null;
  const value = Number(text);
  return value < below ? value : null;
}

// ---- sets of tracks: "0.3-7_9,1.2": trace 0 tracks 3 to 7 and 9, trace 1 track 2 ----

export function tracksText(keys: Iterable<TrackKey>): string {
  const of = new Map<string, number[]>();
  for (const key of keys) {
    const [trace = "", track = ""] = key.split(".");
    const list = of.get(trace) ?? [];
    list.push(Number(track));
    of.set(trace, list);
  }
  return [...of].map(([trace, tracks]) => `${trace}.${runs(tracks.sort((a, b) => a - b))}`).join(",");
}

function runs(sorted: number[]): string {
  const out: string[] = [];
  for (let k = 0; k < sorted.length; k++) {
    const first = sorted[k] as number;
    let last = first;
    while (k + 1 < sorted.length && (sorted[k + 1] as number) <= last + 1) last = sorted[++k] as number;
    out.push(first === last ? `${first}` : `${first}-${last}`);
  }
  return out.join("_");
}

export function parseTracks(text: string | null, most = MOST_TRACKS): TrackKey[] {
  const out: TrackKey[] = [];
  for (const part of text?.split(",") ?? []) {
    const [traceText, list] = part.split(".");
    const trace = parseCount(traceText, 1e6);
    if (trace === null) continue;
    for (const run of list?.split("_") ?? []) {
      const [firstText, lastText, extra] = run.split("-");
      const first = parseCount(firstText, 2 ** 32);
      const last = lastText === undefined ? first : parseCount(lastText, 2 ** 32);
      if (first === null || last === null || extra !== undefined || last < first) continue;
      for (let track = first; track <= last && out.length < most; track++) out.push(`${trace}.${track}`);
    }
  }
  return out;
}

// ---- events ----

const eventText = (event: EventKey): string =>
  [event.trace, event.track, event.depth, event.row, timeText(event.start, true)].join(".");

export function parseEvent(text: string): EventKey | null {
  const parts = text.split(".");
  const [trace, track, depth, row] = parts.map((part) => parseCount(part, 2 ** 53));
  const start = parseTime(parts[4]);
  if (parts.length !== 5 || trace == null || track == null || depth == null || row == null || start === null) return null;
  return { trace, track, depth, row, start };
}

// Of an id of SQL: the place of the trace, a kind, a row.
export function eventOfId(id: number): { trace: number; kind: string; row: number } | null {
  const kind = ["slice", "instant"][Math.floor(id / 2 ** 38) % 4];
  return kind === undefined ? null : { trace: Math.floor(id / 2 ** 40), kind, row: id % 2 ** 38 };
}

// ---- the traces that it is of ----

// Eight hexadecimal digits: a hash of the times of traces, by which other files are recognised. Names may change.
export function filesText(traces: readonly { start_ns: string; span_ns: number }[]): string {
  let hash = 0x811c9dc5; // FNV-1a
  for (const letter of traces.map(({ start_ns, span_ns }) => `${start_ns}+${span_ns}`).join()) hash = Math.imul(hash ^ letter.charCodeAt(0), 0x01000193);
  return (hash >>> 0).toString(16).padStart(8, "0");
}

// ---- the whole ----

export function viewText(view: ViewText): string {
  const out = new URLSearchParams();
  const put = (key: string, value: string | undefined): void => {
    if (value !== undefined && value !== "") out.set(key, value);
  };
  put("r", view.range && rangeText(view.range));
  put("y", view.scroll ? String(Math.round(view.scroll)) : "");
  put("s", view.selected?.slice(-MOST_EVENTS).map(eventText).join(","));
  put("id", view.id?.toString());
  if (view.area) {
    put("a", rangeText(view.area));
    put("at", view.area.tracks ? tracksText(view.area.tracks) : "");
  }
  put("t", view.timing && rangeText(view.timing));
  for (const mark of view.marks ?? []) out.append("m", `${rangeText(mark)} ${mark.name}`);
  if (view.query?.q) {
    put("q", view.query.q);
    if (view.query.mode !== "text") put("qm", view.query.mode);
    if (view.query.in !== "names") put("qi", view.query.in);
    if (view.query.case) put("qc", "1");
  }
  put("qf", view.filter);
  put("tool", view.tool);
  put("tab", view.tab);
  put("sql", view.sql);
  put("f", view.flows && flowsText(view.flows));
  put("cl", view.clocks);
  put("c", view.colorBy);
  put("x", view.axis);
  if (view.collapsed) {
    put("tc", tracksText([...view.collapsed].filter(([, is]) => is).map(([key]) => key)));
    put("te", tracksText([...view.collapsed].filter(([, is]) => !is).map(([key]) => key)));
  }
  put("th", view.hidden && tracksText(view.hidden));
  put("tp", view.pinned?.join(","));
  put("to", view.moved && [...view.moved].map(([key, place]) => `${key}~${Math.round(place * 1e4) / 1e4}`).join(","));
  put("tf", view.trackFilter);
  put("tfc", view.folded && tracksText(view.folded));
  if ([...out.keys()].length > 0) put("of", view.of);
  // Characters that are valid after a # are not escaped, so that the address stays readable.
  return out.toString().replace(/%7E/g, "~").replace(/%2C/g, ",");
}

function flowsText(flows: FlowMode): string {
  return flows.mode === "category" ? `category:${flows.category}` : flows.mode;
}

function parseFlows(text: string | null): FlowMode | undefined {
  if (text === "off" || text === "selection" || text === "all") return { mode: text };
  if (text?.startsWith("category:")) return { mode: "category", category: text.slice(9, LONGEST_TEXT) };
  return undefined;
}

function oneOf<T extends string>(text: string | null, allowed: readonly T[]): T | undefined {
  return allowed.find((value) => value === text);
}

function parseMarks(texts: string[]): Mark[] {
  const marks: Mark[] = [];
  for (const text of texts.slice(0, MOST_MARKS)) {
    const space = text.indexOf(" ");
    const range = parseRange(space < 0 ? text : text.slice(0, space), true);
    const id = marks.length + 1;
    if (range) marks.push({ id, name: markName(space < 0 ? "" : text.slice(space + 1), `Mark ${id}`), ...range });
  }
  return marks;
}

function parseMoved(text: string | null): Map<TrackKey, number> {
  const moved = new Map<TrackKey, number>();
  for (const part of (text ?? "").split(",").slice(0, MOST_TRACKS)) {
    const [keyText, placeText] = part.split("~");
    const key = parseTracks(keyText ?? null, 1)[0];
    if (key !== undefined && placeText !== undefined && /^-?[0-9]{1,9}(\.[0-9]{1,4})?$/.test(placeText)) {
      moved.set(key, Number(placeText) + 0);
    }
  }
  return moved;
}

function parseQuery(params: URLSearchParams): SearchQuery | undefined {
  const q = params.get("q")?.slice(0, LONGEST_TEXT);
  if (!q) return undefined;
  return {
    q,
    mode: oneOf(params.get("qm"), ["text", "regex", "glob"] as const) ?? "text",
    in: oneOf(params.get("qi"), ["names", "args", "all"] as const) ?? "names",
    case: params.get("qc") === "1",
  };
}

// With or without the "#".
export function parseView(text: string): ViewText {
  const params = new URLSearchParams(text.replace(/^#/, "").slice(0, MOST_CHARACTERS));
  const view: ViewText = {};
  const set = <K extends keyof ViewText>(key: K, value: ViewText[K] | null): void => {
    if (value !== undefined && value !== null) view[key] = value;
  };
  set("range", parseRange(params.get("r")));
  if (/^[0-9a-f]{8}$/.test(params.get("of") ?? "")) view.of = params.get("of") as string;
  set("scroll", parseCount(params.get("y") ?? undefined, 2 ** 31) || null);
  const events = (params.get("s") ?? "").split(",").slice(0, MOST_EVENTS).map(parseEvent).filter((e) => e !== null);
  if (events.length > 0) view.selected = events;
  set("id", parseCount(params.get("id") ?? undefined, 2 ** 53));
  const area = parseRange(params.get("a"), true);
  const areaTracks = parseTracks(params.get("at"));
  if (area) view.area = { ...area, tracks: areaTracks.length > 0 ? areaTracks : null };
  set("timing", parseRange(params.get("t"), true));
  const marks = parseMarks(params.getAll("m"));
  if (marks.length > 0) view.marks = marks;
  set("query", parseQuery(params));
  set("filter", oneOf(params.get("qf"), ["dim", "hide"] as const));
  set("tool", oneOf(params.get("tool"), TOOLS));
  set("tab", oneOf(params.get("tab"), TABS));
  set("sql", params.get("sql")?.slice(0, LONGEST_SQL) || null);
  set("flows", parseFlows(params.get("f")));
  set("clocks", oneOf(params.get("cl"), ["raw"] as const));
  set("colorBy", oneOf(params.get("c"), ["class", "name", "category", "change"] as const));
  set("axis", oneOf(params.get("x"), ["absolute"] as const));
  const collapsed = new Map<TrackKey, boolean>();
  for (const key of parseTracks(params.get("tc"))) collapsed.set(key, true);
  for (const key of parseTracks(params.get("te"))) collapsed.set(key, false);
  if (collapsed.size > 0) view.collapsed = collapsed;
  const hidden = parseTracks(params.get("th"));
  if (hidden.length > 0) view.hidden = new Set(hidden);
  // Pins keep their order, so they are not stored as runs.
  const pinned = (params.get("tp") ?? "").split(",").flatMap((key) => parseTracks(key, 1));
  if (pinned.length > 0) view.pinned = [...new Set(pinned)];
  const moved = parseMoved(params.get("to"));
  if (moved.size > 0) view.moved = moved;
  set("trackFilter", params.get("tf")?.slice(0, LONGEST_TEXT) || null);
  const folded = parseTracks(params.get("tfc"));
  if (folded.length > 0 && view.trackFilter) view.folded = new Set(folded);
  return view;
}

// ---- what is a step of the history ----

// Whether users would want to go back to `before`: the view overlaps it little or not at all, or another selection or
// search is active. Smaller moves replace the entry.
export function isJump(before: ViewText, after: ViewText): boolean {
  const selection = (view: ViewText): string => (view.selected ?? []).map(eventText).join(",");
  if (selection(before) !== selection(after) && selection(after) !== "") return true;
  if (after.sql && before.sql !== after.sql) return true;
  const a = before.range;
  const b = after.range;
  if (!a || !b) return false;
  const spanA = a.until - a.from;
  const spanB = b.until - b.from;
  const shared = Math.min(a.until, b.until) - Math.max(a.from, b.from);
  return shared < Math.min(spanA, spanB) * 0.25 || spanA > spanB * 8 || spanB > spanA * 8;
}
