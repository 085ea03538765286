// Details: all that is known of the selected event, and a table where several are.
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { App } from "../app";
import { Collective } from "./collective";
import { clockText, clockTitle } from "../data/clocks";
import { DataTable, type Column, type Sort } from "./datatable";
import { IdleCause } from "./event/idle_cause";
import { editor } from "./event/editor";
import { EditorLink, lineTitle, sourceFrame, Stack, whereText } from "./event/stack";
import {
  formatAbsolute, formatBandwidth, formatBytesExact, formatCount, formatDuration, formatMicros, formatPercent, formatUnix, plural,
} from "../format";
import { Members, jsonText, toJson, type Json } from "../data/json_digits";
import { JsonArgs } from "./json_tree";
import type { DerivedDetail, EventDetail, EventRef, FlowInfo, LinkInfo, TraceId } from "../data/model";
import { goTo, isDerived, offsetOf, selectEvent, traceName, trackPath } from "../tools/navigate";
import { Copy, EventLink, Fact, Facts, LongText, Name, Waiting } from "./parts";
import { useRequest } from "../data/request";
import { trackKey } from "../state";

interface Shown {
  ref: EventRef;
  detail: EventDetail | null;
  derived: DerivedDetail | null; // one of the two
}

export function DetailsPanel({ app }: { app: App }): JSX.Element {
  const selected = app.state.selected.value;
  const ref = selected[selected.length - 1];
  const derived = ref !== undefined && isDerived(app, ref);
  const key = !ref ? null : derived ? `${ref.trace}/${ref.track}/${ref.depth}/${ref.start}` : `${ref.trace}/${ref.kind}/${ref.row}/${editor.value.skip}`;
  const asked = useRequest<Shown>(key, async (signal) => {
    if (!ref) throw new Error("nothing is selected");
    // Its row is that of an event it represents, if any.
    if (derived) return { ref, detail: null, derived: await app.source.derived(ref.trace, ref.track, ref.depth, ref.start, signal) };
    return { ref, detail: await app.source.event(ref.trace, ref.kind, ref.row, signal, editor.value.skip), derived: null };
  });
  if (!ref) return <p class="hint">Click an event to see what is known of it, drag a box over tracks for a table. [ and ] follow a kernel to its launch and back, F fits what is selected, ? tells all keys.</p>;
  return (
    <div class="columns" aria-busy={asked.loading}>
      {selected.length > 1 && <SelectedTable app={app} selected={selected} />}
      {asked.error || !asked.value ? <Waiting asked={asked} what="the event" /> : <Event app={app} shown={asked.value} />}
    </div>
  );
}

function Event({ app, shown }: { app: App; shown: Shown }): JSX.Element | null {
  const { ref, detail, derived } = shown;
  if (derived) return <Derived app={app} trace={ref.trace} detail={derived} />;
  if (!detail) return null;
  return (
    <>
      <section aria-label="Event">
        <h3><Name text={detail.short ?? detail.name} full={detail.name} /> <Copy app={app} text={detail.name} what="the full name" /></h3>
        <EventFacts app={app} trace={ref.trace} detail={detail} />
      </section>
      {ref.kind === "slice" && <Collective app={app} trace={ref.trace} row={ref.row} />}
      <Links app={app} trace={ref.trace} detail={detail} />
      {detail.stack && detail.stack.length > 0 && <Stack app={app} stack={detail.stack} from={detail.stack_from} />}
      {detail.args !== undefined && detail.args !== null && <Args app={app} title="Arguments" value={toJson(detail.args)} />}
      {detail.members !== undefined && detail.members !== null && <Args app={app} title="Further keys" value={toJson(detail.members)} />}
    </>
  );
}

