// The canvases and the frame loop: state, layout and tiles become a draw list, a backend draws it, and missing tiles
// are requested.
import { effect, untracked, type ReadonlySignal } from "@preact/signals";
import type { App } from "../app";
import type { DrawnFlow, FlowEnd } from "../tracks/flows";
import type { DrawnMeeting } from "../tracks/meetings";
import { placesShown, type Layout, type Place } from "../tracks/layout";
import type { TraceId } from "../data/model";
import { namesFound } from "../data/search_names";
import { Axis, axisTicks } from "./axis";
import { Canvas2dBackend } from "./canvas2d";
import { viewPicture } from "./picture";
import { scale } from "../scale";
import { themeOf, withAlpha, type Theme } from "./color";
import { Composer, paintRange, spotOf, wantsOf, type Scene, type Spot } from "./compose";
import { DrawList, type Band } from "./list";
import { SvgCanvas } from "./svg";
import { Overview } from "./overview";
import { TextPainter } from "./text";
import { formatDuration, formatTime, type Tick } from "./ticks";
import { Tones } from "./tones";
import { WebGlBackend, type Backend } from "./webgl";

const FRAMES = 2000; // times that are kept
const FIRST_MS = 400; // at most that long an empty picture is waited with for the server's first word
const JOB_MS = 1000; // at most that long the heat map of a job has for itself, as no trace is open yet
const BESIDE_MS = 50; // and then a moment, in which the browser shows it
const FIRST_TILES_MS = 150; // and then for the first tiles

interface DrawSummary {
  backend: string;
  lost: boolean;
  width: number;
  height: number;
  rows: number;
  rects: { background: number; bars: number; marks: number; hatches: number; overlay: number };
  labels: number;
  curves: number;
  bands: Band[];
  bars: [number, number, number, number, number][]; // x, y, w, h, colour
  hatched: [number, number, number, number][];
  texts: string[];
}

export class View {
  readonly canvas = document.createElement("canvas"); // on top: has the texts, and takes the pointer
  flows: ReadonlySignal<DrawnFlow[]> | null = null;
  meetings: ReadonlySignal<DrawnMeeting[]> | null = null;
  private bars = document.createElement("canvas");
  private backend: Backend | null = null;
  private readonly text: TextPainter;
  private readonly axis: Axis;
  private readonly overview: Overview;
  private readonly list = new DrawList();
  private readonly composer = new Composer(this.list);
  private readonly tones = new Map<TraceId, Tones>();
  private readonly times: number[] = [];
  private tonesOf = ""; // key of the tones
  private madeOf = ""; // key of the picture in the list
  private madeTones: Tones | null = null;
  private layout: Layout | null = null;
  private seen: Place[] = [];
  private colors: Theme = themeOf(false);
  private version = 0; // grows when tiles or names came
  private asked = false;
  private began = false;
  private heldUntil = 0; // ms; nothing is drawn before that, unless tiles arrive
  private shown = 0; // 1: the first picture, 2: the first complete one; each is marked for measurements

  constructor(
    private readonly app: App,
    tracks: HTMLElement,
    axis: HTMLElement,
    overview: HTMLElement,
    private readonly onFirst: () => void = () => undefined, // there is a picture
  ) {
    tracks.append(this.bars, this.canvas);
    this.text = new TextPainter(this.canvas);
    this.axis = new Axis(axis);
    this.overview = new Overview(app, overview);
    const resized = new ResizeObserver(() => this.redraw());
    for (const element of [tracks, axis, overview]) resized.observe(element);
  }

  // Prepares the backend. Not before the requests of the first picture are sent, since the browser waits for its
  // graphics process here.
  private prepare(): Backend {
    this.backend ??= this.choose();
    return this.backend;
  }

  private choose(): Backend {
    if (new URLSearchParams(location.search).get("webgl") === "0") return new Canvas2dBackend(this.bars);
    try {
      const broken = (): void => {
        this.backend = this.withoutWebGl();
        this.redraw();
      };
      return new WebGlBackend(this.bars, () => this.redraw(), broken);
    } catch {
      return this.withoutWebGl();
    }
  }

