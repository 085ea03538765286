// The overview strip: the whole trace as the density of its devices (or, without devices, of its sections), search
// hits, and the current window, which can be dragged, redrawn and resized.
import type { App } from "../app";
import type { Layout, Place } from "../tracks/layout";
import { RANK_SECTION, type TrackInfo } from "../data/model";
import { trackKey, type Range } from "../state";
import type { TileCache, Want } from "../data/tiles";
import { css, withAlpha } from "./color";
import { Composer, wantsOf, type Scene } from "./compose";
import { DrawList } from "./list";
import { PixelBackend } from "./pixels";

const ROWS = 8;
const EDGE = 5; // px around an edge of the window where it can be grabbed
const HITS = 5; // px at the bottom

// Rows of the overview: devices before sections before tracks, the busiest of them, in display order.
function overviewTracks(tracks: readonly TrackInfo[]): TrackInfo[] {
  let found = chosen.get(tracks);
  if (!found) chosen.set(tracks, (found = choose(tracks)));
  return found;
}

const chosen = new WeakMap<readonly TrackInfo[], TrackInfo[]>(); // every frame asks, of up to ten thousand tracks

function choose(tracks: readonly TrackInfo[]): TrackInfo[] {
  const sections = tracks.filter((track) => track.kind === "section" && track.role !== "rank" && track.events !== 0);
  const devices = sections.filter((track) => track.role === "device");
  const roots = sections.filter((track) => track.parent === null || track.parent === RANK_SECTION);
  const slices = tracks.filter((track) => track.kind === "slices" && track.events > 0);
  const from = devices.length > 0 ? devices : roots.length > 0 ? roots : sections.length > 0 ? sections : slices;
  if (from.length <= ROWS) return from;
  const busiest = [...from].sort((a, b) => (b.busy ?? 0) - (a.busy ?? 0)).slice(0, ROWS);
  return from.filter((track) => busiest.includes(track));
}

function isFinal(want: Want, tiles: TileCache): boolean {
  return want.tracks.every((track) => tiles.get(want.trace, track, want.z, want.i, want.summary)?.exact === true);
}

export class Overview {
  private readonly density = document.createElement("canvas");
  private readonly window = document.createElement("canvas");
  private readonly list = new DrawList();
  private readonly composer = new Composer(this.list);
  private readonly backend: PixelBackend;
  private made: { tracks: readonly TrackInfo[]; layout: Layout } | null = null;
  private drawn = ""; // key of the last drawn density
  private drag: { kind: "move" | "from" | "until" | "new"; time: number; range: Range } | null = null;

  constructor(
    private readonly app: App,
    parent: HTMLElement,
  ) {
    parent.append(this.density, this.window);
    this.backend = new PixelBackend(this.density);
    this.attach();
  }

  private layout(height: number): Layout {
    const all = this.app.state.tracks.value;
    if (!this.made || this.made.tracks !== all || this.made.layout.height !== height) this.made = { tracks: all, layout: this.make(height) };
    return this.made.layout;
  }

  private make(height: number): Layout {
    const tracks = overviewTracks(this.app.state.tracks.value);
    const each = Math.max(3, Math.min(16, Math.floor((height - HITS - 2) / Math.max(1, tracks.length))));
    const top = Math.max(0, Math.floor((height - HITS - each * tracks.length) / 2));
    const places = tracks.map((track, k): Place => ({
      key: trackKey(track.trace, track.id), track, depth: 0, y: top + k * each, height: each, rowHeight: each, rows: 1, summary: true,
      collapsed: true, pinned: false,
    }));
    return {
      pinned: [], places, pinnedHeight: 0, height, seen: [], filterError: "", find: () => undefined, seenAt: () => undefined, rowAt: () => 0,
      tracksSeen: () => [], at: () => undefined,
    };
  }

  // Tiles that it shows.
  wants(scene: Scene, ratio: number): Want[] {
    const width = Math.round(this.window.clientWidth * ratio);
    if (width === 0) return [];
    const layout = this.layout(this.window.clientHeight);
    return wantsOf(layout.places, this.ownScene(scene, layout), width).filter((want) => !want.ahead);
  }

  private ownScene(scene: Scene, layout: Layout): Scene {
    return { ...scene, layout, range: this.app.state.whole.value, scroll: 0 };
  }

  // Draws changes; `version` is of the tiles, `tones` of the colours. Once all its tiles are loaded and final, other
  // tiles change nothing here.
  draw(scene: Scene, ratio: number, version: number, tones: string): Want[] {
    const width = Math.round(this.window.clientWidth * ratio);
    const height = Math.round(this.window.clientHeight * ratio);
    if (width === 0 || height === 0) return [];
    const whole = this.app.state.whole.value;
    const layout = this.layout(this.window.clientHeight);
    const own = this.ownScene(scene, layout);
    const picture = `${width}x${height} ${whole.from} ${whole.until} ${tones} ${layout.places.length}`;
    const wants = this.wants(scene, ratio);
    const id = `${picture} ${wants.every((want) => isFinal(want, scene.tiles)) ? "final" : version}`;
    if (id !== this.drawn) {
      this.drawn = id;
      this.list.clear(width, height, ratio);
      this.composer.tracks(own);
      this.list.background.clear();
      this.backend.draw(this.list, scene.theme.stripe);
    }
    this.drawWindow(scene, width, height, ratio);
    return wants;
  }

