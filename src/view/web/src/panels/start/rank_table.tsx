// Which rank is the straggler: a row per rank and device with its parts of the steps, its lateness and z, as the reports
// imbalance and stragglers have them. What stands out by these reports is marked.
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { App } from "../../app";
import type { ReportAnswer, Session } from "../../data/model";
import { useRequest } from "../../data/request";
import { deviceKindOf } from "../../data/trace_names";
import { formatCount, formatDuration, formatShort, plural } from "../../format";
import { DataTable, type Column, type Sort } from "../datatable";
import { Waiting } from "../parts";
import { showTrack } from "../report_actions";
import { numberOf, recordsOf, textOf, type Fields } from "./start_data";

const FAR = 3; // z beyond which the reports say that a rank stands out
const WAIT_MS = 300; // while traces become ready one after the other

export interface RankRow {
  rank: number | null;
  device: number | null;
  host: string;
  parts: Fields; // of report imbalance, which sums up the devices of a rank: of its first row
  late: number | null;
  last: number | null;
  z: number | null;
  doubt: string;
}

export function ranksOf(stragglers: readonly Fields[], imbalance: readonly Fields[]): RankRow[] {
  const parts = new Map(imbalance.map((row) => [row.rank, row]));
  const rows = stragglers.map((row): RankRow => {
    const own = parts.get(row.rank ?? null) ?? {};
    parts.delete(row.rank ?? null);
    return {
      rank: numberOf(row, "rank"), device: numberOf(row, "device"), host: textOf(row, "host"), parts: own,
      late: numberOf(row, "late"), last: numberOf(row, "last"), z: numberOf(row, "z"), doubt: [textOf(row, "doubt"), textOf(own, "doubt")].filter(Boolean).join(", "),
    };
  });
  // Ranks without a collective that was compared.
  const rest = [...parts.values()].map((row): RankRow => ({ rank: numberOf(row, "rank"), device: null, host: "", parts: row, late: null, last: null, z: null, doubt: textOf(row, "doubt") }));
  return [...rows, ...rest];
}

export const stands = (row: RankRow): boolean => row.z !== null && row.z > FAR;

// "rank 5" where the report says that this rank has the most of a part, and far more than the others.
export function extremesOf(imbalance: readonly Fields[]): ReadonlySet<string> {
  return new Set(imbalance.filter((row) => (numberOf(row, "z") ?? 0) > FAR).map((row) => `${textOf(row, "what")} ${textOf(row, "max_rank")}`));
}

const PARTS = [
  ["steps", "Steps", "Time of the steps that all ranks have"], ["compute", "Compute", "In these steps, summed up over the devices of the rank"],
  ["exposed_communication", "Exposed communication", "Likewise; it includes waiting for other ranks"], ["exposed_copies", "Exposed copies", "Likewise"], ["idle", "Idle", "Likewise"],
] as const;

const Outlier = ({ what }: { what: string }): JSX.Element => <span class="warn" role="img" aria-label="Outlier: " title={what}>▲ </span>;

// null: no ranks to compare.
function keyOf(session: Session | null): string | null {
  if (session?.job) return `${session.session}/${session.job.revision}`;
  const ready = session?.traces.filter((each) => each.state === "ready" && each.busy === "") ?? [];
  return ready.length > 1 ? [session?.session, ...ready.map(({ id }) => id)].join() : null;
}

// A report of all ranks. What one of them cannot say does not hide the other.
function useJobReport(app: App, name: string): ReturnType<typeof useRequest<ReportAnswer>> {
  return useRequest<ReportAnswer>(keyOf(app.state.session.value), (abort) => app.source.report(null, name, {}, abort), WAIT_MS);
}