function Derived({ app, trace, detail }: { app: App; trace: TraceId; detail: DerivedDetail }): JSX.Element {
  const { of, before, after, works, works_count } = detail;
  const at = detail.start + offsetOf(app, trace);
  return (
    <>
      <section aria-label="Derived slice">
        <h3><Name text={detail.short ?? detail.name} full={detail.name} /> <Copy app={app} text={detail.name} what="the full name" /></h3>
        <Facts>
          <Fact title="Derived">It is not an event of the file. <LongText text={detail.how} /></Fact>
          <Fact title="Start">{formatDuration(at)}</Fact>
          <Fact title="Duration">{formatDuration(detail.duration)}{detail.duration >= 1000 && <span class="dim"> {formatCount(detail.duration)} ns</span>}</Fact>
          <Fact title="Track"><bdi>{trackPath(app, trackKey(trace, detail.track))}</bdi>{detail.depth ? <span class="dim"> row {detail.depth + 1}</span> : null}</Fact>
        </Facts>
      </section>
      {detail.role === "idle" && <IdleCause app={app} trace={trace} detail={detail} />}
      {(of || before || after || works_count > 0) && (
        <section aria-label="What it is made of">
          <h4>Made of</h4>
          <Facts>
            {of && <Fact title="Named after"><EventLink app={app} trace={trace} row={of.row} text={of.name} /></Fact>}
            {before && <Fact title="Comes after"><EventLink app={app} trace={trace} row={before.row} text={before.name} /></Fact>}
            {after && <Fact title="Comes before"><EventLink app={app} trace={trace} row={after.row} text={after.name} /></Fact>}
          </Facts>
          {works_count > 0 && <Works app={app} trace={trace} title="GPU activities" works={works} count={works_count} />}
        </section>
      )}
    </>
  );
}

function Args({ app, title, value }: { app: App; title: string; value: Json }): JSX.Element {
  const count = value instanceof Members ? value.entries.length : null;
  return (
    <section aria-label={title}>
      <h4>{title} {count !== null && <span class="dim">{formatCount(count)}</span>} <Copy app={app} text={jsonText(value, 2)} what={`the ${title.toLowerCase()} as JSON`} /></h4>
      <JsonArgs key={jsonText(value)} value={value} />
    </section>
  );
}

function Times({ app, trace, detail }: { app: App; trace: TraceId; detail: EventDetail }): JSX.Element {
  const at = detail.start + offsetOf(app, trace);
  const info = app.state.session.value?.traces.find((each) => each.id === trace);
  const start = info ? BigInt(info.start_ns) : 0n;
  const unix = info?.unix_ns ? BigInt(info.unix_ns) + BigInt(detail.start) : null;
  return (
    <>
      <Fact title="Start">
        {formatDuration(at)}{detail.start_ps ? ` + ${detail.start_ps} ps` : ""} <Copy app={app} text={String(start + BigInt(detail.start))} what="the start in ns" />
      </Fact>
      <Fact title="on its clock">{formatAbsolute(start, detail.start)}</Fact>
      {info && clockText(info) !== "" && <Fact title="Clock"><span title={clockTitle(info)}>{clockText(info)}</span></Fact>}
      {unix !== null && <Fact title="date">{formatUnix(unix)}</Fact>}
      <Fact title="Duration">
        {detail.duration === null ? "none: it is an instant, or has no end" : `${formatDuration(detail.duration)}`}
        {detail.duration !== null && detail.duration >= 1000 && <span class="dim"> {formatCount(detail.duration)} ns</span>}
      </Fact>
      {detail.self !== undefined && detail.duration !== null && (
        <Fact title="Self">
          {formatDuration(detail.self)} {detail.duration > 0 && <span class="dim">{formatPercent(detail.self / detail.duration)}</span>}
        </Fact>
      )}
    </>
  );
}

