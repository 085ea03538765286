// Numbers for display. Times are whole nanoseconds and are shown to the last digit; no count or time is rounded. All
// parts of the web UI use these functions, so that equal values look equal.

const GROUP = /\B(?=(\d{3})+(?!\d))/g;

function grouped(digits: string): string {
  return digits.replace(GROUP, ",");
}

// 1234567 -> "1,234,567". Also bigints, and fractions with all digits.
export function formatCount(value: number | bigint): string {
  const text = typeof value === "bigint" ? value.toString() : plain(value);
  const [, sign = "", whole = text, rest = ""] = /^(-?)(\d+)(.*)$/.exec(text) ?? [];
  return sign + grouped(whole) + rest;
}

// As String(), but never with an exponent if the digits are known.
function plain(value: number): string {
  return Number.isInteger(value) && Math.abs(value) < 1e21 ? BigInt(value).toString() : String(value);
}

interface Unit {
  name: string;
  decimals: number; // of a value in ns
}

const UNITS: readonly Unit[] = [
  { name: "ns", decimals: 0 },
  { name: "µs", decimals: 3 },
  { name: "ms", decimals: 6 },
  { name: "s", decimals: 9 },
];

function unitOf(ns: bigint): Unit {
  const size = ns < 0n ? -ns : ns;
  const at = size < 1000n ? 0 : size < 1000000n ? 1 : size < 1000000000n ? 2 : 3;
  return UNITS[at] as Unit;
}

function toBigint(ns: number | bigint): bigint {
  return typeof ns === "bigint" ? ns : BigInt(Math.round(ns));
}

// Whole ns with `decimals` digits behind the point.
function fixedPoint(ns: bigint, decimals: number): string {
  const digits = (ns < 0n ? -ns : ns).toString().padStart(decimals + 1, "0");
  const whole = grouped(digits.slice(0, digits.length - decimals));
  return (ns < 0n ? "-" : "") + whole + (decimals ? "." + digits.slice(digits.length - decimals) : "");
}

// Sums of the server are held at 2^63 - 1.
const heldSign = (value: bigint): string => (value >= (1n << 63n) - 1n ? "≥ " : "");

// 1500 -> "1.5 µs", 1234567 -> "1.234567 ms": all digits, in the unit that suits the value.
export function formatDuration(ns: number | bigint): string {
  const value = toBigint(ns);
  const unit = unitOf(value);
  const text = fixedPoint(value, unit.decimals);
  return `${heldSign(value)}${unit.decimals ? text.replace(/\.?0+$/, "") : text} ${unit.name}`;
}

// The same, cut to about four digits: for places where there is room for a glance only.
export function formatShort(ns: number): string {
  const size = Math.abs(ns);
  for (const [scale, name] of [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]] as const) {
    if (size >= scale) return `${Number((ns / scale).toPrecision(4))} ${name}`;
  }
  return `${Number(ns.toPrecision(4))} ns`;
}

// µs with three decimals, for columns of tables: exact to the ns, with aligned points. Means, which are fractional, are
// rounded to ns.
export function formatMicros(ns: number): string {
  return heldSign(toBigint(ns)) + fixedPoint(toBigint(ns), 3);
}

// A place on the clock of the trace: digits of ns.
export function formatAbsolute(origin: bigint, ns: number): string {
  return `${fixedPoint(origin + toBigint(ns), 9)} s`;
}

// Unix ns as a date, with all nine digits of the second.
export function formatUnix(unix: bigint): string {
  const second = 1000000000n;
  const rest = ((unix % second) + second) % second;
  const date = new Date(Number((unix - rest) / 1000000n));
  if (Number.isNaN(date.getTime())) return `${unix} ns`;
  return `${date.toISOString().slice(0, 19).replace("T", " ")}.${rest.toString().padStart(9, "0")} UTC`;
}

// 1536 -> "1.5 KiB"; bytes below 1 KiB.
export function formatBytes(bytes: number): string {
  const size = Math.abs(bytes);
  const names = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
  let at = 0;
  while (at < names.length - 1 && size >= 1024 ** (at + 1)) at++;
  const scaled = bytes / 1024 ** at;
  return `${at ? Number(scaled.toPrecision(4)) : formatCount(bytes)} ${names[at]}`;
}

// "1.5 KiB (1,536 bytes)"
export function formatBytesExact(bytes: number): string {
  return Math.abs(bytes) < 1024 ? `${formatCount(bytes)} bytes` : `${formatBytes(bytes)} (${formatCount(bytes)} bytes)`;
}

// Bytes per second, decimal as makers of memory count them: 1.555e12 -> "1.555 TB/s".
export function formatBandwidth(value: number): string {
  const names = ["B/s", "kB/s", "MB/s", "GB/s", "TB/s", "PB/s"];
  let at = 0;
  while (at < names.length - 1 && Math.abs(value) >= 1000 ** (at + 1)) at++;
  return `${Number((value / 1000 ** at).toPrecision(4))} ${names[at]}`;
}

// A share of 1. A nonzero share is never shown as 0, nor a partial one as 100 %.
export function formatPercent(share: number): string {
  if (!Number.isFinite(share)) return "–";
  const percent = share * 100;
  if (percent > 0 && percent < 0.01) return "< 0.01 %";
  if (percent < 100 && percent >= 99.995) return "> 99.99 %";
  return `${percent.toFixed(2)} %`;
}

// A value of a counter, with its unit.
export function formatValue(value: number, unit: string): string {
  if (unit === "bytes") return formatBytes(value);
  if (unit === "ns") return formatShort(value);
  const text = Number.isInteger(value) ? formatCount(value) : String(Number(value.toPrecision(6)));
  return unit ? `${text} ${unit}` : text;
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}
