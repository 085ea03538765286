import assert from "node:assert/strict";
import { test } from "node:test";
import type { TrackInfo } from "../../../src/view/web/src/data/model";
import { fitTracks } from "../../../src/view/web/src/panels/job_fit";

let next = 0;
const track = (name: string, more: Partial<TrackInfo> = {}): TrackInfo => ({ trace: 0, id: next++, parent: null, kind: "slices", name, rows: 1, events: 1, busy: 1, ...more }) as TrackInfo;

// A critical path, a host process of two threads, a device of three streams, and what nobody needs.
function rank(): TrackInfo[] {
  next = 0;
  const path = track("Critical path", { derived: true, rows: 2 });
  const host = track("python", { kind: "section", events: 500 }), device = track("GPU", { kind: "section" }), spans = track("Spans", { kind: "section" });
  return [path, host, track("main", { parent: host.id, rows: 9 }), track("worker", { parent: host.id }), device, track("Steps", { parent: device.id, derived: true }),
    track("Framework ops", { parent: device.id, derived: true, stream: 7, rows: 4 }), track("stream 7", { parent: device.id, stream: 7, busy: 5 }),
    track("stream 20", { parent: device.id, stream: 20, busy: 90 }), track("stream 24", { parent: device.id, stream: 24, busy: 40 }), spans];
}
const shownIn = (height: number, room: number): string => {
  const tracks = rank(), { hidden } = fitTracks(tracks, height, room);
  return tracks.filter((each) => !hidden.includes(each)).map(({ name }) => name).join(", ");
};

test("what fits is all shown, sections without work of a device as one row", () => {
  const { hidden, folded } = fitTracks(rank(), 300, 300);
  assert.deepEqual(hidden, []);
  assert.deepEqual(folded.map(({ name }) => name), ["python", "Spans"]);
});

test("what does not fit is hidden, the devices' busiest streams last", () => {
  assert.equal(shownIn(301, 300), "Critical path, python, main, worker, GPU, Steps, Framework ops, stream 7, stream 20, stream 24, Spans", "folded they fit");
  assert.equal(shownIn(999, 152), "Critical path, python, main, worker, GPU, stream 7, stream 20, stream 24");
  assert.equal(shownIn(999, 151), "python, main, worker, GPU, stream 7, stream 20, stream 24", "a row of 25 px more does not fit by one");
  assert.equal(shownIn(999, 102), "python, main, worker, GPU, stream 20, stream 24");
  assert.equal(shownIn(999, 101), "python, main, worker, GPU, stream 20");
  assert.equal(shownIn(999, 0), "python, main, worker, GPU");
});

test("tracks of several rows are one, but the device's section stays open", () => {
  const { folded } = fitTracks(rank(), 999, 227);
  assert.deepEqual(folded.map(({ name }) => name), ["Critical path", "python", "Steps", "Framework ops", "stream 7", "stream 20", "stream 24"]);
});

test("a trace without devices is left as it is", () => {
  assert.deepEqual(fitTracks([track("python", { kind: "section" })], 999, 10), { hidden: [], folded: [] });
});
