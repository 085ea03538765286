// What changed between the two sides of a diff: the verdict, steps side by side, and rows beyond noise. All figures are the
// server's (GET /api/diff); a click on a row leads to its events on both sides.
import { batch, effect, signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { App } from "../app";
import type { ClockInfo, DiffAnswer, DiffStep, EventRef, Session, TraceId } from "../data/model";
import { useRequest } from "../data/request";
import { formatDuration, formatPercent, formatShort, plural } from "../format";
import { offsetOf, scrollTo, showRange, uncover } from "../tools/navigate";
import { say } from "../tools/select_actions";
import { trackKey } from "../state";
import { DataTable, type Column, type Sort } from "./datatable";
import { Choice, Waiting } from "./parts";
import { last, selecting } from "./report_actions";
import { showTraces } from "./job";
import { numberOf, recordsOf, textOf, type Fields } from "./start/start_data";
import { gridHeight, signed } from "./start/step_strip";

const VERDICTS: readonly string[] = ["slower", "faster", "new", "gone"];
const MODULE = "nn.Module: "; // in names of events, not in those of rows

const isWorse = (verdict: string): boolean => verdict === "slower" || verdict === "new";
const toneClass = (verdict: string): string => (!VERDICTS.includes(verdict) ? "dim" : isWorse(verdict) ? "isworse" : "isbetter");

// The steps that are compared, pair by pair; where they are not, the first of each trace.
export function pairsOf(steps: readonly DiffStep[]): DiffStep[][] {
  const pairs = new Map<number, DiffStep[]>();
  for (const step of steps) {
    if (step.pair === undefined || !step.compared) continue;
    pairs.set(step.pair, [...(pairs.get(step.pair) ?? []), step]);
  }
  const list = [...pairs].sort(([a], [b]) => a - b).map(([, pair]) => pair);
  if (list.length > 0) return list;
  const first = new Map<TraceId, DiffStep>();
  for (const step of steps) if (step.compared && !first.has(step.trace)) first.set(step.trace, step);
  return first.size > 0 ? [[...first.values()]] : [];
}

// Verdicts by name, for the colours: a name that several rows have is as the first of them, which changes most.
export function changesOf(rows: readonly Fields[]): Map<string, string> {
  const changes = new Map<string, string>();
  for (const row of rows) {
    const [kind, verdict] = [textOf(row, "kind"), textOf(row, "verdict")];
    if (kind === "idle" || !VERDICTS.includes(verdict)) continue;
    for (const name of [textOf(row, "name"), textOf(row, "name_after")]) {
      const full = kind === "module" ? MODULE + name : name;
      if (name && !changes.has(full)) changes.set(full, verdict);
    }
  }
  return changes;
}

// The offsets with which these steps begin together, as clocks of their traces.
export function alignedBy(session: Session, pair: readonly DiffStep[]): ClockInfo[] {
  const offsets = new Map<TraceId, number>();
  const told = (trace: TraceId): number => {
    const info = session.traces.find(({ id }) => id === trace);
    return info?.told_ns ?? info?.offset_ns ?? 0;
  };
  const [first] = pair;
  if (!first) return [];
  for (const step of pair) if (!offsets.has(step.trace)) offsets.set(step.trace, told(first.trace) + first.start - step.start);
  return session.traces.map(({ id }): ClockInfo => ({
    trace: id, basis: "step", host: null, offset_ns: offsets.get(id) ?? null, bar_ns: 0, why: null, collectives: 0, ranks: session.traces.length, of: "open",
  }));
}

const chosenPair = signal(0);

function isReady(session: Session | null): string | null {
  const traces = session?.diff ? session.traces.slice(0, session.diff.traces) : [];
  if (traces.length === 0 || traces.some(({ state, busy }) => state !== "ready" || busy !== "")) return null;
  return [session?.session, ...traces.map(({ id }) => id)].join();
}

// Moves the traces so that the steps of a pair begin together, and shows them.
function showPair(app: App, pairs: readonly DiffStep[][], at: number): void {
  const { state } = app;
  const [session, pair] = [state.session.value, pairs[at]];
  if (!session || !pair) return;
  chosenPair.value = at;
  state.clocks.value = alignedBy(session, pair);
  // The session has the new offsets once it has followed the clocks.
  const stop = effect(() => {
    const now = state.session.value;
    if (!pair.every(({ trace }) => now?.traces.find(({ id }) => id === trace)?.clock?.basis === "step")) return;
    setTimeout(() => {
      stop();
      batch(() => showSteps(app, pair));
    });
  });
}

function showSteps(app: App, pair: readonly DiffStep[]): void {
  const [first] = pair;
  if (!first) return;
  const from = first.start + offsetOf(app, first.trace);
  showRange(app, from, from + Math.max(...pair.map(({ length }) => length)));
}

// Selects the events of a row in the steps of both sides.
async function goToRow(app: App, row: Fields, pair: readonly DiffStep[], before: number, signal: AbortSignal): Promise<void> {
  const kind = textOf(row, "kind");
  const verdict = textOf(row, "verdict");
  if (kind === "idle") {
    const tracks = app.state.tracks.value.filter((track) => track.derived && track.role === "idle");
    for (const track of [...tracks].reverse()) {
      uncover(app, trackKey(track.trace, track.id));
      scrollTo(app, trackKey(track.trace, track.id), 0);
    }
    say(app, tracks.length > 0 ? "The tracks idle show it." : "There is no idle time of a device.");
    return;
  }
  const found: EventRef[] = [];
  for (const step of pair) {
    const isAfter = step.trace >= before;
    const name = (isAfter && textOf(row, "name_after")) || textOf(row, "name");
    if ((isAfter && verdict === "gone") || (!isAfter && verdict === "new")) continue;
    for (const part of name.split(" + ")) { // one that was split, or two that were fused
      const full = kind === "module" ? MODULE + part : part;
      const { events } = await app.source.find(step.trace, { name: full, from: step.start, until: step.start + step.length }, null, signal);
      if (signal.aborted) return;
      found.push(...events);
    }
  }
  if (found.length === 0) {
    say(app, "No event of this step has exactly this name.");
    return;
  }
  selecting(app, () => { app.state.selected.value = [...found].reverse(); });
  const firsts = new Map<TraceId, EventRef>();
  for (const event of found) if (!firsts.has(event.trace)) firsts.set(event.trace, event);
  showSteps(app, pair);
  for (const event of [...firsts.values()].reverse()) {
    const key = trackKey(event.trace, event.track);
    uncover(app, key);
    scrollTo(app, key, event.depth);
  }
  say(app, `${plural(found.length, "event")} of this step ${found.length === 1 ? "is" : "are"} selected${firsts.size > 1 ? ", on both sides" : ""}.`);
}

const Time = ({ ns }: { ns: number | null }): JSX.Element => (ns === null ? <>–</> : <span title={formatDuration(ns)}>{formatShort(ns)}</span>);

function Rows({ app, rows, pair, before }: { app: App; rows: Fields[]; pair: readonly DiffStep[]; before: number }): JSX.Element {
  const [sort, setSort] = useState<Sort>({ id: "", down: true });
  const go = (row: Fields) => (): void => void last(app, (abort) => goToRow(app, row, pair, before, abort));
  const columns = useMemo<Column<Fields>[]>(() => {
    const time = (id: string, title: string): Column<Fields> => ({
      id, title, width: 96, right: true, value: (row) => numberOf(row, id) ?? -Infinity, cell: (row) => <Time ns={numberOf(row, id)} />,
    });
    return [
      { id: "kind", title: "Kind", width: 84, right: false, value: (row) => textOf(row, "kind"), cell: (row) => textOf(row, "kind") },
      { id: "name", title: "Name", right: false, value: (row) => textOf(row, "name"), cell: (row) => {
        const [name, after, within] = ["name", "name_after", "within"].map((each) => textOf(row, each));
        const text = after ? `${name} → ${after}` : name;
        return <button type="button" class="link one" title={`${text}${within ? `\nin ${within}` : ""}\nClick: its events in the steps of both sides`} onClick={go(row)}><bdi>{text || "(no name)"}</bdi></button>;
      } },
      { id: "matched", title: "Matched", hint: "How the two sides were matched", width: 78, right: false, value: (row) => textOf(row, "matched"), cell: (row) => textOf(row, "matched") },
      time("before", "Before"), time("after", "After"),
      { id: "change", title: "Change", hint: "Per step", width: 96, right: true, value: (row) => numberOf(row, "change") ?? 0, cell: (row) => signed(numberOf(row, "change") ?? 0) },
      { id: "verdict", title: "Verdict", width: 78, right: false, value: (row) => textOf(row, "verdict"), cell: (row) => <b class={toneClass(textOf(row, "verdict"))}>{textOf(row, "verdict")}</b> },
    ];
  }, [app, pair, before]);
  if (rows.length === 0) return <p class="hint">Nothing changed beyond noise.</p>;
  return <div style={{ height: gridHeight(rows.length) }}><DataTable label="What changed" columns={columns} rows={rows} sort={sort} onSort={setSort} least={160} onRow={go} /></div>;
}

function Small({ label, rows }: { label: string; rows: Fields[] }): JSX.Element {
  return (
    <table class="small" aria-label={label}>
      <thead><tr><th scope="col">{label}</th><th scope="col" class="right">before</th><th scope="col" class="right">after</th><th scope="col" class="right">change</th></tr></thead>
      <tbody>
        {rows.map((row) => {
          const change = numberOf(row, "change");
          return (
            <tr key={textOf(row, "part")}><th scope="row">{textOf(row, "part")}</th><td class="right"><Time ns={numberOf(row, "before")} /></td><td class="right"><Time ns={numberOf(row, "after")} /></td>
              <td class="right">{change === null ? "–" : signed(change)}</td></tr>
          );
        })}
      </tbody>
    </table>
  );
}

export function DiffPanel({ app }: { app: App }): JSX.Element {
  const { state } = app;
  const session = state.session.value;
  const asked = useRequest<DiffAnswer>(isReady(session), (abort) => app.source.diff(abort));
  const rows = useMemo(() => (asked.value ? recordsOf(asked.value.tables, "rows") : []), [asked.value]);
  const pairs = useMemo(() => (asked.value ? pairsOf(asked.value.steps) : []), [asked.value]);
  useEffect(() => {
    const count = session?.diff?.traces ?? 0;
    if (!asked.value || state.clocks.peek().some(({ basis }) => basis === "step")) return; // it was shown before
    const changes = changesOf(rows);
    batch(() => {
      state.changes.value = changes;
      if (changes.size > 0 && state.colorBy.peek() === "class") state.colorBy.value = "change";
      showTraces(app, state.session.peek()?.traces.slice(0, count).map(({ id }) => id) ?? []);
    });
    showPair(app, pairs, 0);
  }, [asked.value]);
  if (!session?.diff) return <p class="hint">There are no two sides: open them with <code>heddle view --diff BEFORE AFTER</code>.</p>;
  if (isReady(session) === null && !session.traces.some(({ state: each }) => each === "failed")) return <p class="hint">The traces are being read …</p>;
  if (asked.error || !asked.value) return <div><Waiting asked={asked} what="the difference" /></div>;
  const { verdict, sentence, tables } = asked.value;
  const before = session.diff.before;
  const at = Math.min(chosenPair.value, Math.max(0, pairs.length - 1));
  const pair = pairs[at] ?? [];
  const reasons = recordsOf(tables, "reasons");
  const [first, second] = [pair.find(({ trace }) => trace < before), pair.find(({ trace }) => trace >= before)];
  return (
    <div class="start diff">
      <p class="rankline"><b class={verdict === "inconclusive" ? "warn" : toneClass(verdict)}>{sentence}</b></p>
      {reasons.length > 1 && <ul>{reasons.map((row, k) => <li key={k} class="warn">{textOf(row, "reason")}</li>)}</ul>}
      {pairs.length > 0 && (
        <div class="bar">
          <button type="button" class="small" disabled={at === 0} onClick={() => showPair(app, pairs, at - 1)}>Previous step</button>
          <Choice label="Step" value={String(at)} options={pairs.map((each, k) => [String(k), each[0]?.step ?? ""] as const)} onChange={(k) => showPair(app, pairs, Number(k))} />
          <button type="button" class="small" disabled={at >= pairs.length - 1} onClick={() => showPair(app, pairs, at + 1)}>Next step</button>
          {first && second && <span class="dim">before {formatShort(first.length)}, after {formatShort(second.length)}; both begin together</span>}
        </div>
      )}
      <div class="diffcolumns">
        <section aria-label="What changed"><h4>What changed <span class="dim">beyond noise, per step; a click shows it on both sides</span></h4>
          <Rows app={app} rows={rows} pair={pair} before={before} />
        </section>
        <section aria-label="Parts of a step" ><Small label="Part of a step" rows={recordsOf(tables, "parts")} />
          <Figures rows={recordsOf(tables, "figures")} />
        </section>
      </div>
    </div>
  );
}

// Memory, FLOP/s and bandwidths, each with what it rests on.
function Figures({ rows }: { rows: Fields[] }): JSX.Element {
  const text = (value: number | null): string => (value === null ? "–" : value.toFixed(2));
  return (
    <ul class="figures">
      {rows.map((row) => {
        const coverage = ["coverage_before", "coverage_after"].map((each) => numberOf(row, each)).filter((each) => each !== null);
        return (
          <li key={textOf(row, "what")}>{textOf(row, "what").replaceAll("_", " ")}: {text(numberOf(row, "before"))} → {text(numberOf(row, "after"))} {textOf(row, "unit")}{" "}
            <span class="dim">{coverage.length > 0 && `coverage ${coverage.map((each) => formatPercent(each / 100)).join(", ")}. `}{textOf(row, "note")}</span></li>
        );
      })}
    </ul>
  );
}
