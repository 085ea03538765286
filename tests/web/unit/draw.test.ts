// draw.test.ts - what is drawn, against the slices of a synthetic trace
import assert from "node:assert/strict";
import { test } from "node:test";
import { themeOf, lightness, toneOf } from "../../../src/view/web/src/draw/color";
import { Composer, wantsOf, type Scene } from "../../../src/view/web/src/draw/compose";
import { cover, tileSpan, zoomOf, type Piece } from "../../../src/view/web/src/draw/cover";
import type { Tile } from "../../../src/view/web/src/data/model";
import { Pyramid } from "../../../src/view/web/src/data/pyramid";
import { paint } from "../../../src/view/web/src/draw/pixels";
import { corners, Rects } from "../../../src/view/web/src/draw/rects";
import { DrawList } from "../../../src/view/web/src/draw/list";
import { Tones } from "../../../src/view/web/src/draw/tones";
import { makeLayout } from "../../../src/view/web/src/tracks/layout";
import { Names } from "../../../src/view/web/src/data/names";
import { decodeTiles } from "../../../src/view/web/src/data/tile_decode";
import { TileCache, type TileEntry } from "../../../src/view/web/src/data/tiles";
import { busyOf, fakeRow, FakeTrace, randomRow, type FakeRow } from "../../../src/view/web/test/fake_trace";

const WIDTH = 700;
const NOTHING = { collapsed: new Map(), hidden: new Set<string>(), pinned: [], moved: new Map(), trackFilter: "" };

function traceOf(...rows: FakeRow[]): FakeTrace {
  const trace = new FakeTrace();
  trace.add(null, "slices", "stream", "stream 7", rows);
  return trace;
}

class Bench {
  readonly list = new DrawList();
  readonly tiles: TileCache;
  readonly names: Names;
  private readonly composer = new Composer(this.list);
  constructor(readonly trace: FakeTrace) {
    this.names = new Names({ names: async (_t, ids) => ({ final: true, names: ids.map((id) => ({ id, text: `name ${id}`, category: "", role: "" })) }) }, () => {});
    this.tiles = new TileCache({ tiles: async (_t, z, i, ids, summary) => decodeTiles(trace.tiles(z, i, ids, summary).buffer as ArrayBuffer, z, i) },
      () => {}, { later: () => {} });
  }

  scene(from: number, until: number): Scene {
    const theme = themeOf(false);
    const tones = new Tones(0, this.names, theme, "name", new Map(), null, "none");
    const layout = makeLayout(this.trace.tracks.map((track) => track.info), NOTHING);
    return { layout, range: { from, until }, scroll: 0, theme, tiles: this.tiles, offset: () => 0, tones: () => tones };
  }

  draw(from: number, until: number): void {
    this.list.clear(WIDTH, 400, 1);
    this.composer.tracks(this.scene(from, until));
  }

  async load(from: number, until: number): Promise<void> {
    const scene = this.scene(from, until);
    this.tiles.want(wantsOf(scene.layout.places, scene, WIDTH).filter((want) => !want.ahead));
    for (let k = 0; k < 1000 && !this.tiles.idle(); k++) await new Promise((wake) => setTimeout(wake, 0));
    assert.ok(this.tiles.idle());
  }

  // Height of each pixel's bar in rows' heights.
  heights(): Float64Array {
    const out = new Float64Array(WIDTH);
    const rects = new Uint8Array(WIDTH);
    const { bars } = this.list;
    for (let n = 0; n < bars.count; n++) {
      const [x, , w, h] = bars.shorts.subarray(n * 6, n * 6 + 4);
      for (let p = x; p < x + w; p++) {
        // A bar of whole pixels, and the topmost pixel as strong as it is covered.
        const strength = (bars.words[n * 3 + 2] >>> 24) / 255;
        assert.ok(strength === 1 || h === 1);
        out[p] += h * strength;
        rects[p]++;
        assert.ok(rects[p] <= 2 && out[p] <= ROW, `pixel ${p} has two bars`);
      }
    }
    return out;
  }
}

const ROW = 21; // px of a track with one row

