import assert from "node:assert/strict";
import { test } from "node:test";
import { flameAt, flameBoxes, flameHeight, flameMatched, flamePath, flameStep, flameTable, flameTree } from "../../../src/view/web/src/flame_layout";
import type { FlameResult } from "../../../src/view/web/src/model";

// main 100 = a 60 (self 10, a 50) + b 40, and 20 more that nothing stands below.
const RESULT: FlameResult = {
  of: "gpu-time", unit: "ns", total: 120, no_stack: 0, left_out: 0,
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
