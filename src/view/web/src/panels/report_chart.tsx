// The chart of a table, drawn as on the page that `heddle report -o FILE.html` writes.
import type { JSX } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { drawChart } from "../../../../report/html/charts";
import type { ReportColumn, ReportTable } from "../data/model";
import { cellText, headingOf, type Row } from "./report_rows";

const WIDTH = 620; // about half of the pane

export function chartOf(table: ReportTable): HTMLElement | null {
  const columns = (names = ""): ReportColumn[] => names.split(",").flatMap((name) => table.columns.filter((column) =>
    column.name === name && table.rows.some((row) => row[table.columns.indexOf(column)] !== null)));
  const cell = (row: Row, column: ReportColumn): Row[number] => row[table.columns.indexOf(column)] ?? null;
  if (!table.chart) return null;
  return drawChart<Row, ReportColumn>({
    chart: table.chart, title: table.name, rows: table.rows, width: WIDTH, label: columns(table.label), values: columns(table.values),
    name: (column) => headingOf(column.name),
    value: (row, column) => (cell(row, column) === null ? null : Number(cell(row, column))),
    text: (row, column) => (cell(row, column) === null ? "" : cellText(cell(row, column), column.type)),
  });
}

export function Chart({ table }: { table: ReportTable }): JSX.Element | null {
  const box = useRef<HTMLDivElement>(null);
  const drawn = useMemo(() => chartOf(table), [table]);
  useEffect(() => { if (drawn) box.current?.replaceChildren(drawn); }, [drawn]);
  return drawn && <div class="chart" ref={box} />;
}