function EventFacts({ app, trace, detail }: { app: App; trace: TraceId; detail: EventDetail }): JSX.Element {
  const several = (app.state.session.value?.traces.length ?? 0) > 1;
  const own = detail.stack && sourceFrame(detail.stack);
  return (
    <Facts>
      {own && (
        <Fact title={lineTitle(own)}>
          <bdi class="mono">{whereText(own)}</bdi> <Copy app={app} text={whereText(own)} what="the source line" /> <EditorLink frame={own} />
          <div><bdi class="dim">{own.name}</bdi></div>
        </Fact>
      )}
      {(detail.short ?? detail.name) !== detail.name && <Fact title="Full name"><LongText text={detail.name} /></Fact>}
      {detail.demangled !== undefined && detail.demangled !== detail.name && (
        <Fact title="Demangled"><LongText text={detail.demangled} /> <Copy app={app} text={detail.demangled} what="the demangled name" /></Fact>
      )}
      <Times app={app} trace={trace} detail={detail} />
      {detail.track !== undefined && (
        <Fact title="Track">
          <bdi>{trackPath(app, trackKey(trace, detail.track))}</bdi>{detail.depth ? <span class="dim"> row {detail.depth + 1}</span> : null}
        </Fact>
      )}
      {several && <Fact title="Trace"><bdi>{traceName(app, trace)}</bdi></Fact>}
      {detail.category !== "" && <Fact title="Category"><bdi>{detail.category}</bdi></Fact>}
      <Fact title="Kind">{detail.kind}{detail.phase ? ` (phase ${detail.phase})` : ""}, row {formatCount(detail.row)}</Fact>
      {detail.bytes !== undefined && <Fact title="Bytes">{formatBytesExact(detail.bytes)}</Fact>}
      {detail.bandwidth !== undefined && <Fact title="Bandwidth">{formatBandwidth(detail.bandwidth)}</Fact>}
      {detail.occupancy !== undefined && <Fact title="Occupancy">{formatOccupancy(detail.occupancy)} <span class="dim">says the file</span></Fact>}
      {!own && detail.source !== undefined && detail.source !== "" && (
        <Fact title="Source"><bdi class="mono">{detail.source}</bdi> <Copy app={app} text={detail.source} what="the source line" /></Fact>
      )}
      {detail.offset !== undefined && <Fact title="In the file">at byte {formatCount(detail.offset)}</Fact>}
    </Facts>
  );
}

// Profilers write percent.
function formatOccupancy(value: number): string {
  return `${formatCount(value)} %`;
}

function Latency({ ns }: { ns: number | undefined }): JSX.Element | null {
  if (ns === undefined) return null;
  if (ns < 0) return <span class="bad"><span aria-hidden="true">⚠</span> {formatDuration(-ns)} before its launch</span>;
  return <span class="dim">{formatDuration(ns)} later</span>;
}

function Links({ app, trace, detail }: { app: App; trace: TraceId; detail: EventDetail }): JSX.Element | null {
  const { launch, works, flows, parent, bound, slack } = detail;
  if (!launch && !works?.length && !flows?.length && !parent && slack === undefined) return null;
  return (
    <section aria-label="What it is tied to">
      <h4>Tied to</h4>
      <Facts>
        {parent && <Fact title="Parent"><EventLink app={app} trace={trace} kind={detail.kind} row={parent.row} text={parent.name} /></Fact>}
        {launch && (
          <Fact title="Launched by">
            <EventLink app={app} trace={trace} row={launch.row} text={launch.name} /> <QueueTime ns={launch.latency} />
          </Fact>
        )}
        {slack !== undefined && (
          <Fact title="Bound by">
            {bound ? `${bound.by} ` : "nothing that is recorded"}
            {bound && (bound.row === undefined ? <span class="dim">a gap</span> : <EventLink app={app} trace={trace} row={bound.row} text={bound.name ?? ""} />)}
          </Fact>
        )}
        {slack !== undefined && (
          <Fact title="Slack">{formatDuration(slack)} <span class="dim">{slack === 0 ? "later, and the trace ends later" : "later, and the trace ends no later"}</span></Fact>
        )}
      </Facts>
      {works && works.length > 0 && <Works app={app} trace={trace} title="Launches" works={works} count={detail.works_count ?? works.length} />}
      {flows && flows.length > 0 && <Flows app={app} trace={trace} flows={flows} count={detail.flows_count ?? flows.length} />}
    </section>
  );
}

function QueueTime({ ns }: { ns: number | undefined }): JSX.Element | null {
  if (ns === undefined || ns < 0) return <Latency ns={ns} />;
  return <span class="dim">{formatDuration(ns)} in the queue, from the start of that call</span>;
}

