// The interface of charts.js for the web UI of `heddle view`.
export interface Charted<Row, Column> {
  chart: string;
  title: string;
  rows: readonly Row[];
  width?: number;
  label: readonly Column[];
  values: readonly Column[];
  name(column: Column): string;
  value(row: Row, column: Column): number | null;
  text(row: Row, column: Column): string;
}

export function drawChart<Row, Column>(of: Charted<Row, Column>): HTMLElement | null;
