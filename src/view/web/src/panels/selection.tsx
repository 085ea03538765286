// Selection: statistics of a range of time, by name, computed by the server over all events.
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { App } from "../app";
import { copyText } from "./clipboard";
import { DataTable, type Column, type Sort } from "./datatable";
import { formatCount, formatDuration, formatPercent, formatShort, formatValue, plural } from "../format";
import type { SelectResult, SelectRow, TraceId, TrackId } from "../data/model";
import { findTrack, goTo, offsetOf, selectEvent, showRange, traceName, tracksShown } from "../tools/navigate";
import { Choice, Fact, Facts, SearchIcon, Waiting } from "./parts";
import { messageOf, useRequest } from "../data/request";
import { saveRangeHtml } from "../data/save_html";
import { say } from "../tools/select_actions";
import { tracksOf, type Scope } from "./scope";
import { ScopeBar, currentScope } from "./scope_bar";
import { coveredNote } from "./selection_span";
import { trackKey } from "../state";
import { csvTable, markdownTable, type TextColumn } from "./text_table";

const WAIT_MS = 150; // while the view moves
const MOST_NAMES = 100000; // of a copy; the table has the first thousand

export function SelectionPanel({ app }: { app: App }): JSX.Element {
  const scope = currentScope(app);
  const seen = tracksShown(app);
  const traces = (app.state.session.value?.traces ?? []).filter((each) => each.state === "ready")
    .map((each) => ({ id: each.id, tracks: tracksOf(scope, each.id, app.state.tracks.value, seen) }));
  const nothing = traces.every(({ tracks }) => tracks !== null && tracks.length === 0);
  return (
    <div class="stacked">
      <div class="bar"><ScopeBar app={app} scope={scope} /></div>
      {traces.length === 0 && <p class="hint">No trace is ready yet.</p>}
      {traces.length > 0 && nothing && <p class="hint">{scope.what === "area" ? "No track of the box is shown." : "No track of events is shown."}</p>}
      {traces.map(({ id, tracks }) => <TraceSelection key={id} app={app} trace={id} scope={scope} tracks={tracks} alone={traces.length === 1} />)}
    </div>
  );
}

interface Shown {
  result: SelectResult;
  all: () => Promise<SelectResult>; // with every name
  tracks: TrackId[] | null; // null: all
  from: number; // trace time
  until: number;
}

function TraceSelection(props: { app: App; trace: TraceId; scope: Scope; tracks: TrackId[] | null; alone: boolean }): JSX.Element | null {
  const { app, trace, scope, tracks, alone } = props;
  const [sort, setSort] = useState<Sort>({ id: "total", down: true });
  const offset = offsetOf(app, trace);
  const [from, until] = [scope.from - offset, scope.until - offset];
  const nothing = tracks !== null && tracks.length === 0;
  const serverSort = sort.id === "share" ? "self" : sort.id;
  const key = nothing ? null : `${trace}/${from}/${until}/${tracks ? tracks.join() : "all"}/${serverSort}/${sort.down}`;
  const select = (signal?: AbortSignal, limit?: number): Promise<SelectResult> => app.source.select(trace, from, until, tracks, serverSort, signal, sort.down ? "down" : "up", limit);
  const asked = useRequest<Shown>(key, async (signal) => ({ result: await select(signal), all: () => select(undefined, MOST_NAMES), tracks, from, until }), WAIT_MS);
  if (nothing) return null;
  return (
    <section class={alone ? "fill" : "part"} aria-busy={asked.loading} aria-label={`Selection in ${traceName(app, trace)}`}>
      {!alone && <h3><bdi>{traceName(app, trace)}</bdi></h3>}
      {asked.error || !asked.value
        ? <Waiting asked={asked} what="the table" />
        : <Result app={app} trace={trace} shown={asked.value} sort={sort} onSort={setSort} />}
    </section>
  );
}

interface ResultProps {
  app: App;
  trace: TraceId;
  shown: Shown;
  sort: Sort;
  onSort: (sort: Sort) => void;
}

