// Motion of the view over several frames: held keys, and transitions between views.
import type { Core } from "../app";
import {
  addMotions, ANIMATION_MS, between, clampRange, isStill, moved, sameRange, spanOf, STILL, type Motion,
} from "./nav";
import type { Range } from "../state";

const LEAST_MS = 90; // a short key press moves as if it had been held this long

const MOST_MS = 250; // of one frame: after a hang the view is not flung away

interface Held {
  since: number;
  until: number; // Infinity while it is down
  done: number; // up to where it has moved
}

export const reducedMotion = (): boolean =>
  typeof matchMedia === "function" && matchMedia("(prefers-reduced-motion: reduce)").matches;

export class Motions {
  private readonly of = new Map<string, Motion>();
  private readonly held = new Map<string, Held>();
  private way: { from: Range; until: Range; since: number } | null = null;
  jumps = 0; // how often the view was sent elsewhere: a step of the history each
  private frame = 0;

  // `size`: of the canvas, px.
  constructor(private readonly app: Core, private readonly size: () => { width: number; height: number }) {}

  define(id: string, motion: Partial<Motion>): void {
    this.of.set(id, { ...STILL, ...motion });
  }

  // Times are those of the events, so that a slow page moves as far as a fast one.
  hold(id: string, now = performance.now()): void {
    if (!this.of.has(id)) return;
    this.way = null;
    this.held.set(id, { since: now, until: Infinity, done: now });
    this.start();
  }

  release(id: string, now = performance.now()): void {
    const held = this.held.get(id);
    if (held) held.until = Math.max(now, held.since + LEAST_MS);
  }

  // As if the key had been touched: from the palette.
  nudge(id: string): void {
    this.hold(id);
    this.release(id);
  }

  // Moves to a view, smoothly unless the user prefers reduced motion.
  go(target: Range): void {
    const { state } = this.app;
    const until = clampRange(target, state.whole.value, this.size().width);
    this.held.clear();
    if (sameRange(state.range.value, until)) return;
    this.jumps++;
    if (reducedMotion() || document.hidden || !(spanOf(state.range.value) > 0)) {
      this.way = null;
      state.range.value = until;
      this.app.redraw();
      return;
    }
    this.way = { from: state.range.value, until, since: performance.now() };
    this.start();
  }

  // The target view: the start of a second command.
  target(): Range {
    return this.way?.until ?? this.app.state.range.value;
  }

  isMoving(): boolean {
    return this.way !== null || this.held.size > 0;
  }

  stop(): void {
    this.way = null;
    this.held.clear();
  }

  private start(): void {
    if (this.frame !== 0) return;
    this.frame = requestAnimationFrame((now) => this.step(now));
  }

  private step(now: number): void {
    this.frame = 0;
    const { state } = this.app;
    const { width } = this.size();
    if (this.way) {
      const t = (now - this.way.since) / ANIMATION_MS;
      state.range.value = between(this.way.from, this.way.until, t);
      if (t >= 1) this.way = null;
    }
    const motions: Motion[] = [];
    for (const [id, held] of this.held) {
      const ms = Math.max(0, Math.min(now, held.until) - Math.max(held.done, held.since));
      held.done = now;
      const seconds = Math.min(ms, MOST_MS) / 1000;
      const motion = this.of.get(id);
      if (motion && seconds > 0) {
        motions.push({ zoom: motion.zoom * seconds, pan: motion.pan * seconds, scroll: motion.scroll * seconds });
      }
      if (now >= held.until) this.held.delete(id);
    }
    const sum = addMotions(motions);
    if (!isStill(sum)) {
      const pointer = state.pointer.value;
      const range = state.range.value;
      const anchor = pointer ? range.from + (pointer.x / Math.max(width, 1)) * spanOf(range)
        : range.from + spanOf(range) / 2;
      state.range.value = moved(range, state.whole.value, width, anchor, sum, 1);
      if (sum.scroll !== 0) this.scrollBy(sum.scroll);
    }
    this.app.redraw();
    if (this.way || this.held.size > 0) this.frame = requestAnimationFrame((next) => this.step(next));
  }

  scrollBy(px: number): void {
    this.scrollTo(this.app.state.scroll.value + px);
  }

  // Scrolls as little as needed to show a row of that height at y.
  show(y: number, height: number): void {
    const layout = this.app.layout();
    const seen = Math.max(height, this.size().height - layout.pinnedHeight);
    const at = this.app.state.scroll.value;
    if (y < at) this.scrollTo(y - seen / 4);
    else if (y + height > at + seen) this.scrollTo(y + height - seen + seen / 4);
  }

  scrollTo(px: number): void {
    const layout = this.app.layout();
    const most = Math.max(0, layout.height - Math.max(0, this.size().height - layout.pinnedHeight));
    this.app.state.scroll.value = Math.min(Math.max(0, px), most);
    this.app.redraw();
  }
}
