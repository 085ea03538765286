import assert from "node:assert/strict";
import { test } from "node:test";
import { jobOfTables, type StepTables } from "../../../src/view/web/src/data/job";
import type { ReportCell, ReportTable } from "../../../src/view/web/src/data/model";
import { colorAt, extentOf, fieldsOf, orderOf, peersOf, shownFigures, showing, zoomed } from "../../../src/view/web/src/panels/job_layout";

const tableOf = (name: string, columns: string[], rows: ReportCell[][], count = rows.length): ReportTable =>
  ({ name, meaning: "", count, rows, columns: columns.map((column) => ({ name: column, type: "number", meaning: "" })) });

// Steps of one rank as [name, start, duration], its collectives as [start of the step, duration, size of what goes in].
function traceOf(rank: number, steps: [string, number, number][], collectives: [number, number, number][] = [], more: { size?: number; cut?: boolean } = {}): StepTables {
  return {
    trace: rank + 10, rank, host: `node${rank % 2}`, tables: [
      tableOf("steps", ["rank", "step", "start", "duration"], steps.map(([name, start, duration]) => [null, name, start, duration])),
      tableOf("breakdown", ["rank", "device", "step", "step_start", "span", "exposed_communication", "idle"],
        steps.map(([name, start, duration]) => [null, 0, name, start, duration + 1, duration / 2, duration / 4] as ReportCell[]).concat([[null, 0, null, null, 9, 9, 9]])),
      tableOf("collectives", ["rank", "device", "step", "step_start", "group", "ranks", "size", "collective", "dtype", "in", "out", "duration"],
        collectives.map(([step, duration, size]) => [null, 0, "", step, "0", "[0, 1]", more.size ?? 2, "AllReduce", "Float", size, size, duration]), collectives.length + (more.cut ? 1 : 0)),
    ],
  };
}
const list = (figures: Float64Array): number[] => [...figures];

test("ranks are rows by number, steps columns by number, what is missing is not known", () => {
  const job = jobOfTables([traceOf(10, [["ProfilerStep#10", 50, 8]]), traceOf(2, [["ProfilerStep#9", 0, 4], ["ProfilerStep#10", 5, 12]])]);
  assert.deepEqual(job.rows.map((row) => [row.name, row.trace]), [["rank 2", 12], ["rank 10", 20]]);
  assert.deepEqual(job.steps, ["ProfilerStep#9", "ProfilerStep#10"]);
  assert.deepEqual(list(job.figures.time), [4, 12, NaN, 8]);
  assert.deepEqual(list(job.figures.exposed), [2, 6, NaN, 4]);
  assert.deepEqual(list(job.figures.idle), [1, 3, NaN, 2]);
  assert.deepEqual(list(job.start), [0, 5, NaN, 50]);
});

test("a name that comes again is another step", () => {
  assert.deepEqual(jobOfTables([traceOf(0, [["step", 0, 1], ["step", 5, 2]])]).steps, ["step", "step (2)"]);
});

test("lateness is the longest duration less one's own, the most of a step", () => {
  const job = jobOfTables([traceOf(0, [["s1", 0, 9], ["s2", 9, 9]], [[0, 100, 8], [0, 70, 8], [9, 5, 8]]), traceOf(1, [["s1", 2, 9], ["s2", 11, 9]], [[2, 40, 8], [2, 80, 8], [11, 5, 8]])]);
  assert.deepEqual(list(job.figures.late), [10, 0, 60, 0]);
  assert.deepEqual(job.notes, []);
});

