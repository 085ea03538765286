// Search: runs the query of the state over all traces, and steps through the hits.
import { effect, signal } from "@preact/signals";
import type { App } from "../app";
import { formatCount } from "../format";
import type { EventRef, SearchQuery, SearchResult, TraceId } from "./model";
import { offsetOf, selectEvent } from "../tools/navigate";
import { isAbort, messageOf } from "./request";
import { Turns } from "../tools/turns";

interface SearchStatus {
  running: boolean;
  error: string;
  ms: number; // of the slowest server answer
  at: number | null; // which hit is selected, from 1, over all traces in the order of time
}

export const searchStatus = signal<SearchStatus>({ running: false, error: "", ms: 0, at: null });

const WAIT_MS = 120; // between the last key and the question

export interface Hit {
  event: EventRef;
  time: number; // global
}

// The order of hits of several traces when stepping. A trace returns only one at a time.
function compareHits(a: Hit, b: Hit): number {
  return a.time - b.time || a.event.trace - b.event.trace;
}

export function totalCount(results: ReadonlyMap<TraceId, SearchResult>): { count: number; traces: number; more: boolean } {
  let count = 0;
  let traces = 0;
  let more = false;
  for (const result of results.values()) {
    count += result.count;
    if (result.count > 0) traces++;
    more ||= result.more;
  }
  return { count, traces, more };
}

// "1,234 in 3 ranks"
export function countText(results: ReadonlyMap<TraceId, SearchResult>): string {
  const { count, traces, more } = totalCount(results);
  const text = `${more ? "at least " : ""}${formatCount(count)}`;
  return results.size > 1 && count > 0 ? `${text} in ${formatCount(traces)} ${traces === 1 ? "trace" : "traces"}` : text;
}

interface Running {
  abort: AbortController;
  query: SearchQuery;
}

let running: Running | null = null;
let stepping: AbortController | null = null;
const steps = new Turns();

// A place in the order of hits: at a time, or after an event that starts then.
export interface Place {
  time: number; // global
  event: EventRef | null;
}

// The same position on the axis of one trace. At equal times traces with a smaller number come first.
export function placeIn(trace: TraceId, offset: number, place: Place): { from: number; behind?: { kind: string; row: number } } {
  const from = place.time - offset;
  if (!place.event || trace > place.event.trace) return { from };
  if (trace < place.event.trace) return { from: from + 1 };
  return { from, behind: { kind: place.event.kind, row: place.event.row } };
}

async function searchAll(app: App, place: Place, query: SearchQuery, signal: AbortSignal): Promise<Map<TraceId, SearchResult>> {
  const traces = (app.state.session.value?.traces ?? []).filter((each) => each.state === "ready");
  const answers = await Promise.all(
    traces.map(async (trace) => {
      const { from, behind } = placeIn(trace.id, offsetOf(app, trace.id), place);
      return [trace.id, await app.source.search(trace.id, query, from, signal, behind)] as const;
    }),
  );
  return new Map(answers);
}

function forget(app: App): void {
  running?.abort.abort();
  running = null;
  app.tiles.setSearch(null);
  if (app.state.results.value.size) app.state.results.value = new Map();
  searchStatus.value = { running: false, error: "", ms: 0, at: null };
}

async function run(app: App, query: SearchQuery): Promise<void> {
  running?.abort.abort();
  const abort = new AbortController();
  running = { abort, query };
  searchStatus.value = { ...searchStatus.value, running: true, error: "" };
  try {
    const results = await searchAll(app, { time: app.state.range.peek().from, event: null }, query, abort.signal);
    if (abort.signal.aborted) return;
    app.tiles.setSearch([...results.values()].some((result) => result.by_event) ? query : null);
    app.state.results.value = results;
    const ms = [...results.values()].reduce((most, each) => Math.max(most, each.ms), 0);
    searchStatus.value = { running: false, error: "", ms, at: null };
  } catch (error) {
    if (abort.signal.aborted || isAbort(error)) return;
    app.state.results.value = new Map();
    searchStatus.value = { running: false, error: messageOf(error), ms: 0, at: null };
  }
}

// Follows the query, and traces that become ready. Returns a function that ends it.
export function attachSearch(app: App): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let before = "";
  return effect(() => {
    const query = app.state.query.value;
    const ready = (app.state.session.value?.traces ?? []).filter((each) => each.state === "ready").map((each) => each.id);
    const question = JSON.stringify([query, ready]);
    if (question === before) return;
    before = question;
    clearTimeout(timer);
    running?.abort.abort();
    stepping?.abort();
    steps.begin();
    if (query.q === "") {
      forget(app);
      return;
    }
    timer = setTimeout(() => void run(app, query), WAIT_MS);
  });
}

// Start of stepping: the selected event, else the left edge of the view.
function startOfStep(app: App): Place {
  const selected = app.state.selected.peek();
  const event = selected[selected.length - 1];
  return event ? { event, time: event.start + offsetOf(app, event.trace) } : { event: null, time: app.state.range.peek().from };
}

function pick(results: ReadonlyMap<TraceId, SearchResult>, app: App, way: 1 | -1): Hit | null {
  let best: Hit | null = null;
  for (const [trace, result] of results) {
    const event = way > 0 ? result.next : result.previous;
    if (!event) continue;
    const hit = { event: { ...event, trace }, time: event.start + offsetOf(app, trace) };
    if (!best || compareHits(hit, best) * way < 0) best = hit;
  }
  return best;
}

// Selects the next or the previous hit and brings it into view; after the last one it starts over.
export function searchStep(app: App, way: 1 | -1, key?: KeyboardEvent): Promise<void> {
  return steps.add(() => stepOnce(app, way), key);
}

async function stepOnce(app: App, way: 1 | -1): Promise<void> {
  const query = app.state.query.peek();
  if (query.q === "") return;
  const abort = new AbortController();
  stepping = abort;
  try {
    let results = await searchAll(app, startOfStep(app), query, abort.signal);
    let hit = pick(results, app, way);
    if (!hit && totalCount(results).count > 0) {
      const { from, until } = app.state.whole.peek();
      results = await searchAll(app, { event: null, time: way > 0 ? from - 1 : until + 1 }, query, abort.signal);
      hit = pick(results, app, way);
      if (hit) app.state.message.value = { text: way > 0 ? "From the end to the first hit." : "From the start to the last hit.", error: false };
    }
    if (abort.signal.aborted || !hit) return;
    selectEvent(app, hit.event);
    // After the hit: the number of hits before the next ones is its number.
    if (way < 0) results = await searchAll(app, hit, query, abort.signal);
    if (abort.signal.aborted) return;
    const before = [...results.values()].reduce((sum, each) => sum + (each.next ? each.index ?? 0 : each.count), 0);
    searchStatus.value = { ...searchStatus.value, at: way > 0 ? before + 1 : before };
  } catch (error) {
    if (abort.signal.aborted || isAbort(error)) return;
    app.state.message.value = { text: messageOf(error), error: true };
  }
}
