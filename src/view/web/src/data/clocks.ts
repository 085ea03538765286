// Offsets between traces by the clocks of their hosts, which the server estimates from collectives: requested once the
// traces are read, and stored in the session in place of the offsets from the files.
import { computed, effect } from "@preact/signals";
import type { App } from "../app";
import { formatShort, plural } from "../format";
import { messageOf } from "./request";
import type { ClockInfo, Session, TraceInfo, TrackInfo } from "./model";

const WAIT_MS = 300; // for further traces

// A job that can be compared: several ranks, of one trace or more, that are laid out. "": none.
export function keyOfClocks(session: Session | null, tracks: readonly TrackInfo[]): string {
  if (session?.diff) return ""; // runs of a diff are aligned by their steps
  const traces = session?.traces.filter((trace) => trace.state !== "failed") ?? [];
  const ranks = new Set([...traces, ...tracks].flatMap(({ rank }) => (rank === null || rank === undefined ? [] : [rank])));
  if (ranks.size < 2 || traces.some((trace) => trace.state !== "ready" || trace.busy !== "")) return "";
  return [session?.session, session?.job?.revision ?? 0, ...traces.map(({ id }) => id)].join();
}

// The session as it is drawn.
export function placed(session: Session, clocks: readonly ClockInfo[], aligned: boolean): Session {
  const of = new Map(clocks.map((clock) => [clock.trace, clock]));
  const traces = session.traces.map((trace): TraceInfo => {
    const clock = of.get(trace.id) ?? null;
    const by_clock_ns = clock?.offset_ns ?? null;
    return { ...trace, clock, told_ns: trace.offset_ns, offset_ns: aligned && by_clock_ns !== null ? by_clock_ns : trace.offset_ns };
  });
  return { ...session, traces };
}

// The shift of the trace relative to its file's times, and its error bar; "" if unknown.
export function clockText({ clock, told_ns, offset_ns, rank }: TraceInfo): string {
  if (!clock || told_ns === undefined || clock.basis === "step") return "";
  if (clock.offset_ns === null || clock.bar_ns === null) return rank === null ? "" : clock.basis === "refused" ? "clock refused" : "clock unknown";
  const by = clock.offset_ns - told_ns;
  if (by === 0 && clock.bar_ns === 0) return "";
  const text = `${by < 0 ? "−" : "+"}${formatShort(Math.abs(by))} ± ${formatShort(clock.bar_ns)}`;
  return offset_ns === clock.offset_ns ? text : `raw (${text})`;
}

// The ranks whose collectives the clock estimate is from.
export function clockRanks({ of, ranks }: ClockInfo): string {
  return of === "job" ? `all ${plural(ranks, "rank")}` : `the ${plural(ranks, "open trace")}`;
}

// The same in a sentence.
export function clockTitle(trace: TraceInfo): string {
  const { clock, rank } = trace;
  const name = rank === null ? trace.name : `rank ${rank}`;
  if (!clock) return "";
  if (clock.basis === "step") return `${name}: moved so that the steps which are compared begin together`;
  const of = clockRanks(clock);
  if (clock.offset_ns === null) return `${name}: not aligned by ${of}: ${clock.why ?? "its clock is not known"}`;
  const text = clockText(trace);
  if (text === "") return `${name}: the clock that counts`;
  return `${name}: ${text}${text.startsWith("raw") ? "" : " applied"}, by ${clock.basis === "ends" ? `the ends of ${clock.collectives} collectives` : clock.basis}, compared with those of ${of}`;
}

export function attachClocks(app: App): void {
  const { state } = app;
  const wanted = computed(() => keyOfClocks(state.session.value, state.tracks.value));
  let timer: ReturnType<typeof setTimeout> | undefined;
  effect(() => {
    const key = wanted.value;
    clearTimeout(timer);
    if (key === "") return;
    timer = setTimeout(() => {
      app.source.clocks().then((clocks) => {
        if (wanted.peek() === key) state.clocks.value = clocks;
      }, (error: unknown) => {
        if (wanted.peek() === key) state.message.value = { text: `The clocks are not compared: ${messageOf(error)}`, error: true };
      });
    }, WAIT_MS);
  });
}
