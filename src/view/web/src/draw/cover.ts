// The loaded tiles from which a span of a track is drawn: those of the current zoom; if one is missing both its
// children, else the nearest tile above it, else its existing children; nothing if nothing is loaded.
import { TILE_COLUMNS, type Tile } from "../data/model";
import type { Pyramid } from "../data/pyramid";
import type { TileEntry } from "../data/tiles";

const MAX_ZOOM = 54;

export interface Piece {
  tile: Tile | null; // null: not loaded, shown as such
  from: number; // trace time
  until: number;
}

type Entries = Pyramid<TileEntry>;

// The zoom whose columns are at most a device pixel wide (and at least half of one, unless they are 1 ns).
export function zoomOf(nsPerPixel: number): number {
  if (!(nsPerPixel > 1)) return 0;
  let z = Math.min(MAX_ZOOM, Math.floor(Math.log2(nsPerPixel)));
  while (z > 0 && 2 ** z > nsPerPixel) z--;
  while (z < MAX_ZOOM && 2 ** (z + 1) <= nsPerPixel) z++;
  return z;
}

export const tileSpan = (z: number): number => TILE_COLUMNS * 2 ** z;

export function cover(out: Piece[], entries: Entries | undefined, z: number, from: number, until: number, used: (entry: TileEntry) => void): void {
  out.length = 0;
  if (!entries || entries.size === 0) {
    out.push({ tile: null, from, until });
    return;
  }
  const span = tileSpan(z);
  const end = Math.ceil(until / span);
  for (let i = Math.floor(from / span); i < end; i++) fill(out, entries, z, i, from, until, used);
}

function add(out: Piece[], tile: Tile | null, from: number, until: number): void {
  if (until <= from) return;
  const last = out.length > 0 ? out[out.length - 1] : null;
  if (last && last.tile === tile && last.until === from) last.until = until;
  else out.push({ tile, from, until });
}

function find(entries: Entries, z: number, i: number): TileEntry | undefined {
  const entry = entries.get(z, i);
  return entry && !entry.tile.absent ? entry : undefined;
}

function fill(out: Piece[], entries: Entries, z: number, i: number, from: number, until: number, used: (entry: TileEntry) => void): void {
  const span = tileSpan(z);
  const a = Math.max(from, i * span);
  const b = Math.min(until, (i + 1) * span);
  if (b <= a) return; // out of view, where everything counts as complete, down to the last zoom
  const own = find(entries, z, i);
  if (own) {
    used(own);
    add(out, own.tile, a, b);
    return;
  }
  if (complete(entries, z - 1, 2 * i, 2, from, until) && complete(entries, z - 1, 2 * i + 1, 2, from, until)) {
    fill(out, entries, z - 1, 2 * i, from, until, used);
    fill(out, entries, z - 1, 2 * i + 1, from, until, used);
    return;
  }
  for (const up of entries.zooms) {
    if (up <= z) continue;
    const parent = find(entries, up, Math.floor(i / 2 ** (up - z)));
    if (parent) {
      used(parent);
      add(out, parent.tile, a, b);
      return;
    }
  }
  parts(out, entries, z - 1, 2 * i, 3, from, until, used);
  parts(out, entries, z - 1, 2 * i + 1, 3, from, until, used);
  if (z === 0) add(out, null, a, b);
}

// Whether a tile, or all its children in view, are loaded.
function complete(entries: Entries, z: number, i: number, levels: number, from: number, until: number): boolean {
  if (z < 0) return false;
  const span = tileSpan(z);
  if ((i + 1) * span <= from || i * span >= until) return true;
  if (find(entries, z, i)) return true;
  return levels > 1 && complete(entries, z - 1, 2 * i, levels - 1, from, until) && complete(entries, z - 1, 2 * i + 1, levels - 1, from, until);
}

function parts(out: Piece[], entries: Entries, z: number, i: number, levels: number, from: number, until: number, used: (entry: TileEntry) => void): void {
  if (z < 0) return;
  const span = tileSpan(z);
  const a = Math.max(from, i * span);
  const b = Math.min(until, (i + 1) * span);
  if (b <= a) return;
  const entry = find(entries, z, i);
  if (entry) {
    used(entry);
    add(out, entry.tile, a, b);
  } else if (levels > 1 && z > 0) {
    parts(out, entries, z - 1, 2 * i, levels - 1, from, until, used);
    parts(out, entries, z - 1, 2 * i + 1, levels - 1, from, until, used);
  } else {
    add(out, null, a, b);
  }
}
