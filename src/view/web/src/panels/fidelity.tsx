// Fidelity: the account of each trace, lists of its anomalies, and the ledger of reading.
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { App } from "../app";
import { DataTable, type Column, type Sort } from "./datatable";
import { factsOf } from "./fidelity_facts";
import { formatCount, formatMicros, plural } from "../format";
import type { Fidelity, FidelityList, TraceId } from "../data/model";
import { goTo, offsetOf, showPlace, traceName, trackPath } from "../tools/navigate";
import { Choice, Fact, Facts } from "./parts";
import { messageOf } from "../data/request";
import { trackKey } from "../state";

export const shownList = signal<string | null>(null);

const LISTS = [
  ["before-launch", "kernels before their launch"], ["on-lanes", "slices on lanes of their own"], ["no-end", "slices without an end"],
  ["negative", "negative durations"], ["unbound-flows", "flow points bound to no slice"], ["backward-flows", "flows backward in time"],
  ["flows-without-start", "flow ends without a start"], ["flows-without-end", "flow starts without an end"],
  ["without-launch", "GPU activities without a launch"], ["before-recording", "GPU activities from before the recording"],
  ["after-recording", "launches without GPU activity at the end of the recording"], ["without-work", "launches without GPU activity"],
  ["no-time", "events without a time"], ["ledger", "the ledger: lost and repaired"],
] as const;
type ListName = (typeof LISTS)[number][0];

export function FidelityPanel({ app }: { app: App }): JSX.Element {
  const traces = (app.state.session.value?.traces ?? []).filter((each) => app.state.fidelity.value.has(each.id));
  const [chosen, setChosen] = useState(traces[0]?.id ?? 0);
  const trace = traces.find((each) => each.id === chosen) ?? traces[0];
  const fidelity = trace && app.state.fidelity.value.get(trace.id);
  if (!trace || !fidelity) return <p class="hint">No trace has been counted yet.</p>;
  return (
    <div class="split">
      <div class="side">
        {traces.length > 1 && (
          <Choice label="Trace" value={String(trace.id)} options={traces.map((each) => [String(each.id), traceName(app, each.id)] as const)}
            onChange={(value) => setChosen(Number(value))} />
        )}
        <Account fidelity={fidelity} />
      </div>
      <Chosen key={trace.id} app={app} trace={trace.id} fidelity={fidelity} />
    </div>
  );
}

function Account({ fidelity }: { fidelity: Fidelity }): JSX.Element {
  const { slices, flows } = fidelity;
  return (
    <>
      <ul class="links ticked">
        {factsOf(fidelity).map((fact, at) => (
          <li key={at} class={fact.problem ? "warn" : ""}>
            {fact.problem ? <span role="img" aria-label="Problem: ">⚠ </span> : <span class="good" aria-hidden="true">✓ </span>}
            {fact.list === null ? fact.text : <button type="button" class="link" onClick={() => { shownList.value = fact.list; }}>{fact.text}</button>}
          </li>
        ))}
      </ul>
      {fidelity.trust && <Trust trust={fidelity.trust} />}
      <Facts>
        <Fact title="Events read">{formatCount(fidelity.events)}</Fact>
        <Fact title="Slices">{formatCount(slices.read)} read, {formatCount(slices.shown)} shown</Fact>
        <Fact title="Instants">{formatCount(fidelity.instants)}</Fact>
        <Fact title="Counter samples">{formatCount(fidelity.counters)}</Fact>
        <Fact title="Flow points">{formatCount(flows.count)}: {formatCount(flows.bound)} bound to a slice, {formatCount(flows.unbound)} to none</Fact>
        <Fact title="of them">{formatCount(flows.without_start)} end what nothing starts, {formatCount(flows.without_end)} start what nothing ends, {formatCount(flows.backward)} run backward</Fact>
      </Facts>
    </>
  );
}

// How far the figures of the GPU can be trusted.
function Trust({ trust }: { trust: NonNullable<Fidelity["trust"]> }): JSX.Element {
  return (
    <>
      <h4>Trust</h4>
      {trust.doubts.length === 0 && <p class="hint">{trust.sentence}</p>}
      <ul class="links trust">
        {trust.doubts.map((each) => (
          <li key={each.code} class={each.level === "note" ? "" : "warn"}>
            {each.sentence} <span class="dim">({each.figures})</span>
          </li>
        ))}
      </ul>
    </>
  );
}

