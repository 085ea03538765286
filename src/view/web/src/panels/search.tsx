// Search: where the hits are, by track and by name.
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { App } from "../app";
import { DataTable, type Column, type Sort } from "./datatable";
import { formatCount, formatPercent, plural } from "../format";
import type { NameInfo, SearchResult, TraceId, TrackId } from "../data/model";
import { offsetOf, selectEvent, traceName, trackPath } from "../tools/navigate";
import { Waiting } from "./parts";
import { isAbort, messageOf, useRequest } from "../data/request";
import { countText, searchStatus, totalCount } from "../data/search";
import { trackKey } from "../state";

interface TrackRow {
  trace: TraceId;
  track: TrackId;
  path: string;
  count: number;
  share: number;
}

export function SearchPanel({ app }: { app: App }): JSX.Element {
  const query = app.state.query.value;
  const results = app.state.results.value;
  const status = searchStatus.value;
  if (query.q === "") return <p class="hint">Type into the search box above: all events of all traces are searched.</p>;
  if (status.error) return <p class="hint bad" role="alert"><span aria-hidden="true">⚠ </span>{status.error}</p>;
  if (!results.size) return <p class="hint">Searching …</p>;
  const { count } = totalCount(results);
  return (
    <div class="stacked" aria-busy={status.running}>
      <div class="bar">
        <span>{countText(results)} {count === 1 ? "hit" : "hits"} of <bdi class="mono">{query.q}</bdi></span>
        <span class="dim">in {query.in === "all" ? "names and arguments" : query.in === "args" ? "arguments" : "names"}, {status.ms.toFixed(1)} ms</span>
      </div>
      {count > 0 && (
        <div class="split half">
          <TrackHits app={app} total={count} />
          <NameHits app={app} />
        </div>
      )}
    </div>
  );
}

let jumping: AbortController | null = null;

// The first hit on a track at or after the left edge of the view, else the first one.
async function goToHit(app: App, row: TrackRow): Promise<void> {
  jumping?.abort();
  const abort = new AbortController();
  jumping = abort;
  const ask = (from: number): Promise<SearchResult> => app.source.search(row.trace, app.state.query.peek(), from, abort.signal, { track: row.track });
  try {
    const there = await ask(app.state.range.peek().from - offsetOf(app, row.trace));
    const event = there.next ?? (await ask(app.state.whole.peek().from - offsetOf(app, row.trace) - 1)).next;
    if (event && !abort.signal.aborted) selectEvent(app, { ...event, trace: row.trace });
  } catch (error) {
    if (!isAbort(error)) app.state.message.value = { text: messageOf(error), error: true };
  }
}

function TrackHits({ app, total }: { app: App; total: number }): JSX.Element {
  const [sort, setSort] = useState<Sort>({ id: "count", down: true });
  const results = app.state.results.value;
  const several = results.size > 1;
  const tracks = app.state.tracks.value;
  const rows = useMemo<TrackRow[]>(() => [...results].flatMap(([trace, result]) =>
    result.tracks.map(([track, count]) => ({
      trace, track, count, share: count / total,
      path: (several ? `${traceName(app, trace)} / ` : "") + trackPath(app, trackKey(trace, track)),
    })),
  ), [results, tracks]);
  const columns = useMemo<Column<TrackRow>[]>(() => [
    { id: "path", title: "Track", right: false, value: (row) => row.path, cell: (row) => (
      <button type="button" class="link" title={`${row.path}\nClick: to its next hit from the left edge of the view`} onClick={() => void goToHit(app, row)}><bdi>{row.path}</bdi></button>
    ) },
    { id: "count", title: "Hits", width: 90, right: true, value: (row) => row.count, cell: (row) => formatCount(row.count) },
    { id: "share", title: "Share", width: 80, right: true, value: (row) => row.count, cell: (row) => formatPercent(row.share) },
  ], [app]);
  return <div class="main"><DataTable label="Hits by track" columns={columns} rows={rows} sort={sort} onSort={setSort} /></div>;
}

interface NameRow {
  text: string;
  short: string;
  category: string;
  traces: number; // that have it
}

// A row for each name, over all traces: there is no room for a table per trace.
function NameHits({ app }: { app: App }): JSX.Element | null {
  const [sort, setSort] = useState<Sort>({ id: "name", down: false });
  const results = app.state.results.value;
  const several = results.size > 1;
  const ids = [...results].filter(([, result]) => result.names.length > 0)
    .map(([trace, result]) => [trace, [...result.names].sort((a, b) => a - b)] as const);
  const asked = useRequest<NameRow[]>(ids.length > 0 ? JSON.stringify(ids) : null, async () =>
    namesOf(await Promise.all(ids.map(async ([trace, names]) => (await app.source.names(trace, names)).names))));
  const columns = useMemo<Column<NameRow>[]>(() => [
    { id: "name", title: "Names that are found", right: false, value: (row) => row.text, cell: (row) => (
      <button type="button" class="link" title={`${row.text}\nClick: search exactly this name`}
        onClick={() => { app.state.query.value = { q: row.text, mode: "text", in: "names", case: true }; }}><bdi>{row.short}</bdi></button>
    ) },
    { id: "category", title: "Category", width: 130, right: false, value: (row) => row.category, cell: (row) => <bdi>{row.category}</bdi> },
    ...(several ? [{ id: "traces", title: "Traces", width: 70, right: true, value: (row: NameRow) => row.traces, cell: (row: NameRow) => formatCount(row.traces) }] : []),
  ], [app, several]);
  if (ids.length === 0) return null;
  const left = [...results].filter(([, result]) => result.names_count > result.names.length);
  return (
    <div class="main">
      {left.map(([trace, result]) => (
        <p key={trace} class="hint">{several && <bdi>{traceName(app, trace)}: </bdi>}{formatCount(result.names.length)} of {plural(result.names_count, "name")}</p>
      ))}
      {asked.value ? <DataTable label="Names that are found" columns={columns} rows={asked.value} sort={sort} onSort={setSort} /> : <Waiting asked={asked} what="names" />}
    </div>
  );
}

export function namesOf(lists: readonly (readonly NameInfo[])[]): NameRow[] {
  const rows = new Map<string, NameRow>();
  for (const { text, short = text, category } of lists.flat()) { // a trace has a text once
    const key = `${category}\n${text}`;
    const row = rows.get(key);
    if (row) row.traces++;
    else rows.set(key, { text, short, category, traces: 1 });
  }
  return [...rows.values()];
}
