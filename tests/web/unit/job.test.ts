import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeFigures, jobOf, moreOf, type Job } from "../../../src/view/web/src/data/job";
import { cellOf, colorAt, countRanks, extentOf, fieldsOf, groupsOf, orderOf, peersOf, shownFigures, showing, zoomed } from "../../../src/view/web/src/panels/job_layout";

// An answer as docs/reference/view-protocol.md has it: figures in 32 bits, or, where one does not fit, as doubles. NaN: not known.
function answer(head: Record<string, unknown>, figures: Record<string, number[]>): ArrayBuffer {
  const wide = (list: number[]): number => (list.every((figure) => Number.isNaN(figure) || (figure >= 0 && figure < 0xffffffff)) ? 4 : 8);
  const aligned = (at: number): number => (at + 7) & ~7;
  const cells = Object.values(figures)[0]?.length ?? 0;
  const text = new TextEncoder().encode(JSON.stringify({ ...head, cells, figures: Object.entries(figures).map(([name, list]) => ({ name, bytes: wide(list) })) }));
  let size = aligned(8 + text.length);
  const places = Object.values(figures).map((list) => { const at = size; size = aligned(size + wide(list) * list.length); return at; });
  const bytes = new ArrayBuffer(size), view = new DataView(bytes);
  new Uint8Array(bytes).set(new TextEncoder().encode("HDJ1"));
  view.setUint32(4, text.length, true);
  new Uint8Array(bytes).set(text, 8);
  Object.values(figures).forEach((list, which) => list.forEach((figure, at) => {
    const place = (places[which] ?? 0) + at * wide(list);
    if (wide(list) === 8) view.setFloat64(place, figure, true);
    else view.setUint32(place, Number.isNaN(figure) ? 0xffffffff : figure, true);
  }));
  return bytes;
}
const ranksOf = (rank: (number | null)[], more: Record<string, unknown> = {}): Record<string, unknown> => ({
  number: 7, rank, device: rank.map(() => 0), source: rank.map((_, at) => at), member: rank.map(() => 0), trace: rank.map(() => -1),
  host: rank.map((_, at) => `node${at % 2}`), file: rank.map((_, at) => `file${at}.json`), steps: ["s1", "s2"], notes: [], ...more });
const oneStep = (time: number[]): Job => jobOf(answer(ranksOf(time.map((_, rank) => rank), { steps: ["s1"] }), { time, exposed: time, idle: time }));
const list = (figures: Float64Array): number[] => [...figures];

test("an answer becomes rows, steps and figures; what is not known is NaN", () => {
  const job = jobOf(answer(ranksOf([2, 10]), { time: [4, 12, NaN, 8], exposed: [2, 6, NaN, 5e9], idle: [1, 3, NaN, 2] }));
  assert.deepEqual(job.rows, [{ name: "rank 2", rank: 2, host: "node0", trace: null }, { name: "rank 10", rank: 10, host: "node1", trace: null }]);
  assert.deepEqual([job.number, job.steps], [7, ["s1", "s2"]]);
  assert.deepEqual([list(job.figures.time), list(job.figures.exposed), list(job.figures.idle)], [[4, 12, NaN, 8], [2, 6, NaN, 5e9], [1, 3, NaN, 2]]);
  assert.ok(list(job.figures.late).every(Number.isNaN));
});

test("the first answer has times alone, the next the other figures of the same picture", () => {
  const job = jobOf(answer(ranksOf([2, 10]), { time: [NaN, NaN, 5, NaN] }));
  assert.deepEqual(list(job.figures.time), [NaN, NaN, 5, NaN]);
  assert.ok([...job.figures.exposed, ...job.figures.idle].every(Number.isNaN) && job.figures.idle.length === 4);
  const more = moreOf(answer(ranksOf([2, 10]), { exposed: [2, 6, NaN, 5], idle: [1, 3, NaN, 2] }));
  assert.deepEqual([more.number, list(more.figures.exposed), list(more.figures.idle)], [7, [2, 6, NaN, 5], [1, 3, NaN, 2]]);
});

test("rows are named by rank, file or trace, and by device where a rank has several", () => {
  const figures = { time: [1, 1, 1, 1], exposed: [1, 1, 1, 1], idle: [1, 1, 1, 1] };
  const head = ranksOf([0, 0, null, null], { source: [0, 0, 1, 2], device: [0, 1, 0, 0], trace: [3, 3, -1, 5], file: ["", "", "run.json", ""], steps: ["s1"] });
  assert.deepEqual(jobOf(answer(head, figures)).rows.map((row) => [row.name, row.trace]), [["rank 0, device 0", 3], ["rank 0, device 1", 3], ["run.json", null], ["trace 5", 5]]);
});

test("ranks that are missing are counted, devices of a rank are not", () => {
  const job = (rank: (number | null)[], world: number | null): Job => jobOf(answer(ranksOf(rank, { world, steps: ["s1"] }), Object.fromEntries(["time", "exposed", "idle"].map((name) => [name, rank.map(() => 1)]))));
  assert.deepEqual([countRanks(job([0, 0, 3, null, null], 8)), countRanks(job([0, 1], 2)), countRanks(job([0, 1], null))], [[4, 8], [2, null], [2, null]]);
});

test("what is not a picture is refused", () => {
  assert.throws(() => decodeFigures(new TextEncoder().encode("{\"error\": 1}  ").buffer as ArrayBuffer), /not a picture/);
  assert.throws(() => jobOf(answer(ranksOf([0]), { idle: [1, 2] })), /lacks figures/);
  assert.throws(() => moreOf(answer(ranksOf([0]), { idle: [1, 2] })), /lacks figures/);
});