function Result({ app, trace, shown, sort, onSort }: ResultProps): JSX.Element {
  const { result } = shown;
  const columns = useMemo(() => columnsOf(app, trace), [app, trace]);
  return (
    <div class="split">
      <div class="side">
        <Sums shown={shown} />
        <Gaps app={app} trace={trace} result={result} />
        <Counters app={app} trace={trace} result={result} />
        <Copies app={app} trace={trace} shown={shown} />
      </div>
      <div class="main">
        {result.table.length < result.names && (
          <p class="hint">The first {formatCount(result.table.length)} of {plural(result.names, "name")} by {sort.id}, {sort.id === "name" ? (sort.down ? "Z to A" : "A to Z") : sort.down ? "the largest first" : "the smallest first"}; the sums at the left are of all.</p>
        )}
        {result.cut > 0 && (
          <p class="hint">{plural(result.cut, "event")} {result.cut === 1 ? "reaches" : "reach"} beyond the stretch: total, share and self are of what lies in it; mean, p50, p99, min and max are of whole events.</p>
        )}
        {result.table.length === 0
          ? <p class="hint">No slices here.</p>
          : <DataTable label="Names in the selection" columns={columns} rows={result.table} sort={sort} onSort={onSort} ordered />}
      </div>
    </div>
  );
}

function Sums({ shown }: { shown: Shown }): JSX.Element {
  const { result } = shown;
  const note = coveredNote(result, shown.from, shown.until);
  const part = (ns: number): string => formatPercent(result.span > 0 ? ns / result.span : 0);
  const none = result.derived ? "derived rows are made of other events" : "these tracks describe activities on other tracks";
  return (
    <Facts>
      <Fact title="Span">{formatDuration(result.span)} {note && <span class="dim">{note}</span>}</Fact>
      {result.busy === null || result.idle === null ? <Fact title="Busy">– <span class="dim">{none}</span></Fact> : (
        <>
          <Fact title="Busy">{formatDuration(result.busy)} <span class="dim">{part(result.busy)}</span></Fact>
          <Fact title="Idle">{formatDuration(result.idle)} <span class="dim">{part(result.idle)}</span></Fact>
        </>
      )}
      <Fact title="Events">{formatCount(result.events)} <span class="dim">{plural(result.names, "name")}</span></Fact>
      {result.left_out > 0 && <Fact title="Not counted">{plural(result.left_out, "derived row")} <span class="dim">made of these events</span></Fact>}
      {result.aside > 0 && <Fact title="Not counted">{plural(result.aside, "track")} <span class="dim">of Other, in which the profiler writes about itself</span></Fact>}
    </Facts>
  );
}

function Gaps({ app, trace, result }: { app: App; trace: TraceId; result: SelectResult }): JSX.Element | null {
  const { gaps } = result;
  const offset = offsetOf(app, trace);
  if (!gaps.count) return null;
  return (
    <>
      <h4>Gaps <span class="dim">{formatCount(gaps.count)}, {formatDuration(gaps.total)} in all; the longest:</span></h4>
      <ol class="links numbers">
        {gaps.longest.map((gap) => (
          <li key={gap.start}>
            <button type="button" class="link" title="Show this gap"
                onClick={() => showRange(app, gap.start + offset, gap.start + offset + gap.duration)}>
              {formatDuration(gap.duration)}
            </button>{" "}
            <span class="dim">at {formatDuration(gap.start + offset)}</span>
          </li>
        ))}
      </ol>
    </>
  );
}

function Counters({ app, trace, result }: { app: App; trace: TraceId; result: SelectResult }): JSX.Element | null {
  if (!result.counters.length) return null;
  return (
    <>
      <h4>Counters</h4>
      <table class="sheet">
        <thead><tr><th>Counter</th><th class="right">min</th><th class="right">mean</th><th class="right">max</th><th class="right">first</th><th class="right">last</th></tr></thead>
        <tbody>
          {result.counters.map((each) => {
            const track = findTrack(app, trackKey(trace, each.track));
            const unit = track?.series?.find((series) => series.name === each.series)?.unit ?? "";
            const name = `${track?.name ?? ""} ${each.series}`.trim();
            return (
              <tr key={`${each.track}/${each.series}`}>
                <td><bdi title={name}>{name}</bdi></td>
                {[each.min, each.mean, each.max, each.first, each.last].map((value, at) => (
                  <td key={at} class="right" title={String(value)}>{value === null ? "–" : formatValue(value, unit)}</td>
                ))}
              </tr>
            );
          })}
        </tbody>
      </table>
    </>
  );
}

// Values for copying: ns as whole numbers, so that nothing is lost in another program.
const TEXT_COLUMNS: readonly TextColumn[] = [
  { title: "name", right: false }, { title: "count", right: true }, { title: "total_ns", right: true }, { title: "self_ns", right: true },
  { title: "mean_ns", right: true }, { title: "p50_ns", right: true }, { title: "p99_ns", right: true }, { title: "min_ns", right: true },
  { title: "max_ns", right: true }, { title: "share", right: true },
];

function textRows(rows: readonly SelectRow[]): (string | number)[][] {
  return rows.map((row) => [
    row.text, row.count, row.total, row.self, row.mean, row.p50, row.p99, row.min, row.max, row.share ?? "",
  ]);
}