// A bar is within a pixel of the true share where columns end with pixels, else within what a straddling column leaves open.
test("each pixel's bar is as high as its time is busy", async () => {
  const row = randomRow(20000, 7, 3000, 5000, 20);
  const bench = new Bench(traceOf(row));
  for (const [from, z] of [[0, 14], [2 ** 20, 12], [3 * 2 ** 18, 8], [2 ** 22, 5]] as const) {
    const until = from + WIDTH * 2 ** z;
    await bench.load(from, until);
    bench.draw(from, until);
    const heights = bench.heights();
    for (let p = 0; p < WIDTH; p++) {
      const share = busyOf(row, from + p * 2 ** z, from + (p + 1) * 2 ** z) / 2 ** z;
      const want = share === 0 ? 0 : share >= 0.999 ? ROW : Math.max(0.25, Math.min(ROW - 0.25, share * ROW));
      assert.ok(Math.abs(heights[p] - want) <= 0.04, `zoom ${z}, pixel ${p}: ${heights[p]} instead of ${want}`);
    }
  }
});

test("bars of any zoom have the area of the busy time", async () => {
  const row = randomRow(30000, 3, 3000, 5000, 20);
  const bench = new Bench(traceOf(row));
  for (const [from, until] of [[0, 9e7], [1.1e6, 5.77e7], [-3e6, 2.2e7]] as const) {
    await bench.load(from, until);
    bench.draw(from, until);
    const heights = bench.heights();
    const area = heights.reduce((sum, h) => sum + h, 0) / ROW / WIDTH;
    const busy = busyOf(row, from, until) / (until - from);
    assert.ok(Math.abs(area - busy) < 0.01, `${area} of the picture, ${busy} of the time`);
  }
});

test("a slice of 2 ns in a pixel of 1 us is faint but there, and what has no length hangs from the top", async () => {
  const bench = new Bench(traceOf(fakeRow([[100000, 2, 1], [300000, 0, 2]])));
  await bench.load(0, WIDTH * 1000);
  bench.draw(0, WIDTH * 1000);
  const heights = bench.heights();
  assert.ok(heights[100] > 0.2 && heights[100] < 0.3);
  assert.equal(heights.reduce((sum, h) => sum + h, 0), heights[100]);
  const marks = [...Array(bench.list.marks.count).keys()].map((n) => [...bench.list.marks.shorts.subarray(n * 6, n * 6 + 4)]);
  assert.ok(marks.some(([x, y, w]) => x === 300 && y === 1 && w === 1));
  assert.ok(!marks.some(([x]) => Math.abs(x - 100) < 3));
});

test("what is not loaded is hatched, never blank, and drawn from what there is", async () => {
  const row = randomRow(20000, 5, 3000, 5000, 20);
  const bench = new Bench(traceOf(row));
  bench.draw(0, 2e7);
  assert.equal(bench.list.hatches.count, 1);
  assert.deepEqual([...bench.list.hatches.shorts.subarray(0, 4)].filter((_, k) => k !== 1 && k !== 3), [0, WIDTH]);
  await bench.load(0, 2e7);
  bench.draw(4e6, 6e6); // the parent's
  assert.equal(bench.list.hatches.count, 0);
  const area = bench.heights().reduce((sum, h) => sum + h, 0) / ROW / WIDTH;
  assert.ok(Math.abs(area - busyOf(row, 4e6, 6e6) / 2e6) < 0.02);
  bench.draw(0, 4e7); // its children for a half, nothing for the other
  assert.ok(bench.list.hatches.count > 0);
});

test("labels stand once on a slice that several tiles have", async () => {
  const bench = new Bench(traceOf(fakeRow([[0, 10, 1], [1000, 5e6, 2], [6e6, 10, 3]])));
  await bench.load(0, 5e6);
  bench.draw(0, 5e6);
  assert.equal(bench.list.labels.get(0)?.length, 1);
});

test("a column is at most a pixel wide and at least half of one", () => {
  for (let k = 0; k < 2000; k++) {
    const perPixel = 1.03 ** k * 1e-3;
    const z = zoomOf(perPixel);
    assert.ok(z === 54 || z === 0 || (2 ** z <= perPixel && 2 ** (z + 1) > perPixel), `${perPixel} ns: ${z}`);
  }
  assert.equal(zoomOf(NaN), 0);
  assert.equal(zoomOf(Infinity), 54);
});

test("pieces cover a span without gaps, whatever is loaded", async () => {
  const bench = new Bench(traceOf(randomRow(2000, 9, 3000, 5000, 5)));
  await bench.load(1e6, 3e6);
  await bench.load(5e5, 8e5);
  const pieces: Piece[] = [];
  for (const [z, from, until] of [[12, -5e6, 9e6], [3, 1e6, 1.2e6], [16, 0, 1e9], [0, 7e5, 7.01e5]] as const) {
    cover(pieces, bench.tiles.ofTrack(0, 0, false), z, from, until, () => {});
    assert.equal(pieces[0].from, from);
    assert.equal(pieces[pieces.length - 1].until, until);
    for (let k = 1; k < pieces.length; k++) assert.equal(pieces[k].from, pieces[k - 1].until);
  }
});