const job = jobOf(answer(ranksOf([0, 1, 2]), { time: [10, 100, 12, 104, 20, 100], exposed: [1, 1, 1, 1, 1, 1], idle: [1, 1, 1, 1, 1, 1] }));

test("against the median of its step a rank that is slow alone stands out", () => {
  assert.deepEqual(list(shownFigures(job, "time", true)), [-2, 0, 0, 4, 8, 0]);
  assert.deepEqual(extentOf(shownFigures(job, "time", true), job.steps.length), { low: -2, high: 8, isBelow: false, isAbove: false });
  assert.equal(extentOf(new Float64Array([NaN]), 1), null);
  assert.deepEqual(orderOf(job, "most", shownFigures(job, "time", true)), [2, 1, 0]);
  assert.deepEqual(orderOf(job, "host", job.figures.time), [0, 2, 1]);
});

test("a step that is out of line on all ranks leaves the colours to the others, and a rank that is slow alone does not", () => {
  const steps = [900, 100, 102, 98, 101, 99, 100, 12];
  const figures = new Float64Array(200 * 8).map((_, at) => (steps[at % 8] as number) + (Math.floor(at / 8) % 3));
  assert.deepEqual(extentOf(figures, 8), { low: 98, high: 104, isBelow: true, isAbove: true });
  for (let step = 1; step < 7; step++) figures[7 * 8 + step] = 150;
  assert.deepEqual(extentOf(figures, 8), { low: 98, high: 150, isBelow: true, isAbove: true });
  assert.deepEqual(extentOf(new Float64Array([0, 0, 0, 0, 5]), 5), { low: 0, high: 5, isBelow: false, isAbove: false });
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

test("a click on a field is on the cell that it shows", () => {
  const [steps, all, width, height] = [100, 4096, 50, 199], rows = Array.from({ length: all }, (_, at) => all - 1 - at);
  const figures = Float64Array.from({ length: steps * all }, (_, at) => (at % 7 === 3 ? NaN : (at * 7919) % 10007));
  const fields = fieldsOf(figures, steps, rows, { from: 0, count: all }, width, height);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const cell = cellOf(figures, steps, rows, { from: 0, count: all }, width, height, x, y);
      assert.ok(cell && rows.indexOf(cell.row) * height >= y * all && rows.indexOf(cell.row) * height < (y + 1) * all && Math.floor((cell.step * width) / steps) === x);
      assert.equal(figures[cell.row * steps + cell.step], fields[y * width + x]);
    }
  }
  const unknown = new Float64Array([NaN, NaN, NaN, -2]);
  assert.deepEqual(cellOf(unknown, 2, [0, 1], { from: 0, count: 2 }, 2, 2, 1, 0), { row: 0, step: 1 });
  assert.deepEqual(cellOf(unknown, 2, [0, 1], { from: 0, count: 2 }, 1, 1, 0, 0), { row: 1, step: 1 });
  assert.equal(cellOf(unknown, 2, [0, 1], { from: 0, count: 2 }, 2, 2, 2, 0), null);
});

test("zooming stays within the rows, and the window follows the focus", () => {
  assert.deepEqual(zoomed({ from: 0, count: 4096 }, 4096, 0.5, 1), { from: 2048, count: 2048 });
  assert.deepEqual(zoomed({ from: 2048, count: 2048 }, 4096, 4, 0), { from: 0, count: 4096 });
  assert.deepEqual(zoomed({ from: 0, count: 8 }, 8, 0.01, 0), { from: 0, count: 4 });
  assert.deepEqual(showing({ from: 4, count: 4 }, 2), { from: 2, count: 4 });
  assert.deepEqual(showing({ from: 4, count: 4 }, 9), { from: 6, count: 4 });
});

test("peers are the one in the middle and the least", () => {
  assert.deepEqual(peersOf(oneStep([5, 1, 2, 3, NaN]), "time", 0, 0), [3 - 1, 1]);
  assert.deepEqual(peersOf(oneStep([5]), "time", 0, 0), []);
});

test("peers do the same work, whatever data they have, if there are any", () => {
  const job: Job = { ...oneStep([9, 1, 5, 2, 7, 3]), roles: [{ name: "pp", at: [0, 0, 0, 0, 0, 1] }, { name: "tp", at: [0, 1, 0, 1, 0, null] }, { name: "dp", at: [0, 0, 1, 1, 2, 0] }] };
  assert.deepEqual(peersOf(job, "time", 0, 0), [4, 2]);
  assert.deepEqual(peersOf(job, "time", 3, 0), [1]);
  assert.deepEqual(peersOf(job, "time", 5, 0), [2, 1]); // nobody else is in stage 1
});

test("ranks are grouped by role, those that have none last", () => {
  const job: Job = { ...oneStep([9, 1, 5, 2]), roles: [{ name: "pp", at: [10, null, 2, 10] }] };
  assert.deepEqual(orderOf(job, "pp", job.figures.time), [2, 0, 3, 1]);
  assert.deepEqual([0, 1, 2, 3].map(groupsOf(job, "pp") as (row: number) => string), ["pp 10", "pp none", "pp 2", "pp 10"]);
  assert.deepEqual([0, 1].map(groupsOf(job, "host") as (row: number) => string), ["node0", "node1"]);
  assert.deepEqual([groupsOf(job, "rank"), groupsOf(job, "most")], [null, null]);
});

test("colours grow in contrast to the background, step by step", () => {
  const light = (dark: boolean, k: number): number => { const [r, g, b] = colorAt(k / 20, dark); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  for (let k = 0; k < 20; k++) {
    assert.ok(light(true, k + 1) > light(true, k), `dark ${k}`);
    assert.ok(light(false, k + 1) < light(false, k), `light ${k}`);
  }
});
