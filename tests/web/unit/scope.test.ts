import assert from "node:assert/strict";
import { test } from "node:test";
import type { TrackInfo } from "../../../src/view/web/src/data/model";
import { scopeOf, tracksOf, type ScopeInput } from "../../../src/view/web/src/panels/scope";

const INPUT: ScopeInput = {
  area: { from: 1, until: 2, tracks: ["0.4"] }, events: { from: 3, until: 4 }, timing: { from: 5, until: 6 }, view: { from: 7, until: 8 }, whole: { from: 0, until: 9 },
};

test("what is selected comes before what is in view", () => {
  assert.equal(scopeOf("auto", INPUT).what, "area");
  assert.equal(scopeOf("auto", { ...INPUT, area: null }).what, "events");
  assert.equal(scopeOf("auto", { ...INPUT, area: null, events: null }).what, "timing");
  assert.equal(scopeOf("auto", { ...INPUT, area: null, events: null, timing: null }).what, "view");
});

test("a choice is kept while there is something of it", () => {
  assert.deepEqual(scopeOf("timing", INPUT), { what: "timing", from: 5, until: 6, tracks: null });
  assert.equal(scopeOf("whole", INPUT).until, 9);
  assert.equal(scopeOf("timing", { ...INPUT, timing: null }).what, "view");
  assert.equal(scopeOf("area", { ...INPUT, area: null }).what, "view");
});

function track(id: number, parent: number | null, more: Partial<TrackInfo> = {}): TrackInfo {
  return {
    trace: 0, id, parent, kind: "slices", role: "thread", name: "", rows: 1, exact: true, events: 1, on_lanes: 0, start: 0, end: 1, busy: 1, collapsed: false, ...more,
  };
}

test("a section stands for the tracks of the file below it, a track for itself", () => {
  const all = [
    track(0, null, { kind: "section" }), track(1, 0, { kind: "section" }), track(2, 1), track(3, 1, { derived: true }), track(4, null),
    track(2, null, { trace: 1 }),
  ];
  const scope = (tracks: string[] | null) => ({ what: "area" as const, from: 0, until: 1, tracks });
  assert.equal(tracksOf(scope(null), 0, all, null), null);
  assert.deepEqual(tracksOf(scope(["0.0"]), 0, all, null), [2]);
  assert.deepEqual(tracksOf(scope(["0.3", "0.4"]), 0, all, null), [3, 4]);
  assert.deepEqual(tracksOf(scope(["0.0"]), 1, all, null), []);
  assert.deepEqual(tracksOf(scope(["0.0", "0.4"]), 0, all, new Set(["0.4"])), [4], "of those that are shown");
  assert.deepEqual(tracksOf(scope(null), 0, all, new Set(["0.2", "0.3"])), [2], "all that are shown, and not derived");
  assert.deepEqual(tracksOf(scope(null), 1, all, new Set(["0.2"])), []);
});