test("no lateness where ranks of a group skip one, send other sizes, are more than the group, or a report is cut", () => {
  const steps: [string, number, number][] = [["s1", 0, 9]];
  const late = (...traces: StepTables[]): unknown[] => { const job = jobOfTables(traces); return [list(job.figures.late).every(Number.isNaN), job.notes.length]; };
  const good = traceOf(0, steps, [[0, 5, 8], [0, 6, 8]]);
  assert.deepEqual(late(good, traceOf(1, steps, [[0, 5, 8]])), [true, 1]);
  assert.deepEqual(late(good, traceOf(1, steps, [[0, 5, 8], [0, 6, 16]])), [true, 1]);
  assert.deepEqual(late(good, traceOf(1, steps, [[0, 5, 8], [0, 6, 8]]), traceOf(2, steps, [[0, 5, 8], [0, 6, 8]])), [true, 1]);
  assert.deepEqual(late(good, traceOf(1, steps, [[0, 5, 8], [0, 6, 8]], { cut: true })), [true, 1]);
  assert.deepEqual(late(good, traceOf(1, steps, [[0, 5, 8], [0, 9, 8]])), [false, 0]);
});

const job = jobOfTables([traceOf(0, [["s1", 0, 10], ["s2", 9, 100]]), traceOf(1, [["s1", 0, 12], ["s2", 9, 104]]), traceOf(2, [["s1", 0, 20], ["s2", 9, 100]])]);

test("against the median of its step a rank that is slow alone stands out", () => {
  assert.deepEqual(list(shownFigures(job, "time", true)), [-2, 0, 0, 4, 8, 0]);
  assert.deepEqual(extentOf(shownFigures(job, "time", true)), [-2, 8]);
  assert.equal(extentOf(new Float64Array([NaN])), null);
  assert.deepEqual(orderOf(job, "most", shownFigures(job, "time", true)), [2, 1, 0]);
  assert.deepEqual(orderOf(job, "host", job.figures.time), [0, 2, 1]);
});

test("a field shows the largest figure of the ranks and steps in it", () => {
  const figures = new Float64Array(4096 * 100).fill(1);
  figures[1234 * 100 + 56] = 7;
  const rows = Array.from({ length: 4096 }, (_, at) => at);
  const fields = fieldsOf(figures, 100, rows, { from: 0, count: 4096 }, 50, 200);
  assert.deepEqual([...fields.keys()].filter((at) => fields[at] !== 1), [Math.floor((1234 * 200) / 4096) * 50 + 28]);
  assert.deepEqual(list(fieldsOf(new Float64Array([NaN, 3, NaN, NaN]), 2, [0, 1], { from: 0, count: 2 }, 1, 2)), [3, NaN]);
  assert.deepEqual(list(fieldsOf(new Float64Array([-5, -3]), 1, [0, 1], { from: 0, count: 2 }, 1, 1)), [-3]);
});

test("zooming stays within the rows, and the window follows the focus", () => {
  assert.deepEqual(zoomed({ from: 0, count: 4096 }, 4096, 0.5, 1), { from: 2048, count: 2048 });
  assert.deepEqual(zoomed({ from: 2048, count: 2048 }, 4096, 4, 0), { from: 0, count: 4096 });
  assert.deepEqual(zoomed({ from: 0, count: 8 }, 8, 0.01, 0), { from: 0, count: 4 });
  assert.deepEqual(showing({ from: 4, count: 4 }, 2), { from: 2, count: 4 });
  assert.deepEqual(showing({ from: 4, count: 4 }, 9), { from: 6, count: 4 });
});

test("peers are the one in the middle and the least", () => {
  assert.deepEqual(peersOf(new Float64Array([5, 1, 2, 3, NaN]), 1, 0, 0), [3 - 1, 1]);
  assert.deepEqual(peersOf(new Float64Array([5]), 1, 0, 0), []);
});

test("colours grow in contrast to the background, step by step", () => {
  const light = (dark: boolean, k: number): number => { const [r, g, b] = colorAt(k / 20, dark); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  for (let k = 0; k < 20; k++) {
    assert.ok(light(true, k + 1) > light(true, k), `dark ${k}`);
    assert.ok(light(false, k + 1) < light(false, k), `light ${k}`);
  }
});
