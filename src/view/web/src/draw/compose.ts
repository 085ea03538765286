// State, layout and tiles in, draw list out. No DOM.
import type { Layout, Place } from "../tracks/layout";
import { firstBelow, GAP, rowOfDepth } from "../tracks/layout";
import { drawnOf, type EventRef, type SeriesInfo, type TraceId } from "../data/model";
import { scale } from "../scale";
import type { Range } from "../state";
import type { TileCache, Want } from "../data/tiles";
import type { Theme } from "./color";
import { withAlpha } from "./color";
import { CounterPainter } from "./counter";
import { cover, tileSpan, zoomOf, type Piece } from "./cover";
import type { DrawList } from "./list";
import { RowPainter, type RowBox } from "./row";
import { formatDuration } from "./ticks";
import type { Tones } from "./tones";

export interface Scene {
  layout: Layout;
  range: Range; // global
  scroll: number; // CSS px
  theme: Theme;
  tones(trace: TraceId): Tones;
  offset(trace: TraceId): number; // global time of the trace's time 0
  tiles: TileCache;
}

// The position of an item on a row of a track.
export interface Spot {
  x: number;
  y: number;
  width: number;
  height: number;
}

export class Composer {
  private readonly painters = new Map<TraceId, RowPainter>();
  private readonly counters: CounterPainter;
  private readonly pieces: Piece[] = [];

  constructor(private readonly list: DrawList) {
    this.counters = new CounterPainter(list.bars);
  }

  // Draws all tracks in view, the pinned ones on top. Returns their places.
  tracks(scene: Scene): Place[] {
    const { list } = this;
    const { ratio, height } = list;
    const { layout, theme } = scene;
    const seen: Place[] = [];
    const pinnedHeight = Math.round(layout.pinnedHeight * ratio);
    const base = pinnedHeight - Math.round(scene.scroll * ratio);
    for (let k = firstBelow(layout.places, scene.scroll); k < layout.places.length; k++) {
      const place = layout.places[k];
      const y = base + Math.round(place.y * ratio);
      if (y >= height) break;
      seen.push(place);
      this.track(scene, place, y, pinnedHeight);
    }
    for (const place of layout.pinned) {
      const y = Math.round(place.y * ratio);
      if (y >= height) break;
      seen.push(place);
      this.track(scene, place, y, 0);
    }
    if (pinnedHeight > 0) list.background.add(0, pinnedHeight - 1, list.width, 1, theme.muted);
    return seen;
  }

  private track(scene: Scene, place: Place, y: number, top: number): void {
    const { list } = this;
    const { ratio, width } = list;
    const { track } = place;
    const { theme } = scene;
    const trackHeight = Math.round(place.height * ratio);
    if (track.kind === "section") fillClipped(list, y, trackHeight, top, theme.stripe);
    fillClipped(list, y + trackHeight - 1, 1, top, theme.line);
    const nsPerPixel = (scene.range.until - scene.range.from) / width;
    const offset = scene.offset(track.trace);
    const from = scene.range.from - offset;
    const drawn = drawnOf(track);
    for (const [at, id] of drawn.entries()) {
      cover(this.pieces, scene.tiles.ofTrack(track.trace, id, place.summary), zoomOf(nsPerPixel), from, scene.range.until - offset, (entry) => scene.tiles.touch(entry));
      if (drawn.length === 1) this.rows(scene, place, y, top, 0, place.rows);
      else this.rows(scene, place, y, top, at, at + 1);
    }
  }