// `onOpen` opens the trace of a rank of which only the summary is there.
export function RankTable({ app, onOpen }: { app: App; onOpen: (rank: number) => void }): JSX.Element {
  const stragglers = useJobReport(app, "stragglers");
  const imbalance = useJobReport(app, "imbalance");
  const [sort, setSort] = useState<Sort>({ id: "late", down: true });
  const rows = useMemo(() => (stragglers.value && imbalance.value
    ? ranksOf(recordsOf(stragglers.value.tables, "stragglers"), recordsOf(imbalance.value.tables, "ranks")) : []), [stragglers.value, imbalance.value]);
  const extremes = useMemo(() => extremesOf(imbalance.value ? recordsOf(imbalance.value.tables, "imbalance") : []), [imbalance.value]);
  const traces = app.state.session.value?.traces ?? [];
  const go = (row: RankRow): (() => void) | null => {
    const trace = traces.find((each) => each.rank !== null && each.rank === row.rank);
    const track = trace && app.state.tracks.value.find((each) => each.trace === trace.id && each.role === "device" && (row.device === null || each.device === undefined || each.device === row.device));
    const { rank } = row;
    return track ? () => showTrack(app, track) : app.state.session.value?.job && !trace && rank !== null ? () => onOpen(rank) : null;
  };
  const columns = useMemo<Column<RankRow>[]>(() => {
    const time = (ns: number | null): JSX.Element => (ns === null ? <>–</> : <span title={formatDuration(ns)}>{formatShort(ns)}</span>);
    return [
      { id: "rank", title: "Rank", right: false, value: (row) => row.rank ?? Infinity, cell: (row) => {
        const text = `${row.rank === null ? "?" : `rank ${row.rank}`}${row.device === null ? "" : `, ${deviceKindOf(traces.filter(({ rank }) => rank === row.rank))} ${row.device}`}`;
        const show = go(row);
        return <>{stands(row) && <Outlier what={`late far more than the others: z ${row.z?.toFixed(1)}`} />}{show ? <button type="button" class="link" title={`${text}\nClick: to its tracks${app.state.session.value?.job ? ", in the step in which it is latest" : ""}`} onClick={show}>{text}</button> : text}</>;
      } },
      ...(rows.some(({ host }) => host) ? [{ id: "host", title: "Host", width: 150, right: false, value: (row: RankRow) => row.host, cell: (row: RankRow) => <bdi title={row.host}>{row.host}</bdi> }] : []),
      ...PARTS.map(([name, title, hint]): Column<RankRow> => ({
        id: name, title, hint, width: name === "exposed_communication" ? 190 : name === "exposed_copies" ? 144 : 122, right: true, value: (row) => numberOf(row.parts, name) ?? -1,
        cell: (row) => <>{extremes.has(`${name.replaceAll("_", " ")} ${row.rank}`) && Object.keys(row.parts).length > 0 && <Outlier what="most of all ranks, far from the others (report imbalance)" />}{time(numberOf(row.parts, name))}</>,
      })),
      { id: "late", title: "Late", hint: "How much later than the first it arrived at collectives, added up", width: 92, right: true, value: (row) => row.late ?? -1, cell: (row) => time(row.late) },
      { id: "last", title: "Last", hint: "Collectives at which it arrived last", width: 72, right: true, value: (row) => row.last ?? -1, cell: (row) => (row.last === null ? "–" : formatCount(row.last)) },
      { id: "z", title: "z", hint: "Of its mean lateness among the ranks alike; above 3 it stands out", width: 72, right: true, value: (row) => row.z ?? -Infinity, cell: (row) => (row.z === null ? "–" : row.z.toFixed(2)) },
      ...(rows.some(({ doubt }) => doubt) ? [{ id: "doubt", title: "Not to be trusted", right: false, value: (row: RankRow) => row.doubt, cell: (row: RankRow) => <bdi class="warn" title={row.doubt}>{row.doubt}</bdi> }] : []),
    ];
  }, [rows, extremes, app.state.tracks.value, app.state.session.value]);
  if (keyOf(app.state.session.value) === null) return <p class="hint">One rank is open: there is nothing to compare it with.</p>;
  const failed = stragglers.error ? stragglers : imbalance;
  if (failed.error || !stragglers.value || !imbalance.value) return <div><Waiting asked={failed.error || failed.value === null ? failed : stragglers} what="the ranks" /></div>;
  const late = rows.filter(stands).sort((a, b) => (b.z ?? 0) - (a.z ?? 0));
  return (
    <>
      <p class="rankline">
        {late.length === 0 ? "No rank arrives at collectives far later than the others." : <>Arrives far later than the others: <b>{late.slice(0, 5).map((row) => `rank ${row.rank ?? "?"} (${formatShort(row.late ?? 0)}, z ${row.z?.toFixed(1)})`).join(", ")}</b>{late.length > 5 && ` and ${plural(late.length - 5, "other")}`}</>}
        {stragglers.value.trust && <span class="dim"> Trust: {stragglers.value.trust}</span>}
      </p>
      <div class="rankgrid"><DataTable label="Ranks" columns={columns} rows={rows} sort={sort} onSort={setSort} least={90} marked={stands} onRow={go} /></div>
    </>
  );
}
