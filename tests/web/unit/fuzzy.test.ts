// fuzzy.test.ts - finding commands by some of their letters
import assert from "node:assert/strict";
import { test } from "node:test";
import { fuzzy, ranked } from "../../../src/view/web/src/dialogs/fuzzy";

const texts = ["Zoom in at the pointer", "Zoom tool: drag to zoom", "Timing tool", "Show the whole trace", "Theme: light or dark"];
const find = (query: string): string[] => ranked(query, texts, (text) => text, 10).map(({ item }) => item);

test("letters in order are enough, others are not there", () => {
  assert.deepEqual(find("swt"), ["Show the whole trace"]);
  assert.deepEqual(find("xyz"), []);
  assert.equal(fuzzy("ba", "ab"), null);
});

test("words come in any order, whole ones first, starts of words before middles", () => {
  assert.equal(find("tool zoom")[0], "Zoom tool: drag to zoom");
  assert.equal(find("th")[0], "Theme: light or dark");
  assert.equal(find("TIMING")[0], "Timing tool");
});

test("nothing typed finds all in their order", () => {
  assert.deepEqual(find(""), texts);
  assert.deepEqual(find("  "), texts);
});

test("the places that matched are ascending and have the letters", () => {
  for (const text of texts) {
    const match = fuzzy("to", text);
    if (match) assert.ok(match.at.every((at, k) => k === 0 || at > (match.at[k - 1] as number)));
  }
  assert.deepEqual(fuzzy("zt", "Zoom tool")?.at, [0, 5]);
});
