// query.test.ts - the Query panel without its page: tokens, statements, places, what is offered, cells and their order
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseKeeping, type Json } from "../../../src/view/web/src/data/json_digits";
import type { QueryColumn, QueryResult, QueryTable } from "../../../src/view/web/src/data/model";
import { completionAt, FUNCTIONS } from "../../../src/view/web/src/panels/query/query_complete";
import { EXAMPLES } from "../../../src/view/web/src/panels/query/query_examples";
import {
  canBeTrack, compareCells, csvOf, isNumeric, placeOf, queryRowsWith, sortedRows, splitSliceId, splitTrackId, textOf, tracesOf, unitText,
} from "../../../src/view/web/src/panels/query/query_rows";
import { indexOfByte, lineAndColumn, parametersOf, runnable, tokensOf, wordAt } from "../../../src/view/web/src/panels/query/query_text";
import { csvTable } from "../../../src/view/web/src/panels/text_table";
import { seedOf } from "./seed";

// ---- text ----

const kinds = (sql: string): string => tokensOf(sql).filter(({ kind }) => kind !== "space").map(({ kind, text }) => `${kind} ${text}`).join("|");

test("tokens are those of SQLite", () => {
  assert.equal(kinds("select a.b, 'it''s' -- no\n from \"x y\"where c>=1.5e-3"),
    "keyword select|word a|mark .|word b|mark ,|string 'it''s'|comment -- no|keyword from|name \"x y\"|keyword where|word c|mark >|mark =|number 1.5e-3");
  assert.equal(kinds(":from @x $y ?3 ? [a b] `c` /* d ; */ 0xFF .5 x'00'"),
    "parameter :from|parameter @x|parameter $y|parameter ?3|parameter ?|name [a b]|name `c`|comment /* d ; */|number 0xFF|number .5|word x|string '00'");
  assert.equal(kinds("'open"), "string 'open");
  assert.equal(kinds("/* open"), "comment /* open");
  assert.equal(kinds("größe"), "word größe");
});

test("tokens of any text cover it, in order", () => {
  let seed = seedOf(12345);
  const next = (below: number): number => { seed = (seed * 1103515245 + 12345) % 2147483648; return Math.floor(seed / 65536) % below; };
  const pieces = ["'", '"', "`", "[", "]", "--", "/*", "*/", ";", "select", " ", "\n", ":a", "1.", ".", "é", "\u{1F600}", "?", "x", "\\", "\u0000", "(", ","];
  for (let round = 0; round < 2000; round++) {
    const text = Array.from({ length: next(30) }, () => pieces[next(pieces.length)]).join("");
    assert.equal(tokensOf(text).map((token) => token.text).join(""), text);
    tokensOf(text).forEach((token) => assert.equal(text.slice(token.from, token.to), token.text));
    const at = next(text.length + 1);
    const { sent } = runnable(text, at, at);
    for (let k = 0; k < sent.length; k++) assert.ok(sent[k] === text[k] || sent[k] === " ", `${JSON.stringify(text)} at ${at}`);
    completionAt(text, at, TABLES, true);
    wordAt(text, at);
  }
});

test("what is run is the statement of the caret, with the views before it", () => {
  const text = "select 1;\n-- the second; statement\nselect ';';  select 3";
  const at = (part: string): string => { const k = text.indexOf(part); return runnable(text, k, k).kept; };
  assert.equal(at("select 1"), "select 1;");
  assert.equal(at("';'"), "-- the second; statement\nselect ';';");
  assert.equal(at("3"), "select 3");
  assert.equal(runnable(text, 9, 9).kept, "select 1;"); // right behind the semicolon
  assert.equal(runnable(text, text.length, text.length).kept, "select 3");
  assert.equal(runnable("select 1;\n\n", 11, 11).kept, "select 1;");
  assert.equal(runnable(text, 7, 8).kept, "1"); // what is marked
  assert.equal(runnable("  -- nothing", 3, 3).kept, "");
  const views = "create view a as select 1;\nselect 0;\nCREATE PERFETTO TABLE b AS select 2;\nselect * from b;\ncreate view c as select 3";
  const { sent, kept } = runnable(views, views.indexOf("* from b"), views.indexOf("* from b"));
  assert.equal(kept, "create view a as select 1;\nCREATE PERFETTO TABLE b AS select 2;\nselect * from b;");
  assert.equal(sent.indexOf("from b"), views.indexOf("from b"));
  assert.equal(sent.includes("select 0"), false);
});