  // A canvas with one kind of context cannot give another.
  private withoutWebGl(): Backend {
    const fresh = document.createElement("canvas");
    this.bars.replaceWith(fresh);
    this.bars = fresh;
    return new Canvas2dBackend(fresh);
  }

  // Called for changes without a signal: tiles, names, the theme.
  changed(): void {
    this.version++;
    this.heldUntil = 0;
    // Frames are far apart while a page loads: the first picture does not wait for one.
    if (this.began && this.shown === 0) this.frame();
    else this.redraw();
  }

  redraw(): void {
    if (!this.began) untracked(() => this.begin());
    if (this.asked || performance.now() < this.heldUntil) return;
    this.asked = true;
    requestAnimationFrame(() => {
      this.asked = false;
      const before = performance.now();
      this.frame();
      this.times.push(performance.now() - before);
      if (this.times.length > FRAMES) this.times.splice(0, this.times.length - FRAMES);
    });
  }

  // Sends the requests of the first picture as soon as tracks are known, and delays drawing a little: the first frames
  // of a canvas are slow, and should not be empty.
  private begin(): void {
    const { app, canvas } = this;
    if (app.state.session.peek() === null) {
      this.hold(FIRST_MS);
      return;
    }
    this.began = true;
    this.heldUntil = 0;
    const ratio = this.ratio();
    const width = Math.round(canvas.clientWidth * ratio);
    if (app.state.session.peek()?.job) this.hold(JOB_MS);
    if (app.state.tracks.peek().length === 0 || width <= 0) return;
    const scene = this.scene();
    const wants = wantsOf(placesShown(scene.layout, scene.scroll, canvas.clientHeight), scene, width).filter((want) => !want.ahead);
    app.tiles.want([...wants, ...this.overview.wants(scene, ratio)]);
    setTimeout(() => this.prepare());
    if (!app.tiles.idle()) this.hold(FIRST_TILES_MS);
  }

  private hold(ms: number): void {
    if (this.heldUntil > 0) return;
    this.heldUntil = performance.now() + ms;
    setTimeout(() => {
      this.heldUntil = 0;
      this.redraw();
    }, ms + 1);
  }

  private ratio(): number {
    return Math.min(4, window.devicePixelRatio || 1);
  }

  // Draws whenever something changed that can be seen.
  follow(): void {
    const { state } = this.app;
    effect(() => {
      if (state.hasHeatMap.value) setTimeout(() => this.changed(), BESIDE_MS);
    });
    effect(() => {
      const signals = [
        state.range, state.whole, state.scroll, state.tracks, state.session, state.pointer, state.selected, state.hovered, state.area,
        state.timing, state.marks, state.results, state.filter, state.colorBy, state.changes, state.axis, state.collapsed, state.folded, state.hidden, state.pinned,
        state.moved, state.trackFilter, state.tool, scale, this.flows, this.meetings,
      ];
      for (const signal of signals) void signal?.value;
      this.redraw();
    });
  }

  private scene(): Scene {
    const { app } = this;
    const { state } = app;
    const dark = document.documentElement.dataset.theme === "dark";
    if (dark !== this.colors.dark) this.colors = themeOf(dark);
    const searching = state.query.value.q !== "" && state.results.value.size > 0;
    const changes = state.changes.value;
    const made = `${dark} ${state.colorBy.value} ${state.filter.value} ${app.names.revision} ${searching}`;
    if (made !== this.tonesOf || this.results !== state.results.value || this.changes !== changes) {
      this.changes = changes;
      this.tonesOf = made;
      this.results = state.results.value;
      this.tones.clear();
    }
    const offsets = new Map(state.session.value?.traces.map((trace) => [trace.id, trace.offset_ns]) ?? []);
    return {
      layout: app.layout(), range: state.range.value, scroll: state.scroll.value, theme: this.colors, tiles: app.tiles,
      offset: (trace) => offsets.get(trace) ?? 0,
      tones: (trace) => this.tonesFor(trace, searching),
    };
  }

