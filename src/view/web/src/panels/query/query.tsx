// Query: SQL over all open traces, with a result table whose rows lead to their events.
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { App } from "../../app";
import { useRequest } from "../../data/request";
import { formatCount, plural } from "../../format";
import { copyText, saveText } from "../clipboard";
import { DataTable, type Column, type Sort } from "../datatable";
import { Waiting } from "../parts";
import { cellAction, rowAction, showQueryTracks, startOf } from "./query_actions";
import { QueryEditor } from "./query_editor";
import { EXAMPLES } from "./query_examples";
import { bigOf, canBeTrack, csvOf, isNumeric, placeOf, queryRowsWith, shiftOf, sortedRows, textOf, tracesOf, unitText, type QueryRow } from "./query_rows";
import { answer, cancelQuery, draft, failure, follow, put, recent, runQuery, since, type Answer } from "./query_run";
import { parametersOf } from "./query_text";
import { ScopeBar, currentScope } from "../scope_bar";
import { csvTable, markdownTable } from "../text_table";

const MOST_COLUMNS = 200; // that are drawn
const LONGEST_CELL = 500; // characters that are drawn
const LONGEST_TITLE = 4000;
const CHARACTER = 7.7; // px, of a digit
const UNITS: Record<string, number> = { time: 130, duration: 104 }; // px, least, with units
const LEAST = 220; // px of the widest text
const units = signal(false);

export function QueryPanel({ app }: { app: App }): JSX.Element {
  const traces = app.state.session.value?.traces ?? [];
  const ready = traces.filter(({ state }) => state === "ready").length;
  const reading = traces.some(({ state }) => state === "reading");
  const asked = useRequest(ready > 0 ? `tables ${ready}` : null, (signal) => app.source.queryTables(signal));
  const { sql } = app.state;
  useEffect(() => { if (ready > 0 && !reading) follow(app); }, [sql.value, ready, reading]);
  if (traces.length === 0) return <p class="hint">No trace is open.</p>;
  if (asked.error && !asked.value) return <div><Waiting asked={asked} what="the tables" /></div>;
  return (
    <div class="stacked" onKeyDown={(event) => cancelOnEscape(app, event)}>
      <Bar app={app} ready={ready} count={traces.length} />
      <div class="split queried">
        <QueryEditor tables={asked.value ?? []} />
        <div class="main">
          {answer.value ? <Result key={answer.value.asked.sent} app={app} answer={answer.value} /> : <Empty />}
        </div>
      </div>
    </div>
  );
}

function cancelOnEscape(app: App, event: KeyboardEvent): void {
  if (event.key !== "Escape" || since.value === null) return;
  void cancelQuery(app);
  event.preventDefault();
  event.stopPropagation();
}

// A list of queries to put into the editor; it shows no current value.
function Pick({ label, options }: { label: string; options: readonly (readonly [string, string])[] }): JSX.Element {
  return (
    <select class="small" aria-label={label} value="" onChange={(event) => {
      const found = options[Number(event.currentTarget.value)];
      event.currentTarget.value = "";
      if (!found) return;
      put(found[1]);
      document.getElementById("sql")?.focus();
    }}>
      <option value="" disabled hidden>{label}</option>
      {options.map(([title, sql], k) => <option key={k} value={k} title={sql}>{title}</option>)}
    </select>
  );
}

function Bar({ app, ready, count }: { app: App; ready: number; count: number }): JSX.Element {
  const running = since.value !== null;
  const wanted = useMemo(() => parametersOf(draft.value), [draft.value]);
  return (
    <div class="bar">
      {running
        ? <button type="button" class="small" title="Esc, or Ctrl + ." onClick={() => void cancelQuery(app)}>Cancel</button>
        : <button type="button" class="small" title="Ctrl or ⌘ + Enter: what is marked, else the statement of the caret" onClick={() => void runQuery(app)}>Run</button>}
      <Pick label="Examples" options={EXAMPLES} />
      {recent.value.length > 0 && <Pick label="Recent" options={recent.value.map((sql) => [sql.replace(/\s+/g, " ").slice(0, 90), sql])} />}
      {(wanted.has("from") || wanted.has("until")) && <ScopeBar app={app} scope={currentScope(app)} allTracks />}
      {ready < count && <span class="dim">{formatCount(ready)} of {plural(count, "trace")}: the others are not read</span>}
      {running && <Elapsed />}
      {!running && failure.value === null && answer.value && <Told answer={answer.value} />}
    </div>
  );
}

function Elapsed(): JSX.Element {
  const [now, setNow] = useState(performance.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(performance.now()), 100);
    return () => clearInterval(timer);
  }, []);
  return <span class="dim">{(Math.max(0, now - (since.value ?? now)) / 1000).toFixed(1)} s …</span>;
}

// The number of rows, and limits that cut them.
function Told({ answer: { result } }: { answer: Answer }): JSX.Element {
  const notes = [
    result.stopped !== null && `there are more${result.stopped === "bytes" ? ": that is all that fits an answer" : ""}`,
    result.columns.length > MOST_COLUMNS && `the first ${MOST_COLUMNS} of ${plural(result.columns.length, "column")}`,
    result.cut > 0 && `${plural(result.cut, "cell")} cut`,
  ].filter(Boolean);
  return (
    <span class="dim" role="status">
      {result.stopped !== null ? `The first ${formatCount(result.rows.length)} rows` : plural(result.rows.length, "row")} in {result.ms < 100 ? result.ms.toFixed(1) : Math.round(result.ms)} ms
      {notes.length > 0 && `; ${notes.join("; ")}`}
    </span>
  );
}