test("places are bytes, indices, lines and columns", () => {
  const text = "é\u{1F600}\nx y";
  assert.deepEqual([0, 2, 6, 7, 9, 99].map((byte) => indexOfByte(text, byte)), [0, 1, 3, 4, 6, 7]);
  assert.deepEqual(lineAndColumn(text, 3), { line: 1, column: 3 });
  assert.deepEqual(lineAndColumn(text, 6), { line: 2, column: 3 });
  assert.equal(wordAt("select nix from x", 7)?.from, 7);
  assert.equal(wordAt("select nix ", 11)?.from, 7); // at the end: the last there is
  assert.equal(wordAt("  ", 1), null);
  assert.deepEqual([...parametersOf("select ':no', :from + @b -- :not")], ["from", "b"]);
});

// ---- completion ----

const TABLES: QueryTable[] = [
  { name: "slice", meaning: "slices", columns: [{ name: "id", type: "INT", meaning: "" }, { name: "dur", type: "INT", meaning: "ns" }, { name: "name", type: "TEXT", meaning: "" }] },
  { name: "thread", meaning: "threads", columns: [{ name: "utid", type: "INT", meaning: "" }, { name: "name", type: "TEXT", meaning: "" }] },
  { name: "breakdown", meaning: "a report", columns: [{ name: "from", type: "TEXT", meaning: "", argument: true }, { name: "share", type: "REAL", meaning: "" }] },
];
const offered = (sql: string, asked = false): string[] => {
  const caret = sql.includes("|") ? sql.indexOf("|") : sql.length;
  return completionAt(sql.replace("|", ""), caret, TABLES, asked)?.offers.map(({ text }) => text) ?? [];
};

test("tables are offered behind FROM, JOIN and commas, columns elsewhere", () => {
  assert.deepEqual(offered("select * from sl"), ["slice"]);
  assert.deepEqual(offered("select * from slice s join th"), ["thread"]);
  assert.deepEqual(offered("select * from slice s, thr"), ["thread"]);
  assert.equal(offered("select na| from slice")[0], "name");
  assert.equal(offered("select du| from slice")[0], "dur");
  assert.equal(offered("select ut| from slice").includes("utid"), false);
  assert.equal(offered("select * from slice where cou")[0], "count(");
  assert.equal(offered("sel")[0], "select");
  assert.deepEqual(offered("select * from ", true), ["slice", "thread", "breakdown"]);
});

test("behind a dot stand the columns of that table, by its alias as well", () => {
  assert.deepEqual(offered("select t.| from slice s join thread as t using (utid)"), ["utid", "name"]);
  assert.deepEqual(offered("select s.du| from slice s"), ["dur"]);
  assert.deepEqual(offered("select slice.d| from slice"), ["dur", "id"]);
  assert.deepEqual(offered("select x.| from slice"), []);
  assert.equal(offered("select b.| from breakdown(1, (2)) b")[0], '"from"'); // quoted: it is a keyword
});

test("names of WITH are tables, other statements are others", () => {
  assert.ok(offered("with gaps as (select 1) select * from ga").includes("gaps"));
  assert.equal(offered("select ut| from slice; select 1 from thread").includes("utid"), false);
});

test("nothing is offered in texts and comments, nor of a word that is there", () => {
  for (const sql of ["select 'sl", "select -- sl", "select /* sl", 'select "sl', "select 12", "select :fr", "select * from slice", "select "]) assert.deepEqual(offered(sql), [], sql);
});

test("functions are offered with what they take", () => {
  for (const [text, detail] of FUNCTIONS) assert.ok(text.endsWith("(") && typeof detail === "string");
});

test("the examples are one statement each", () => {
  for (const [title, sql] of EXAMPLES) assert.equal(runnable(sql, sql.length, sql.length).kept, sql.trim(), title);
});

// ---- cells ----

function resultOf(columns: string[], rows: string, inputs: [number, number][] = [[0, 0]]): QueryResult {
  const kept = parseKeeping(`{"rows": ${rows}}`, "rows") as { rows: Json[][] };
  return {
    columns: columns.map((column): QueryColumn => { const [name, role] = column.split(" "); return role ? { name, role: role as QueryColumn["role"] } : { name }; }),
    rows: kept.rows, inputs: inputs.map(([trace, rank]) => ({ trace, rank })), id_bits: 40, row_bits: 38, stopped: null, cut: 0, ms: 1,
  };
}

test("cells keep all their digits", () => {
  const { rows } = resultOf(["a"], '[[9223372036854775807], [1.0], [0.1], [null], ["x"], [{"hex":"00ff","bytes":3}], [1e999], [-1e999], [""]]');
  assert.deepEqual(rows.map(([cell]) => textOf(cell)), ["9223372036854775807", "1.0", "0.1", "null", "x", "x'00ff…' (3 bytes)", "Inf", "-Inf", ""]);
});

