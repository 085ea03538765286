import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeFigures, jobOf, type Job } from "../../../src/view/web/src/data/job";
import { colorAt, extentOf, fieldsOf, groupsOf, orderOf, peersOf, shownFigures, showing, zoomed } from "../../../src/view/web/src/panels/job_layout";

type Figures = Record<string, { wide: boolean; list: number[] }>;

// An answer of /api/job as docs/view-protocol.md has it; `null` is a figure that is not known.
function answerOf(head: object, figures: Figures): ArrayBuffer {
  const cells = Object.values(figures)[0]?.list.length ?? 0;
  const named = Object.entries(figures).map(([name, { wide }]) => ({ name, bytes: wide ? 8 : 4 }));
  const text = new TextEncoder().encode(JSON.stringify({ ...head, cells, figures: named }));
  const parts: Uint8Array[] = [];
  let size = 0;
  const put = (bytes: Uint8Array): void => { parts.push(bytes); size += bytes.length; };
  const align = (): void => put(new Uint8Array((8 - (size % 8)) % 8));
  put(new TextEncoder().encode("HDJ1"));
  put(new Uint8Array(Uint32Array.of(text.length).buffer));
  put(text);
  align();
  for (const { wide, list } of Object.values(figures)) {
    put(new Uint8Array(wide ? Float64Array.from(list).buffer : Uint32Array.from(list, (each) => (Number.isNaN(each) ? 0xffffffff : each)).buffer));
    align();
  }
  const out = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out.buffer;
}

interface Row { rank: number | null; device?: number; host?: string; file?: string; trace?: number; member?: number }

function made(rows: Row[], steps: string[], time: number[], wide = false): Job {
  const column = <T>(of: (row: Row, at: number) => T): T[] => rows.map(of);
  const figures = Object.fromEntries(["time", "exposed", "idle"].map((name, k) => [name, { wide: wide && k === 0, list: time.map((each) => (Number.isNaN(each) ? NaN : Math.floor(each / (1 << k)))) }]));
  return jobOf(answerOf({
    number: 7, steps, notes: ["a note"], rank: column((row) => row.rank), device: column((row) => row.device ?? 0), source: column(() => 0),
    member: column((row, at) => row.member ?? at), trace: column((row) => row.trace ?? -1), host: column((row) => row.host ?? ""), file: column((row) => row.file ?? ""),
  }, figures));
}
const list = (figures: Float64Array): number[] => [...figures];

test("an answer is read to the last figure, in both widths, and what is not known is NaN", () => {
  for (const wide of [false, true]) {
    for (const note of ["", "1", "12", "123", "1234567"]) { // of all sizes of the text
      const { head, figures } = decodeFigures<{ note: string }>(answerOf({ note }, { a: { wide, list: [1, NaN, 3] }, b: { wide: !wide, list: [0, 4294967294, NaN] } }));
      assert.equal(head.note, note);
      assert.deepEqual([list(figures.a as Float64Array), list(figures.b as Float64Array)], [[1, NaN, 3], [0, 4294967294, NaN]]);
    }
  }
  assert.throws(() => decodeFigures(new ArrayBuffer(64)), /no picture of a job/);
});

test("rows have names by rank, device and file; what is not open has no trace", () => {
  const job = made([{ rank: 2, host: "a", trace: 12 }, { rank: 10, member: 1 }, { rank: 10, device: 1, member: 1 }, { rank: null, file: "x.json", member: 3 }, { rank: null, trace: 4, member: 4 }],
    ["s1"], [4, 12, NaN, 8, 1], true);
  assert.deepEqual(job.rows.map((row) => [row.name, row.host, row.trace]), [["rank 2", "a", 12], ["rank 10, device 0", "", null], ["rank 10, device 1", "", null], ["x.json", "", null], ["trace 4", "", 4]]);
  assert.deepEqual([job.number, job.steps, job.notes], [7, ["s1"], ["a note"]]);
  assert.deepEqual([list(job.figures.time), list(job.figures.exposed), list(job.figures.idle)], [[4, 12, NaN, 8, 1], [2, 6, NaN, 4, 0], [1, 3, NaN, 2, 0]]);
  assert.ok(list(job.figures.late).every(Number.isNaN));
});

const job = made([{ rank: 0, host: "node0" }, { rank: 1, host: "node1" }, { rank: 2, host: "node0" }], ["s1", "s2"], [10, 100, 12, 104, 20, 100]);

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
  const rows = (count: number): Row[] => Array.from({ length: count }, (_, rank) => ({ rank }));
  assert.deepEqual(peersOf(made(rows(5), ["s"], [5, 1, 2, 3, NaN]), "time", 0, 0), [3 - 1, 1]);
  assert.deepEqual(peersOf(made(rows(1), ["s"], [5]), "time", 0, 0), []);
});

test("peers do the same work, whatever data they have, if there are any", () => {
  const all = made(Array.from({ length: 6 }, (_, rank) => ({ rank })), ["s"], [9, 1, 5, 2, 7, 3]);
  const job: Job = { ...all, roles: [{ name: "pp", at: [0, 0, 0, 0, 0, 1] }, { name: "tp", at: [0, 1, 0, 1, 0, null] }, { name: "dp", at: [0, 0, 1, 1, 2, 0] }] };
  assert.deepEqual(peersOf(job, "time", 0, 0), [4, 2]);
  assert.deepEqual(peersOf(job, "time", 3, 0), [1]);
  assert.deepEqual(peersOf(job, "time", 5, 0), [2, 1]); // nobody else is in stage 1
});

test("ranks are grouped by role, those that have none last", () => {
  const job: Job = { ...made(Array.from({ length: 4 }, (_, rank) => ({ rank, host: `n${rank % 2}` })), ["s"], [9, 1, 5, 2]), roles: [{ name: "pp", at: [10, null, 2, 10] }] };
  assert.deepEqual(orderOf(job, "pp", job.figures.time), [2, 0, 3, 1]);
  assert.deepEqual([0, 1, 2, 3].map(groupsOf(job, "pp") as (row: number) => string), ["pp 10", "pp none", "pp 2", "pp 10"]);
  assert.deepEqual([0, 1].map(groupsOf(job, "host") as (row: number) => string), ["n0", "n1"]);
  assert.deepEqual([groupsOf(job, "rank"), groupsOf(job, "most")], [null, null]);
});

test("colours grow in contrast to the background, step by step", () => {
  const light = (dark: boolean, k: number): number => { const [r, g, b] = colorAt(k / 20, dark); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  for (let k = 0; k < 20; k++) {
    assert.ok(light(true, k + 1) > light(true, k), `dark ${k}`);
    assert.ok(light(false, k + 1) < light(false, k), `light ${k}`);
  }
});