test("what is out of view is not looked for, however far the zoom", () => {
  let asked = 0;
  class Counted extends Pyramid<TileEntry> {
    get(z: number, i: number): TileEntry | undefined {
      asked++;
      return super.get(z, i);
    }
  }
  const tile: Tile = { track: 0, z: 39, i: 0, exact: true, counter: false, absent: false, rows: [], series: [], bytes: 0 };
  const entries = new Counted();
  entries.set(39, 0, { tile, used: 0, revision: 0 });
  const pieces: Piece[] = [];
  const span = tileSpan(40);
  // The second half of the tile of zoom 40 is out of view: its first child covers all that is seen.
  cover(pieces, entries, 40, 0, span / 2, () => {});
  assert.deepEqual(pieces, [{ tile, from: 0, until: span / 2 }]);
  assert.ok(asked < 100, `${asked} questions`);
});

test("tones of both themes stand off the ground", () => {
  for (const theme of [themeOf(false), themeOf(true)]) {
    for (const tone of theme.tones) assert.ok(Math.abs(lightness(tone) - lightness(theme.background)) > 0.12);
  }
});

test("the corners of a rectangle that the card gets are its own, also left of and above the canvas", () => {
  const rects = new Rects(1);
  const wanted: number[][] = [];
  for (const [x, y, w, h] of [[0, 0, 1, 1], [-3, -4, 10, 6], [16383, 20, 1, 16000], [7, 9, 0, 5]]) {
    rects.add(x, y, w, h, 0xff102030);
    wanted.push([x, y], [x + w, y], [x, y + h], [x + w, y + h]);
  }
  const words = new Uint32Array(100);
  const end = corners(words, 4, rects);
  assert.equal(end, 4 + 8 * rects.count);
  const shorts = new Int16Array(words.buffer);
  const found = wanted.map((_, n) => [shorts[(4 + n * 2) * 2], shorts[(4 + n * 2) * 2 + 1]]);
  assert.deepEqual(found, wanted);
  for (let n = 0; n < wanted.length; n++) assert.equal(words[4 + n * 2 + 1], 0xff102030);
});

test("rectangles painted as pixels are cut at the edges, mixed by their alpha and hatched in stripes", () => {
  const pixels = new Uint32Array(10 * 8).fill(0xffffffff);
  const rects = new Rects(4);
  rects.add(-2, -2, 5, 4, 0xff0000ff);
  rects.add(8, 6, 50, 50, 0x80000000);
  paint(pixels, 10, 8, rects, 0);
  const at = (x: number, y: number): number => pixels[y * 10 + x];
  assert.deepEqual([at(0, 0), at(2, 1), at(3, 0), at(0, 2)], [0xff0000ff, 0xff0000ff, 0xffffffff, 0xffffffff]);
  assert.deepEqual([at(8, 6), at(9, 7), at(7, 6)], [0xff7f7f7f, 0xff7f7f7f, 0xffffffff]);
  const stripes = new Rects(1);
  stripes.add(0, 2, 10, 4, 0xff00ff00);
  paint(pixels, 10, 8, stripes, 5);
  const line = [...pixels.subarray(30, 40)].map((pixel) => pixel === 0xff00ff00);
  assert.deepEqual(line, Array.from({ length: 10 }, (_, x) => (x + 3) % 5 <= 1));
});

test("a kernel of a group with a colour is drawn in it, by class only; names differ in lightness", () => {
  const theme = themeOf(false);
  const kernel = { id: 1, text: "own", category: "kernel", role: "kernel", class: "compute" };
  const own = { ...kernel, group: "attention", colour: "#0000ff" };
  const parts = (tone: number): number[] => [tone & 255, (tone >>> 8) & 255, (tone >>> 16) & 255];
  const [red, green, blue] = parts(toneOf(own, "class", theme));
  assert.ok(blue === 255 || blue > 240);
  assert.ok(red === green && red < 120); // as much of the background in both
  assert.notEqual(toneOf(own, "class", theme), toneOf(kernel, "class", theme));
  assert.equal(toneOf(own, "name", theme), toneOf(kernel, "name", theme));
});
