// Where a time axis has its ticks, and how times are written. Times are ns.

export interface Tick {
  time: number;
  label: string;
}

const MINUTE = 60e9;
const LONG_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 360, 720, 1440, 2880, 7200, 14400].map((minutes) => minutes * MINUTE);

// A step of 1, 2 or 5 times a power of ten, of 10, 20, 30 s, or of minutes and hours, not below `least`.
export function stepOf(least: number): number {
  if (!(least > 1)) return 1;
  if (least > 30e9) return LONG_STEPS.find((step) => step >= least) ?? Math.ceil(least / (1440 * MINUTE)) * 1440 * MINUTE;
  if (least > 20e9) return 30e9;
  const power = 10 ** Math.floor(Math.log10(least));
  for (const times of [1, 2, 5, 10]) if (times * power >= least * (1 - 1e-12)) return Math.round(times * power);
  return 10 * power;
}

const UNITS: readonly [string, number][] = [["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1], ["ps", 1e-3]];
const NANOSECONDS = 3; // index in UNITS

// Digits behind the point that a step needs. In whole ns: against a tolerance a step of 1 ns in seconds is 0.
function digitsOf(step: number, unit: number): number {
  const whole = Math.max(1, Math.round(step));
  let digits = 0;
  for (let least = unit; whole % least !== 0; least /= 10) digits++;
  return digits;
}

// To so many digits behind the point, before it is split: 59.97 s to one digit is a minute.
const rounded = (ns: number, unit: number, digits: number): number => {
  const least = unit / 10 ** digits;
  return Math.round(ns / least) * least;
};

// Groups of three digits after the point, separated by narrow spaces.
function grouped(fixed: string): string {
  const [whole, part] = fixed.split(".");
  return part && part.length > 3 ? `${whole}.${part.replace(/(\d{3})(?=\d)/g, "$1\u2009")}` : fixed;
}

// A duration with about `significant` digits: "1.234 ms".
export function formatDuration(ns: number, significant = 4): string {
  if (ns === 0) return "0 ns";
  const sign = ns < 0 ? "-" : "";
  const size = Number(Math.abs(ns).toPrecision(significant));
  if (size >= MINUTE) {
    const digits = Math.abs(ns) < 10 * MINUTE ? 1 : 0;
    const whole = rounded(Math.abs(ns), 1e9, digits);
    const minutes = Math.floor(whole / MINUTE);
    return `${sign}${minutes} min ${((whole - minutes * MINUTE) / 1e9).toFixed(digits)} s`;
  }
  const [name, unit] = UNITS.find(([, u]) => size >= u) ?? UNITS[NANOSECONDS + 1];
  const value = size / unit;
  const digits = unit > 1 ? Math.max(0, significant - String(Math.floor(value)).length) : Number.isInteger(value) ? 0 : 1;
  return `${sign}${value.toFixed(digits)} ${name}`;
}

// A time since the start, as fine as a step.
export function formatTime(ns: number, step: number, largest = Math.abs(ns)): string {
  const sign = ns < 0 ? "-" : "";
  const size = Math.abs(ns);
  if (largest >= MINUTE) {
    const digits = digitsOf(step, 1e9);
    const whole = rounded(size, 1e9, digits);
    const minutes = Math.floor(whole / MINUTE);
    const seconds = ((whole - minutes * MINUTE) / 1e9).toFixed(digits).padStart(digits ? digits + 3 : 2, "0");
    return minutes >= 60
      ? `${sign}${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, "0")}:${grouped(seconds)}`
      : `${sign}${minutes}:${grouped(seconds)}`;
  }
  const [name, unit] = UNITS.find(([, u]) => largest >= u && u >= 1) ?? UNITS[NANOSECONDS];
  return `${sign}${grouped((size / unit).toFixed(digitsOf(step, unit)))} ${name}`;
}

const two = (v: number): string => String(v).padStart(2, "0");

// Wall-clock time of the reader's zone, as fine as a step.
export function formatClock(unixNs: bigint, step: number): string {
  let seconds = unixNs / 1000000000n;
  let rest = Number(unixNs % 1000000000n);
  if (rest < 0) {
    seconds -= 1n;
    rest += 1e9;
  }
  const date = new Date(Number(seconds) * 1000);
  if (Number.isNaN(date.getTime())) return `${unixNs} ns`;
  const clock = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
  const digits = digitsOf(step, 1e9);
  return digits === 0 ? clock : `${clock}${grouped(`.${String(rest).padStart(9, "0").slice(0, digits)}`)}`;
}

export function formatDate(unixNs: bigint): string {
  const date = new Date(Number(unixNs / 1000000n));
  return Number.isNaN(date.getTime()) ? "" : `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

// Ticks of [from, until) at least `least` ns apart, where time + zero is a multiple of the step.
export function ticksOf(from: number, until: number, least: number, zero: bigint, label: (time: number, step: number) => string): { step: number; ticks: Tick[] } {
  const step = stepOf(least);
  const behind = Number(((zero % BigInt(step)) + BigInt(step)) % BigInt(step));
  const ticks: Tick[] = [];
  for (let k = Math.ceil((from + behind) / step); k * step - behind < until && ticks.length < 1000; k++) {
    const time = k * step - behind;
    ticks.push({ time, label: label(time, step) });
  }
  return { step, ticks };
}