  private drawWindow(scene: Scene, width: number, height: number, ratio: number): void {
    const canvas = this.window;
    if (canvas.width !== width || canvas.height !== height) {
      canvas.width = width;
      canvas.height = height;
    }
    const context = canvas.getContext("2d");
    if (!context) return;
    context.clearRect(0, 0, width, height);
    this.drawHits(context, scene, width, height, ratio);
    const { whole, range } = this.app.state;
    const scale = width / (whole.value.until - whole.value.from);
    const left = Math.max(0, (range.value.from - whole.value.from) * scale);
    const right = Math.min(width, (range.value.until - whole.value.from) * scale);
    context.fillStyle = css(withAlpha(scene.theme.background, 150));
    context.fillRect(0, 0, left, height);
    context.fillRect(right, 0, width - right, height);
    const thick = Math.max(1, Math.round(1.5 * ratio));
    const shown = Math.max(right - left, 2 * thick);
    context.strokeStyle = css(scene.theme.accent);
    context.lineWidth = thick;
    context.strokeRect(Math.min(left, width - shown) + thick / 2, thick / 2, shown - thick, height - thick);
  }

  private drawHits(context: CanvasRenderingContext2D, scene: Scene, width: number, height: number, ratio: number): void {
    const { state } = this.app;
    const scale = width / (state.whole.value.until - state.whole.value.from);
    for (const trace of state.session.value?.traces ?? []) {
      const buckets = state.results.value.get(trace.id)?.buckets;
      if (!buckets || buckets.length === 0) continue;
      const most = Math.log2(1 + Math.max(...buckets));
      const each = (trace.span_ns * scale) / buckets.length;
      const x0 = (trace.offset_ns - state.whole.value.from) * scale;
      context.fillStyle = css(scene.theme.hit);
      for (let k = 0; k < buckets.length; k++) {
        if (buckets[k] === 0) continue;
        const tall = Math.max(2, Math.round((HITS * Math.log2(1 + buckets[k])) / most)) * ratio;
        context.fillRect(Math.floor(x0 + k * each), height - tall, Math.max(ratio, Math.ceil(each)), tall);
      }
    }
  }

  private timeAt(event: PointerEvent): number {
    const { whole } = this.app.state;
    const box = this.window.getBoundingClientRect();
    const share = Math.max(0, Math.min(1, (event.clientX - box.left) / Math.max(1, box.width)));
    return whole.value.from + share * (whole.value.until - whole.value.from);
  }

  private grip(event: PointerEvent): "move" | "from" | "until" | "new" {
    const { whole, range } = this.app.state;
    const perPixel = (whole.value.until - whole.value.from) / Math.max(1, this.window.clientWidth);
    const time = this.timeAt(event);
    const { from, until } = range.value;
    // A view of everything has nothing to move: a drag draws a new window.
    if (until - from >= (whole.value.until - whole.value.from) * 0.999) return "new";
    if (Math.abs(time - from) < EDGE * perPixel && until - from > 3 * EDGE * perPixel) return "from";
    if (Math.abs(time - until) < EDGE * perPixel && until - from > 3 * EDGE * perPixel) return "until";
    return time > from - EDGE * perPixel && time < until + EDGE * perPixel ? "move" : "new";
  }

  private attach(): void {
    const canvas = this.window;
    const { state } = this.app;
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      canvas.setPointerCapture(event.pointerId);
      this.drag = { kind: this.grip(event), time: this.timeAt(event), range: state.range.value };
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!this.drag) {
        canvas.style.cursor = { move: "grab", from: "ew-resize", until: "ew-resize", new: "crosshair" }[this.grip(event)];
        return;
      }
      const time = this.timeAt(event);
      const { kind, range } = this.drag;
      if (kind === "move") {
        const by = time - this.drag.time;
        state.range.value = { from: range.from + by, until: range.until + by };
      } else if (kind === "from") {
        state.range.value = { from: Math.min(time, range.until - 1), until: range.until };
      } else if (kind === "until") {
        state.range.value = { from: range.from, until: Math.max(time, range.from + 1) };
      } else if (Math.abs(time - this.drag.time) > 0) {
        state.range.value = { from: Math.min(time, this.drag.time), until: Math.max(time, this.drag.time) };
      }
    });
    const done = (event: PointerEvent): void => {
      // A click puts the window there.
      if (this.drag?.kind === "new" && this.drag.time === this.timeAt(event) && event.type === "pointerup") {
        const half = (this.drag.range.until - this.drag.range.from) / 2;
        const { whole } = state;
        if (half * 2 < whole.value.until - whole.value.from) state.range.value = { from: this.drag.time - half, until: this.drag.time + half };
      }
      this.drag = null;
    };
    canvas.addEventListener("pointerup", done);
    canvas.addEventListener("pointercancel", done);
    canvas.addEventListener("dblclick", () => (state.range.value = state.whole.value));
  }
}
