// hit.test.ts - what lies under a pixel
import assert from "node:assert/strict";
import { test } from "node:test";
import { hitRow, lastNotAbove, nearestEdge, touchesAggregate } from "../../../src/view/web/src/tracks/hit";
import type { SliceRow } from "../../../src/view/web/src/data/model";

interface Event { start: number; duration: number; row: number; flags?: number }
interface Column { at: number; row: number; longest: number; count: number }

function rowOf(events: Event[], columns: Column[] = []): SliceRow {
  return {
    columns: columns.length, events: events.length, starting: events.length,
    busy: Uint32Array.from(columns, () => 1), longest: Uint32Array.from(columns, (c) => c.longest),
    count: Uint32Array.from(columns, (c) => c.count), name: Uint32Array.from(columns, () => 1),
    row: Uint32Array.from(columns, (c) => c.row), column: Uint16Array.from(columns, (c) => c.at),
    start: Int32Array.from(events, (e) => e.start), duration: Uint32Array.from(events, (e) => e.duration),
    eventName: Uint32Array.from(events, (e) => e.row + 100), eventRow: Uint32Array.from(events, (e) => e.row),
    eventFlags: Uint8Array.from(events, (e) => e.flags ?? 0), hit: null,
  };
}

const Z = 4; // 16 ns a column, 8192 a tile
const I = 3;
const ZERO = 3 * 8192;
const row = rowOf([{ start: -100, duration: 150, row: 1 }, { start: 60, duration: 4, row: 2 },
  { start: 64, duration: 0, row: 3, flags: 2 }, { start: 500, duration: 100, row: 4 }],
[{ at: 20, row: 77, longest: 9, count: 12 }, { at: 21, row: 78, longest: 5, count: 3 }]);

test("the last that is not above", () => {
  assert.equal(lastNotAbove([1, 3, 3, 9], 0), -1);
  assert.equal(lastNotAbove([1, 3, 3, 9], 3), 2);
  assert.equal(lastNotAbove([1, 3, 3, 9], 100), 3);
  assert.equal(lastNotAbove([], 1), -1);
});

test("an exact event is met where it stands, in trace time", () => {
  const hit = hitRow(row, Z, I, ZERO + 550, 0);
  assert.deepEqual(hit, { what: "event", row: 4, name: 104, start: ZERO + 500, duration: 100, flags: 0 });
  assert.equal((hitRow(row, Z, I, ZERO + 5, 0) as { row: number }).row, 1, "it reaches in from the tile before");
  assert.equal(hitRow(row, Z, I, ZERO + 200, 0), null);
});

test("short events are met from some pixels away, the nearest first, the shorter of two", () => {
  assert.equal((hitRow(row, Z, I, ZERO + 62, 3) as { row: number }).row, 2);
  assert.equal((hitRow(row, Z, I, ZERO + 64, 3) as { row: number }).row, 3);
  assert.equal((hitRow(row, Z, I, ZERO + 67, 5) as { row: number }).row, 3);
  assert.equal((hitRow(row, Z, I, ZERO + 495, 6) as { row: number }).row, 4);
  assert.equal(hitRow(row, Z, I, ZERO + 490, 6), null);
});

test("an aggregate column says which of its events is the longest", () => {
  const hit = hitRow(row, Z, I, ZERO + 20 * 16 + 3, 0);
  assert.deepEqual(hit, { what: "column", row: 77, longest: 9, from: ZERO + 320, until: ZERO + 336, count: 12 });
  assert.equal(hitRow(row, Z, I, ZERO + 22 * 16, 0), null);
});

test("the hit agrees with a search through all events", () => {
  let state = 99;
  const random = (below: number): number => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  for (let round = 0; round < 200; round++) {
    const events: Event[] = [];
    for (let at = -50, k = 0; k < 40; k++) {
      at += random(30);
      const duration = random(3) === 0 ? 0 : random(60);
      events.push({ start: at, duration, row: k });
      at += duration;
    }
    const made = rowOf(events);
    for (let k = 0; k < 60; k++) {
      const time = random(1500) - 60, within = random(10);
      const off = (e: Event): number => Math.max(e.start - time, time - e.start - e.duration, 0);
      const least = Math.min(...events.map(off));
      const hit = hitRow(made, Z, 0, time, within);
      if (least > within) assert.equal(hit, null);
      else assert.equal(off(events[(hit as { row: number }).row] as Event), least);
      const edges = events.flatMap((e) => [e.start, e.start + e.duration]).map((t) => Math.abs(t - time));
      const nearest = Math.min(...edges);
      const edge = nearestEdge(made, Z, 0, time, within);
      if (nearest > within) assert.equal(edge, null);
      else assert.equal(Math.abs((edge?.time ?? Infinity) - time), nearest);
    }
  }
});

test("edges: both ends, but not the end of what has none", () => {
  assert.deepEqual(nearestEdge(row, Z, I, ZERO + 595, 20), { time: ZERO + 600, row: 4, edge: "end" });
  assert.deepEqual(nearestEdge(row, Z, I, ZERO + 505, 20), { time: ZERO + 500, row: 4, edge: "start" });
  assert.equal(nearestEdge(row, Z, I, ZERO + 550, 20), null);
  const open = rowOf([{ start: 0, duration: 100, row: 1, flags: 1 }]);
  assert.equal(nearestEdge(open, Z, 0, 100, 10), null);
});

test("near an aggregate the server is to be asked", () => {
  assert.equal(touchesAggregate(row, Z, I, ZERO + 310, 20), true);
  assert.equal(touchesAggregate(row, Z, I, ZERO + 370, 20), true);
  assert.equal(touchesAggregate(row, Z, I, ZERO + 100, 20), false);
});
