// A test double: a synthetic trace, and its tiles as in docs/reference/view-protocol.md, made in a slow and simple way. Tests
// compare the drawing with `rows`; fake_server.mjs serves it to a browser.
import { TILE_COLUMNS, type TrackInfo } from "../src/data/model";

export interface FakeRow {
  start: Float64Array;
  duration: Float64Array;
  name: Uint32Array;
  covered: Float64Array; // busy ns before slice k
}

export function fakeRow(slices: readonly (readonly [start: number, duration: number, name: number])[]): FakeRow {
  const row: FakeRow = {
    start: Float64Array.from(slices, (s) => s[0]), duration: Float64Array.from(slices, (s) => s[1]),
    name: Uint32Array.from(slices, (s) => s[2]), covered: new Float64Array(slices.length + 1),
  };
  for (let k = 0; k < slices.length; k++) row.covered[k + 1] = row.covered[k] + row.duration[k];
  return row;
}

// Small, repeatable random numbers in [0, 1).
export function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

export function randomRow(count: number, seed: number, gap: number, length: number, names: number): FakeRow {
  const next = random(seed);
  const slices: [number, number, number][] = [];
  let at = Math.floor(next() * gap);
  for (let k = 0; k < count; k++) {
    const duration = next() < 0.02 ? 0 : 1 + Math.floor(next() ** 3 * length);
    slices.push([at, duration, 1 + Math.floor(next() ** 2 * names)]);
    at += duration + Math.floor(next() ** 2 * gap);
  }
  return fakeRow(slices);
}

// Number of slices that start before a time.
function startsBefore(row: FakeRow, time: number): number {
  let low = 0;
  let high = row.start.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (row.start[middle] < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

// Exact busy ns of [from, until).
export function busyOf(row: FakeRow, from: number, until: number): number {
  const before = (time: number): number => {
    const n = startsBefore(row, time);
    if (n === 0) return 0;
    return row.covered[n - 1] + Math.min(row.duration[n - 1], time - row.start[n - 1]);
  };
  return before(until) - before(from);
}

class Writer {
  private readonly parts: { at: number; data: ArrayBufferView }[] = [];
  size = 0;

  put(data: ArrayBufferView): void {
    this.parts.push({ at: this.size, data });
    this.size += Math.ceil(data.byteLength / 8) * 8;
  }

  bytes(): Uint8Array {
    const out = new Uint8Array(this.size);
    for (const { at, data } of this.parts) out.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), at);
    return out;
  }
}

export function encodeRow(out: Writer, row: FakeRow, z: number, i: number): void {
  const step = 2 ** z;
  const zero = i * TILE_COLUMNS * step;
  const columns: number[][] = []; // column, busy, longest, count, name, row
  const events = new Set<number>();
  for (let c = 0; c < TILE_COLUMNS; c++) {
    const from = zero + c * step;
    const first = startsBefore(row, from);
    const last = startsBefore(row, from + step);
    const reaching = first > 0 && row.start[first - 1] + row.duration[first - 1] > from ? 1 : 0;
    const touching = last - first + reaching;
    if (touching === 0) continue;
    if (touching <= 2) {
      for (let k = first - reaching; k < last; k++) events.add(k);
      continue;
    }
    let longest = first - reaching;
    for (let k = longest; k < last && k < first + 64; k++) if (row.duration[k] > row.duration[longest]) longest = k;
    columns.push([c, busyOf(row, from, from + step), row.duration[longest], last - first, row.name[longest], longest]);
  }
  const order = [...events].sort((a, b) => a - b);
  const wide = columns.some((c) => c[1] > 2 ** 32 - 1 || c[2] > 2 ** 32 - 1) ||
    order.some((k) => row.duration[k] > 2 ** 32 - 1 || Math.abs(row.start[k] - zero) > 2 ** 31 - 1);
  const starting = startsBefore(row, zero + TILE_COLUMNS * step) - startsBefore(row, zero);
  out.put(Uint32Array.of(columns.length, order.length, wide ? 1 : 0, starting));
  const times = (values: number[]): ArrayBufferView => (wide ? Float64Array.from(values) : Uint32Array.from(values));
  out.put(times(columns.map((c) => c[1])));
  out.put(times(columns.map((c) => c[2])));
  for (const member of [3, 4, 5]) out.put(Uint32Array.from(columns, (c) => c[member]));
  out.put(Uint16Array.from(columns, (c) => c[0]));
  const starts = order.map((k) => row.start[k] - zero);
  out.put(wide ? Float64Array.from(starts) : Int32Array.from(starts));
  out.put(times(order.map((k) => row.duration[k])));
  out.put(Uint32Array.from(order, (k) => row.name[k]));
  out.put(Uint32Array.from(order));
  out.put(Uint8Array.from(order, (k) => (row.duration[k] === 0 ? 2 : 0)));
}

