// tiles.test.ts - tiles are asked for, kept, given up, asked for again
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Tile } from "../../../src/view/web/src/data/model";
import { decodeTiles } from "../../../src/view/web/src/data/tile_decode";
import { Names } from "../../../src/view/web/src/data/names";
import { namesFound } from "../../../src/view/web/src/data/search_names";
import { TileCache, type Want } from "../../../src/view/web/src/data/tiles";
import { FakeTrace, randomRow } from "../../../src/view/web/test/fake_trace";

const want = (i: number, tracks = [1], ahead = false): Want => ({ trace: 0, z: 5, i, summary: false, tracks, ahead });
const settle = (): Promise<void> => new Promise((wake) => setTimeout(wake, 0));
const tileOf = (track: number, z: number, i: number, exact = true, bytes = 16): Tile =>
  ({ track, z, i, exact, counter: false, absent: false, rows: [], series: [], bytes });

class Server {
  readonly asked: { i: number; tracks: number[]; signal?: AbortSignal; answer: (tiles: Tile[]) => void; fail: (error: Error) => void }[] = [];
  tiles = (_t: number, _z: number, i: number, tracks: number[], _s: boolean, signal?: AbortSignal): Promise<Tile[]> =>
    new Promise((answer, fail) => this.asked.push({ i, tracks, signal, answer, fail }));
}

class Clock {
  ms = 0;
  readonly due: { run: () => void; at: number }[] = [];
  now = (): number => this.ms;
  later = (run: () => void, ms: number): void => void this.due.push({ run, at: this.ms + ms });
  pass(ms: number): void {
    const end = this.ms + ms;
    for (;;) {
      const next = this.due.filter((timer) => timer.at <= end).sort((a, b) => a.at - b.at)[0];
      if (!next) break;
      this.due.splice(this.due.indexOf(next), 1);
      this.ms = next.at;
      next.run();
    }
    this.ms = end;
  }
}

test("four requests at most are under way, and those in view come first", () => {
  const server = new Server();
  const cache = new TileCache(server, () => {}, new Clock());
  cache.want([want(0), want(1), want(9, [1], true), want(2), want(3), want(4)]);
  assert.deepEqual(server.asked.map((one) => one.i), [0, 1, 2, 3].slice(0, server.asked.length));
  assert.ok(server.asked.length <= 4 && !server.asked.some((one) => one.i === 9));
});

test("what is out of view is given up", async () => {
  const server = new Server();
  const cache = new TileCache(server, () => {}, new Clock());
  cache.want([want(0)]);
  cache.want([want(7)]);
  assert.ok(server.asked[0].signal?.aborted);
  server.asked[0].answer([tileOf(1, 5, 0)]);
  await settle();
  assert.equal(cache.get(0, 1, 5, 0, false), undefined);
});

test("a failing server is asked again, ever less often, and the page says so until it is well", async () => {
  const server = new Server();
  const clock = new Clock();
  const cache = new TileCache(server, () => {}, clock);
  cache.want([want(0)]);
  const waits: number[] = [];
  for (let k = 0; k < 4; k++) {
    server.asked[k].fail(Object.assign(new Error("503: too busy"), { status: 503 }));
    await settle();
    assert.equal(cache.health.value.state, "failing");
    const before = clock.ms;
    while (server.asked.length === k + 1 && clock.ms < before + 60000) clock.pass(50);
    waits.push(clock.ms - before);
  }
  for (let k = 1; k < waits.length; k++) assert.ok(waits[k] > waits[k - 1], waits.join(" "));
  server.asked[4].answer([tileOf(1, 5, 0)]);
  await settle();
  assert.equal(cache.health.value.state, "ok");
  assert.ok(cache.get(0, 1, 5, 0, false));
});

test("a slow server is named", async () => {
  const clock = new Clock();
  const cache = new TileCache(new Server(), () => {}, clock);
  cache.want([want(0)]);
  clock.pass(4000);
  assert.equal(cache.health.value.state, "slow");
});

test("estimates are drawn, and asked for again when the session moves", async () => {
  const server = new Server();
  const cache = new TileCache(server, () => {}, new Clock());
  cache.want([want(0)]);
  server.asked[0].answer([tileOf(1, 5, 0, false)]);
  await settle();
  assert.equal(cache.get(0, 1, 5, 0, false)?.exact, false);
  cache.want([want(0)]);
  assert.equal(server.asked.length, 1);
  cache.setRevision(2);
  assert.equal(server.asked.length, 2);
  server.asked[1].answer([tileOf(1, 5, 0)]);
  await settle();
  assert.equal(cache.get(0, 1, 5, 0, false)?.exact, true);
});

test("what was not drawn for long is forgotten when there is too much", async () => {
  const server = new Server();
  const cache = new TileCache(server, () => {}, { ...new Clock(), later: () => {}, now: () => 0, limitBytes: 10000 });
  for (let i = 0; i < 40; i++) {
    cache.want([want(i)]);
    server.asked[i].answer([tileOf(1, 5, i, true, 400)]);
    await settle();
  }
  assert.ok(cache.bytes <= 10000);
  assert.ok(cache.get(0, 1, 5, 39, false) && !cache.get(0, 1, 5, 0, false));
});

test("answers that are cut, or of another kind, are errors", () => {
  const trace = new FakeTrace();
  trace.add(null, "slices", "stream", "s", [randomRow(300, 1, 100, 200, 5), randomRow(300, 2, 100, 200, 5)]);
  const bytes = trace.tiles(4, 0, [0], false);
  assert.equal(decodeTiles(bytes.slice().buffer as ArrayBuffer, 4, 0)[0].rows.length, 2);
  for (let size = 0; size < bytes.length; size += 8) assert.throws(() => decodeTiles(bytes.slice(0, size).buffer as ArrayBuffer, 4, 0), Error);
  for (const at of [0, 4, 16, 20, 24, 32, 36]) {
    const bad = bytes.slice();
    new DataView(bad.buffer).setUint32(at, 0xfffffff0, true);
    try {
      decodeTiles(bad.buffer as ArrayBuffer, 4, 0);
    } catch (error) {
      assert.ok(error instanceof Error);
    }
  }
});

test("a name whose category is not final is asked for again when the session moves, and shown until then", async () => {
  let final = false;
  let asked = 0;
  const names = new Names({ names: async (_t, ids) => {
    asked++;
    return { final, names: ids.map((id) => ({ id, text: "n", category: final ? "kernel" : "", role: "" })) };
  } }, () => {});
  const settle = (): Promise<void> => new Promise((wake) => setTimeout(wake, 60));
  names.get(0, 5);
  await settle();
  assert.equal(names.get(0, 5)?.category, "");
  final = true;
  names.again();
  assert.equal(names.label(0, 5), "n");
  await settle();
  assert.equal(names.get(0, 5)?.category, "kernel");
  names.again();
  await settle();
  assert.equal(asked, 2);
});

test("all names of a search are found, also those told as ranges", () => {
  assert.deepEqual([...namesFound({ names: [1, 4], name_ranges: "1,4-6,9" })].sort(), [1, 4, 5, 6, 9]);
  assert.deepEqual([...namesFound({ names: [2] })], [2]);
});