  private results: unknown = null;
  private changes: unknown = null;

  private tonesFor(trace: TraceId, searching: boolean): Tones {
    let tones = this.tones.get(trace);
    if (!tones) {
      const { state, names } = this.app;
      const result = searching ? state.results.value.get(trace) : undefined;
      const hits = result && !result.by_event ? namesFound(result) : null; // not searched yet: nothing is dimmed
      tones = new Tones(trace, names, this.colors, state.colorBy.value, state.changes.value, hits, state.filter.value, result?.by_event);
      this.tones.set(trace, tones);
    }
    return tones;
  }

  private frame(): void {
    const { app, list, canvas } = this;
    const { state } = app;
    const ratio = this.ratio();
    const width = Math.min(16384, Math.round(canvas.clientWidth * ratio));
    const height = Math.min(16384, Math.round(canvas.clientHeight * ratio));
    if (width <= 0 || height <= 0) return;
    const scene = this.scene();
    const { ticks, note } = axisTicks(state, canvas.clientWidth);
    const made = `${width} ${height} ${ratio} ${scene.range.from} ${scene.range.until} ${scene.scroll} ${state.axis.value} ${this.version} ${state.session.value?.revision} ${state.whole.value.until} ${state.session.value?.traces.map((trace) => trace.offset_ns).join()}`;
    const anew = made !== this.madeOf || scene.layout !== this.layout || scene.tones(0) !== this.madeTones;
    if (anew) {
      this.madeOf = made;
      this.layout = scene.layout;
      this.madeTones = scene.tones(0);
      this.picture(scene, ticks, width, height, ratio);
    }
    list.clearOver();
    this.overlays(scene);
    this.curves(scene);
    this.bands(scene);
    this.prepare().draw(list, scene.theme.background);
    this.text.draw(list, scene.theme, app.names);
    const pointer = state.pointer.value;
    const perPixel = (scene.range.until - scene.range.from) / canvas.clientWidth;
    const label = pointer ? formatTime(pointer.time, 10 ** Math.floor(Math.log10(Math.max(1, perPixel))), Math.max(1, Math.abs(pointer.time))) : "";
    this.axis.draw(ticks, note, scene.range, pointer ? { time: pointer.time, label } : null, scene.theme, ratio);
    const strip = this.overview.draw(scene, ratio, this.version, this.tonesOf);
    this.tell();
    if (!anew) return;
    const wants = wantsOf(this.seen, scene, width);
    app.tiles.want([...wants.filter((want) => !want.ahead), ...strip, ...wants.filter((want) => want.ahead)]);
  }

  // What is in view as one picture, with the names of the tracks in a column of `left` px.
  asPicture(left: number): HTMLCanvasElement | null {
    this.frame();
    const { list, text, axis } = this;
    return viewPicture(list, this.colors, text.canvas, axis.canvas, this.named(), left, () => document.createElement("canvas"));
  }

  // The same as SVG.
  asSvg(left: number, title: string): string | null {
    this.frame();
    const { list, axis, app, colors } = this;
    const make = (): HTMLCanvasElement & SvgCanvas => new SvgCanvas() as unknown as HTMLCanvasElement & SvgCanvas;
    const [texts, times] = [make(), make()];
    const { ticks, note } = axisTicks(app.state, this.canvas.clientWidth);
    new TextPainter(texts).draw(list, colors, app.names);
    axis.draw(ticks, note, app.state.range.value, null, colors, list.ratio, times);
    return viewPicture(list, colors, texts, times, this.named(), left, make)?.text(title, list.ratio) ?? null;
  }