function Works(props: { app: App; trace: TraceId; title: string; works: LinkInfo[]; count: number }): JSX.Element {
  const { app, trace, title, works, count } = props;
  return (
    <>
      <h4>{title} <span class="dim">{count > works.length ? `the first ${formatCount(works.length)} of ${formatCount(count)}` : formatCount(count)}</span></h4>
      <ul class="links">
        {works.map((work) => (
          <li key={work.row}>
            <EventLink app={app} trace={trace} row={work.row} text={work.name} />{" "}
            {work.duration !== undefined && <span>{formatDuration(work.duration)}</span>} <Latency ns={work.latency} />
          </li>
        ))}
      </ul>
    </>
  );
}

function Flows(props: { app: App; trace: TraceId; flows: FlowInfo[]; count: number }): JSX.Element {
  const { app, trace, flows, count } = props;
  return (
    <>
      <h4>Flows <span class="dim">{count > flows.length ? `the first ${formatCount(flows.length)} of ${formatCount(count)}` : formatCount(count)}</span></h4>
      <ul class="links">
        {flows.map((flow, at) => (
          <li key={at}>
            <span class="way">{flow.direction === "in" ? "← from" : "→ to"}</span>{" "}
            <EventLink app={app} trace={trace} row={flow.row} text={flow.name} />{" "}
            <span class="dim">{flow.category} {flow.id}</span>{" "}
            {flow.backward && <span class="bad" title="It ends before it starts"><span aria-hidden="true">⚠</span> backward in time</span>}
          </li>
        ))}
      </ul>
    </>
  );
}

interface SelectedRow {
  ref: EventRef;
  name: string;
  track: string;
  start: number;
}

// Draws again, now and then, as long as names of the selected events are on their way.
function useNames(app: App, selected: EventRef[]): void {
  const [tick, setTick] = useState(0);
  const missing = selected.some((ref) => ref.name !== 0 && !app.names.get(ref.trace, ref.name));
  useEffect(() => {
    if (!missing || tick > 100) return undefined;
    const timer = setTimeout(() => setTick(tick + 1), 100);
    return () => clearTimeout(timer);
  }, [missing, tick]);
}

function SelectedTable({ app, selected }: { app: App; selected: EventRef[] }): JSX.Element {
  const [sort, setSort] = useState<Sort>({ id: "start", down: false });
  useNames(app, selected);
  const rows: SelectedRow[] = selected.map((ref) => ({
    ref,
    name: app.names.label(ref.trace, ref.name) || `${ref.kind} ${ref.row}`,
    track: trackPath(app, trackKey(ref.trace, ref.track)),
    start: ref.start + offsetOf(app, ref.trace),
  }));
  const columns = useMemo<Column<SelectedRow>[]>(() => [
    { id: "name", title: "Name", right: false, value: (row) => row.name, cell: (row) => (
      <button type="button" class="link" title={row.name} onClick={() => {
        if (row.ref.name) selectEvent(app, row.ref);
        else void goTo(app, row.ref.trace, row.ref.kind, row.ref.row);
      }}><bdi>{row.name}</bdi></button>
    ) },
    { id: "start", title: "Start µs", width: 130, right: true, value: (row) => row.start, cell: (row) => formatMicros(row.start) },
    { id: "duration", title: "Duration µs", width: 110, right: true, value: (row) => row.ref.duration, cell: (row) => formatMicros(row.ref.duration) },
    { id: "track", title: "Track", width: 160, right: false, value: (row) => row.track, cell: (row) => <bdi title={row.track}>{row.track}</bdi> },
  ], [app]);
  const total = selected.reduce((sum, ref) => sum + ref.duration, 0);
  return (
    <section class="wide" aria-label="Selected events">
      <h3>{plural(selected.length, "event")} <span class="dim">durations sum to {formatDuration(total)}; the last one clicked is shown beside</span></h3>
      <div class="fixed"><DataTable label="Selected events" columns={columns} rows={rows} sort={sort} onSort={setSort} /></div>
    </section>
  );
}
