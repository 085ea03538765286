// hands.test.ts - boxes over tracks, partners of flows, progress of reading, the walk through the tracks
import assert from "node:assert/strict";
import { test } from "node:test";
import { neighbour, placeAmongSiblings, trackText } from "../../../src/view/web/src/tracks/a11y";
import { makeLayout } from "../../../src/view/web/src/tracks/layout";
import type { EventDetail, TraceInfo, TrackInfo } from "../../../src/view/web/src/data/model";
import { readingOf } from "../../../src/view/web/src/data/reading";
import { partnersOf } from "../../../src/view/web/src/tools/select_actions";
import { parseTheme, shownTheme } from "../../../src/view/web/src/bar/theme";
import { placesBetween, tracksOf } from "../../../src/view/web/src/tools/select";

const track = (id: number, parent: number | null, more: Partial<TrackInfo> = {}): TrackInfo => ({
  trace: 0, id, parent, kind: "slices", role: "thread", name: `track ${id}`, rows: 1, exact: true, events: 10, on_lanes: 0,
  start: 0, end: 100, busy: 37, collapsed: false, ...more,
});
const section = (id: number, parent: number | null, collapsed: boolean): TrackInfo =>
  track(id, parent, { kind: "section", role: "process", collapsed, name: `section ${id}` });
const tracks = [section(0, null, false), track(1, 0), track(2, 0), section(3, null, true), track(4, 3), section(5, 3, false), track(6, 5)];
const choices = { collapsed: new Map(), hidden: new Set<string>(), pinned: [] as string[], moved: new Map(), trackFilter: "" };

test("a box means the tracks that it touches", () => {
  const layout = makeLayout(tracks, choices);
  const one = layout.find("0.1"), two = layout.find("0.2");
  assert.ok(one && two);
  assert.deepEqual(tracksOf(placesBetween(layout, 0, one.y + 1, one.y + 2), layout), ["0.1"]);
  assert.deepEqual(tracksOf(placesBetween(layout, 0, one.y + 1, two.y + 1), layout), ["0.1", "0.2"]);
  assert.deepEqual(tracksOf(placesBetween(layout, two.y, 1, 2), layout), ["0.2"], "scrolled");
  assert.deepEqual(tracksOf(placesBetween(layout, 0, -50, -10), layout), []);
});

test("a section that is collapsed, or alone in the box, stands for all below it", () => {
  const layout = makeLayout(tracks, choices);
  const three = layout.find("0.3");
  assert.ok(three);
  assert.deepEqual(tracksOf(placesBetween(layout, 0, three.y + 1, three.y + 2), layout), ["0.4", "0.6"]);
  assert.deepEqual(tracksOf(placesBetween(layout, 0, 1, 2), layout), ["0.1", "0.2"]);
  assert.deepEqual(tracksOf(placesBetween(layout, 0, 0, 1000), layout), ["0.1", "0.2", "0.4", "0.6"]);
});

test("what a box means is what is seen: neither what a filter leaves out nor what is hidden, nor derived rows beside others", () => {
  const derived = [section(0, null, true), track(1, 0, { derived: true }), track(2, 0), track(3, 0, { name: "found" }), track(4, 0, { kind: "counter", derived: true })];
  const of = (more: Partial<typeof choices>, first: string, last = first): string[] => {
    const layout = makeLayout(derived, { ...choices, ...more });
    const [from, to] = [layout.find(first), layout.find(last)];
    assert.ok(from && to);
    return tracksOf(placesBetween(layout, 0, from.y + 1, to.y + 2), layout);
  };
  assert.deepEqual(of({}, "0.0"), ["0.2", "0.3"], "collapsed: the tracks of the file");
  assert.deepEqual(of({ hidden: new Set(["0.2"]) }, "0.0"), ["0.3"]);
  assert.deepEqual(of({ trackFilter: "found" }, "0.0", "0.3"), ["0.3"]);
  assert.deepEqual(of({ trackFilter: "found" }, "0.0"), ["0.3"], "its section alone");
  const open = { collapsed: new Map([["0.0", false]]) };
  assert.deepEqual(of(open, "0.1"), ["0.1"], "a derived row alone");
  assert.deepEqual(of(open, "0.1", "0.3"), ["0.2", "0.3"], "and among others");
  assert.deepEqual(of(open, "0.3", "0.4"), ["0.3", "0.4"], "a counter counts nothing twice");
});

