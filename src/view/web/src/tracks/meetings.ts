// Collectives across the shown ranks: which ones are drawn; requested as the view and the selection change.
import { computed, effect, signal, type ReadonlySignal } from "@preact/signals";
import type { App } from "../app";
import { keyOfClocks } from "../data/clocks";
import type { ClockInfo, EventRef, Meeting, TraceId } from "../data/model";
import { isAbort, messageOf } from "../data/request";
import { formatCount, plural } from "../format";
import { trackKey, type TrackKey } from "../state";
import { isDerived, offsetOf, tracksShown } from "../tools/navigate";

// A collective as it is drawn, times in global ns.
export interface DrawnMeeting {
  parts: { key: TrackKey; depth: number; from: number; until: number }[];
  strong: boolean; // it is selected
  last: number | null; // when the last came, if that is open and the clocks of all are known
}

interface MeetingStatus {
  error: string;
  count: number; // in view
  drawn: number;
}

const NO_STATUS: MeetingStatus = { error: "", count: 0, drawn: 0 };
export const meetingStatus = signal<MeetingStatus>(NO_STATUS);

const WAIT_MS = 120;
const FEW = 40; // up to this many in view are always drawn
const MOST = 400; // limit if all are requested
const SELECTED = 20; // events whose collectives are drawn, the last ones
const TRACES = 64;

export function meetingText({ error, count, drawn }: MeetingStatus): string {
  if (error) return `Collectives across ranks: ${error}`;
  if (count === 0) return "";
  const text = `${plural(count, "collective")} across ranks`;
  return drawn === 0 ? `${text}: zoom in to see them` : drawn < count ? `${formatCount(drawn)} of ${text}` : text;
}

// Traces with visible tracks, once clocks were compared: until then the server may be busy with their summaries.
export function tracesCompared(app: App): TraceId[] {
  const session = app.state.session.value;
  if (app.state.clocks.value.length === 0 || keyOfClocks(session, app.state.tracks.value) === "") return [];
  const shown = tracksShown(app);
  const seen = shown && new Set([...shown].map((key) => Number(key.split(".")[0])));
  return (session?.traces ?? []).filter(({ id, state }) => state === "ready" && (!seen || seen.has(id))).map(({ id }) => id).slice(0, TRACES);
}

export function drawnMeeting(meeting: Meeting, offset: (trace: TraceId) => number, clocks: ReadonlyMap<TraceId, ClockInfo>, strong: boolean): DrawnMeeting {
  const parts = meeting.parts.filter(({ track }) => track >= 0).map(({ trace, track, depth, start, duration }) => {
    const from = start + offset(trace);
    return { key: trackKey(trace, track), depth, from, until: from + duration };
  });
  const alone = meeting.parts.every(({ trace }) => trace === meeting.parts[0]?.trace); // a trace has one clock
  const known = alone || meeting.parts.every(({ trace }) => (clocks.get(trace)?.offset_ns ?? null) !== null);
  const last = meeting.parts.find(({ rank, device }) => rank === meeting.last_rank && device === meeting.last_device);
  return { parts, strong, last: known && last ? last.start + offset(last.trace) : null };
}

interface Questions {
  view: { trace: TraceId; from: number; until: number }[]; // trace time
  selected: { trace: TraceId; row: number }[];
  traces: TraceId[];
  limit: number;
}

// The requests of the state as text, so that equal ones are sent once.
function questionsOf(app: App): ReadonlySignal<string> {
  const compared = computed(() => tracesCompared(app)); // on its own, as it looks at all tracks
  return computed(() => {
    const { state } = app;
    const { mode } = state.flows.value;
    const traces = mode === "off" ? [] : compared.value;
    if (traces.length === 0) return "";
    const range = state.range.value;
    const view = mode === "category" ? [] : traces.map((trace) => {
      const offset = offsetOf(app, trace);
      return { trace, from: Math.floor(range.from - offset), until: Math.ceil(range.until - offset) };
    });
    const selected = state.selected.value.filter((event: EventRef) => event.kind === "slice" && !isDerived(app, event)).slice(-SELECTED)
      .map(({ trace, row }) => ({ trace, row }));
    return JSON.stringify({ view, selected, traces, limit: mode === "all" ? MOST : FEW });
  });
}

interface Found {
  meeting: Meeting;
  strong: boolean;
}

async function ask(app: App, { view, selected, traces, limit }: Questions, found: { value: Found[] }, abort: AbortSignal): Promise<void> {
  try {
    const [inView, chosen] = await Promise.all([
      Promise.all(view.map(({ trace, from, until }) => app.source.collectives(trace, { from, until, limit }, traces, abort))),
      Promise.all(selected.map(({ trace, row }) => app.source.collectives(trace, { row }, traces, abort))),
    ]);
    if (abort.aborted) return;
    const count = inView.reduce((sum, each) => sum + each.count, 0);
    const near = limit === FEW && count > FEW ? [] : inView.flatMap((each) => each.collectives);
    found.value = [...near.map((meeting) => ({ meeting, strong: false })), ...chosen.flatMap((each) => each.collectives.map((meeting) => ({ meeting, strong: true })))];
    meetingStatus.value = { error: "", count, drawn: near.length };
  } catch (error) {
    if (abort.aborted || isAbort(error)) return;
    found.value = [];
    meetingStatus.value = { ...NO_STATUS, error: messageOf(error) };
  }
}

export function attachMeetings(app: App): ReadonlySignal<DrawnMeeting[]> {
  const found = signal<Found[]>([]);
  const wanted = questionsOf(app);
  let timer: ReturnType<typeof setTimeout> | undefined;
  let running: AbortController | null = null;
  effect(() => {
    const questions = wanted.value;
    clearTimeout(timer);
    running?.abort();
    if (questions === "") {
      found.value = [];
      meetingStatus.value = NO_STATUS;
      return;
    }
    const abort = new AbortController();
    running = abort;
    timer = setTimeout(() => void ask(app, JSON.parse(questions) as Questions, found, abort.signal), WAIT_MS);
  });
  return computed(() => {
    const clocks = new Map(app.state.clocks.value.map((clock) => [clock.trace, clock]));
    return found.value.map(({ meeting, strong }) => drawnMeeting(meeting, (trace) => offsetOf(app, trace), clocks, strong));
  });
}
