import assert from "node:assert/strict";
import { test } from "node:test";
import type { ReportAbout, ReportCell, ReportTable, TrackInfo } from "../../../src/view/web/src/data/model";
import {
  canBeTracks, goalOf, hasTracks, namesEvents, namesTracks, optionsOfTracks, rowsWith, tracksAt,
} from "../../../src/view/web/src/panels/report_rows";

function tableOf(columns: string[], ...rows: ReportCell[][]): ReportTable {
  return {
    name: "made", meaning: "", count: rows.length, rows,
    columns: columns.map((column) => { const [name, type] = column.split(" "); return { name, type: type ?? "number", meaning: "" }; }),
  };
}
const track = (id: number, more: Partial<TrackInfo>): TrackInfo => ({ trace: 0, id, parent: null, kind: "slices", role: "", name: "", ...more } as TrackInfo);
const tracks = [
  track(0, { kind: "section", device: 1 }), track(1, { device: 1, derived: true }), track(2, { device: 1, stream: 7, pid: "1", tid: "7" }),
  track(3, { device: 1, stream: 20, pid: "1", tid: "20" }), track(4, { pid: "99", tid: "100" }), track(5, { device: 1, stream: 7, rank: 3 }),
  track(6, { device: 1, stream: 7, trace: 1 }),
];
const goal = (table: ReportTable) => goalOf(table, table.rows[0], tracks, 0);
const ids = (table: ReportTable, column?: string) => tracksAt(table, table.rows[0], tracks, 0, column).map(({ id }) => id);

test("a row of one event is that, a row of a name all of it, else its track", () => {
  assert.deepEqual(goal(tableOf(["start time", "duration duration", "name text"], [5, 7, "gemm"])), { what: "event", start: 5, duration: 7, name: "gemm" });
  assert.deepEqual(goal(tableOf(["step text", "start time"], ["ProfilerStep#2", 5])), { what: "event", start: 5, duration: null, name: "ProfilerStep#2" });
  assert.deepEqual(goal(tableOf(["device", "op text", "call text"], [1, null, "cudaLaunchKernel"])), { what: "name", name: "cudaLaunchKernel" });
  assert.deepEqual(goal(tableOf(["start time", "device"], [null, 1])), { what: "track" });
  assert.deepEqual(goal(tableOf(["pid text", "tid text", "name text", "start time"], ["99", "100", "main", 5])), { what: "track" });
  assert.equal(goal(tableOf(["note text"], ["a sentence"])), null);
  assert.equal(goal(tableOf(["rank"], [0])), null);
});

test("tracks are those where the row says, of the file first, as far as a column says", () => {
  const queue = tableOf(["rank", "device", "stream", "row text"], [0, 1, 7, "1 7"]);
  assert.deepEqual(ids(queue), [2]);
  assert.deepEqual(ids(queue, "stream"), [2]); // 5 is of another rank
  assert.deepEqual(ids(queue, "device"), [2, 3, 1]);
  assert.deepEqual(ids(tableOf(["device text"], ["cuda:0"])), []);
  assert.deepEqual(ids(tableOf(["rank", "device"], [3, null])), []);
  assert.equal(hasTracks(queue, queue.rows[0], tracks, 1), false); // of the other trace it would have to be 1 7
});

test("names of tracks are not names of events", () => {
  const kernels = tableOf(["device", "name text"]), info = tableOf(["pid text", "tid text", "name text"]);
  assert.deepEqual([namesEvents(kernels, "name"), namesTracks(kernels, "name"), namesTracks(kernels, "device")], [true, false, true]);
  assert.deepEqual([namesEvents(info, "name"), namesTracks(info, "name")], [false, true]);
});

test("rows are found by what is shown and by what is there", () => {
  const table = tableOf(["name text", "total duration", "bytes bytes"], ["gemm", 1234567, 2048], ["add", 5000, null]);
  const found = (words: string) => rowsWith(table, words).map((row) => row[0]);
  assert.deepEqual(found(""), ["gemm", "add"]);
  assert.deepEqual(found("1.234567"), ["gemm"]);
  assert.deepEqual(found("1234567"), ["gemm"]);
  assert.deepEqual(found("kib GEMM"), ["gemm"]);
  assert.deepEqual(found("\u00b5s"), ["add"]);
  assert.deepEqual(found("gemm add"), []);
});

test("tables with times can be tracks, of the whole trace with all rows", () => {
  assert.equal(canBeTracks(tableOf(["start time", "duration duration"])), true);
  assert.equal(canBeTracks(tableOf(["start time"])), false);
  assert.equal(canBeTracks({ ...tableOf(["time time", "length count"]), chart: "series" }), true);
  const about = { options: [{ name: "rows" }] } as unknown as ReportAbout;
  assert.deepEqual(optionsOfTracks(about, { from: "1ns", until: "2ns", rows: "3", by: "step" }), { rows: "1000000000", by: "step" });
  assert.deepEqual(optionsOfTracks({ options: [{ name: "by" }] } as unknown as ReportAbout, { by: "step" }), { by: "step" });
});
