// url.test.ts - the view as text behind the #
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  eventOfId, filesText, isJump, MOST_CHARACTERS, parseEvent, parseRange, parseTracks, parseView, rangeText, tracksText, viewText,
  type ViewText,
} from "../../../src/view/web/src/url_text";

const full: ViewText = {
  of: "0badcafe",
  range: { from: 123456789, until: 987654321 },
  scroll: 420,
  selected: [{ trace: 0, track: 7, depth: 2, row: 991, start: 5000 }, { trace: 1, track: 3, depth: 0, row: 1, start: -20 }],
  id: 2 ** 41 + 2 ** 38 + 7,
  area: { from: 1000, until: 200000, tracks: ["0.3", "0.4", "0.5", "1.9"] },
  timing: { from: 10, until: 200010 },
  marks: [{ id: 1, name: "first step", from: 0, until: 100000 }, { id: 2, name: "a&b=c#d, ~é 100 %", from: 7, until: 7 }],
  query: { q: "nccl.*(a|b)", mode: "regex", in: "all", case: true },
  filter: "dim",
  tool: "time",
  tab: "flame",
  flows: { mode: "category", category: "ac2g & more" },
  colorBy: "category",
  axis: "absolute",
  collapsed: new Map([["0.1", true], ["0.2", true], ["0.9", false]]),
  hidden: new Set(["0.12", "1.0"]),
  pinned: ["1.4", "0.2"],
  moved: new Map([["0.5", 0], ["0.6", 3.5]]),
  trackFilter: "stream 7",
  folded: new Set(["0.1", "1.0"]),
};

test("a view comes back from its text as it was", () => {
  assert.deepEqual(parseView("#" + viewText(full)), full);
  assert.deepEqual(parseView(viewText({})), {});
});

test("an id is a trace, a kind and a row", () => {
  assert.deepEqual(eventOfId(3870), { trace: 0, kind: "slice", row: 3870 });
  assert.deepEqual(eventOfId(2 ** 41 + 2 ** 38 + 7), { trace: 2, kind: "instant", row: 7 });
  assert.equal(eventOfId(2 ** 39 + 7), null); // an async slice is not a row
  assert.equal(parseView("#id=-1").id, undefined);
  assert.equal(parseView("#id=9007199254740993").id, undefined);
});

test("times are integers unless the view is narrow", () => {
  assert.equal(rangeText({ from: 0.4, until: 1234567.6 }), "0~1234568");
  assert.equal(rangeText({ from: 10.126, until: 50.25 }), "10.13~50.25");
  assert.equal(rangeText({ from: 2 ** 53, until: 2 ** 55 }), "9007199254740992~36028797018963968");
  assert.deepEqual(parseRange("-5~7"), { from: -5, until: 7 });
});

test("ranges that are none are not there", () => {
  for (const text of ["", "1", "1~", "2~1", "1~1", "a~b", "1~2~3", "1e3~2e3", "NaN~NaN", "0~99999999999999999999", "0x1~0x2"]) {
    assert.equal(parseRange(text), undefined, text);
  }
});

test("sets of tracks are written as runs", () => {
  assert.equal(tracksText(["0.3", "0.5", "0.4", "0.9", "2.1"]), "0.3-5_9,2.1");
  assert.deepEqual(parseTracks("0.3-5_9,2.1"), ["0.3", "0.4", "0.5", "0.9", "2.1"]);
  assert.deepEqual(parseTracks("0.5-3,x.1,0.,0.1-2-3,-1.2"), []);
  assert.ok(parseTracks("0.0-4294967295").length <= 200000);
});

test("ten thousand hidden tracks fit an address", () => {
  const hidden = new Set(Array.from({ length: 10000 }, (_, k) => `0.${k}`));
  const text = viewText({ hidden });
  assert.ok(text.length < 40, text);
  assert.equal(parseView(text).hidden?.size, 10000);
});

test("events have five numbers", () => {
  assert.deepEqual(parseEvent("0.1.2.3.-4"), { trace: 0, track: 1, depth: 2, row: 3, start: -4 });
  for (const text of ["", "0.1.2.3", "0.1.2.3.4.5", "a.1.2.3.4", "0.1.2.3.x", "0.-1.2.3.4"]) assert.equal(parseEvent(text), null, text);
});

test("garbage never throws and what is made of it is a view", () => {
  const whole = viewText(full);
  let state = 12345;
  const random = (below: number): number => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  const pieces = ["&", "=", "~", "%", "%E0%A4", ".", ",", "-", "_", "\u0000", "9".repeat(30), "m=", "r=", "s=", "th=0.0-999", "é", "#", " ", "\ud800"];
  for (let k = 0; k < 10000; k++) {
    let text = whole;
    for (let edits = 1 + random(4); edits > 0; edits--) {
      const at = random(text.length + 1);
      text = text.slice(0, at) + pieces[random(pieces.length)] + text.slice(at + random(6));
    }
    const view = parseView(text);
    if (view.range) assert.ok(Number.isFinite(view.range.from) && view.range.until > view.range.from);
    for (const mark of view.marks ?? []) assert.ok(mark.until >= mark.from && mark.name.length > 0);
    for (const event of view.selected ?? []) assert.ok(Number.isInteger(event.row) && event.row >= 0);
    // Once parsed it is stable: its own text gives the same text again.
    assert.equal(viewText(parseView(viewText(view))), viewText(view));
  }
});

test("an address of megabytes is cut", () => {
  const view = parseView("tf=" + "x".repeat(5_000_000));
  assert.ok((view.trackFilter ?? "").length <= MOST_CHARACTERS);
});

test("names of marks are one line without characters that turn text around", () => {
  const view = parseView("m=" + encodeURIComponent("1~2 a\nb\u202ec") + "&m=" + encodeURIComponent("3~4"));
  assert.deepEqual(view.marks?.map((mark) => mark.name), ["a b c", "Mark 2"]);
});

test("a small move replaces the entry of the history, a jump makes one", () => {
  const at = (from: number, until: number): ViewText => ({ range: { from, until } });
  assert.equal(isJump(at(0, 1000), at(100, 1100)), false);
  assert.equal(isJump(at(0, 1000), at(0, 500)), false);
  assert.equal(isJump(at(0, 1000), at(5000, 6000)), true);
  assert.equal(isJump(at(0, 1000), at(400, 410)), true);
  assert.equal(isJump(at(0, 1000), { ...at(0, 1000), selected: [{ trace: 0, track: 1, depth: 0, row: 5, start: 9 }] }), true);
});

test("an address knows the traces that it was made of, by their times, and says nothing of them where it says nothing else", () => {
  const one = { start_ns: "1700000000000000000", span_ns: 5 }, other = { ...one, span_ns: 6 };
  assert.match(filesText([one]), /^[0-9a-f]{8}$/);
  assert.equal(new Set([[one], [other], [one, other], [other, one], []].map(filesText)).size, 5);
  assert.equal(viewText({ of: filesText([one]) }), "");
  assert.equal(parseView(viewText({ scroll: 3, of: filesText([one]) })).of, filesText([one]));
  for (const wrong of ["", "of=xyz", "y=3&of=123", "of=0123456789"]) assert.equal(parseView(wrong).of, undefined);
});
