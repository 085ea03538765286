// Decodes the bytes of /api/tiles into tiles: arrays that view the answer, without copies. The answer is validated
// against docs/reference/view-protocol.md before use; a violation is an Error, never a partial result.
import { TILE_COLUMNS, type CounterRow, type SliceRow, type Tile } from "./model";

const MAGIC = 0x31544448; // "HDT1"
const EXACT = 1;
const COUNTER = 2;
const ABSENT = 4;
const HITS = 8;

class Cursor {
  at = 0;
  private readonly view: DataView;

  constructor(
    readonly buffer: ArrayBuffer,
    public end: number,
  ) {
    this.view = new DataView(buffer);
  }

  // Place of `size` bytes, which are then behind the cursor, with the zeros up to a multiple of 8.
  take(size: number): number {
    const at = this.at;
    if (!(size >= 0) || at + size > this.end) throw new Error("the server's tiles are cut short");
    this.at = Math.min(at + Math.ceil(size / 8) * 8, this.end);
    return at;
  }

  u32(at: number): number {
    return this.view.getUint32(at, true);
  }
}

// Columns ascend below 512 (the last one of a counter may be 65535).
function checkColumns(column: Uint16Array, counter: boolean): void {
  let last = -1;
  for (let k = 0; k < column.length; k++) {
    const c = column[k];
    const before = counter && c === 65535;
    if (c <= last || (c >= TILE_COLUMNS && !before)) throw new Error("the server's tiles have columns out of order");
    last = c;
  }
}

function decodeSlices(cursor: Cursor, hasHits: boolean): SliceRow {
  const head = cursor.take(16);
  const columns = cursor.u32(head);
  const events = cursor.u32(head + 4);
  const wide = cursor.u32(head + 8) !== 0;
  const starting = cursor.u32(head + 12);
  if (columns > TILE_COLUMNS) throw new Error("the server's tiles have too many columns");
  const { buffer } = cursor;
  const times = (n: number): Uint32Array | Float64Array =>
    wide ? new Float64Array(buffer, cursor.take(8 * n), n) : new Uint32Array(buffer, cursor.take(4 * n), n);
  const numbers = (n: number): Uint32Array => new Uint32Array(buffer, cursor.take(4 * n), n);
  const busy = times(columns);
  const longest = times(columns);
  const count = numbers(columns);
  const name = numbers(columns);
  const row = numbers(columns);
  const column = new Uint16Array(buffer, cursor.take(2 * columns), columns);
  checkColumns(column, false);
  const hit = hasHits ? new Uint8Array(buffer, cursor.take(columns), columns) : null;
  const start = wide ? new Float64Array(buffer, cursor.take(8 * events), events) : new Int32Array(buffer, cursor.take(4 * events), events);
  const duration = times(events);
  const eventName = numbers(events);
  const eventRow = numbers(events);
  const eventFlags = new Uint8Array(buffer, cursor.take(events), events);
  return { columns, events, starting, busy, longest, count, name, row, column, start, duration, eventName, eventRow, eventFlags, hit };
}

function decodeSeries(cursor: Cursor): CounterRow {
  const head = cursor.take(16);
  const columns = cursor.u32(head);
  if (columns > TILE_COLUMNS + 1) throw new Error("the server's tiles have too many columns");
  const { buffer } = cursor;
  const values = (): Float64Array => new Float64Array(buffer, cursor.take(8 * columns), columns);
  const min = values();
  const max = values();
  const first = values();
  const last = values();
  const count = new Uint32Array(buffer, cursor.take(4 * columns), columns);
  const column = new Uint16Array(buffer, cursor.take(2 * columns), columns);
  checkColumns(column, true);
  return { columns, starting: cursor.u32(head + 12), min, max, first, last, count, column };
}

export function decodeTiles(buffer: ArrayBuffer, z: number, i: number): Tile[] {
  const cursor = new Cursor(buffer, buffer.byteLength);
  const head = cursor.take(8);
  if (cursor.u32(head) !== MAGIC) throw new Error("the server's tiles are not of a version that this page knows: reload it");
  const tiles: Tile[] = [];
  for (let left = cursor.u32(head + 4); left > 0; left--) {
    const at = cursor.take(16);
    const flags = cursor.u32(at + 4);
    const rows = cursor.u32(at + 8);
    const bytes = cursor.u32(at + 12);
    if (bytes < 16 || bytes % 8 !== 0 || at + bytes > buffer.byteLength || rows > bytes / 16) throw new Error("the server's tiles are cut short");
    const tile: Tile = {
      track: cursor.u32(at), z, i, bytes, exact: (flags & EXACT) !== 0, counter: (flags & COUNTER) !== 0,
      absent: (flags & ABSENT) !== 0, rows: [], series: [],
    };
    cursor.end = at + bytes;
    for (let r = 0; r < rows; r++) {
      if (tile.counter) tile.series.push(decodeSeries(cursor));
      else tile.rows.push(decodeSlices(cursor, (flags & HITS) !== 0));
    }
    cursor.at = at + bytes;
    cursor.end = buffer.byteLength;
    tiles.push(tile);
  }
  return tiles;
}