function Empty(): JSX.Element {
  return (
    <div class="hint">
      <p>Ask in SQL: the traces are the tables. The names are those of Perfetto where it has them; <code>heddle_tables</code> lists all.</p>
      <ul class="links">
        {EXAMPLES.map(([title, sql]) => (
          <li key={title}><button type="button" class="link" title={sql} onClick={() => { put(sql); document.getElementById("sql")?.focus(); }}>{title}</button></li>
        ))}
      </ul>
    </div>
  );
}

// The widest text column takes the remaining width.
function columnsOf(app: App, result: Answer["result"]): Column<QueryRow>[] {
  const shown = result.columns.slice(0, MOST_COLUMNS);
  const widths = shown.map(({ name }, c) =>
    result.rows.slice(0, 200).reduce((most, row) => Math.max(most, textOf(row[c]).length), name.length + 3) * CHARACTER + 14);
  const texts = widths.map((width, c) => (isNumeric(result.rows, c) ? 0 : width));
  const widest = Math.max(...texts) > 0 ? texts.indexOf(Math.max(...texts)) : -1;
  return shown.map((column, c) => {
    const right = texts[c] === 0;
    return {
      id: String(c), title: column.name, right, ...(c === widest ? {} : { width: Math.round(Math.max(UNITS[column.role ?? ""] ?? 60, Math.min(right ? 190 : 420, widths[c]))) }),
      value: () => 0,
      cell: (row: QueryRow) => <Cell app={app} result={result} row={row} column={c} />,
    };
  });
}

function Cell({ app, result, row, column }: { app: App; result: Answer["result"]; row: QueryRow; column: number }): JSX.Element {
  const cell = row[column];
  if (cell === null || cell === undefined) return <span class="dim">null</span>;
  const { role } = result.columns[column];
  const text = textOf(cell);
  const trace = role === "time" ? (placeOf(result, row)?.trace ?? null) : null;
  const zero = trace === null ? null : startOf(app, trace);
  const unit = bigOf(cell) === null ? null : unitText(cell, role, trace === null || zero === null ? null : zero + shiftOf(result, trace));
  const shown = units.value && unit !== null ? unit : text.slice(0, LONGEST_CELL);
  const title = `${text.slice(0, LONGEST_TITLE)}${unit === null ? "" : `\n${unit}${role === "time" ? " after the start" : ""}`}`;
  const go = cellAction(app, result, row, column);
  if (!go) return <bdi title={title}>{shown}</bdi>;
  return <button type="button" class="link" title={`${title}\nClick: ${HINTS[role ?? ""]}`} onClick={go}><bdi>{shown}</bdi></button>;
}

const HINTS: Record<string, string> = {
  slice: "select it and go there", time: "go there", duration: "go there", track: "go to the track", "": "select all of this name, search for it",
};

function Result({ app, answer: given }: { app: App; answer: Answer }): JSX.Element {
  const { result } = given;
  const [sort, setSort] = useState<Sort>({ id: "", down: true }); // as the query has them
  const [words, setWords] = useState("");
  const columns = useMemo(() => columnsOf(app, result), [result]);
  const rows = useMemo(() => sortedRows(queryRowsWith(result.rows, words), sort.id === "" ? -1 : Number(sort.id), sort.down), [result, words, sort]);
  return (
    <>
      <div class="bar">
        {result.rows.length > 5 && (
          <label class="pick"><span>Rows with</span><input type="search" value={words} onInput={(event) => setWords(event.currentTarget.value)} /></label>
        )}
        {result.columns.some(({ role }) => role === "time" || role === "duration") && (
          <label class="pick" title="Times from the start of the trace, and durations, with their units; else ns"><input type="checkbox" checked={units.value} onChange={(event) => { units.value = event.currentTarget.checked; }} /><span>Units</span></label>
        )}
        {canBeTrack(result) && tracesOf(result).length > 0 && (
          <button type="button" class="small" title="All rows of the query among the tracks" onClick={() => void showQueryTracks(app, given)}>Show as track</button>
        )}
        {result.rows.length > 0 && (
          <>
            <button type="button" class="small" onClick={() => void copyText(app, csvTable(...csvOf(result.columns, rows)), "the table as CSV")}>Copy CSV</button>
            <button type="button" class="small" onClick={() => void copyText(app, markdownTable(...csvOf(result.columns, rows)), "the table as Markdown")}>Copy Markdown</button>
            <button type="button" class="small" onClick={() => saveText(csvTable(...csvOf(result.columns, rows)), "text/csv", "query.csv")}>Save CSV</button>
          </>
        )}
      </div>
      {result.rows.length === 0 ? <p class="hint">No rows.</p>
        : <DataTable label="Result" columns={columns} rows={rows} sort={sort} onSort={setSort} least={LEAST} ordered onRow={(row) => rowAction(app, result, row)} />}
    </>
  );
}