  // Rows [first, end) of a track, whose tiles are in `pieces`; of several tracks in one each is a row.
  private rows(scene: Scene, place: Place, y: number, top: number, first: number, end: number): void {
    const { list } = this;
    const { ratio, width } = list;
    const { track } = place;
    const { theme } = scene;
    const nsPerPixel = (scene.range.until - scene.range.from) / width;
    const from = scene.range.from - scene.offset(track.trace);
    const isWhole = end - first === place.rows;
    const inset = Math.max(1, Math.round(ratio));
    for (let r = first; r < end; r++) {
      const rowY = y + Math.round(r * place.rowHeight * ratio) + inset;
      const rowHeight = Math.round(place.rowHeight * ratio) - inset;
      if (rowY >= list.height) break;
      if (rowY + rowHeight <= top) continue;
      list.rows++;
      const box: RowBox = { width, y: rowY, height: rowHeight, top, from, scale: 1 / nsPerPixel, hit: theme.hit };
      if (track.kind === "counter") this.counterRow(scene, place, r, box);
      else this.sliceRow(scene, place, isWhole ? r : 0, box);
    }
    const begin = y + (isWhole ? 0 : Math.round(first * place.rowHeight * ratio));
    const bottom = isWhole ? y + Math.round(place.height * ratio) - Math.round(GAP * ratio) : y + Math.round(end * place.rowHeight * ratio);
    for (const piece of this.pieces) {
      if (piece.tile) continue;
      const x = Math.max(0, Math.floor((piece.from - from) / nsPerPixel));
      const right = Math.min(width, Math.ceil((piece.until - from) / nsPerPixel));
      const bandY = Math.max(begin + inset, top);
      const band = bottom - bandY;
      if (band > 0) list.hatches.add(x, bandY, right - x, band, theme.hatch);
    }
  }

  private sliceRow(scene: Scene, place: Place, r: number, box: RowBox): void {
    const tones = scene.tones(place.track.trace);
    const painter = this.painterOf(place.track.trace);
    painter.begin(box.width);
    for (const piece of this.pieces) {
      const { tile } = piece;
      if (tile && r < tile.rows.length) painter.piece(tile.rows[r], piece, tile.i * tileSpan(tile.z), 2 ** tile.z, box, tones);
    }
    painter.end(box);
  }

  private counterRow(scene: Scene, place: Place, r: number, box: RowBox): void {
    const { list } = this;
    const all = place.track.series ?? [];
    if (r >= all.length) return;
    // A collapsed counter has all its series in one row, as lines, each on its own scale.
    const together = place.collapsed && all.length > 1;
    for (let s = together ? 0 : r; s < (together ? all.length : r + 1); s++) this.series(scene, all[s], s, box, !together);
    const { theme } = scene;
    const middle = box.y + Math.round(7 * scale.value * list.ratio);
    if (middle < box.top) return;
    const series = all[r];
    const text = together
      ? `${all.length} series, each on its own scale`
      : `${series.name ? `${series.name} ` : ""}${formatValue(Math.max(0, series.max), series.unit)}`;
    list.texts.push({ text, x: list.width - 4 * list.ratio, y: middle, tone: theme.muted, align: "right", boxed: true });
  }

  private series(scene: Scene, series: SeriesInfo, s: number, box: RowBox, filled: boolean): void {
    const { counters } = this;
    counters.begin(box.width);
    for (const piece of this.pieces) {
      const { tile } = piece;
      if (tile && s < tile.series.length) counters.piece(tile.series[s], piece, tile.i * tileSpan(tile.z), 2 ** tile.z, box);
    }
    counters.end(box, series.min, series.max, scene.theme.tones[[0, 1, 3, 5, 4, 2][s % 6]], filled);
  }

  private painterOf(trace: TraceId): RowPainter {
    let painter = this.painters.get(trace);
    if (!painter) {
      painter = new RowPainter(this.list.bars, this.list.marks, this.list.labelsOf(trace));
      this.painters.set(trace, painter);
    }
    painter.labelWidth = 30 * scale.value * this.list.ratio;
    painter.edgeWidth = 6 * this.list.ratio;
    return painter;
  }
}

function fillClipped(list: DrawList, y: number, height: number, top: number, tone: number): void {
  const from = Math.max(y, top);
  if (y + height > from) list.background.add(0, from, list.width, y + height - from, tone);
}

