// Of a collective that is selected: who came last to it, by durations and by clocks, and how long each rank waited.
import type { JSX } from "preact";
import type { App } from "../app";
import type { ClockInfo, Meeting, MeetingPart, TraceId } from "../data/model";
import { useRequest } from "../data/request";
import { formatCount, formatDuration, formatShort } from "../format";
import { offsetOf } from "../tools/navigate";
import { tracesCompared } from "../tracks/meetings";
import { EventLink, Fact, Facts, Waiting } from "./parts";

// A rank's coming on the axis of the page.
interface Arrival {
  at: number;
  bar: number | null; // null: its clock is not known
  host: number | null;
}

interface Order {
  last: number | null; // index in the list; null: another rank came so shortly before that the clocks cannot decide
  wait: number | null; // of the first, null: less than the bars
  bar: number;
}

// How far off the difference of two times may be.
const barOf = (a: Arrival, b: Arrival): number => (a.host !== null && a.host === b.host ? 0 : (a.bar ?? Infinity) + (b.bar ?? Infinity));
const isLater = (a: Arrival, b: Arrival): boolean => a.at - b.at > barOf(a, b);

// null: a clock is not known.
export function orderByClocks(arrivals: readonly Arrival[]): Order | null {
  if (arrivals.length < 2 || arrivals.some(({ bar }) => bar === null)) return null;
  const latest = arrivals.reduce((best, each) => (each.at > best.at ? each : best));
  const first = arrivals.reduce((best, each) => (each.at < best.at ? each : best));
  const isLast = arrivals.every((each) => each === latest || isLater(latest, each));
  return { last: isLast ? arrivals.indexOf(latest) : null, wait: isLater(latest, first) ? latest.at - first.at : null, bar: barOf(latest, first) };
}

const nameOf = (rank: number | null, trace: TraceId | null = null): string => (rank !== null ? `rank ${rank}` : trace === null ? "a rank" : `trace ${trace}`);

export function clockOrderText(parts: readonly MeetingPart[], clocks: ReadonlyMap<TraceId, ClockInfo>, offset: (trace: TraceId) => number): string {
  const alone = parts.every(({ trace }) => trace === parts[0]?.trace); // a trace has one clock
  const arrivals = parts.map(({ trace, start }): Arrival => {
    const clock = clocks.get(trace);
    const bar = clock?.offset_ns === null ? null : clock?.bar_ns ?? null;
    return alone ? { at: start, bar: 0, host: 0 } : { at: start + offset(trace), bar, host: clock?.host ?? null };
  });
  const order = orderByClocks(arrivals);
  const unknown = parts.filter((_, at) => arrivals[at]?.bar === null).map(({ rank, trace }) => nameOf(rank, trace));
  if (!order) return `unknown, as ${unknown.length === parts.length ? "the clocks are" : `the clock of ${unknown.join(", ")} is`}`;
  if (order.wait === null) return `unknown: all came within the bars, ± ${formatShort(order.bar)}`;
  const last = order.last === null ? null : parts[order.last];
  const by = `${formatDuration(order.wait)} ± ${formatShort(order.bar)} after the first`;
  return last ? `${nameOf(last.rank, last.trace)} last, ${by}` : `the last rank is uncertain: two arrived within the error bars, ${by}`;
}

export function Collective({ app, trace, row }: { app: App; trace: TraceId; row: number }): JSX.Element | null {
  const traces = tracesCompared(app);
  const with_ = traces.includes(trace) ? traces : [trace, ...traces];
  const asked = useRequest(traces.length > 0 ? `${trace}/${row}/${with_.join()}/${app.state.session.value?.job?.revision ?? 0}` : null,
    (abort) => app.source.collectives(trace, { row }, with_, abort));
  if (asked.error) return <Waiting asked={asked} what="the collective" />;
  const meeting = asked.value?.collectives[0];
  return meeting ? <section aria-label="Collective"><h4>Collective</h4><Who app={app} meeting={meeting} /></section> : null;
}

function Who({ app, meeting }: { app: App; meeting: Meeting }): JSX.Element {
  const { parts, longest, shortest, ranks, size, group, stream } = meeting;
  const clocks = new Map(app.state.clocks.value.map((clock) => [clock.trace, clock]));
  const raw = !app.state.aligned.value;
  return (
    <Facts>
      <Fact title="Which">
        {meeting.operation ?? "collective"} {formatCount(meeting.sequence)} of {group === null ? `stream ${stream ?? "?"}` : <>group <bdi>{group}</bdi></>}
        {meeting.counted && <span class="dim"> counted from the start of {meeting.step === null ? "the recording" : `step ${meeting.step}`}</span>}
      </Fact>
      {longest === null || shortest === null ? (
        <Fact title="Ranks">{ranks > 1 ? "not compared: the ranks of its group differ in their collectives" : "no other rank is known to have it"}</Fact>
      ) : (
        <>
          <Fact title="Ranks">{formatCount(ranks)}{size !== null && size !== ranks && ` of the group's ${formatCount(size)}`} are known, {formatCount(parts.length)} shown</Fact>
          <Fact title="Came last">
            {meeting.last_rank === null ? "none: all arrived at once" : <>{nameOf(meeting.last_rank)}, {formatDuration(longest - shortest)} after the first</>} <span class="dim">of these {formatCount(ranks)}, by the shortest duration: no clock</span>
          </Fact>
          {parts.length > 1 && <Fact title="By the clocks">{raw ? "not compared: times are as the files have them" : clockOrderText(parts, clocks, (each) => offsetOf(app, each))}</Fact>}
          <Fact title="Waits">
            <ul class="links">
              {[...parts].sort((a, b) => b.duration - a.duration).map((part) => (
                <li key={`${part.trace}/${part.row}`}>
                  <EventLink app={app} trace={part.trace} row={part.row} text={nameOf(part.rank, part.trace)} /> {formatDuration(part.duration - shortest)}
                </li>
              ))}
            </ul>
          </Fact>
        </>
      )}
    </Facts>
  );
}
