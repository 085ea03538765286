// The time axis above the tracks.
import type { Session } from "../data/model";
import type { Range, State } from "../state";
import { scale as letters } from "../scale";
import { css, type Theme } from "./color";
import { formatClock, formatDate, formatTime, ticksOf, type Tick } from "./ticks";

// Unix ns of global time 0, null where no trace knows.
function unixOrigin(session: Session | null): bigint | null {
  const trace = session?.traces.find((t) => t.unix_ns !== null && t.unix_ns !== undefined);
  return trace && trace.unix_ns !== null ? BigInt(trace.unix_ns) - BigInt(Math.round(trace.offset_ns)) : null;
}

// Ticks of the range in view, at least 110 px apart (global time), as the axis and the grid have them.
export function axisTicks(state: State, width: number): { ticks: Tick[]; note: string } {
  const { from, until } = state.range.value;
  const least = ((until - from) / Math.max(1, width)) * 110 * letters.value;
  const largest = Math.max(Math.abs(from), Math.abs(until));
  if (state.axis.value === "absolute") {
    const unix = unixOrigin(state.session.value);
    if (unix !== null) {
      const { ticks } = ticksOf(from, until, least * 1.2, unix, (time, step) => formatClock(unix + BigInt(Math.round(time)), step));
      return { ticks, note: formatDate(unix + BigInt(Math.round(from))) };
    }
    const origin = state.origin.value;
    const { ticks } = ticksOf(from, until, least * 1.4, origin, (time) => `${origin + BigInt(Math.round(time))} ns`);
    return { ticks, note: "trace clock" };
  }
  return { ticks: ticksOf(from, until, least, 0n, (time, step) => formatTime(time, step, largest)).ticks, note: "" };
}

// Whether a part of [from, until] is in one of the taken ranges.
export function isTaken(taken: readonly (readonly [number, number])[], from: number, until: number): boolean {
  return taken.some(([begin, end]) => from < end && until > begin);
}

export class Axis {
  readonly canvas = document.createElement("canvas");

  constructor(parent: HTMLElement) {
    parent.append(this.canvas);
  }

  // `canvas`: another one than that of the page.
  draw(ticks: readonly Tick[], note: string, range: Range, pointer: { time: number; label: string } | null, theme: Theme, ratio: number, canvas = this.canvas): void {
    const width = Math.round(this.canvas.clientWidth * ratio);
    const height = Math.round(this.canvas.clientHeight * ratio);
    if (width === 0 || height === 0) return;
    if (canvas.width !== width || canvas.height !== height) {
      canvas.width = width;
      canvas.height = height;
    }
    const context = canvas.getContext("2d");
    if (!context) return;
    context.clearRect(0, 0, width, height);
    context.font = `${Math.round(11 * letters.value * ratio)}px system-ui, "Segoe UI", "Noto Sans", "DejaVu Sans", sans-serif`;
    context.textBaseline = "middle";
    const scale = width / (range.until - range.from);
    const place = (time: number): number => Math.round((time - range.from) * scale);
    const line = Math.max(1, Math.round(ratio));
    // By the end of the axis, the note and the pointer's label: labels beneath them would be cut.
    const taken: [number, number][] = [[width, Infinity]];
    if (note) taken.push([width - context.measureText(note).width - 12 * ratio, width]);
    const labelWidth = pointer ? context.measureText(pointer.label).width + 8 * ratio : 0;
    const left = pointer ? Math.max(0, Math.min(width - labelWidth, place(pointer.time) - labelWidth / 2)) : 0;
    if (pointer) taken.push([left - 4 * ratio, left + labelWidth + 4 * ratio]);
    for (const tick of ticks) {
      const x = place(tick.time);
      context.fillStyle = css(theme.muted);
      context.fillRect(x, height - 5 * ratio, line, 5 * ratio);
      const from = x + 4 * ratio;
      const end = from + context.measureText(tick.label).width;
      if (isTaken(taken, from, end)) continue;
      taken.push([from, end]); // hours with nine digits of a second are wider than a tick
      context.fillStyle = css(theme.text);
      context.fillText(tick.label, from, height / 2);
    }
    context.fillStyle = css(theme.muted);
    if (note && !(pointer && left + labelWidth > width - context.measureText(note).width - 12 * ratio)) {
      context.textAlign = "right";
      context.fillText(note, width - 6 * ratio, height / 2);
      context.textAlign = "left";
    }
    if (!pointer) return;
    context.fillStyle = css(theme.text);
    context.fillRect(left, 2 * ratio, labelWidth, height - 4 * ratio);
    context.fillStyle = css(theme.background);
    context.fillText(pointer.label, left + 4 * ratio, height / 2);
  }
}