test("rows sort as SQLite sorts, exactly, and equal ones stay in order", () => {
  const { rows } = resultOf(["a", "b"], '[[9007199254740993,0],[9007199254740992,1],["b",2],[null,3],[9007199254740992.5,4],["a",5],[{"hex":"00","bytes":1},6],[-1e999,7],[null,8]]');
  assert.deepEqual(sortedRows(rows, 0, false).map(([, at]) => textOf(at)), ["3", "8", "7", "1", "4", "0", "5", "2", "6"]);
  assert.deepEqual(sortedRows(rows, 0, true).map(([, at]) => textOf(at)), ["6", "2", "5", "0", "1", "4", "7", "3", "8"]);
  assert.equal(sortedRows(rows, -1, true), rows);
  for (const [a] of rows) for (const [b] of rows) assert.equal(Math.sign(compareCells(a, b)), -Math.sign(compareCells(b, a)) + 0);
});

test("CSV has raw values: no null, no units", () => {
  const result = resultOf(["id", 'na"me', "x"], '[[9223372036854775807,"a,b",null],[2,"",{"hex":"00ff","bytes":2}]]');
  assert.equal(csvTable(...csvOf(result.columns, result.rows)), 'id,"na""me",x\n9223372036854775807,"a,b",\n2,"",00ff\n');
  assert.deepEqual([isNumeric(result.rows, 0), isNumeric(result.rows, 1), isNumeric([[null]], 0)], [true, false, false]);
});

test("rows are found by words in any cell", () => {
  const { rows } = resultOf(["a", "b"], '[[12,"Gemm f32"],[3,"add"]]');
  assert.equal(queryRowsWith(rows, "GEMM 12").length, 1);
  assert.equal(queryRowsWith(rows, "gemm 3 add").length, 0);
  assert.equal(queryRowsWith(rows, " ").length, 2);
});

test("a row stands for a slice of the trace of its id", () => {
  const id = (3n << 40n) + 17n;
  const inputs: [number, number][] = [[0, 0], [1, 1], [2, 2], [5, 7]];
  const result = resultOf(["id slice", "ts time", "dur duration", "name"], `[[${id}, 1700000000000000123, null, "gemm"]]`, inputs);
  assert.deepEqual(placeOf(result, result.rows[0]), { trace: 5, slice: id, start: 1700000000000000123n, duration: null, name: "gemm" });
  assert.deepEqual(splitSliceId(result, id), { trace: 5, kind: "slice", row: 17 });
  assert.deepEqual(splitSliceId(result, id + (1n << 38n)), { trace: 5, kind: "instant", row: 17 });
  assert.deepEqual(splitSliceId(result, id + (2n << 38n)), { trace: 5, kind: null, row: 17 });
  assert.deepEqual(splitTrackId(result, (2n << 40n) - 1n), { trace: 1, track: 2 ** 40 - 1 });
  assert.equal(splitSliceId(result, 4n << 40n), null);
  assert.equal(splitTrackId(result, -1n), null);
  const shared = { ...result, inputs: result.inputs.map((input) => (input.trace === 5 ? { ...input, shift_ns: "1700000000000000100" } : input)) };
  assert.equal(placeOf(shared, shared.rows[0])?.start, 23n); // on the clock of its trace
  const byRank = resultOf(["rank", "ts time", "dur duration"], "[[7, 5, 6], [9, 5, 6], [null, 5, 6]]", inputs);
  assert.equal(placeOf(byRank, byRank.rows[0])?.trace, 5);
  assert.equal(placeOf(byRank, byRank.rows[1]), null);
  assert.equal(placeOf(byRank, byRank.rows[2]), null);
  assert.deepEqual(tracesOf(byRank), [5]);
  const alone = resultOf(["name"], '[["x"]]', [[4, 0]]);
  assert.equal(placeOf(alone, alone.rows[0])?.trace, 4);
});

test("tracks are made of ts and dur, or of ts and a number that is no place", () => {
  assert.equal(canBeTrack(resultOf(["ts time", "dur duration"], "[[1,2]]")), true);
  assert.equal(canBeTrack(resultOf(["ts time", "dur duration"], "[]")), false);
  assert.equal(canBeTrack(resultOf(["ts time", "v"], "[[1,2.5]]")), true);
  assert.equal(canBeTrack(resultOf(["ts time", "v"], '[[1,"x"]]')), false);
  assert.equal(canBeTrack(resultOf(["ts time", "rank"], "[[1,2]]")), false);
  assert.equal(canBeTrack(resultOf(["dur duration", "v"], "[[1,2]]")), false);
});

test("times have their units beside them", () => {
  const { rows } = resultOf(["a"], "[[1500], [-1], [null], [1.5]]");
  assert.equal(unitText(rows[0][0], "duration", null), "1.5 µs");
  assert.equal(unitText(rows[1][0], "duration", null), "no end");
  assert.equal(unitText(rows[0][0], "time", 500n), "1 µs");
  assert.equal(unitText(rows[0][0], "time", null), null);
  assert.equal(unitText(rows[2][0], "duration", null), null);
  assert.equal(unitText(rows[3][0], "duration", null), null);
});