export interface FakeTrack {
  info: TrackInfo;
  rows: FakeRow[];
}

export class FakeTrace {
  readonly tracks: FakeTrack[] = [];
  readonly names: string[] = [""];

  add(parent: number | null, kind: "section" | "slices", role: string, name: string, rows: FakeRow[]): number {
    const id = this.tracks.length;
    const ends = rows.map((row) => (row.start.length ? row.start[row.start.length - 1] + row.duration[row.duration.length - 1] : 0));
    const events = rows.reduce((sum, row) => sum + row.start.length, 0);
    const info: TrackInfo = {
      trace: 0, id, parent, kind, role, name, rows: rows.length, exact: true, events, on_lanes: 0, start: 0,
      end: Math.max(0, ...ends), busy: rows.reduce((sum, row) => sum + row.covered[row.covered.length - 1], 0), collapsed: false,
    };
    this.tracks.push({ info, rows });
    return id;
  }

  span(): number {
    return Math.max(1, ...this.tracks.map((track) => track.info.end ?? 0));
  }

  // The row of a summary: the first row of the track, or of the first track below a section.
  private summary(track: FakeTrack): FakeRow[] {
    if (track.info.kind !== "section") return track.rows.slice(0, 1);
    const below = this.tracks.find((other) => other.info.parent === track.info.id);
    return below ? this.summary(below) : [fakeRow([])];
  }

  tiles(z: number, i: number, ids: readonly number[], summary: boolean): Uint8Array {
    const tiles: Uint8Array[] = [];
    for (const id of ids) {
      const track = this.tracks[id];
      const rows = summary ? this.summary(track) : track.rows;
      const body = new Writer();
      for (const row of rows) encodeRow(body, row, z, i);
      const whole = new Writer();
      whole.put(Uint32Array.of(id, 1, rows.length, 16 + body.size));
      whole.put(body.bytes());
      tiles.push(whole.bytes());
    }
    const out = new Writer();
    out.put(Uint32Array.of(0x31544448, tiles.length));
    for (const tile of tiles) out.put(tile);
    return out.bytes();
  }
}

const KERNELS = ["ampere_sgemm_128x64", "flash_fwd_kernel", "vectorized_elementwise_kernel", "ncclDevKernel_AllReduce_Sum_bf16",
  "Memcpy HtoD", "softmax_warp_forward", "layer_norm_kernel", "cudaLaunchKernel", "aten::mm", "aten::addmm", "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd"];

export function demoTrace(rowsOfEach: number, events: number): FakeTrace {
  const trace = new FakeTrace();
  for (let k = 0; k < 60; k++) trace.names.push(k < KERNELS.length ? KERNELS[k] : `void kernel_${k}<float>`);
  for (let device = 0; device < 2; device++) {
    const section = trace.add(null, "section", "device", `GPU ${device}`, []);
    for (let t = 0; t < 2; t++) {
      const rows = Array.from({ length: rowsOfEach }, (_, r) => randomRow(events, 1 + device * 1000 + t * 100 + r, 4000 * (1 + r % 3), 9000, 60));
      trace.add(section, "slices", "stream", `stream ${7 + t}`, rows);
    }
  }
  return trace;
}
