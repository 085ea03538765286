import assert from "node:assert/strict";
import { test } from "node:test";
import { clockText, clockTitle, keyOfClocks, placed } from "../../../src/view/web/src/data/clocks";
import type { ClockInfo, Meeting, MeetingPart, Session, TraceInfo, TrackInfo } from "../../../src/view/web/src/data/model";
import { clockOrderText, orderByClocks } from "../../../src/view/web/src/panels/collective";
import { drawnMeeting, meetingText } from "../../../src/view/web/src/tracks/meetings";

const trace = (id: number, more: Partial<TraceInfo> = {}): TraceInfo => ({
  id, name: `r${id}.json`, format: "chrome", state: "ready", done: 1, total: 1, start_ns: "0", span_ns: 100, offset_ns: 10 * id, rank: id, unix_ns: null, tracks: 1, busy: "", ...more });
const session = (...traces: TraceInfo[]): Session => ({ version: "", session: "s", revision: 1, traces, job: null });
const clock = (of: number, offset: number | null, bar: number | null, more: Partial<ClockInfo> = {}): ClockInfo => ({
  trace: of, basis: offset === null ? "unknown" : "ends", host: of, offset_ns: offset, bar_ns: bar, why: offset === null ? "no collectives are told" : null, collectives: 20, ranks: 4, of: "open", ...more });
const part = (of: number, start: number, duration: number): MeetingPart => ({ trace: of, track: 5, depth: 1, start, duration, row: 9, rank: of, device: of });

test("clocks are asked for where ranks of a job are all laid out", () => {
  assert.notEqual(keyOfClocks(session(trace(0), trace(1)), []), "");
  assert.notEqual(keyOfClocks(session(trace(0), trace(1)), []), keyOfClocks(session(trace(0), trace(1), trace(2)), []));
  for (const traces of [[], [trace(0)], [trace(0), trace(1, { rank: 0 })], [trace(0), trace(1, { rank: null })], [trace(0), trace(1, { state: "reading" })], [trace(0), trace(1, { busy: "x" })]]) {
    assert.equal(keyOfClocks(session(...traces), []), "", JSON.stringify(traces));
  }
  const tracks = [0, 1].map((rank) => ({ rank }) as TrackInfo);
  assert.notEqual(keyOfClocks(session(trace(0, { rank: null })), tracks), "", "several ranks in one trace");
  assert.notEqual(keyOfClocks(session(trace(0), trace(1), trace(2, { state: "failed", busy: "x" })), []), "", "one that failed is none");
});

test("traces stand where clocks say, others where their files do, and both are told", () => {
  const told = session(trace(0), trace(1), trace(2), trace(3));
  const clocks = [clock(0, 0, 0, { basis: "reference" }), clock(1, 4_090_010, 10_000), clock(2, null, null), clock(3, null, null, { basis: "refused", ranks: 4096, of: "job" })];
  const aligned = placed(told, clocks, true).traces;
  assert.deepEqual(aligned.map(({ offset_ns, told_ns }) => [offset_ns, told_ns]), [[0, 0], [4_090_010, 10], [20, 20], [30, 30]]);
  assert.deepEqual(aligned.map(clockText), ["", "+4.09 ms ± 10 µs", "clock unknown", "clock refused"]);
  assert.deepEqual(aligned.map(clockTitle), ["rank 0: the clock that counts", "rank 1: +4.09 ms ± 10 µs applied, by the ends of 20 collectives, compared with those of the 4 open traces",
    "rank 2: not aligned by the 4 open traces: no collectives are told", "rank 3: not aligned by all 4,096 ranks: no collectives are told"]);
  const raw = placed(told, clocks, false).traces;
  assert.deepEqual(raw.map(({ offset_ns }) => offset_ns), [0, 10, 20, 30]);
  assert.equal(clockText(raw[1] as TraceInfo), "raw (+4.09 ms ± 10 µs)");
  assert.equal(clockText(placed(session(trace(0), trace(1)), [clock(0, 0, 0), clock(1, -90, 3)], true).traces[1] as TraceInfo), "−100 ns ± 3 ns");
  assert.deepEqual(placed(told, [], true).traces.map(clockText), ["", "", "", ""]);
});