function Ledger({ fidelity }: { fidelity: Fidelity }): JSX.Element {
  if (!fidelity.ledger.length) return <p class="hint">The ledger is empty: nothing was repaired or lost.</p>;
  return (
    <>
      <h4>Ledger</h4>
      <table class="sheet ledger">
        <thead><tr><th>Level</th><th>Stage</th><th>What</th><th class="right">Count</th></tr></thead>
        <tbody>
          {fidelity.ledger.map((row, at) => (
            <tr key={at}>
              <td class={row.level === "info" ? "dim" : "warn"}>{row.level}</td>
              <td>{row.stage}</td>
              <td><bdi>{row.text}</bdi> <span class="dim mono">{row.code}</span></td>
              <td class="right">{formatCount(row.count)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

type Listed = FidelityList["events"][number];

interface Paged {
  count: number;
  events: Listed[];
  error: string;
  done: boolean; // nothing more came, or all is here
}

const EMPTY: Paged = { count: -1, events: [], error: "", done: false };

// Pages are requested as the end of the table comes into view.
function usePages(app: App, trace: TraceId, what: string): [Paged, () => void] {
  const [paged, setPaged] = useState<Paged>(EMPTY);
  const asking = useRef<string | null>(null);
  const current = useRef(what);
  current.current = what;
  const more = (have: Paged): void => {
    const question = `${what}/${have.events.length}`;
    if (have.done || asking.current === question) return;
    asking.current = question;
    const mine = (): boolean => current.current === what && asking.current === question;
    app.source.fidelityList(trace, what, have.events.length).then(
      (list) => {
        if (!mine()) return;
        asking.current = null;
        const events = [...have.events, ...list.events];
        setPaged({ count: list.count, events, error: "", done: events.length >= list.count || list.events.length === 0 });
      },
      (error: unknown) => {
        if (!mine()) return;
        asking.current = null;
        setPaged({ ...have, error: messageOf(error) });
      },
    );
  };
  useEffect(() => {
    setPaged(EMPTY);
    asking.current = null;
    more(EMPTY);
    return () => { asking.current = null; };
  }, [what, trace]);
  // Data that was unavailable before may be available by now.
  const revision = app.state.session.value?.revision;
  useEffect(() => {
    if (paged.error) more(paged);
  }, [revision]);
  return [paged, () => more(paged)];
}

function firstList(fidelity: Fidelity): ListName {
  if (fidelity.before_launch) return "before-launch";
  if (fidelity.on_lanes) return "on-lanes";
  return fidelity.lost || fidelity.repaired ? "ledger" : "unbound-flows";
}

interface ListProps {
  app: App;
  trace: TraceId;
  fidelity: Fidelity;
}

function Chosen({ app, trace, fidelity }: ListProps): JSX.Element {
  const what: ListName = LISTS.find(([name]) => name === shownList.value)?.[0] ?? firstList(fidelity);
  if (what !== "ledger") return <Listed app={app} trace={trace} what={what} />;
  return <div class="main"><div class="bar"><ListChoice what={what} /></div><Ledger fidelity={fidelity} /></div>;
}

function ListChoice({ what }: { what: ListName }): JSX.Element {
  return <Choice label="List" value={what} options={LISTS} onChange={(value) => { shownList.value = value; }} />;
}

function Listed({ app, trace, what }: { app: App; trace: TraceId; what: ListName }): JSX.Element {
  const [sort, setSort] = useState<Sort>({ id: "", down: false });
  const [paged, more] = usePages(app, trace, what);
  const offset = offsetOf(app, trace);
  const columns = useMemo<Column<Listed>[]>(() => [
    { id: "name", title: "Name", right: false, value: nameOf, cell: (row) => (
      <button type="button" class="link" title={nameOf(row)} onClick={() => showListed(app, trace, row)}><bdi>{nameOf(row)}</bdi></button>
    ) },
    { id: "start", title: "Start µs", width: 140, right: true, value: (row) => row.start ?? -Infinity, cell: (row) => (row.start === null ? "–" : formatMicros(row.start + offset)) },
    { id: "duration", title: "Duration µs", width: 110, right: true, value: (row) => row.duration ?? 0, cell: (row) => (row.duration === null ? "–" : formatMicros(row.duration)) },
    { id: "track", title: "Track", width: 180, right: false, value: (row) => row.track ?? -1, cell: (row) => <bdi>{row.track === null ? "–" : trackPath(app, trackKey(trace, row.track))}</bdi> },
    { id: "note", title: "Note", width: 260, right: false, value: (row) => row.note, cell: (row) => <bdi title={row.note}>{row.note}</bdi> },
  ], [app, trace, offset]);
  return (
    <div class="main">
      <div class="bar">
        <ListChoice what={what} />
        <span class="dim">{paged.count < 0 ? "Asking …" : paged.events.length < paged.count
          ? `${formatCount(paged.events.length)} of ${formatCount(paged.count)} so far` : plural(paged.count, "event")}</span>
        {paged.error && <span class="bad" role="alert"><span aria-hidden="true">⚠ </span>{paged.error} <button type="button" class="small" onClick={more}>Try again</button></span>}
      </div>
      {paged.count === 0 && <p class="hint"><span class="good" aria-hidden="true">✓ </span>None.</p>}
      {paged.events.length > 0 && <DataTable label={what} columns={columns} rows={paged.events} sort={sort} onSort={setSort} onEnd={more} />}
    </div>
  );
}

// Flow points are not events that can be selected: their place is shown.
function showListed(app: App, trace: TraceId, row: Listed): void {
  if (row.kind !== "flow" || row.start === null) void goTo(app, trace, row.kind, row.row);
  else showPlace(app, trace, row.track, row.start, `${nameOf(row)}: ${row.note}`);
}

function nameOf(row: Listed): string {
  return row.name_text ?? (typeof row.name === "string" ? row.name : `${row.kind} ${row.row}`);
}