const FORMATS = [["heddle", ".heddle"], ["json.gz", "JSON, gzip"], ["json", "JSON"], ["pftrace", "Perfetto"], ["html", "one HTML file"]] as const;
type CropFormat = (typeof FORMATS)[number][0];

function Copies({ app, trace, shown }: { app: App; trace: TraceId; shown: Shown }): JSX.Element {
  const [format, setFormat] = useState<CropFormat>("json.gz");
  const { result } = shown;
  const tracks = result.derived ? null : shown.tracks; // derived tracks have no events of the file
  // The table has the first names only, a copy all of them.
  const copy = async (what: string, write: (columns: readonly TextColumn[], rows: (string | number)[][]) => string): Promise<void> => {
    try {
      const { table } = result.table.length < result.names ? await shown.all() : result;
      await copyText(app, write(TEXT_COLUMNS, textRows(table)), `${what}, ${table.length < result.names ? `the first ${formatCount(table.length)} of ` : ""}${plural(result.names, "name")}`);
    } catch (error) {
      say(app, messageOf(error), true);
    }
  };
  return (
    <div class="actions">
      <button type="button" class="small" onClick={() => void copy("the table as Markdown", markdownTable)}>Copy Markdown</button>
      <button type="button" class="small" onClick={() => void copy("the table as CSV", csvTable)}>Copy CSV</button>
      <span class="crop">
        {format === "html" ? (
          <button type="button" class="small" title="The viewer and the events of this stretch, of all tracks: opens in any browser, without a server"
            onClick={() => void saveRangeHtml(app, trace, shown.from, shown.until)}>Crop all tracks to a file</button>
        ) : (
          <a class="small" download href={app.source.cropUrl(trace, shown.from, shown.until, format, tracks)}
            title={`A new file with the events of this stretch, of ${tracks ? "these tracks" : "all tracks"}`}>Crop {tracks ? plural(tracks.length, "track") : "all tracks"} to a file</a>
        )}
        <Choice label="as" value={format} options={FORMATS} onChange={setFormat} />
      </span>
    </div>
  );
}

function searchName(app: App, text: string): void {
  app.state.query.value = { q: text, mode: "text", in: "names", case: true };
}

// The table of the longest event's row.
function kindOf(app: App, trace: TraceId, row: SelectRow): string {
  const track = row.longest_track === undefined ? undefined : findTrack(app, trackKey(trace, row.longest_track));
  return track?.events_kind ?? "slice";
}

// Slices of derived tracks are rows of no table.
async function goToLongest(app: App, trace: TraceId, row: SelectRow): Promise<void> {
  const track = row.longest_track === undefined ? undefined : findTrack(app, trackKey(trace, row.longest_track));
  if (!track?.derived) return goTo(app, trace, kindOf(app, trace, row), row.longest_row);
  const { events } = await app.source.find(trace, { name: row.text, duration: row.max }, [track.id]);
  if (events[0]) selectEvent(app, events[0]);
}

function columnsOf(app: App, trace: TraceId): Column<SelectRow>[] {
  const time = (id: "total" | "self" | "mean" | "p50" | "p99" | "min" | "max", title: string, hint: string): Column<SelectRow> => ({
    id, title, hint, width: 92, right: true, value: (row) => row[id], cell: (row) => <span title={formatDuration(row[id])}>{formatShort(row[id])}</span>,
  });
  return [
    { id: "name", title: "Name", right: false, value: (row) => row.short ?? row.text, cell: (row) => (
      <>
        <button type="button" class="icon" title="Search this name" aria-label={`Search ${row.short ?? row.text}`} onClick={() => searchName(app, row.text)}><SearchIcon /></button>
        <button type="button" class="link" title={`${row.text}\nClick: to the longest one`} onClick={() => void goToLongest(app, trace, row)}>
          <bdi>{row.short ?? row.text}</bdi>
        </button>
      </>
    ) },
    { id: "count", title: "Count", width: 72, right: true, value: (row) => row.count, cell: (row) => formatCount(row.count) },
    time("total", "Total", "Time in the stretch, of all of them"),
    time("self", "Self", "Time in the stretch without what is nested in them"),
    { id: "share", title: "Share of self", hint: "Self time of that of all names of these tracks: all rows together are 100 %", width: 112, right: true, value: (row) => row.share ?? -1, cell: (row) => (row.share === null ? "–" : formatPercent(row.share)) },
    time("mean", "Mean", "Of whole durations"),
    time("p50", "p50", "Half of them are no longer"),
    time("p99", "p99", "99 of 100 are no longer"),
    time("min", "Min", "The shortest"),
    time("max", "Max", "The longest"),
  ];
}