  // Tracks in view and their y, pinned ones last: these lie above others.
  private named(): { place: Place; y: number }[] {
    const { pinnedHeight } = this.app.layout();
    return this.seen.map((place) => ({ place, y: place.pinned ? place.y : pinnedHeight + place.y - this.app.state.scroll.value }))
      .sort((a, b) => Number(a.place.pinned) - Number(b.place.pinned));
  }

  private tell(): void {
    if (this.shown === 2) return;
    const { list } = this;
    if (this.shown === 0 && list.bars.count > 0) {
      this.shown = 1;
      this.onFirst();
      performance.mark("heddle: first picture");
    }
    if (this.shown === 1 && list.hatches.count === 0) {
      this.shown = 2;
      performance.mark("heddle: whole picture");
    }
  }

  // Tracks and grid, which do not change with the pointer.
  private picture(scene: Scene, ticks: readonly Tick[], width: number, height: number, ratio: number): void {
    const { list } = this;
    list.clear(width, height, ratio);
    this.seen = this.composer.tracks(scene);
    const scale = width / (scene.range.until - scene.range.from);
    for (const tick of ticks) list.background.add(Math.round((tick.time - scene.range.from) * scale), 0, 1, height, scene.theme.grid);
    list.keep();
  }

  // Overlays: areas, marks, timing, the pointer, selected and hovered events.
  private overlays(scene: Scene): void {
    const { list } = this;
    const { state } = this.app;
    const { theme } = scene;
    const { ratio, width } = list;
    const thick = Math.max(1, Math.round(ratio));
    const scale = width / (scene.range.until - scene.range.from);
    for (const mark of state.marks.value) {
      paintRange(list, scene, mark, null, theme.mark, 26);
      const middle = ((mark.from + mark.until) / 2 - scene.range.from) * scale;
      const name = mark.name ? `${mark.name}: ` : "";
      const text = mark.until > mark.from ? `${name}${formatDuration(mark.until - mark.from)}` : mark.name;
      if (middle > -100 && middle < width + 100) list.texts.push({ text, x: middle, y: 9 * ratio, tone: theme.mark, align: "center", boxed: true });
    }
    const area = state.area.value;
    if (area) paintRange(list, scene, area, area.tracks ? this.spots(scene, area.tracks) : null, theme.accent, 34);
    const timing = state.timing.value;
    if (timing) {
      const ordered = { from: Math.min(timing.from, timing.until), until: Math.max(timing.from, timing.until) };
      paintRange(list, scene, ordered, null, theme.text, 14);
      const middle = Math.max(40 * ratio, Math.min(width - 40 * ratio, ((ordered.from + ordered.until) / 2 - scene.range.from) * scale));
      const y = Math.max(26 * ratio, list.height / 2);
      list.texts.push({ text: formatDuration(ordered.until - ordered.from, 6), x: middle, y, tone: theme.text, align: "center", boxed: true });
    }
    const pointer = state.pointer.value;
    if (pointer) list.overlay.add(Math.floor(pointer.x * ratio), 0, 1, list.height, withAlpha(theme.pointer, 120));
    const hovered = state.hovered.value;
    if (hovered) {
      for (const spot of spotOf(list, scene, hovered)) list.overlay.outline(spot.x, spot.y, spot.width, spot.height, thick, theme.hover, width);
    }
    for (const event of state.selected.value.slice(-2000)) {
      for (const spot of spotOf(list, scene, event)) list.overlay.outline(spot.x, spot.y, spot.width, spot.height, 2 * thick, theme.accent, width);
    }
  }

  // Current positions of tracks in px.
  private spots(scene: Scene, keys: readonly string[]): Spot[] {
    const { list } = this;
    const base = scene.layout.pinnedHeight - scene.scroll;
    const band = (place: Place, top: number): Spot => ({
      x: 0, y: Math.round((top + place.y) * list.ratio), width: list.width, height: Math.round(place.height * list.ratio),
    });
    const { seenAt, pinned } = scene.layout;
    const spots: Spot[] = [];
    for (const place of new Set(keys.map(seenAt))) if (place && !place.pinned) spots.push(band(place, base));
    for (const place of pinned) if (keys.includes(place.key)) spots.push(band(place, 0));
    return spots.filter((spot) => spot.y < list.height && spot.y + spot.height > 0);
  }

