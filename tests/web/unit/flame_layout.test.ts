import assert from "node:assert/strict";
import { test } from "node:test";
import { mergeFlames } from "../../../src/view/web/src/panels/flame_merge";
import { flameAt, flameBoxes, flameHeight, flameMatched, flamePath, flameStep, flameTable, flameTree } from "../../../src/view/web/src/panels/flame_layout";
import type { FlameResult } from "../../../src/view/web/src/data/model";

// main 100 = a 60 (self 10, a 50) + b 40, and 20 more that nothing stands below.
const RESULT: FlameResult = {
  of: "gpu-time", unit: "ns", total: 120, no_stack: 0, left_out: 0, small: [],
  names: ["main", "b", "a"],
  nodes: [[-1, 0, 0, 100, "cpp"], [0, 1, 40, 40, "cpp"], [0, 2, 10, 60, "cpp"], [2, 2, 50, 50, "cpp"]],
};

test("the tree has the parents that the server names, the largest child first", () => {
  const root = flameTree(RESULT);
  assert.equal(root.self, 20);
  assert.deepEqual(root.children[0]?.children.map((each) => each.name), ["a", "b"]);
});

test("a parent that comes after its child, or is none, is the root", () => {
  const root = flameTree({ ...RESULT, nodes: [[7, 0, 1, 1, ""], [1, 1, 1, 1, ""]] });
  assert.equal(root.children.length, 2);
});

test("a first node without a name that has all is the root itself", () => {
  const root = flameTree({ ...RESULT, names: ["", "main"], nodes: [[-1, 0, 20, 120, "native"], [0, 1, 100, 100, "cpp"]] });
  assert.deepEqual([root.self, root.total, root.children.map((each) => each.name)], [20, 120, ["main"]]);
  assert.equal(root.children[0]?.depth, 1);
});

test("boxes of one row do not overlap and none is wider than what it stands in", () => {
  const root = flameTree(RESULT);
  const boxes = flameBoxes(root, 0);
  assert.equal(boxes.length, 5);
  assert.equal(flameHeight(boxes), 4);
  const main = boxes.find((box) => box.node.name === "main");
  assert.equal(main?.width, 100 / 120);
  for (const box of boxes) {
    for (const other of boxes) {
      if (other === box || other.depth !== box.depth) continue;
      assert.ok(other.x >= box.x + box.width - 1e-12 || box.x >= other.x + other.width - 1e-12);
    }
  }
});

test("a zoomed node is as wide as the picture, and so are those above it", () => {
  const root = flameTree(RESULT);
  const a = root.children[0]?.children[0];
  assert.ok(a);
  const boxes = flameBoxes(a, 0);
  assert.deepEqual(boxes.map((box) => [box.node.name, box.width]), [["all", 1], ["main", 1], ["a", 1], ["a", 50 / 60]]);
  assert.equal(flameAt(boxes, 0.5, 3)?.total, 50);
  assert.equal(flameAt(boxes, 0.99, 3), null);
  assert.deepEqual(flamePath(a).map((each) => each.name), ["all", "main", "a"]);
});

test("children that sum to more than their parent still stand inside it", () => {
  const boxes = flameBoxes(flameTree({ ...RESULT, total: 10 }), 0);
  for (const box of boxes) assert.ok(box.x + box.width <= 1 + 1e-12);
});

test("boxes too narrow to be seen are left out", () => {
  assert.deepEqual(flameBoxes(flameTree(RESULT), 0.45).map((box) => box.node.name), ["all", "main", "a"]);
});

test("a name that stands below itself counts once in its total", () => {
  const rows = flameTable(flameTree(RESULT));
  assert.deepEqual(rows, [
    { name: "a", self: 60, total: 60, count: 2 },
    { name: "b", self: 40, total: 40, count: 1 },
    { name: "main", self: 0, total: 100, count: 1 },
  ]);
  assert.equal(rows.reduce((sum, row) => sum + row.self, 0), 100);
});

test("what matches counts once, also below another match", () => {
  const root = flameTree(RESULT);
  assert.equal(flameMatched(root, (name) => name === "a"), 60);
  assert.equal(flameMatched(root, () => true), 100);
  assert.equal(flameMatched(root, () => false), 0);
});

test("arrow keys walk the tree", () => {
  const root = flameTree(RESULT);
  const main = flameStep(root, "ArrowDown");
  const a = main && flameStep(main, "ArrowDown");
  assert.equal(a?.name, "a");
  assert.equal(a && flameStep(a, "ArrowRight")?.name, "b");
  assert.equal(a && flameStep(a, "ArrowLeft"), null);
  assert.equal(a && flameStep(a, "ArrowUp"), main);
  assert.equal(flameStep(root, "ArrowUp"), null);
});

test("frames too small to be drawn count by name, once where the name is above them", () => {
  const result: FlameResult = { ...RESULT, names: [...RESULT.names, "tiny"], small: [[0, 3, 9, 9], [2, 3, 4, 6], [2, 2, 2, 2]], left_out: 40 };
  const root = flameTree(result);
  const rows = new Map(flameTable(root).map((row) => [row.name, [row.self, row.total, row.count]]));
  assert.deepEqual([rows.get("tiny"), rows.get("a")], [[13, 15, 0], [62, 60, 2]]);
  assert.equal(flameMatched(root, (name) => name === "tiny"), 15);
  assert.equal(flameMatched(root, (name) => name === "a"), 60);
  const a = root.children[0]?.children[0];
  assert.deepEqual(a && flameTable(a).find((row) => row.name === "tiny"), { name: "tiny", self: 4, total: 6, count: 0 });
  const merged = flameTable(flameTree(mergeFlames([{ name: "rank 0", result }, { name: "rank 1", result }])));
  assert.deepEqual(merged.find((row) => row.name === "tiny"), { name: "tiny", self: 26, total: 30, count: 0 });
});

test("flames of several traces stand side by side, each below a frame of its own", () => {
  const of = (total: number, names: string[]): Parameters<typeof mergeFlames>[0][number]["result"] => ({
    of: "gpu-time", unit: "ns", total, no_stack: 1, left_out: 2, small: [], names,
    nodes: [[-1, 0, 0, total, ""], [0, 1, 1, total, "op"], [1, 2, total - 1, total - 1, "kernel"]],
  });
  const merged = mergeFlames([{ name: "rank 0", result: of(10, ["", "mm", "gemm"]) }, { name: "rank 1", result: of(30, ["", "add", "k"]) },
    { name: "rank 2", result: { ...of(0, []), nodes: [] } }]);
  const texts = merged.nodes.map(([parent, name, self, total]) => [parent, merged.names[name], self, total]);
  assert.deepEqual(texts, [[-1, "", 0, 40], [0, "rank 0", 0, 10], [1, "mm", 1, 10], [2, "gemm", 9, 9],
    [0, "rank 1", 0, 30], [4, "add", 1, 30], [5, "k", 29, 29], [0, "rank 2", 0, 0]]);
  assert.deepEqual([merged.total, merged.no_stack, merged.left_out], [40, 3, 6]);
  assert.throws(() => mergeFlames([{ name: "a", result: of(1, ["", "", ""]) }, { name: "b", result: { ...of(1, ["", "", ""]), unit: "bytes" } }]), /widths/);
});
