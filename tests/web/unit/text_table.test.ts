import assert from "node:assert/strict";
import { test } from "node:test";
import { csvTable, markdownTable } from "../../../src/view/web/src/panels/text_table";

const COLUMNS = [{ title: "name", right: false }, { title: "total_ns", right: true }];

test("Markdown: what a kernel's name has of markup is not taken for it", () => {
  const text = markdownTable(COLUMNS, [["gemm<float*, 4>|x", 12], ["__half a_b", null]]);
  assert.equal(text, [
    "| name | total_ns |", "| --- | ---: |", "| gemm\\<float\\*, 4>\\|x | 12 |", "| \\_\\_half a_b |  |", "",
  ].join("\n"));
});

test("Markdown: a line break in a name does not end its row", () => {
  const text = markdownTable(COLUMNS, [["a\nb\r\nc", 1]]);
  assert.equal(text.split("\n").length, 4);
  assert.ok(text.includes("| a b c | 1 |"));
});

test("CSV: commas, quotes and line breaks come back as they were", () => {
  const text = csvTable(COLUMNS, [['say "hi", you\n', 9007199254740991], ["", null]]);
  assert.equal(text, 'name,total_ns\n"say ""hi"", you\n",9007199254740991\n"",\n');
});

test("CSV: text that a spreadsheet would run is text, numbers stay numbers", () => {
  const cells = ["=1+1", "+a", "-b", "@c", "\u001b[31m", "\tq", "=,\"", "-12", "+.5", "-1.5e-9", "-1e", "-", "a=b", "5"];
  const text = csvTable([{ title: "@n", right: false }], cells.map((cell) => [cell]));
  assert.deepEqual(text.split("\n"), [
    "'@n", "'=1+1", "'+a", "'-b", "'@c", "'\u001b[31m", "'\tq", `"'=,"""`, "-12", "+.5", "-1.5e-9", "'-1e", "'-", "a=b", "5", "",
  ]);
  assert.equal(csvTable([{ title: "n", right: true }], [[-5]]), "n\n-5\n");
});