test("a track is seen at its own place, where it is pinned, or in the section that is collapsed", () => {
  const at = (more: Partial<typeof choices>, key: string): string | undefined => {
    const place = makeLayout(tracks, { ...choices, ...more }).seenAt(key);
    return place && `${place.pinned ? "pinned " : ""}${place.key}`;
  };
  assert.deepEqual(["0.1", "0.4", "0.5", "0.6"].map((key) => at({}, key)), ["0.1", "0.3", "0.3", "0.3"]);
  assert.equal(at({ pinned: ["0.6"] }, "0.6"), "pinned 0.6");
  assert.equal(at({ pinned: ["0.1"] }, "0.1"), "0.1");
  assert.equal(at({ hidden: new Set(["0.3"]) }, "0.6"), undefined);
  assert.equal(at({ trackFilter: "track 1" }, "0.2"), undefined);
  assert.deepEqual(makeLayout(tracks, choices).tracksSeen("0.3").map((one) => one.id), [4, 6]);
  assert.deepEqual(makeLayout(tracks, choices).tracksSeen().map((one) => one.id), [1, 2, 4, 6]);
});

test("pinned tracks are met at the top, whatever is scrolled", () => {
  const layout = makeLayout(tracks, { ...choices, pinned: ["0.6"] });
  assert.deepEqual(tracksOf(placesBetween(layout, 500, 1, 2), layout), ["0.6"]);
  const one = layout.find("0.1");
  assert.ok(one);
  assert.deepEqual(tracksOf(placesBetween(layout, 0, layout.pinnedHeight + one.y + 1, layout.pinnedHeight + one.y + 2), layout), ["0.1"]);
});

test("the walk goes through what is shown and stops at both ends", () => {
  const layout = makeLayout(tracks, choices);
  assert.equal(neighbour(layout, null, 1)?.key, "0.0");
  assert.equal(neighbour(layout, "0.0", 1)?.key, "0.1");
  assert.equal(neighbour(layout, "0.0", -1)?.key, "0.0");
  assert.equal(neighbour(layout, "0.3", 1)?.key, "0.3");
  assert.equal(neighbour(layout, "0.4", 1)?.key, "0.0", "a track that is not shown any more");
  assert.equal(neighbour(makeLayout([], choices), null, 1), undefined);
  assert.deepEqual(placeAmongSiblings(layout.places, 2), { position: 2, size: 2 });
  assert.deepEqual(placeAmongSiblings(layout.places, 3), { position: 2, size: 2 });
});

test("a track is told with what it holds", () => {
  const place = makeLayout(tracks, choices).find("0.1");
  assert.ok(place);
  assert.equal(trackText(place), "track 1, 10 events, busy 37.00 % of its time");
});

test("partners of flows: one direction, launches and works, each event once", () => {
  const detail = {
    flows: [
      { row: 5, name: "k", direction: "out" }, { row: 5, name: "k", direction: "out" }, { row: 7, name: "i", direction: "in" },
    ],
    works: [{ row: 5, name: "k" }, { row: 6, name: "l" }], launch: { row: 9, name: "m" },
  } as unknown as EventDetail;
  assert.deepEqual(partnersOf(detail, "out").map((one) => one.row), [5, 6]);
  assert.deepEqual(partnersOf(detail, "in").map((one) => one.row), [7, 9]);
  assert.deepEqual(partnersOf({} as EventDetail, "in"), []);
});

test("what is told of a trace that is read, was read, could not be read", () => {
  const trace = { id: 0, name: "a.json", state: "reading", done: 512 * 1024, total: 2048 * 1024 } as TraceInfo;
  assert.deepEqual(readingOf(trace), { name: "a.json", text: "512 KiB of 2 MiB read, 25 %", share: 0.25, failed: false });
  assert.equal(readingOf({ ...trace, total: 0 })?.share, null);
  assert.equal(readingOf({ ...trace, done: 9e9 })?.share, 1);
  assert.equal(readingOf({ ...trace, state: "ready" }), null);
  assert.deepEqual(readingOf({ ...trace, state: "failed", error: "no JSON at byte 3" })?.text, "no JSON at byte 3");
  const full = { ...trace, state: "failed" as const, error: "out of memory" };
  assert.equal(readingOf(full)?.text, "out of memory", "of a server");
  const memory = { here: 2 ** 20, needed: 4 * 2 ** 20 };
  assert.match(readingOf({ ...full, memory })?.text ?? "", /^out of memory after 512 KiB of 2 MiB: this page has 1 MiB, and the trace needs about 4 MiB \(estimated\)\. .*heddle convert --until 10s a\.json/);
  assert.match(readingOf({ ...full, memory: { here: 2 ** 20 } })?.text ?? "", /: this page has 1 MiB\. heddle view a\.json/);
  assert.match(readingOf({ ...trace, state: "ready", busy: "", error: "cannot lay out its tracks: out of memory", memory })?.text ?? "", /heddle view a\.json/);
});

test("the theme follows the system unless one was chosen", () => {
  assert.equal(parseTheme("dark"), "dark");
  assert.equal(parseTheme("<script>"), "auto");
  assert.equal(parseTheme(null), "auto");
  assert.equal(shownTheme("auto", true), "dark");
  assert.equal(shownTheme("light", true), "light");
});