  private xOf(scene: Scene, time: number): number {
    const { width } = this.list;
    return Math.max(-1e5, Math.min(1e5, ((time - scene.range.from) / (scene.range.until - scene.range.from)) * width));
  }

  // The middle of a row of a track, and half of its height, in px; null: the track is not shown.
  private rowOf(scene: Scene, key: string, depth: number): { y: number; half: number } | null {
    const found = scene.layout.seenAt(key);
    if (!found) return null;
    const row = scene.layout.rowAt(key, depth);
    const y = ((found.pinned ? 0 : scene.layout.pinnedHeight - scene.scroll) + found.y + (row + 0.5) * found.rowHeight) * this.list.ratio;
    return { y, half: (found.rowHeight / 2) * this.list.ratio };
  }

  private bands(scene: Scene): void {
    const { list } = this;
    for (const { parts, strong, last } of this.meetings?.value ?? []) {
      const spots = parts.flatMap(({ key, depth, from, until }) => {
        const row = this.rowOf(scene, key, depth);
        return row ? [{ ...row, x0: this.xOf(scene, from), x1: this.xOf(scene, until) }] : [];
      }).sort((a, b) => a.y - b.y);
      if (spots.length < 2 || spots.every((spot) => spot.x1 < 0) || spots.every((spot) => spot.x0 > list.width)) continue;
      list.bands.push({ spots, strong, last: strong && last !== null ? this.xOf(scene, last) : null });
    }
  }

  private curves(scene: Scene): void {
    const { list } = this;
    const place = (end: FlowEnd): { x: number; y: number } | null => {
      const row = this.rowOf(scene, end.key, end.depth);
      return row && { x: this.xOf(scene, end.time), y: row.y };
    };
    for (const flow of this.flows?.value ?? []) {
      const from = place(flow.from);
      const to = place(flow.to);
      if (!from || !to || Math.max(from.x, to.x) < 0 || Math.min(from.x, to.x) > list.width) continue;
      list.curves.push({ x0: from.x, y0: from.y, x1: to.x, y1: to.y, backward: flow.backward });
    }
  }

  // Whether another frame is due, which may show more than the last. For tests.
  isDue(): boolean {
    return this.asked || performance.now() < this.heldUntil;
  }

  // Durations of the last frames in ms: our own time, without the browser's.
  frames(): number[] {
    return [...this.times];
  }

  // Contents of the last frame, for tests.
  summary(): DrawSummary {
    const { list } = this;
    const backend = this.prepare();
    const bars: DrawSummary["bars"] = [];
    for (let n = 0; n < list.bars.count; n++) {
      const [x, y, w, h] = list.bars.shorts.subarray(n * 6, n * 6 + 4);
      bars.push([x, y, w, h, list.bars.words[n * 3 + 2]]);
    }
    const hatched: DrawSummary["hatched"] = [];
    for (let n = 0; n < list.hatches.count; n++) {
      const [x, y, w, h] = list.hatches.shorts.subarray(n * 6, n * 6 + 4);
      hatched.push([x, y, w, h]);
    }
    const texts = list.texts.map((text) => text.text);
    for (const [trace, spots] of list.labels) for (const spot of spots) texts.push(this.app.names.label(trace, spot.name));
    return {
      backend: backend.name, lost: backend instanceof WebGlBackend && backend.lost, width: list.width, height: list.height, rows: list.rows,
      rects: {
        background: list.background.count, bars: list.bars.count, marks: list.marks.count, hatches: list.hatches.count,
        overlay: list.overlay.count,
      },
      labels: texts.length - list.texts.length, curves: list.curves.length, bands: list.bands, bars, hatched, texts,
    };
  }
}
