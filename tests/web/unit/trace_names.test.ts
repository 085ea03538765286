import assert from "node:assert/strict";
import { test } from "node:test";
import type { TraceInfo, TrackInfo } from "../../../src/view/web/src/data/model";
import { cutName, deviceKindOf, labelsOf, withLabel, withSection } from "../../../src/view/web/src/data/trace_names";

const trace = (id: number, name: string, rank: number | null, state: TraceInfo["state"] = "ready"): TraceInfo => ({
  id, name, rank, state, format: "chrome", done: 0, total: 0, start_ns: "0", span_ns: 1, offset_ns: 0, unix_ns: null, tracks: 1, busy: "",
});
const labels = (...traces: TraceInfo[]): [number, string][] => [...labelsOf(traces)];

test("a trace that is alone has no label, also beside one that cannot be read", () => {
  assert.deepEqual(labels(trace(0, "a.json", 3)), []);
  assert.deepEqual(labels(trace(0, "a.json", 3), trace(1, "b.json", null, "failed")), []);
});

test("traces are called by their ranks where these tell them apart, else by their files", () => {
  assert.deepEqual(labels(trace(0, "x.json.gz", 4), trace(1, "x.json.gz", 0)), [[0, "rank 4"], [1, "rank 0"]]);
  assert.deepEqual(labels(trace(0, "old.json.gz", 0), trace(1, "new.heddle", 0)), [[0, "old"], [1, "new"]]);
  assert.deepEqual(labels(trace(0, "a.json", 0), trace(1, "b.csv", null)), [[0, "a"], [1, "b.csv"]]);
  assert.deepEqual(labels(trace(0, "t.json", null), trace(2, "t.json.gz", null)), [[0, "t (0)"], [2, "t (2)"]]);
  assert.deepEqual(labels(trace(0, ".json", null), trace(1, "b", null)), [[0, ".json"], [1, "b"]]);
});

test("devices have the word that the traces have for them, several kinds none", () => {
  const of = (...kinds: (string | undefined)[]): TraceInfo[] => kinds.map((device_kind, id) => ({ ...trace(id, "a.json", id), ...(device_kind ? { device_kind } : {}) }));
  assert.equal(deviceKindOf(of("TPU", "TPU")), "TPU");
  assert.equal(deviceKindOf(of("GPU", undefined)), "GPU"); // the second is being read
  assert.equal(deviceKindOf(of("GPU", "NPU")), "device");
  assert.equal(deviceKindOf([]), "device");
});

test("the label stands before what is below nothing, and the track that was given is left as it was", () => {
  const of = (id: number, parent: number | null, name: string): TrackInfo => ({
    trace: 0, id, parent, kind: "section", role: "device", name, rows: 0, exact: true, events: 0, on_lanes: 0, start: null, end: null,
    busy: 0, collapsed: false,
  });
  const tracks = [of(0, null, "GPU 0"), of(1, 0, "stream 7")];
  assert.deepEqual(withLabel(tracks, "rank 3").map((each) => each.name), ["rank 3 · GPU 0", "stream 7"]);
  assert.deepEqual(tracks.map((each) => each.name), ["GPU 0", "stream 7"]);
  assert.equal(withLabel(tracks, undefined), tracks);
  assert.equal(withSection(tracks, 1), tracks);
  const [rank, device, stream] = withSection(withLabel(tracks, "rank 3"), 2);
  assert.deepEqual([rank?.name, rank?.draws, rank?.collapsed, device?.parent, stream?.parent], ["rank 3", [0], false, rank?.id, 0]);
  assert.deepEqual(withSection(withLabel([...tracks, of(2, null, "GPU 1")], "rank 3"), 64)[0]?.draws, [0, 2]);
  assert.deepEqual(withSection(withLabel([{ ...of(0, null, "host"), role: "process" }], "rank 3"), 2)[0]?.draws, []);
});

test("a long name keeps its end, and no letter of a script is cut from its marks", () => {
  for (const name of ["Framework ops, stream 24", "A2rocm_smi:::current_socket_power:device=3", "stream 7", "", "ترتيب النوى على الجهاز الأول", "🦆".repeat(30)])
    assert.equal(cutName(name).join(""), name);
  assert.deepEqual(cutName("Framework ops, stream 24"), ["Framework ops, ", "stream 24"]);
  assert.equal(cutName("A2rocm_smi:::current_socket_power:device=3")[1], ":device=3");
  assert.equal(cutName("stream 7")[1], "");
  assert.equal(cutName("🦆".repeat(30))[1], "");
});
