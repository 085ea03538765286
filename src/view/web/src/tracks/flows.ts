// Arrows: which ones are drawn; requested as the view and the selection change.
import { computed, effect, signal, type ReadonlySignal } from "@preact/signals";
import type { App } from "../app";
import { formatCount, plural } from "../format";
import type { EventRef, FlowLine, FlowResult, TraceId, TrackId } from "../data/model";
import { isDerived, offsetOf, tracksShown } from "../tools/navigate";
import { isAbort, messageOf } from "../data/request";
import { tracksOf } from "../panels/scope";
import { trackKey, type FlowMode, type Range, type TrackKey } from "../state";

// One end of an arrow: its position, in global ns.
export interface FlowEnd {
  key: TrackKey;
  depth: number;
  time: number;
}

export interface DrawnFlow {
  from: FlowEnd;
  to: FlowEnd;
  backward: boolean; // ends before it starts
}

interface FlowStatus {
  loading: boolean;
  error: string;
  shown: number;
  count: number; // of all arrows of the mode
  categories: [string, number][]; // of all traces, most first
}

const NO_STATUS: FlowStatus = { loading: false, error: "", shown: 0, count: 0, categories: [] };
export const flowStatus = signal<FlowStatus>(NO_STATUS);
export const flowsUnseen = signal(0); // of the received ones

const WAIT_MS = 80;
const SELECTED_LIMIT = 50; // events whose arrows are requested, the last ones

export function drawnFlow(trace: TraceId, offset: number, line: FlowLine): DrawnFlow {
  const [fromTrack, fromDepth, fromTime, toTrack, toDepth, toTime, backward] = line;
  return {
    from: { key: trackKey(trace, fromTrack), depth: fromDepth, time: fromTime + offset },
    to: { key: trackKey(trace, toTrack), depth: toDepth, time: toTime + offset },
    backward: backward !== 0,
  };
}

interface FlowQuestion {
  trace: TraceId;
  what: { row?: number; category?: string; all?: boolean };
  from: number; // trace time
  until: number;
  tracks: TrackId[] | null; // one end is on one of them; null: any
}

// The requests for a mode. The arrows of an event are needed wherever they lead, others only in view.
export function flowQuestions(
  mode: FlowMode, selected: readonly EventRef[], view: Range, traces: readonly { id: TraceId; offset_ns: number; span_ns: number }[],
  tracksOf: (trace: TraceId) => TrackId[] | null = () => null,
): FlowQuestion[] {
  if (mode.mode === "off") return [];
  if (mode.mode === "selection") {
    return selected.filter((ref) => ref.kind === "slice").slice(-SELECTED_LIMIT).flatMap((ref) => {
      const trace = traces.find((each) => each.id === ref.trace);
      return trace ? [{ trace: ref.trace, what: { row: ref.row }, from: 0, until: Math.max(1, trace.span_ns), tracks: null }] : [];
    });
  }
  const what = mode.mode === "all" ? { all: true } : { category: mode.category };
  return traces.map((trace) => ({
    trace: trace.id, what, from: Math.floor(view.from - trace.offset_ns), until: Math.ceil(view.until - trace.offset_ns),
    tracks: tracksOf(trace.id),
  })).filter(({ tracks }) => tracks === null || tracks.length > 0);
}

export function sumCategories(results: readonly FlowResult[]): [string, number][] {
  const sums = new Map<string, number>();
  for (const result of results) for (const [name, count] of result.categories) sums.set(name, (sums.get(name) ?? 0) + count);
  return [...sums].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
}

// `unseen`: requested arrows that cannot be drawn, as an end is on a hidden track.
export function flowText(status: FlowStatus, unseen = 0): string {
  if (status.error) return status.error;
  const drawn = status.shown - unseen;
  const text = drawn >= status.count ? plural(status.count, "arrow") : `showing ${formatCount(drawn)} of ${plural(status.count, "arrow")}`;
  return unseen > 0 ? `${text}: ${formatCount(unseen)} to tracks that are not shown` : text;
}

// The requests of the state as text, so that equal ones are sent once.
function questionsOf(app: App): ReadonlySignal<string> {
  return computed(() => {
    const { state } = app;
    const mode = state.flows.value;
    if (mode.mode === "off") return "[]";
    const traces = (state.session.value?.traces ?? []).filter((each) => each.state === "ready")
      .map(({ id, offset_ns, span_ns }) => ({ id, offset_ns, span_ns }));
    const selected = mode.mode === "selection" ? state.selected.value.filter((event) => !isDerived(app, event)) : [];
    const view = mode.mode === "selection" ? { from: 0, until: 1 } : state.range.value;
    const seen = tracksShown(app);
    const tracks = (trace: TraceId): TrackId[] | null => tracksOf({ tracks: null }, trace, state.tracks.value, seen);
    return JSON.stringify(flowQuestions(mode, selected, view, traces, tracks));
  });
}

async function ask(app: App, questions: FlowQuestion[], lines: { value: DrawnFlow[] }, abort: AbortSignal): Promise<void> {
  flowStatus.value = { ...flowStatus.peek(), loading: true, error: "" };
  try {
    const results = await Promise.all(
      questions.map(({ trace, what, from, until, tracks }) => app.source.flows(trace, what, from, until, tracks, abort)),
    );
    if (abort.aborted) return;
    const drawn = results.flatMap((result, at) => {
      const { trace } = questions[at] as FlowQuestion;
      return result.flows.map((line) => drawnFlow(trace, offsetOf(app, trace), line));
    });
    const count = results.reduce((sum, result) => sum + result.count, 0);
    lines.value = drawn;
    flowStatus.value = { loading: false, error: "", shown: drawn.length, count, categories: sumCategories(results) };
  } catch (error) {
    if (abort.aborted || isAbort(error)) return;
    lines.value = [];
    flowStatus.value = { ...NO_STATUS, error: messageOf(error), categories: flowStatus.peek().categories };
  }
}

export function attachFlows(app: App): ReadonlySignal<DrawnFlow[]> {
  const lines = signal<DrawnFlow[]>([]);
  const wanted = questionsOf(app);
  let timer: ReturnType<typeof setTimeout> | undefined;
  let running: AbortController | null = null;
  effect(() => {
    const questions = JSON.parse(wanted.value) as FlowQuestion[];
    clearTimeout(timer);
    running?.abort();
    if (!questions.length) {
      lines.value = [];
      flowStatus.value = { ...NO_STATUS, categories: flowStatus.peek().categories };
      return;
    }
    const abort = new AbortController();
    running = abort;
    timer = setTimeout(() => void ask(app, questions, lines, abort.signal), WAIT_MS);
  });
  effect(() => {
    const { seenAt } = app.layout();
    flowsUnseen.value = lines.value.filter(({ from, to }) => !seenAt(from.key) || !seenAt(to.key)).length;
    app.redraw();
  });
  return lines;
}
