import assert from "node:assert/strict";
import { test } from "node:test";
import { rowsInView, sortRows, type Column } from "../../../src/view/web/src/panels/datatable";
import { factsOf, sumFidelity } from "../../../src/view/web/src/panels/fidelity_facts";
import { namesOf } from "../../../src/view/web/src/panels/search";
import { drawnFlow, flowQuestions, flowText, sumCategories } from "../../../src/view/web/src/tracks/flows";
import type { EventRef, Fidelity, NameInfo } from "../../../src/view/web/src/data/model";
import { coveredNote } from "../../../src/view/web/src/panels/selection_span";
import { rangeShowing } from "../../../src/view/web/src/tools/navigate";

const FIDELITY: Fidelity = {
  slices: { read: 138373, shown: 138373, dropped: 0 }, on_lanes: 3551, before_launch: 88, without_launch: 0, before_recording: 0, after_recording: 0, without_work: 0, events: 455739, lost: 0, repaired: 0, instants: 1, counters: 2,
  flows: { count: 5, bound: 5, unbound: 0, backward: 0, without_start: 0, without_end: 0 }, ledger: [],
};

test("the fidelity line of a trace that is whole", () => {
  const facts = factsOf(FIDELITY);
  assert.equal(facts.map((fact) => fact.text).join(", "), "138,373 of 138,373 slices, 0 dropped, 3,551 on extra lanes, 88 kernels before their launch");
  assert.deepEqual(facts.map((fact) => fact.problem), [false, false, false, true]);
});

test("what is not shown is a problem, and traces add up", () => {
  const bad = { ...FIDELITY, slices: { read: 10, shown: 9, dropped: 1 }, before_launch: 1, lost: 2, repaired: 3 };
  assert.deepEqual(factsOf(bad).filter((fact) => fact.problem).map((fact) => fact.text),
    ["9 of 10 slices", "1 dropped", "1 kernel before its launch", "2 events lost in reading", "3 repaired"]);
  const sum = sumFidelity([FIDELITY, bad]);
  assert.deepEqual([sum.slices.read, sum.slices.shown, sum.on_lanes, sum.before_launch, sum.flows.count], [138383, 138382, 7102, 89, 10]);
});

test("every count of what is odd leads to a list", () => {
  const odd = {
    ...FIDELITY, slices: { read: 10, shown: 9, dropped: 1 }, lost: 2, repaired: 3, no_end: 1, negative: 4,
    without_launch: 968, before_recording: 3, after_recording: 2, without_work: 1, flows: { count: 5, bound: 3, unbound: 2, backward: 1, without_start: 1545, without_end: 1 },
  };
  assert.deepEqual(factsOf(odd).slice(1).map((fact) => fact.list),
    ["no-time", "on-lanes", "before-launch", "ledger", "ledger", "no-end", "negative",
      "without-launch", "before-recording", "after-recording", "without-work", "flows-without-start", "flows-without-end", "unbound-flows", "backward-flows"]);
  const texts = factsOf(odd).map((fact) => fact.text);
  for (const text of ["968 GPU activities without a launch", "2 launches without GPU activity at the end of the recording", "1 launch without GPU activity", "1,545 flow ends without a start", "1 flow start without an end", "2 flow points bound to no slice"]) {
    assert.ok(texts.includes(text), text);
  }
  for (const text of ["1,545 flow ends without a start", "1 flow start without an end"]) assert.equal(factsOf(odd).find((fact) => fact.text === text)?.problem, false);
  assert.equal(sumFidelity([odd, odd]).flows.without_start, 3090);
  assert.equal(sumFidelity([odd, odd, FIDELITY]).negative, 8);
});

test("a rank that does not reach over all of the selection says so", () => {
  assert.equal(coveredNote({ from: 0, until: 1000, span: 1000 }, 0, 1000), "");
  assert.equal(coveredNote({ from: 0, until: 1000, span: 1000 }, -500, 3000), "of 3.5 µs selected; the trace reaches no further");
});

const COLUMNS: Column<{ name: string; n: number }>[] = [
  { id: "name", title: "", right: false, value: (row) => row.name, cell: (row) => row.name },
  { id: "n", title: "", right: true, value: (row) => row.n, cell: (row) => row.n },
];

