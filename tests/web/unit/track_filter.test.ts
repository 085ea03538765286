// track_filter.test.ts - which tracks the words of the filter leave
import assert from "node:assert/strict";
import { test } from "node:test";
import { makeLayout } from "../../../src/view/web/src/tracks/layout";
import type { TrackInfo } from "../../../src/view/web/src/data/model";
import { seedOf } from "./seed";

// Four ranks with a device and two streams each, and a process whose threads have names full of numbers.
const tracks: TrackInfo[] = [];
function add(trace: number, id: number, parent: number | null, name: string, more: Partial<TrackInfo> = {}): void {
  tracks.push({
    trace, id, parent, name, kind: parent === null ? "section" : "slices", role: "thread", rows: 1, exact: true, events: 1, on_lanes: 0, start: 0, end: 1,
    busy: 1, collapsed: false, ...more,
  });
}
for (let rank = 0; rank < 4; rank++) {
  add(rank, 0, null, `rank ${rank} · python · CPU`, { rank, pid: `25900${rank}` });
  add(rank, 1, 0, `thread ${rank}3 (main)`, { tid: `${rank}3` });
  add(rank, 2, 0, "thread 3", { tid: "3" });
  add(rank, 3, null, `rank ${rank} · GPU ${rank + 3}`, { rank, device: rank + 3 });
  add(rank, 4, 3, "stream 7", { stream: 7 });
  add(rank, 5, 3, "stream 37", { stream: 37 });
}
const CHOICES = { collapsed: new Map(), hidden: new Set<string>(), pinned: [], moved: new Map() };
const found = (trackFilter: string): string => makeLayout(tracks, { ...CHOICES, trackFilter }).tracksSeen().map((one) => `${one.trace}.${one.id}`).join(" ");

test("words are met by whole words of a name, and a number belongs to the word before it", () => {
  assert.equal(found("rank 3"), "3.1 3.2 3.4 3.5");
  assert.equal(found("RANK 3 stream 7"), "3.4");
  assert.equal(found("stream 7"), "0.4 1.4 2.4 3.4");
  assert.equal(found("stream7"), "", "which no name has");
  assert.equal(found("gpu 3"), "0.4 0.5");
  assert.equal(found("3"), "0.2 0.4 0.5 1.2 2.2 3.1 3.2 3.4 3.5", "a number alone");
  assert.equal(found("str"), "", "a part of a word");
  assert.equal(found("(main)"), "0.1 1.1 2.1 3.1");
  assert.equal(found("main thread"), "0.1 1.1 2.1 3.1", "in any order");
});

test("-word must not be met, by the track or a section that it is in", () => {
  assert.equal(found("rank 3 -stream"), "3.1 3.2");
  assert.equal(found("-rank 0 -rank 1 -gpu thread 3"), "2.2 3.2");
  assert.equal(found("rank 2 -gpu:5"), "2.1 2.2");
});

test("fields are compared whole, those of a section count for what is in it", () => {
  assert.equal(found("rank:3"), "3.1 3.2 3.4 3.5");
  assert.equal(found("stream:7 rank:0"), "0.4");
  assert.equal(found("tid:3"), "0.2 1.2 2.2 3.2");
  assert.equal(found("Device:6"), "3.4 3.5");
  assert.equal(found("pid:259001 tid:13"), "1.1");
  assert.equal(found("constructor:3"), "", "which is not a field but a word");
});

test("a regular expression is met by any part of a name", () => {
  assert.equal(found("/^stream (7|8)$/ rank:1"), "1.4");
  assert.equal(found("/STREAM .7/"), "0.5 1.5 2.5 3.5");
  assert.equal(found("-/thread|37/ rank:2"), "2.4");
  assert.equal(found("/tream 3"), "0.5 1.5 2.5 3.5", "whose end is still to be typed");
  const all = tracks.filter((one) => one.kind !== "section").length;
  for (const text of ["", " ", "-", "/", "- /"]) assert.equal(found(text).split(" ").length, all, `"${text}" leaves all`);
  const wrong = makeLayout(tracks, { ...CHOICES, trackFilter: "stream /(/" });
  assert.match(wrong.filterError, /regular expression/);
  assert.equal(wrong.tracksSeen().length, all, "as one that is none does, which is said");
});

test("any text is a filter or an error, never more", () => {
  const parts = ["rank", "3", ":", "/", "-", "(", ")", "[", "\\", " ", "*", "{2", "\u0130", "\ud800", "stream:7", "\n", "+"];
  let seed = seedOf(7);
  for (let round = 0; round < 500; round++) {
    let text = "";
    for (let k = 0; k < 8; k++) text += parts[(seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) % parts.length];
    makeLayout(tracks, { ...CHOICES, trackFilter: text });
  }
});
