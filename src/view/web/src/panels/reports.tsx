// Reports: the analyses of `heddle report` over what the bar says, as tables.
import { signal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { App } from "../app";
import type { ReportAbout, ReportCell, ReportColumn, ReportTable, TraceId } from "../data/model";
import { useRequest } from "../data/request";
import { formatBytes, formatCount, formatDuration } from "../format";
import { offsetOf, rangeShowing, traceName } from "../tools/navigate";
import { DataTable, type Column, type Sort } from "./datatable";
import { Choice, Waiting } from "./parts";
import { ScopeBar, currentScope } from "./scope_bar";
import type { Scope } from "./scope";

// What was chosen stays while another panel is shown.
const chosen = signal({ name: "summary", trace: null as TraceId | null });
const given = signal<ReadonlyMap<string, string>>(new Map()); // options by "REPORT.OPTION"

const OF_THE_BAR = ["from", "until"]; // options that the range stands for
const NAMES = ["name", "op", "work", "frame", "call"]; // columns of names of events
const WIDTHS: Record<string, number> = { number: 60, count: 76, decimal: 80, bytes: 84, duration: 92, time: 112, bool: 60 }; // px
const WAIT = 300; // ms: a range that still moves is not asked for

type Row = readonly ReportCell[];

export function cellText(cell: ReportCell, type: string): string {
  if (cell === null) return "–";
  if (typeof cell === "boolean") return cell ? "yes" : "no";
  if (typeof cell === "string") return cell;
  switch (type) {
    case "duration": case "time": return formatDuration(cell);
    case "bytes": return formatBytes(cell);
    case "decimal": return cell.toFixed(2);
    case "count": return formatCount(cell);
    default: return String(cell);
  }
}

// Null sorts below all else.
export function cellKey(cell: ReportCell, type: string): number | string {
  if (type === "text") return cell === null ? "" : String(cell);
  return cell === null ? -Infinity : Number(cell);
}

export function ReportsPanel({ app }: { app: App }): JSX.Element {
  const traces = app.state.session.value?.traces ?? [];
  const asked = useRequest("reports", (signal) => app.source.reports(signal));
  const about = asked.value?.find(({ name }) => name === chosen.value.name) ?? asked.value?.[0];
  const trace = traces.find(({ id }) => id === chosen.value.trace)?.id ?? traces[0]?.id;
  const scope = currentScope(app);
  if (!asked.value || !about) return <div><Waiting asked={asked} what="the reports" /></div>;
  if (trace === undefined) return <p class="hint">No trace is open.</p>;
  const hasRange = about.options.some(({ name }) => name === "from");
  return (
    <div class="stacked">
      <div class="bar">
        <Choice label="Report" value={about.name} options={asked.value.map(({ name }) => [name, name] as const)}
          onChange={(name) => { chosen.value = { ...chosen.value, name }; }} />
        <span class="dim" title={about.text}>{about.title}</span>
        {traces.length > 1 && (
          <Choice label="of" value={String(trace)} options={traces.map(({ id }) => [String(id), traceName(app, id)] as const)}
            onChange={(id) => { chosen.value = { ...chosen.value, trace: Number(id) }; }} />
        )}
        {hasRange && <ScopeBar app={app} scope={scope} allTracks />}
        <Options about={about} />
      </div>
      <Report key={`${trace} ${about.name}`} app={app} about={about} trace={trace} scope={hasRange ? scope : null} />
    </div>
  );
}

function Options({ about }: { about: ReportAbout }): JSX.Element {
  const set = (name: string, value: string): void => { given.value = new Map(given.value).set(`${about.name}.${name}`, value); };
  return (
    <>
      {about.options.filter(({ name }) => !OF_THE_BAR.includes(name)).map(({ name, kind, fallback, meaning }) => {
        const value = given.value.get(`${about.name}.${name}`) ?? "";
        return (
          <label key={name} class="pick" title={meaning}>
            <span>{name}</span>
            {kind === "flag"
              ? <input type="checkbox" checked={value !== ""} onChange={(event) => set(name, event.currentTarget.checked ? "1" : "")} />
              : <input type="text" size={9} value={value} placeholder={fallback} onChange={(event) => set(name, event.currentTarget.value)} />}
          </label>
        );
      })}
    </>
  );
}

// The options as parameters of the question. Times are of the trace, which may be moved against the others.
function optionsOf(app: App, about: ReportAbout, trace: TraceId, scope: Scope | null): Record<string, string> {
  const { whole } = app.state;
  const options: Record<string, string> = {};
  for (const { name, kind } of about.options) {
    const value = given.value.get(`${about.name}.${name}`);
    if (value) options[name] = kind === "flag" ? "" : value;
  }
  if (!scope || (scope.from <= whole.value.from && scope.until >= whole.value.until)) return options;
  options.from = `${Math.max(0, scope.from - offsetOf(app, trace))}ns`;
  options.until = `${Math.max(1, scope.until - offsetOf(app, trace))}ns`;
  return options;
}

function Report(props: { app: App; about: ReportAbout; trace: TraceId; scope: Scope | null }): JSX.Element {
  const { app, about, trace } = props;
  const [at, setAt] = useState(0);
  const options = optionsOf(app, about, trace, props.scope);
  const asked = useRequest(JSON.stringify(options), (abort) => app.source.report(trace, about.name, options, abort), WAIT);
  if (!asked.value || asked.error) return <div><Waiting asked={asked} what={about.title} /></div>;
  const tables = asked.value.filter(({ count }) => count > 0);
  const table = tables[Math.min(at, tables.length - 1)];
  if (!table) return <p class="hint">The trace has nothing of this.</p>;
  return (
    <div class="stacked" aria-busy={asked.loading}>
      <Table key={table.name} app={app} trace={trace} table={table}>
        <Choice label="Table" value={table.name} options={tables.map(({ name, count }) => [name, `${name} (${formatCount(count)})`] as const)}
          onChange={(name) => setAt(tables.findIndex((each) => each.name === name))} />
        <span class="dim">{table.meaning}{table.count > table.rows.length && `; the first ${formatCount(table.rows.length)} rows`}</span>
      </Table>
    </div>
  );
}

// Where a row's time is, the view goes there; a name is searched for.
function cellOf(app: App, trace: TraceId, table: ReportTable, column: ReportColumn, cell: ReportCell, row: Row): JSX.Element {
  const text = cellText(cell, column.type);
  if (cell !== null && column.type === "time") {
    const duration = row[table.columns.findIndex(({ name }) => name === "duration")];
    const go = (): void => {
      const { range } = app.state;
      range.value = rangeShowing(range.value, Number(cell) + offsetOf(app, trace), typeof duration === "number" ? duration : 0);
    };
    return <button type="button" class="link" title={`${text} after the start\nClick: go there`} onClick={go}>{text}</button>;
  }
  if (typeof cell === "string" && NAMES.includes(column.name)) {
    const search = (): void => { app.state.query.value = { q: cell, mode: "text", in: "names", case: true }; };
    return <button type="button" class="link" title={`${cell}\nClick: search exactly this name`} onClick={search}><bdi>{cell}</bdi></button>;
  }
  return <bdi title={text}>{text}</bdi>;
}

function Table({ app, trace, table, children }: { app: App; trace: TraceId; table: ReportTable; children: ComponentChildren }): JSX.Element {
  const [sort, setSort] = useState<Sort>({ id: "", down: true }); // as the report has them
  const [words, setWords] = useState("");
  const columns = useMemo<Column<Row>[]>(() => table.columns.flatMap((column, c) => {
    const { name, type, meaning } = column;
    if (table.rows.every((row) => row[c] === null)) return [];
    const wide = type === "text";
    return [{
      id: name, title: name.replaceAll("_", " "), hint: meaning, right: !wide, ...(wide ? {} : { width: Math.max(WIDTHS[type] ?? 80, 8 * name.length + 16) }),
      value: (row: Row) => cellKey(row[c] ?? null, type), cell: (row: Row) => cellOf(app, trace, table, column, row[c] ?? null, row),
    }];
  }), [table, trace]);
  const rows = useMemo(() => {
    const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
    if (wanted.length === 0) return table.rows;
    return table.rows.filter((row) => {
      const text = row.map((cell) => (cell === null ? "" : String(cell).toLowerCase())).join("\n");
      return wanted.every((word) => text.includes(word));
    });
  }, [table, words]);
  return (
    <>
      <div class="bar">
        {children}
        {table.rows.length > 5 && (
          <label class="pick"><span>Rows with</span><input type="search" value={words} onInput={(event) => setWords(event.currentTarget.value)} /></label>
        )}
      </div>
      <div class="main"><DataTable label={table.name} columns={columns} rows={rows} sort={sort} onSort={setSort} /></div>
    </>
  );
}