// Positions of an event in device px, a second one if its track is pinned; none: its track is not shown.
export function spotOf(list: DrawList, scene: Scene, event: Pick<EventRef, "trace" | "track" | "depth" | "start" | "duration">): Spot[] {
  const { ratio, width } = list;
  const key = `${event.trace}.${event.track}`;
  const scale = width / (scene.range.until - scene.range.from);
  const left = (event.start + scene.offset(event.trace) - scene.range.from) * scale;
  const x = Math.max(-16, Math.min(width + 16, Math.floor(left)));
  const right = Math.max(-16, Math.min(width + 16, Math.ceil(left + event.duration * scale)));
  const spots: Spot[] = [];
  const add = (place: Place, row: number, top: number): void => {
    const y = top + Math.round(place.y * ratio) + Math.round(row * place.rowHeight * ratio);
    spots.push({ x, y, width: Math.max(Math.round(3 * ratio), right - x), height: Math.round(place.rowHeight * ratio) });
  };
  const place = scene.layout.seenAt(key);
  if (place && !place.pinned) add(place, scene.layout.rowAt(key, event.depth), Math.round(scene.layout.pinnedHeight * ratio) - Math.round(scene.scroll * ratio));
  for (const pinned of scene.layout.pinned) if (pinned.key === key) add(pinned, rowOfDepth(pinned, event.depth), 0);
  return spots;
}

// Tiles that the picture needs, then adjacent ones.
export function wantsOf(places: readonly Place[], scene: Scene, width: number): Want[] {
  const groups = new Map<string, { trace: TraceId; summary: boolean; tracks: number[] }>();
  for (const { track, summary } of places) {
    const id = `${track.trace}${summary ? "s" : "r"}`;
    let group = groups.get(id);
    if (!group) groups.set(id, (group = { trace: track.trace, summary, tracks: [] }));
    for (const drawn of drawnOf(track)) if (!group.tracks.includes(drawn)) group.tracks.push(drawn);
  }
  const { from, until } = scene.range;
  const z = zoomOf((until - from) / width);
  const wants: Want[] = [];
  const add = (zoom: number, a: number, b: number, ahead: boolean): void => {
    if (zoom < 0 || zoom > 54) return;
    for (const { trace, summary, tracks } of groups.values()) {
      if (tracks.length === 0) continue;
      const offset = scene.offset(trace);
      const span = tileSpan(zoom);
      for (let i = Math.floor((a - offset) / span); i * span < b - offset; i++) wants.push({ trace, z: zoom, i, summary, tracks, ahead });
    }
  };
  for (const group of groups.values()) group.tracks.sort((a, b) => a - b);
  add(z, from, until, false);
  const span = tileSpan(z);
  const quarter = (until - from) / 4;
  add(z + 1, from, until, true); // zooming out
  add(z, until, until + span, true);
  add(z, from - span, from, true);
  if (z > 0) add(z - 1, from + quarter, until - quarter, true); // zooming in
  return wants;
}

const BYTES: readonly [string, number][] = [["TiB", 2 ** 40], ["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]];

export function formatValue(value: number, unit: string): string {
  if (unit === "ns") return formatDuration(value);
  if (unit === "bytes") {
    const [name, size] = BYTES.find(([, s]) => Math.abs(value) >= s) ?? ["B", 1];
    return `${Number((value / size).toPrecision(4))} ${name}`;
  }
  return `${Math.abs(value) >= 1e6 || (value !== 0 && Math.abs(value) < 1e-3) ? value.toPrecision(4) : Number(value.toPrecision(6))}${unit ? ` ${unit}` : ""}`;
}

export function paintRange(list: DrawList, scene: Scene, range: Range, places: readonly Spot[] | null, tone: number, alpha: number): void {
  const scale = list.width / (scene.range.until - scene.range.from);
  const x = Math.max(-1, Math.floor((range.from - scene.range.from) * scale));
  const right = Math.min(list.width + 1, Math.ceil((range.until - scene.range.from) * scale));
  if (right < 0 || x > list.width) return;
  const bands = places ?? [{ x: 0, y: 0, width: list.width, height: list.height }];
  for (const band of bands) {
    list.overlay.add(x, band.y, Math.max(1, right - x), band.height, withAlpha(tone, alpha));
    list.overlay.add(x, band.y, 1, band.height, tone);
    list.overlay.add(Math.max(x, right - 1), band.y, 1, band.height, tone);
  }
}