test("columns sort as numbers or as text, and equal rows stay in order", () => {
  const rows = [{ name: "b", n: 9 }, { name: "a", n: 10 }, { name: "c", n: 9 }];
  assert.equal(sortRows(rows, COLUMNS, { id: "n", down: true }).map((row) => row.name).join(""), "abc");
  assert.equal(sortRows(rows, COLUMNS, { id: "n", down: false }).map((row) => row.name).join(""), "bca");
  assert.equal(sortRows(rows, COLUMNS, { id: "name", down: true }).map((row) => row.name).join(""), "cba");
  assert.equal(sortRows(rows, COLUMNS, { id: "", down: false }).map((row) => row.name).join(""), "bac");
});

test("of a long table only what is in view is drawn", () => {
  assert.deepEqual(rowsInView(5, 0, 400), [0, 5]);
  const [first, end] = rowsInView(100000, 22 * 5000, 220);
  assert.ok(first <= 5000 && end >= 5010 && end - first < 40);
  assert.deepEqual(rowsInView(10, 1e9, 220), [10, 10]);
});

test("an event in view stays where it is, others are brought into it", () => {
  const view = { from: 0, until: 1000 };
  assert.equal(rangeShowing(view, 100, 50), view);
  assert.equal(rangeShowing(view, 100, 0), view);
  assert.deepEqual(rangeShowing(view, 5000, 100), { from: 4550, until: 5550 });
  const wide = rangeShowing(view, 0, 8000);
  assert.ok(wide.from < 0 && wide.until > 8000);
  const narrow = rangeShowing({ from: 0, until: 1e9 }, 500, 10);
  assert.ok(narrow.from < 500 && narrow.until > 510 && narrow.until - narrow.from < 1000);
});

test("arrows are asked for where they are wanted", () => {
  const traces = [{ id: 0, offset_ns: 0, span_ns: 900 }, { id: 1, offset_ns: 100, span_ns: 900 }];
  const ref: EventRef = { trace: 1, track: 0, kind: "slice", row: 7, depth: 0, start: 0, duration: 1, name: 0 };
  const view = { from: 200.4, until: 300.4 };
  assert.deepEqual(flowQuestions({ mode: "off" }, [ref], view, traces), []);
  assert.deepEqual(flowQuestions({ mode: "selection" }, [ref, { ...ref, kind: "instant" }], view, traces), [{ trace: 1, what: { row: 7 }, from: 0, until: 900, tracks: null }]);
  assert.deepEqual(flowQuestions({ mode: "all" }, [], view, traces).map((each) => [each.trace, each.from, each.until]), [[0, 200, 301], [1, 100, 201]]);
  assert.deepEqual(flowQuestions({ mode: "category", category: "ac2g" }, [], view, traces)[0]?.what, { category: "ac2g" });
  assert.deepEqual(flowQuestions({ mode: "all" }, [], view, traces, (trace) => (trace === 0 ? [] : [4])).map((each) => [each.trace, each.tracks]), [[1, [4]]],
    "of a trace of which no track is shown none");
});

test("an arrow's ends are put on the axis of all traces", () => {
  assert.deepEqual(drawnFlow(2, 1000, [3, 0, 50, 4, 1, 20, 1, 7, 8]), {
    from: { key: "2.3", depth: 0, time: 1050 }, to: { key: "2.4", depth: 1, time: 1020 }, backward: true,
  });
  assert.equal(flowText({ loading: false, error: "", shown: 2000, count: 12345, categories: [] }), "showing 2,000 of 12,345 arrows");
  assert.equal(flowText({ loading: false, error: "", shown: 2, count: 2, categories: [] }), "2 arrows");
  assert.equal(flowText({ loading: false, error: "", shown: 2, count: 2, categories: [] }, 1), "showing 1 of 2 arrows: 1 to tracks that are not shown");
  assert.deepEqual(sumCategories([
    { flows: [], count: 0, categories: [["a", 1], ["b", 2]] }, { flows: [], count: 0, categories: [["a", 3]] },
  ]), [["a", 4], ["b", 2]]);
});

test("a name that several traces have is one row", () => {
  const name = (id: number, text: string, category = "kernel"): NameInfo => ({ id, text, category, role: "" });
  assert.deepEqual(namesOf([[name(3, "a"), name(4, "b")], [name(9, "a"), name(1, "b", "cpu_op")], [name(5, "a")]])
    .map((row) => [row.text, row.category, row.traces]), [["a", "kernel", 3], ["b", "kernel", 1], ["b", "cpu_op", 1]]);
});
