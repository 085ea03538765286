// A table with sortable columns, of which only the rows in view are in the document.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { rem, scaled } from "../scale";

export interface Column<R> {
  id: string;
  title: string;
  hint?: string;
  width?: number; // px of letters of the usual size, more if the title needs it; without it the column takes the remaining width
  right: boolean; // numbers
  value(row: R): number | string; // what it sorts by
  cell(row: R): ComponentChildren;
}

export interface Sort {
  id: string;
  down: boolean;
}

// No title is cut: so much for each letter, and for the arrow.
const widthOf = (width: number, title: string): number => Math.max(width, title.length * 8 + 24);

const rowHeight = (): number => scaled(22); // as .grid td in panels.css
const SPARE = 8; // rows above and below the view

export function sortRows<R>(rows: readonly R[], columns: readonly Column<R>[], sort: Sort): R[] {
  const column = columns.find((each) => each.id === sort.id);
  if (!column) return [...rows];
  const way = sort.down ? -1 : 1;
  const keyed = rows.map((row, at) => ({ row, at, key: column.value(row) }));
  keyed.sort((a, b) => {
    if (a.key === b.key) return a.at - b.at; // equal ones stay in order
    return (a.key < b.key ? -1 : 1) * way;
  });
  return keyed.map((each) => each.row);
}

// The first row to draw and the row after the last.
export function rowsInView(count: number, top: number, height: number): [number, number] {
  const first = Math.max(0, Math.min(count, Math.floor(top / rowHeight()) - SPARE));
  return [first, Math.min(count, first + Math.ceil(height / rowHeight()) + 2 * SPARE)];
}

function Head<R>(props: { columns: readonly Column<R>[]; sort: Sort; onSort: (sort: Sort) => void }): JSX.Element {
  return (
    <thead>
      <tr>
        {props.columns.map((column) => {
          const on = props.sort.id === column.id;
          const next = { id: column.id, down: on ? !props.sort.down : column.right };
          return (
            <th key={column.id} scope="col" class={column.right ? "right" : ""}
                aria-sort={on ? (props.sort.down ? "descending" : "ascending") : "none"}>
              <button type="button" title={column.hint ?? `Sort by ${column.title}`} onClick={() => props.onSort(next)}>
                {column.title}<span class="arrow" aria-hidden="true">{on ? (props.sort.down ? "▼" : "▲") : ""}</span>
              </button>
            </th>
          );
        })}
      </tr>
    </thead>
  );
}

// Not where a button has its own way, nor at the end of marking text to copy it.
function clickRow(target: EventTarget | null, go: () => void): void {
  if (target instanceof Element && target.closest("button")) return;
  if (getSelection()?.isCollapsed ?? true) go();
}

export function DataTable<R>(props: {
  label: string;
  columns: readonly Column<R>[];
  rows: readonly R[];
  sort: Sort;
  onSort: (sort: Sort) => void;
  least?: number; // px of a column without a width, below which the table scrolls sideways
  ordered?: boolean; // the rows are in order already
  onEnd?: () => void; // its end came into view
  marked?: (row: R) => boolean;
  onRow?: (row: R) => (() => void) | null; // action of a click; keyboards use buttons in the cells
}): JSX.Element {
  const { columns, rows, sort, least } = props;
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 400 });
  const sorted = useMemo(() => (props.ordered ? rows : sortRows(rows, columns, sort)), [rows, columns, sort.id, sort.down, props.ordered]);
  const measure = (): void => {
    const element = box.current;
    if (!element) return;
    setView((last) => (last.top === element.scrollTop && last.height === element.clientHeight
      ? last : { top: element.scrollTop, height: element.clientHeight }));
  };
  useEffect(() => {
    const observer = new ResizeObserver(measure);
    if (box.current) observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  const [first, end] = rowsInView(sorted.length, view.top, view.height);
  useEffect(() => {
    if (end >= sorted.length && sorted.length) props.onEnd?.();
  }, [end, sorted.length]);
  return (
    <div class="grid" ref={box} onScroll={measure} tabIndex={0} role="region" aria-label={props.label}>
      <table aria-rowcount={sorted.length + 1} aria-label={props.label} style={least ? { minWidth: rem(columns.reduce((sum, column) => sum + (column.width ? widthOf(column.width, column.title) : least), 0)) } : {}}>
        <colgroup>
          {columns.map((column) => <col key={column.id} style={column.width ? { width: rem(widthOf(column.width, column.title)) } : {}} />)}
        </colgroup>
        <Head columns={columns} sort={sort} onSort={props.onSort} />
        <tbody>
          {first > 0 && <tr class="space" aria-hidden="true"><td colSpan={columns.length} style={{ height: `${first * rowHeight()}px` }} /></tr>}
          {sorted.slice(first, end).map((row, at) => {
            const go = props.onRow?.(row) ?? null;
            return (
              <tr key={first + at} aria-rowindex={first + at + 2} class={`${props.marked?.(row) ? "marked" : ""}${go ? " goes" : ""}`}
                  onClick={go ? (event) => clickRow(event.target, go) : undefined}>
                {columns.map((column) => <td key={column.id} class={column.right ? "right" : ""}>{column.cell(row)}</td>)}
              </tr>
            );
          })}
          {end < sorted.length && (
            <tr class="space" aria-hidden="true"><td colSpan={columns.length} style={{ height: `${(sorted.length - end) * rowHeight()}px` }} /></tr>
          )}
        </tbody>
      </table>
    </div>
  );
}
