// Reports: the analyses of `heddle report` over the scope of the bar, as tables and charts.
import { signal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { App } from "../app";
import type { ReportAbout, ReportColumn, ReportTable, TraceId } from "../data/model";
import { useRequest } from "../data/request";
import { formatCount, plural } from "../format";
import { saveText } from "./clipboard";
import { offsetOf, traceName } from "../tools/navigate";
import { DataTable, sortRows, type Column, type Sort } from "./datatable";
import { Choice, Waiting } from "./parts";
import { goToGoal, goToTime, goToTrack, showAsTracks, showTrack, type Place } from "./report_actions";
import { Chart } from "./report_chart";
import { canBeTracks, cellKey, cellText, goalOf, hasTracks, headingOf, idOf, isOneEvent, namesEvents, namesTracks, rowsWith, shortText, type Goal, type Row } from "./report_rows";
import { ScopeBar, currentScope, heldScope, holdScope } from "./scope_bar";
import type { Scope } from "./scope";
import { csvTable } from "./text_table";

// The choice stays while another panel is shown.
const chosen = signal({ name: "summary", trace: null as TraceId | null });
const shown = signal<ReadonlyMap<string, string>>(new Map()); // tables by report
const charts = signal(true); // are shown
const given = signal<ReadonlyMap<string, string>>(new Map()); // options by "REPORT.OPTION"

const OF_THE_BAR = ["from", "until", "steps"]; // options in place of which the range is chosen
const WIDTHS: Record<string, number> = { number: 60, count: 76, decimal: 80, bytes: 84, duration: 92, time: 112, bool: 60 }; // px
const LEAST = 150; // px of text
const WAIT = 300; // ms: a range that still moves is not requested

export function ReportsPanel({ app }: { app: App }): JSX.Element {
  const session = app.state.session.value;
  const traces = session?.traces ?? [];
  const asked = useRequest("reports", (signal) => app.source.reports(signal));
  const hasRanks = traces.length > 1 || (session?.job ?? null) !== null;
  const offered = asked.value?.filter(({ of_job }) => (of_job ? hasRanks : traces.length > 0)) ?? [];
  const about = offered.find(({ name }) => name === chosen.value.name) ?? offered[0];
  const trace = about?.of_job ? null : traces.find(({ id }) => id === chosen.value.trace)?.id ?? traces[0]?.id;
  const held = heldScope(app);
  const scope = held ?? currentScope(app);
  if (!asked.value) return <div><Waiting asked={asked} what="the reports" /></div>;
  if (!about || trace === undefined) return <p class="hint">No trace is open.</p>;
  const hasRange = about.options.some(({ name }) => name === "from");
  return (
    <div class="stacked">
      <div class="bar">
        <Choice label="Report" value={about.name} options={offered.map(({ name }) => [name, name] as const)}
          onChange={(name) => { chosen.value = { ...chosen.value, name }; }} />
        <span class="dim" title={about.text}>{about.title}</span>
        {trace === null && <span class="dim">of all ranks</span>}
        {trace !== null && traces.length > 1 && (
          <Choice label="of" value={String(trace)} options={traces.map(({ id }) => [String(id), traceName(app, id)] as const)}
            onChange={(id) => { chosen.value = { ...chosen.value, trace: Number(id) }; }} />
        )}
        {hasRange && <ScopeBar app={app} scope={scope} allTracks isHeld={held !== null} />}
        <Options about={about} />
      </div>
      <Report key={`${trace} ${about.name} ${trace === null ? `${traces.filter(({ state }) => state === "ready").length}/${session?.job?.revision}` : ""}`} app={app} about={about} trace={trace} scope={hasRange ? scope : null} />
    </div>
  );
}

function Options({ about }: { about: ReportAbout }): JSX.Element {
  const set = (name: string, value: string): void => { given.value = new Map(given.value).set(`${about.name}.${name}`, value); };
  return (
    <>
      {about.options.filter(({ name }) => !OF_THE_BAR.includes(name)).map(({ name, kind, fallback, meaning, words }) => {
        const value = given.value.get(`${about.name}.${name}`) ?? "";
        if (words) return <Words key={name} name={name} value={value} words={words.split(", ")} onChange={(next) => set(name, next)} />;
        return (
          <label key={name} class="pick" title={meaning}>
            <span>{labelOf(name, kind, meaning)}</span>
            {kind === "flag"
              ? <input type="checkbox" checked={value !== ""} onChange={(event) => set(name, event.currentTarget.checked ? "1" : "")} />
              : <input type="text" size={10} value={value} placeholder={fallback || exampleOf(meaning) || EXPECTED[kind]} onChange={(event) => set(name, event.currentTarget.value)} />}
          </label>
        );
      })}
    </>
  );
}

const SHORT = 28; // letters: columns of longer texts share the room that is left

// Of a flag what it does, up to the details; else the name, as a field has little room.
const labelOf = (name: string, kind: string, meaning: string): string => {
  const text = kind === "flag" ? meaning.replace(/[;:,].*/, "") : name === "gpu" ? "GPU" : name.replaceAll("-", " ");
  return text.charAt(0).toUpperCase() + text.slice(1).replaceAll("_", " ");
};

// What a field without a default or an example takes, by the kind of the option.
const EXPECTED: Record<string, string> = { count: "number", decimal: "number", time: "1.5ms", offset: "-1.5ms", patterns: "name,*part*", text: "text", texts: "text" };

// "only these ranks: 0,3"
const exampleOf = (meaning: string): string => /: ([^ ;:]{1,9})$/.exec(meaning)?.[1] ?? "";

// A list of some of the words; in their order, so that one choice is one question.
function Words({ name, value, words, onChange }: { name: string; value: string; words: string[]; onChange(value: string): void }): JSX.Element {
  const chosen = value ? value.split(",") : [];
  const set = (word: string, is: boolean): void => onChange(words.filter((each) => (each === word ? is : chosen.includes(each))).join(","));
  return (
    <details class="words" onKeyDown={(event) => { if (event.key === "Escape") event.currentTarget.open = false; }}>
      <summary>Rows {name} {chosen.length > 0 ? chosen.join(", ") : <span class="dim">usual</span>}</summary>
      <fieldset aria-label={`Rows ${name}`}>
        {words.map((word) => (
          <label key={word} class="pick"><input type="checkbox" checked={chosen.includes(word)} onChange={(event) => set(word, event.currentTarget.checked)} /><span>{word}</span></label>
        ))}
      </fieldset>
    </details>
  );
}

// The options as parameters of the question. Times are of the trace, which may be moved against the others.
function optionsOf(app: App, about: ReportAbout, trace: TraceId | null, scope: Scope | null): Record<string, string> {
  const { whole } = app.state;
  const options: Record<string, string> = {};
  for (const { name, kind } of about.options) {
    const value = given.value.get(`${about.name}.${name}`);
    if (value) options[name] = kind === "flag" ? "" : value;
  }
  if (trace === null || !scope || (scope.from <= whole.value.from && scope.until >= whole.value.until)) return options;
  options.from = `${Math.max(0, scope.from - offsetOf(app, trace))}ns`;
  options.until = `${Math.max(1, scope.until - offsetOf(app, trace))}ns`;
  return options;
}

function Report(props: { app: App; about: ReportAbout; trace: TraceId | null; scope: Scope | null }): JSX.Element {
  const { app, about, trace } = props;
  const options = optionsOf(app, about, trace, props.scope);
  const asked = useRequest(JSON.stringify(options), (abort) => app.source.report(trace, about.name, options, abort), WAIT);
  if (!asked.value || asked.error) return <div><Waiting asked={asked} what={about.title} /></div>;
  const tables = asked.value.tables.filter(({ count }) => count > 0);
  const table = tables.find(({ name }) => name === shown.value.get(about.name)) ?? tables[0];
  if (!table) return <p class="hint">The trace has nothing of this.</p>;
  return (
    <div class="stacked" aria-busy={asked.loading}>
      <Table key={table.name} app={app} about={about} trace={trace} table={table} options={options} scope={props.scope}>
        <Choice label="Table" value={table.name} options={tables.map(({ name, count }) => [name, `${name} (${formatCount(count)})`] as const)}
          onChange={(name) => { shown.value = new Map(shown.value).set(about.name, name); }} />
        <span class="dim">{table.meaning}{table.count > table.rows.length && `; the first ${formatCount(table.rows.length)} rows`}</span>
      </Table>
    </div>
  );
}

interface Shown {
  app: App;
  about: ReportAbout;
  trace: TraceId | null; // null: of all ranks
  table: ReportTable;
  options: Record<string, string>;
  scope: Scope | null; // null: the report has no range
}

interface Actions {
  row(row: Row): (() => void) | null;
  cell(row: Row, column: ReportColumn): (() => void) | null;
}

// A row of all ranks leads to the tracks of its rank. Its times are on the clock of that.
function actionsOfRanks({ app, table }: Shown): Actions {
  const rank = table.columns.findIndex(({ name }) => name === "rank");
  const row = (row: Row): (() => void) | null => {
    const info = app.state.session.value?.traces.find((each) => each.rank !== null && each.rank === row[rank]);
    const track = info && app.state.tracks.value.find((each) => each.trace === info.id && each.role === "device");
    return track ? () => showTrack(app, track) : null;
  };
  return { row, cell: (of, column) => (column.name === "rank" ? row(of) : null) };
}

// A row leads to its place, a cell to its value: a time, the events of a name, a track.
function actionsOf(shown: Shown): Actions {
  const { app, trace, table, scope } = shown;
  if (trace === null) return actionsOfRanks(shown);
  const tracks = app.state.tracks.value;
  const placeOf = (row: Row): Place => ({ trace, table, row, range: scope ?? app.state.whole.value });
  const hold = (): void => { if (scope) holdScope(app, scope); };
  const go = (row: Row, goal: Goal): void => {
    hold();
    goToGoal(app, placeOf(row), goal);
  };
  return {
    row: (row) => {
      const goal = goalOf(table, row, tracks, trace);
      return goal && (() => go(row, goal));
    },
    cell: (row, column) => {
      const cell = row[table.columns.indexOf(column)] ?? null;
      if (cell === null || cell === "") return null;
      const id = idOf(table, row, column.name);
      if (id !== null) return () => go(row, { what: "id", id });
      const goal = column.name === "start" ? goalOf(table, row, tracks, trace) : null;
      if (goal?.what === "event" || goal?.what === "id") return () => go(row, goal);
      if (column.type === "time") return () => { hold(); goToTime(app, trace, Number(cell)); };
      if (typeof cell === "string" && namesEvents(table, column.name)) return () => go(row, { what: "name", name: cell });
      if (!namesTracks(table, column.name) || !hasTracks(table, row, tracks, trace, column.name)) return null;
      return () => goToTrack(app, placeOf(row), column.name);
    },
  };
}

const hintOf = (table: ReportTable, column: ReportColumn): string =>
  (column.name === "start" || isOneEvent(table, column.name) ? "select it and go there" : column.type === "time" ? "go there"
    : namesEvents(table, column.name) ? "select all of this name, search for it" : "go to the track");

function Table(props: Shown & { children: ComponentChildren }): JSX.Element {
  const { app, about, trace, table, options, children } = props;
  const [sort, setSort] = useState<Sort>({ id: "", down: true }); // as the report has them
  const [words, setWords] = useState("");
  const { scope } = props;
  const actions = useMemo(() => actionsOf(props), [table, trace, app.state.tracks.value, scope?.from, scope?.until, scope?.what]);
  const columns = useMemo(() => table.columns.flatMap<Column<Row>>((column, c) => {
    const { name, type, meaning } = column;
    if (table.rows.every((row) => row[c] === null)) return [];
    const wide = type === "text";
    const letters = wide ? table.rows.reduce((most, row) => Math.max(most, String(row[c] ?? "").length), name.length + 2) : 0;
    const width = letters > SHORT ? null : wide ? 7.5 * letters + 16 : Math.max(WIDTHS[type] ?? 80, 8 * name.length + 26);
    return [{
      id: name, title: headingOf(name), hint: meaning, right: !wide, ...(width === null ? {} : { width }),
      value: (row: Row) => cellKey(row[c] ?? null, type),
      cell: (row: Row) => {
        const text = shortText(row[c] ?? null, type);
        const all = cellText(row[c] ?? null, type);
        const go = actions.cell(row, column);
        if (!go) return <bdi title={all}>{text}</bdi>;
        return <button type="button" class="link" title={`${all}\nClick: ${hintOf(table, column)}`} onClick={go}><bdi>{text}</bdi></button>;
      },
    }];
  }), [table, actions]);
  const rows = useMemo(() => rowsWith(table, words), [table, words]);
  return (
    <>
      <div class="bar">
        {children}
        {table.rows.length > 5 && (
          <label class="pick"><span>Rows with</span><input type="search" value={words} onInput={(event) => setWords(event.currentTarget.value)} /></label>
        )}
        {table.chart && (
          <label class="pick"><input type="checkbox" checked={charts.value} onChange={(event) => { charts.value = event.currentTarget.checked; }} /><span>Chart</span></label>
        )}
        <button type="button" class="small" title={`${formatCount(rows.length)} of ${plural(table.count, "row")}, as shown; times in ns`} onClick={() => saveText(csvTable(table.columns.map(({ name }) => ({ title: name, right: false })), sortRows(rows, columns, sort).map((row) => row.map((cell) => (typeof cell === "boolean" ? String(cell) : cell)))), "text/csv", `${about.name}-${table.name}.csv`)}>Save CSV</button>
        {trace !== null && canBeTracks(table) && (
          <button type="button" class="small" title="Rows among the tracks, of the whole trace" onClick={() => void showAsTracks(app, trace, about, table, options)}>Show as track</button>
        )}
      </div>
      <div class="split charted">
        {charts.value && <Chart table={table} />}
        <div class="main"><DataTable label={table.name} columns={columns} rows={rows} sort={sort} onSort={setSort} least={LEAST} onRow={actions.row} /></div>
      </div>
    </>
  );
}
