// marks.test.ts - named ranges
import assert from "node:assert/strict";
import { test } from "node:test";
import { addMark, LONGEST_NAME, MOST_MARKS, neighbourMark, removeMark, renameMark } from "../../../src/view/web/src/marks";
import type { Mark } from "../../../src/view/web/src/state";

test("marks are numbered, and a range is marked once", () => {
  const one = addMark([], { from: 20, until: 10 });
  assert.deepEqual(one.mark, { id: 1, name: "Mark 1", from: 10, until: 20 });
  const two = addMark(one.marks, { from: 10, until: 20 });
  assert.equal(two.marks.length, 1);
  assert.equal(two.mark?.id, 1);
  const three = addMark(removeMark(addMark(one.marks, { from: 1, until: 2 }).marks, 1), { from: 5, until: 6 }, "named");
  assert.deepEqual(three.marks.map((mark) => mark.id), [2, 3]);
  assert.equal(three.mark?.name, "named");
});

test("there is an end to marks", () => {
  let marks: Mark[] = [];
  for (let k = 0; k < MOST_MARKS + 5; k++) marks = addMark(marks, { from: k, until: k + 1 }).marks;
  assert.equal(marks.length, MOST_MARKS);
  assert.equal(addMark(marks, { from: -5, until: -4 }).mark, null);
});

test("a name that is empty or too long is not taken as it is", () => {
  const { marks } = addMark([], { from: 0, until: 1 }, "one");
  assert.equal(renameMark(marks, 1, "  ")[0]?.name, "one");
  assert.equal(renameMark(marks, 1, " two ")[0]?.name, "two");
  assert.equal(renameMark(marks, 1, "𝒳".repeat(500))[0]?.name, "𝒳".repeat(LONGEST_NAME));
  assert.equal(renameMark(marks, 9, "x")[0]?.name, "one");
});

test("next and previous go around", () => {
  const marks = [{ id: 1, name: "c", from: 300, until: 400 }, { id: 2, name: "a", from: 0, until: 10 }, { id: 3, name: "b", from: 100, until: 200 }];
  assert.equal(neighbourMark(marks, 50, true)?.name, "b");
  assert.equal(neighbourMark(marks, 150, true)?.name, "c");
  assert.equal(neighbourMark(marks, 350, true)?.name, "a");
  assert.equal(neighbourMark(marks, 150, false)?.name, "a");
  assert.equal(neighbourMark(marks, 5, false)?.name, "c");
  assert.equal(neighbourMark([], 5, true), null);
});
