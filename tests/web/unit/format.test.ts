import assert from "node:assert/strict";
import { test } from "node:test";
import {
  formatAbsolute, formatBandwidth, formatBytes, formatBytesExact, formatCount, formatDuration, formatMicros, formatPercent,
  formatShort, formatUnix, formatValue, plural,
} from "../../../src/view/web/src/format";

test("counts have groups of three, and all their digits", () => {
  assert.equal(formatCount(0), "0");
  assert.equal(formatCount(1234567), "1,234,567");
  assert.equal(formatCount(-1000), "-1,000");
  assert.equal(formatCount(12345.6789), "12,345.6789");
  assert.equal(formatCount(9223372036854775807n), "9,223,372,036,854,775,807");
  assert.equal(formatCount(2 ** 60), "1,152,921,504,606,846,976");
});

test("durations keep every nanosecond", () => {
  assert.equal(formatDuration(0), "0 ns");
  assert.equal(formatDuration(999), "999 ns");
  assert.equal(formatDuration(1000), "1 µs");
  assert.equal(formatDuration(1234567), "1.234567 ms");
  assert.equal(formatDuration(-1500), "-1.5 µs");
  assert.equal(formatDuration(1000000001), "1.000000001 s");
  assert.equal(formatDuration(2 ** 53), "9,007,199.254740992 s");
  assert.equal(formatDuration(100000000000), "100 s");
});

test("a duration read back is the duration", () => {
  const scale: Record<string, number> = { ns: 0, "µs": 3, ms: 6, s: 9 };
  for (let i = 0; i < 2000; i++) {
    const ns = BigInt(Math.floor(Math.random() * 10 ** (i % 16)));
    const [number = "", unit = ""] = formatDuration(ns).split(" ");
    const [whole = "", rest = ""] = number.replace(/,/g, "").split(".");
    assert.equal(BigInt(whole + rest.padEnd(scale[unit] ?? -1, "0")), ns);
  }
});

test("microseconds of tables stand with their points below each other", () => {
  assert.equal(formatMicros(0), "0.000");
  assert.equal(formatMicros(1234567891), "1,234,567.891");
  assert.equal(formatMicros(-5), "-0.005");
  assert.equal(formatMicros(1.4), "0.001");
});

test("an absolute time does not go through a double", () => {
  assert.equal(formatAbsolute(1700000000000000001n, 5), "1,700,000,000.000000006 s");
  assert.equal(formatUnix(1700000000123456789n), "2023-11-14 22:13:20.123456789 UTC");
  assert.equal(formatUnix(-1n), "1969-12-31 23:59:59.999999999 UTC");
});

test("bytes and rates", () => {
  assert.equal(formatBytes(1023), "1,023 B");
  assert.equal(formatBytes(1536), "1.5 KiB");
  assert.equal(formatBytesExact(1073741824), "1 GiB (1,073,741,824 bytes)");
  assert.equal(formatBandwidth(1.5554e12), "1.555 TB/s");
  assert.equal(formatValue(2048, "bytes"), "2 KiB");
  assert.equal(formatValue(1234, "W"), "1,234 W");
  assert.equal(formatValue(42890000, "ns"), "42.89 ms");
});

test("a share that is not nothing is not shown as nothing, nor as all", () => {
  assert.equal(formatPercent(0), "0.00 %");
  assert.equal(formatPercent(1e-9), "< 0.01 %");
  assert.equal(formatPercent(0.3712), "37.12 %");
  assert.equal(formatPercent(0.999999), "> 99.99 %");
  assert.equal(formatPercent(1), "100.00 %");
  assert.equal(formatPercent(NaN), "–");
});

test("short forms and plurals", () => {
  assert.equal(formatShort(1234567), "1.235 ms");
  assert.equal(formatShort(17), "17 ns");
  assert.equal(plural(1, "hit"), "1 hit");
  assert.equal(plural(1234, "hit"), "1,234 hits");
});

test("a sum that the server holds at 2^63 - 1 says that it is more", () => {
  assert.ok(formatDuration(Number(2n ** 63n - 1n)).startsWith("≥ "));
  assert.ok(formatMicros(9223372036854775807).startsWith("≥ "));
  assert.ok(!formatDuration(9.2e18).startsWith("≥"));
});
