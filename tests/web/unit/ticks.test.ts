// ticks.test.ts - where the axis has its ticks
import assert from "node:assert/strict";
import { test } from "node:test";
import { axisTicks, isTaken } from "../../../src/view/web/src/draw/axis";
import { newState } from "../../../src/view/web/src/state";
import { formatDuration, formatTime, stepOf, ticksOf } from "../../../src/view/web/src/draw/ticks";

test("steps are of 1, 2, 5, and never below what was asked", () => {
  for (let k = 0; k < 600; k++) {
    const least = 1.08 ** k;
    const step = stepOf(least);
    assert.ok(step >= least * (1 - 1e-9), `${least}: ${step}`);
    assert.ok(step <= 30e9 ? [1, 2, 3, 5].includes(Number(String(step)[0])) : step % 60e9 === 0, `${step}`);
  }
});

test("ticks of a clock stand on round times of the clock", () => {
  const zero = 1700000000123456789n;
  for (const least of [7, 3e3, 2e7, 1e9, 4e10]) {
    const { step, ticks } = ticksOf(1e9, 1e9 + least * 10, least, zero, (time) => String(time));
    assert.ok(ticks.length >= 1 && ticks.length <= 11);
    for (const tick of ticks) assert.equal((zero + BigInt(tick.time)) % BigInt(step), 0n);
  }
});

test("times are as fine as their step and no finer", () => {
  assert.equal(formatTime(1234567890, 1e6), "1.235 s");
  assert.equal(formatTime(1500, 500), "1.5 \u00b5s");
  assert.equal(formatTime(0, 5e6, 2e7), "0 ms");
  assert.equal(formatTime(61.5e9, 5e8), "1:01.5");
  assert.equal(formatTime(-1500, 500), "-1.5 \u00b5s");
  assert.equal(formatDuration(0), "0 ns");
  assert.equal(formatDuration(1234567), "1.235 ms");
});

test("labels of ticks beneath the pointer's label are left out, others are not", () => {
  const taken = [[100, 160], [900, 1000]] as const;
  assert.ok(isTaken(taken, 50, 101) && isTaken(taken, 120, 130) && isTaken(taken, 159, 200) && isTaken(taken, 90, 170));
  assert.ok(!isTaken(taken, 50, 100) && !isTaken(taken, 160, 220) && !isTaken([], 0, 1000));
});

// The time that a label shows, in ns.
function timeOf(label: string): number {
  const [, number = "", unit = ""] = /^([\d.:]+) ?(\D*)$/.exec(label.replaceAll("\u2009", "")) ?? [];
  const parts = number.split(":").map(Number);
  return parts.reduce((sum, part) => sum * 60 + part) * ({ ns: 1, "\u00b5s": 1e3, ms: 1e6, s: 1e9 }[unit] ?? 1e9);
}

test("labels of the axis differ and are their time, from the least view to the greatest, at both ends of a trace", () => {
  const state = newState();
  for (const span of [1e3, 1e6, 1e9, 31e9, 3600e9, 1e15]) {
    for (const width of [140, 1e3, 5e3, 1e6, 1e9, 1e12, 1e15].filter((each) => each <= span)) {
      for (const from of [0, (span - width) / 2, span - width]) {
        state.range.value = { from, until: from + width };
        const { ticks } = axisTicks(state, 1400);
        assert.ok(ticks.length >= 2, `${ticks.length} ticks in ${width} of ${span}`);
        assert.equal(new Set(ticks.map(({ label }) => label)).size, ticks.length, `${ticks[0]?.label} twice`);
        for (const { time, label } of ticks) assert.ok(Math.abs(timeOf(label) - time) < 0.5 + time * 1e-15, `${label} at ${time}`);
      }
    }
  }
});

test("durations at their limits: 1 ps to 10^9 s, and what rounds up to the next unit", () => {
  assert.equal(formatDuration(0.001), "1 ps");
  assert.equal(formatDuration(-0.25), "-250 ps");
  assert.equal(formatDuration(1.5), "1.5 ns");
  assert.equal(formatDuration(999.99999), "1.000 \u00b5s");
  assert.equal(formatDuration(999999.9), "1.000 ms");
  assert.equal(formatDuration(59.99999e9), "1 min 0.0 s");
  assert.equal(formatDuration(119.97e9), "2 min 0.0 s");
  assert.equal(formatDuration(1e18), "16666666 min 40 s");
  assert.equal(formatTime(119.7e9, 1e9), "2:00");
});
