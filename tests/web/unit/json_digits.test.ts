import assert from "node:assert/strict";
import { test } from "node:test";
import { Digits, Members, jsonText, member, parseDigits, parseKeeping, toJson } from "../../../src/view/web/src/data/json_digits";

test("numbers keep the digits they were written with", () => {
  for (const text of ["1234567890123456789", "-0", "1.50", "1E+400", "0.1", "18446744073709551616"]) {
    assert.equal(jsonText(parseDigits(text)), text);
  }
});

test("members keep their order, also when they look like numbers or come twice", () => {
  const text = '{"b": 1, "10": 2, "2": [true, null, {}], "b": "x", "__proto__": 7}';
  const value = parseDigits(text);
  assert.equal(jsonText(value), text);
  assert.equal(member(value, "b"), "x");
  assert.equal(member(value, "no"), undefined);
});

test("strings are read as JSON has them", () => {
  assert.equal(parseDigits('"a\\u00e9\\n\\"\\ud83d\\ude00"'), 'aé\n"😀');
  assert.equal(parseDigits(`"${"x".repeat(100000)}"`), "x".repeat(100000));
});

test("what is not JSON is refused", () => {
  for (const text of ["", "01", "1.", "+1", "[1,]", "{1:2}", '{"a" 1}', '"\n"', "nul", "[1", '{"a":1,}', "1 2", "'a'"]) {
    assert.throws(() => parseDigits(text), SyntaxError, text);
  }
});

test("nesting beyond all reason is an error, not an overflow", () => {
  assert.throws(() => parseDigits("[".repeat(1e6)), SyntaxError);
});

test("only the member asked for is kept, all else is as JSON.parse has it", () => {
  const value = parseKeeping('{"row": 12, "args": {"id": 1234567890123456789}}', "args");
  assert.ok(typeof value === "object" && value !== null && "row" in value && "args" in value);
  assert.equal(value.row, 12);
  assert.ok(value.args instanceof Members);
  assert.equal(jsonText(value.args), '{"id": 1234567890123456789}');
  assert.deepEqual(parseKeeping('{"row": 1}', "args"), { row: 1 });
  const both = parseKeeping('{"args": {}, "members": {"sf": 12345678901234567890}}', "args", "members") as { args: unknown; members: unknown };
  assert.ok(both.args instanceof Members && both.members instanceof Members);
  assert.equal(jsonText(both.members), '{"sf": 12345678901234567890}');
});

test("plain values become the same tree", () => {
  assert.equal(jsonText(toJson({ a: [1, "x", null, true], b: {} })), '{"a": [1, "x", null, true], "b": {}}');
  assert.ok(toJson(5) instanceof Digits);
  assert.equal(jsonText(toJson({ a: [1] }), 2), '{\n  "a": [\n    1\n  ]\n}');
});
