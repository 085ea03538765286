// nav.test.ts - moving the view
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  addMotions, between, clampRange, fitRange, MIN_NS_PER_PX, moved, panBy, pinched, reveal, spanLimits, spanOf, timeAt,
  wheelPx, xAt, zoomAt,
} from "../../../src/view/web/src/tools/nav";
import { seedOf } from "./seed";

const WIDTH = 1000;
const whole = { from: 0, until: 1e9 };
const near = (a: number, b: number, by: number): void => assert.ok(Math.abs(a - b) <= by, `${a} is not ${b}`);

// The same numbers each time.
function* randoms(seed: number): Generator<number, never> {
  let state = seed;
  for (;;) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    yield state / 2 ** 32;
  }
}

test("zooming keeps the time under the pointer", () => {
  let range = { ...whole };
  const time = 123456789.5;
  range = zoomAt(range, whole, WIDTH, time, 1.0000001);
  const x = xAt(range, WIDTH, time);
  for (let k = 0; k < 60; k++) range = zoomAt(range, whole, WIDTH, time, 1.5);
  near(xAt(range, WIDTH, time), x, 0.01);
  near(spanOf(range), WIDTH * MIN_NS_PER_PX, 1e-6);
});

test("nothing is zoomed below a tenth of a nanosecond a pixel or above the whole and a bit", () => {
  let range = { from: 4e8, until: 4e8 + 1000 };
  for (let k = 0; k < 200; k++) range = zoomAt(range, whole, WIDTH, 4e8, 10);
  near(spanOf(range), 100, 1e-6);
  for (let k = 0; k < 200; k++) range = zoomAt(range, whole, WIDTH, range.from, 0.1);
  near(spanOf(range), 1.1e9, 1e-3);
  near(range.from, -5e7, 1);
});

test("at 2^53 ns a view still has width and pans", () => {
  const far = { from: 0, until: 2 ** 53 };
  let range = far;
  const time = 2 ** 53 - 1000;
  for (let k = 0; k < 200; k++) range = zoomAt(range, far, WIDTH, time, 2);
  assert.ok(spanOf(range) > 0 && spanOf(range) < 1000);
  const on = panBy(range, far, WIDTH, -0.5);
  assert.ok(on.from < range.from);
  near(spanOf(on), spanOf(range), 2);
});

test("any sequence of moves stays within the limits", () => {
  const random = randoms(seedOf(7));
  for (const bounds of [whole, { from: -5e12, until: 3e15 }, { from: 0, until: 1 }, { from: 5, until: 5 }]) {
    let range = clampRange(bounds, bounds, WIDTH);
    const { min, max } = spanLimits(bounds, WIDTH);
    for (let k = 0; k < 3000; k++) {
      const what = random.next().value;
      if (what < 0.5) range = zoomAt(range, bounds, WIDTH, timeAt(range, WIDTH, random.next().value * WIDTH), random.next().value * 4 + 0.01);
      else if (what < 0.9) range = panBy(range, bounds, WIDTH, (random.next().value - 0.5) * 5);
      else range = pinched(range, bounds, WIDTH, [100, 100 + 800 * random.next().value], [300 * random.next().value, 900]);
      const span = spanOf(range);
      assert.ok(span >= min * (1 - 1e-3) && span <= max * (1 + 1e-3), `${span} of ${min} to ${max}`);
      assert.ok(range.from <= bounds.until + span && range.until >= bounds.from - span);
    }
  }
});

test("panning stops half a view beside the whole", () => {
  let range = { from: 5e8, until: 5e8 + 1e4 };
  for (let k = 0; k < 10; k++) range = panBy(range, whole, WIDTH, 1e6);
  near(range.from, 1e9 - 5e3, 1);
  for (let k = 0; k < 10; k++) range = panBy(range, whole, WIDTH, -1e6);
  near(range.until, 5e3, 1);
});

test("a range that is not a range becomes the whole", () => {
  assert.deepEqual(clampRange({ from: NaN, until: 5 }, whole, WIDTH), { from: 0, until: 1e9 });
  assert.deepEqual(clampRange({ from: 0, until: Infinity }, whole, WIDTH), { from: 0, until: 1e9 });
});

test("fitting shows the target with room on both sides", () => {
  const range = fitRange({ from: 1000, until: 2000 }, whole, WIDTH);
  near(range.from, 950, 1e-6);
  near(range.until, 2050, 1e-6);
  const instant = fitRange({ from: 4000, until: 4000 }, whole, WIDTH);
  near((instant.from + instant.until) / 2, 4000, 1e-6);
  near(spanOf(instant), 100, 1e-6);
});

test("what is in view already is revealed without a move", () => {
  const range = { from: 0, until: 1000 };
  assert.equal(reveal(range, { from: 10, until: 20 }, whole, WIDTH), range);
  const panned = reveal(range, { from: 5000, until: 5100 }, whole, WIDTH);
  near(spanOf(panned), 1000, 1e-6);
  near((panned.from + panned.until) / 2, 5050, 1e-6);
  const fitted = reveal(range, { from: 5000, until: 9000 }, whole, WIDTH);
  assert.ok(fitted.from < 5000 && fitted.until > 9000);
});

test("the way between two views starts and ends at them and never shows nothing", () => {
  const a = { from: 0, until: 1e9 };
  const b = { from: 777777000, until: 777777100 };
  assert.equal(between(a, b, 0), a);
  assert.equal(between(a, b, 1), b);
  let before = spanOf(a);
  for (let t = 0.05; t < 1; t += 0.05) {
    const range = between(a, b, t);
    assert.ok(spanOf(range) > 0 && spanOf(range) < before);
    assert.ok(range.from <= 777777050 && range.until >= 777777050);
    before = spanOf(range);
  }
  const half = between({ from: 0, until: 100 }, { from: 1000, until: 1100 }, 0.5);
  near(half.from, 500, 1e-9);
  near(spanOf(half), 100, 1e-9);
});

test("two fingers keep the times that lie under them", () => {
  const range = { from: 1e8, until: 2e8 };
  const left = timeAt(range, WIDTH, 400), right = timeAt(range, WIDTH, 600);
  const next = pinched(range, whole, WIDTH, [400, 600], [300, 800]);
  near(xAt(next, WIDTH, left), 300, 1e-6);
  near(xAt(next, WIDTH, right), 800, 1e-6);
  const shifted = pinched(range, whole, WIDTH, [400, 402], [300, 302]);
  near(spanOf(shifted), 1e8, 1);
});

test("opposite keys cancel out, held keys add up over frames as over one", () => {
  const sum = addMotions([{ zoom: 1, pan: 1, scroll: 0 }, { zoom: -1, pan: 1, scroll: 5 }]);
  assert.deepEqual(sum, { zoom: 0, pan: 2, scroll: 5 });
  const range = { from: 4e8, until: 5e8 };
  const once = moved(range, whole, WIDTH, 4.3e8, { zoom: 2, pan: 0, scroll: 0 }, 0.5);
  let often = range;
  for (let k = 0; k < 50; k++) often = moved(often, whole, WIDTH, 4.3e8, { zoom: 2, pan: 0, scroll: 0 }, 0.01);
  near(often.from, once.from, 1);
  near(often.until, once.until, 1);
});

test("wheels count in pixels, lines or pages", () => {
  assert.equal(wheelPx(3, 0, 600), 3);
  assert.equal(wheelPx(3, 1, 600), 54);
  assert.equal(wheelPx(-1, 2, 600), -600);
  assert.equal(wheelPx(1e9, 0, 600), 600);
});