test("who came last is told where the bars allow it", () => {
  const at = (time: number, bar: number | null, host: number | null = null): { at: number; bar: number | null; host: number | null } => ({ at: time, bar, host });
  assert.deepEqual(orderByClocks([at(0, 5), at(11, 5), at(0, 0)]), { last: 1, wait: 11, bar: 10 });
  assert.deepEqual(orderByClocks([at(0, 5), at(10, 5)]), { last: null, wait: null, bar: 10 });
  assert.deepEqual(orderByClocks([at(0, 5, 1), at(10, 5, 1)]), { last: 1, wait: 10, bar: 0 }, "on one host there is no bar");
  assert.deepEqual(orderByClocks([at(0, 5, 1), at(50, 5, 2), at(52, 5, 3)]), { last: null, wait: 52, bar: 10 });
  assert.equal(orderByClocks([at(0, 5), at(10, null)]), null);
  assert.equal(orderByClocks([at(0, 5)]), null);
  const clocks = new Map([clock(0, 0, 0), clock(1, 0, 5), clock(2, null, null)].map((each) => [each.trace, each]));
  const parts = [part(0, 0, 9), part(1, 90, 9), part(2, 0, 9)];
  assert.equal(clockOrderText(parts.slice(0, 2), clocks, () => 0), "rank 1 last, 90 ns ± 5 ns after the first");
  assert.equal(clockOrderText(parts.slice(0, 2), clocks, (of) => (of === 1 ? -88 : 0)), "unknown: all came within the bars, ± 5 ns");
  assert.equal(clockOrderText(parts, clocks, () => 0), "unknown, as the clock of rank 2 is");
  assert.equal(clockOrderText([part(2, 0, 9), part(3, 0, 9)], clocks, () => 0), "unknown, as the clocks are");
  assert.equal(clockOrderText([part(2, 0, 9), { ...part(2, 40, 9), rank: 7 }], clocks, () => 0), "rank 7 last, 40 ns ± 0 ns after the first", "one trace, one clock");
});

test("a collective is drawn where its ranks are, and its last only by clocks that are known", () => {
  const meeting: Meeting = { group: "dp", stream: 7, operation: "AllReduce", sequence: 3, counted: true, size: 3, ranks: 3, last_rank: 1, last_device: 1, longest: 30, shortest: 10,
    parts: [part(0, 100, 30), part(1, 120, 10), { ...part(2, 100, 20), track: -1 }] };
  const known = new Map([0, 1, 2].map((of) => [of, clock(of, 0, 1)]));
  const drawn = drawnMeeting(meeting, (of) => 1000 * of, known, true);
  assert.deepEqual(drawn, { parts: [{ key: "0.5", depth: 1, from: 100, until: 130 }, { key: "1.5", depth: 1, from: 1120, until: 1130 }], strong: true, last: 1120 });
  known.set(2, clock(2, null, null));
  assert.equal(drawnMeeting(meeting, () => 0, known, true).last, null);
  assert.equal(drawnMeeting({ ...meeting, last_rank: 9 }, () => 0, new Map(), true).last, null);
});

test("the line tells how many collectives are drawn", () => {
  assert.equal(meetingText({ error: "", count: 0, drawn: 0 }), "");
  assert.equal(meetingText({ error: "", count: 1, drawn: 1 }), "1 collective across ranks");
  assert.equal(meetingText({ error: "", count: 1234, drawn: 0 }), "1,234 collectives across ranks: zoom in to see them");
  assert.equal(meetingText({ error: "", count: 1234, drawn: 400 }), "400 of 1,234 collectives across ranks");
  assert.equal(meetingText({ error: "gone", count: 0, drawn: 0 }), "Collectives across ranks: gone");
});
