// Follows the session: the traces, their reading progress, their tracks. Stores it in the state.
import { batch, effect } from "@preact/signals";
import type { App } from "../app";
import { placed } from "./clocks";
import { ownLines, withOwnLines } from "./own_lines";
import type { Session, TraceId, TraceInfo, TrackInfo } from "./model";
import type { Range } from "../state";
import { labelsOf, withLabel, withSection } from "./trace_names";

const RETRY_MS = [300, 600, 1200, 2500, 5000];

interface Known {
  revision: number; // of the trace's tracks, as they were fetched
  tracks: TrackInfo[];
}

// The range of all traces together on the global axis.
function wholeOf(traces: readonly TraceInfo[]): Range {
  let from = Infinity;
  let until = -Infinity;
  for (const trace of traces) {
    if (trace.state === "failed" || (trace.state === "reading" && trace.tracks === 0)) continue;
    from = Math.min(from, trace.offset_ns);
    until = Math.max(until, trace.offset_ns + Math.max(1, trace.span_ns));
  }
  return from < until ? { from, until } : { from: 0, until: 1 };
}

// Absolute ns of global time 0.
function originOf(traces: readonly TraceInfo[]): bigint {
  const first = traces.find((trace) => trace.state !== "failed");
  return first ? BigInt(first.start_ns) - BigInt(Math.round(first.offset_ns)) : 0n;
}

export class Follower {
  private readonly known = new Map<TraceId, Known>();
  private id = ""; // of the server's run
  private stopped = false;
  private failures = 0;
  private revision = -1;
  private told: Session | null = null; // the server's last session
  private labels = ""; // of the traces, as the tracks have them
  private lines = ownLines.peek(); // likewise

  constructor(
    private readonly app: App,
    private readonly onNewServer: () => void,
  ) {}

  async run(): Promise<void> {
    effect(() => {
      void this.app.state.clocks.value;
      void this.app.state.aligned.value;
      void ownLines.value;
      if (this.told) this.show(this.told, false);
    });
    let after: number | undefined;
    while (!this.stopped) {
      try {
        const session = await this.app.source.session(after);
        if (session.session !== this.id) {
          if (this.id !== "") {
            this.known.clear();
            this.app.state.clocks.value = [];
            this.onNewServer();
          }
          this.id = session.session;
        }
        await this.take(session);
        after = session.revision;
        if (this.failures > 0) this.app.state.message.value = null;
        this.failures = 0;
      } catch (error) {
        after = undefined;
        const text = error instanceof Error ? error.message : String(error);
        if (this.failures++ > 0) this.app.state.message.value = { text, error: true };
        await new Promise((wake) => setTimeout(wake, RETRY_MS[Math.min(this.failures - 1, RETRY_MS.length - 1)]));
      }
    }
  }

  stop(): void {
    this.stopped = true;
  }

  private async take(session: Session): Promise<void> {
    const { source, tiles } = this.app;
    let changed = this.known.size === 0;
    const isThere = new Set(session.traces.map((trace) => trace.id));
    const closed = [...this.known.keys()].filter((trace) => !isThere.has(trace));
    for (const trace of closed) this.known.delete(trace);
    await Promise.all(
      session.traces.map(async (trace, k) => {
        const known = this.known.get(trace.id);
        if (trace.state === "failed" || trace.tracks === 0 || (known && known.revision >= trace.tracks)) return;
        const told = session.lists?.[k];
        const answer = told && told.revision >= trace.tracks ? told : await source.tracks(trace.id);
        this.known.set(trace.id, { revision: answer.revision, tracks: answer.tracks });
        changed = true;
      }),
    );
    delete session.lists; // known now
    this.told = session;
    batch(() => {
      this.show(session, changed || closed.length > 0);
      if (closed.length > 0) this.forget((trace) => isThere.has(trace));
    });
    if (session.revision !== this.revision) this.app.names.again();
    this.revision = session.revision;
    tiles.setRevision(session.revision);
    this.app.redraw();
  }

  // Of traces that were closed nothing is selected, or counted.
  private forget(isThere: (trace: TraceId) => boolean): void {
    const { state } = this.app;
    const area = state.area.value;
    const tracks = area?.tracks?.filter((key) => isThere(Number.parseInt(key, 10))) ?? null;
    state.selected.value = state.selected.value.filter(({ trace }) => isThere(trace));
    state.hovered.value = null;
    state.pinned.value = state.pinned.value.filter((key) => isThere(Number.parseInt(key, 10)));
    state.fidelity.value = new Map([...state.fidelity.value].filter(([trace]) => isThere(trace)));
    if (area?.tracks) state.area.value = tracks && tracks.length > 0 ? { ...area, tracks } : null;
  }

  // Puts it into the state, with the traces where their clocks say.
  private show(told: Session, changed: boolean): void {
    const { state } = this.app;
    const session = placed(told, state.clocks.peek(), state.aligned.peek());
    const before = state.whole.peek();
    const range = state.range.peek();
    const whole = wholeOf(session.traces);
    const labels = labelsOf(session.traces);
    const labelled = JSON.stringify([...labels]);
    batch(() => {
      state.session.value = session;
      state.origin.value = originOf(session.traces);
      if (whole.from !== before.from || whole.until !== before.until) {
        state.whole.value = whole;
        // A view of the whole stays one while the trace is being read.
        if (range.from === before.from && range.until === before.until) state.range.value = whole;
      }
      const lines = ownLines.peek();
      if (changed || labelled !== this.labels || lines !== this.lines) {
        state.tracks.value = session.traces.flatMap(({ id, rank }) => withSection(withLabel(withOwnLines(this.known.get(id)?.tracks ?? [], lines.get(id)), labels.get(id), rank), labels.size));
      }
      this.lines = lines;
    });
    this.labels = labelled;
  }
}
