// Loaded tiles, and requests for missing ones. A picture is drawn from loaded tiles (draw/cover.ts); after each one the
// drawing lists the tiles it would have needed, most urgent first, and these are requested.
import { signal, type Signal } from "@preact/signals";
import { segmentsOf } from "../draw/segments";
import type { SearchQuery, Tile, TraceId, TrackId } from "./model";
import { Pyramid } from "./pyramid";
import type { Source } from "./source";

// Tiles of one (trace, z, i), which one request brings.
export interface Want {
  trace: TraceId;
  z: number;
  i: number;
  summary: boolean;
  tracks: TrackId[];
  ahead: boolean; // not visible yet
}

// Text about the server while it fails; text is "" while all is well.
interface Health {
  state: "ok" | "slow" | "failing";
  text: string;
}

interface Entry {
  tile: Tile;
  used: number; // tick in which it was drawn last
  revision: number; // of the session, at the time of the request
  search: string; // whose hits it has
}

interface Flight {
  id: string;
  want: Want;
  tracks: Set<TrackId>;
  abort: AbortController;
  since: number;
  wanted: boolean;
}

interface TileOptions {
  limitBytes?: number;
  now?: () => number;
  later?: (run: () => void, ms: number) => void;
  calmMs?: number; // tiles out of view are requested only after this much time without other wants
}

const IN_FLIGHT = 4; // HTTP/1.1: browsers have six connections a host, one waits for the session
const AHEAD_IN_FLIGHT = 2;
const CALM_MS = 80;
const TRACKS_A_BATCH = 100;
const SLOW_MS = 3000;
const RETRY_MS = 400;
const RETRY_MAX_MS = 10000;
const AGAIN = [401, 408, 409, 425, 429]; // statuses below 500 that pass
// Size of a tile in bytes: its arrays, data derived for drawing (draw/segments.ts), objects around them.
const sizeOf = (tile: Tile): number => tile.bytes * 2.5 + 600;

export class TileCache {
  readonly health: Signal<Health> = signal({ state: "ok", text: "" });
  bytes = 0;
  requests = 0;
  private readonly tracks = new Map<number, Pyramid<Entry>>();
  private readonly flights = new Map<string, Flight>();
  private failures = 0; // in a row
  private again = 0; // ms, no request before that
  private wants: Want[] = [];
  private wantedAt = -Infinity; // ms
  private revision = 0;
  private search: SearchQuery | null = null; // tiles are loaded with its hits
  private searchId = "";
  private tick = 0;
  private wakeAt = Infinity; // ms
  private readonly limitBytes: number;
  private readonly calmMs: number;
  private readonly now: () => number;
  private readonly later: (run: () => void, ms: number) => void;

  constructor(
    private readonly source: Pick<Source, "tiles">,
    private readonly onChange: () => void,
    options: TileOptions = {},
  ) {
    this.limitBytes = options.limitBytes ?? 192 * 2 ** 20;
    this.calmMs = options.calmMs ?? CALM_MS;
    this.now = options.now ?? (() => performance.now());
    this.later = options.later ?? ((run, ms) => void setTimeout(run, ms));
  }

  // Undefined: not here. A tile that is not exact is the best there is until the session's revision moves.
  get(trace: TraceId, track: TrackId, z: number, i: number, summary: boolean): Tile | undefined {
    const entry = this.ofTrack(trace, track, summary)?.get(z, i);
    if (!entry || entry.tile.absent) return undefined;
    entry.used = this.tick;
    return entry.tile;
  }

  // Tiles of a track, for those who look for many at a time (each says touch()).
  ofTrack(trace: TraceId, track: TrackId, summary: boolean): Pyramid<Entry> | undefined {
    return this.tracks.get(numberOf(trace, track, summary));
  }

  touch(entry: Entry): void {
    entry.used = this.tick;
  }

  // All tiles that the current picture needs or will soon need, most urgent first. Requests in flight for other tiles
  // are aborted.
  want(wants: Want[]): void {
    this.tick++;
    this.wants = wants;
    this.wantedAt = this.now();
    for (const flight of this.flights.values()) flight.wanted = false;
    for (const want of wants) {
      for (const flight of this.flights.values()) {
        if (sameTile(flight.want, want) && want.tracks.some((track) => flight.tracks.has(track))) flight.wanted = true;
      }
    }
    for (const flight of [...this.flights.values()]) {
      if (!flight.wanted) {
        this.flights.delete(flight.id);
        flight.abort.abort();
      }
    }
    this.dispatch();
  }

  // Estimates are requested again when the session's revision changes.
  setRevision(revision: number): void {
    if (revision === this.revision) return;
    this.revision = revision;
    this.dispatch();
  }

  // The search whose hits tiles have to say, null: none. Tiles without them are drawn until others are here.
  setSearch(search: SearchQuery | null): void {
    const id = search ? JSON.stringify(search) : "";
    if (id === this.searchId) return;
    this.search = search;
    this.searchId = id;
    for (const entries of this.tracks.values()) entries.each(({ tile }) => forgetHits(tile));
    this.dispatch();
  }

  // Another session, or tracks that were laid out anew: everything is forgotten.
  clear(): void {
    for (const flight of this.flights.values()) flight.abort.abort();
    this.flights.clear();
    this.failures = 0;
    this.again = 0;
    this.tracks.clear();
    this.wants = [];
    this.bytes = 0;
  }

  // No wanted tile is missing; without `ahead`: none in view.
  idle(ahead = true): boolean {
    for (const flight of this.flights.values()) if (ahead || !flight.want.ahead) return false;
    return this.wants.every((want) => (want.ahead && !ahead) || this.missing(want).length === 0);
  }

  private missing(want: Want): TrackId[] {
    return want.tracks.filter((track) => {
      const entry = this.ofTrack(want.trace, track, want.summary)?.get(want.z, want.i);
      const isCurrent = entry && ((entry.tile.exact && !entry.tile.absent) || entry.revision === this.revision);
      if (isCurrent && (this.search === null || entry.search === this.searchId)) return false;
      for (const flight of this.flights.values()) if (flight.tracks.has(track) && sameTile(flight.want, want)) return false;
      return true;
    });
  }

  private dispatch(): void {
    if (this.again > this.now()) {
      this.wakeIn(this.again - this.now());
      return;
    }
    let missingInView = false;
    for (const want of this.wants) {
      const limit = this.failures > 0 ? 1 : want.ahead ? AHEAD_IN_FLIGHT : IN_FLIGHT;
      if (this.flights.size >= limit || (want.ahead && missingInView)) break;
      const calm = want.ahead ? this.calmMs - (this.now() - this.wantedAt) : 0;
      if (calm > 0) {
        this.wakeIn(calm);
        break;
      }
      const missing = this.missing(want);
      if (missing.length > 0 && !want.ahead) missingInView = true;
      for (let k = 0; k < missing.length && this.flights.size < limit; k += TRACKS_A_BATCH) {
        void this.fly({ ...want, tracks: missing.slice(k, k + TRACKS_A_BATCH) });
      }
    }
  }

  private async fly(want: Want): Promise<void> {
    const id = flightId(want);
    const { search, searchId } = this;
    const flight: Flight = { id, want, tracks: new Set(want.tracks), abort: new AbortController(), since: this.now(), wanted: true };
    this.flights.set(id, flight);
    this.requests++;
    this.wakeIn(SLOW_MS + 50);
    const revision = this.revision;
    try {
      const tiles = await this.source.tiles(want.trace, want.z, want.i, want.tracks, want.summary, flight.abort.signal, search);
      if (this.flights.get(id) !== flight) return; // given up, the answer came all the same
      this.flights.delete(id);
      this.failures = 0;
      for (const tile of tiles) if (flight.tracks.delete(tile.track)) this.put(want, tile, revision, searchId);
      for (const track of flight.tracks) this.put(want, absentTile(want, track), revision, searchId);
      this.evict();
      this.assess();
    } catch (error) {
      if (this.flights.get(id) !== flight) return;
      this.flights.delete(id);
      this.failed(want, error, revision, searchId);
    }
    this.onChange();
    this.dispatch();
  }

  // A permanent refusal is not retried before the session's revision changes; others are, at growing intervals.
  private failed(want: Want, error: unknown, revision: number, search: string): void {
    const text = error instanceof Error ? error.message : String(error);
    const status = (error as { status?: number }).status ?? 0;
    if (status >= 400 && status < 500 && !AGAIN.includes(status)) {
      for (const track of want.tracks) this.put(want, absentTile(want, track), revision, search);
    } else {
      this.failures++;
      this.again = this.now() + Math.min(RETRY_MAX_MS, RETRY_MS * 2 ** (this.failures - 1));
      this.wakeIn(this.again - this.now());
    }
    this.health.value = { state: "failing", text };
  }

  private put(want: Want, tile: Tile, revision: number, search: string): void {
    if (search !== this.searchId) forgetHits(tile);
    for (const row of tile.rows) segmentsOf(row, 2 ** tile.z); // now, not in the frame that draws it
    const key = numberOf(want.trace, tile.track, want.summary);
    let entries = this.tracks.get(key);
    if (!entries) this.tracks.set(key, (entries = new Pyramid()));
    const old = entries.get(want.z, want.i);
    if (old) this.bytes -= sizeOf(old.tile);
    // An estimate that was drawn so far stays until there is better.
    const keep = old && tile.absent && !old.tile.absent ? old.tile : tile;
    entries.set(want.z, want.i, { tile: keep, used: this.tick, revision, search });
    this.bytes += sizeOf(keep);
  }

  private evict(): void {
    if (this.bytes <= this.limitBytes) return;
    const all: { used: number; forget: () => void; bytes: number }[] = [];
    for (const entries of this.tracks.values()) {
      entries.each((entry, z, i) => all.push({ used: entry.used, forget: () => entries.delete(z, i), bytes: sizeOf(entry.tile) }));
    }
    all.sort((a, b) => a.used - b.used);
    for (const old of all) {
      if (this.bytes <= this.limitBytes * 0.8 || old.used >= this.tick) break;
      old.forget();
      this.bytes -= old.bytes;
    }
  }

  // Says whether the server is slow, or well again.
  private assess(): void {
    if (this.failures > 0) return;
    const now = this.now();
    const slow = [...this.flights.values()].some((flight) => now - flight.since >= SLOW_MS && !flight.want.ahead);
    const next: Health = slow ? { state: "slow", text: "The server is slow: what is hatched is not loaded yet." } : { state: "ok", text: "" };
    if (this.health.value.state !== next.state) this.health.value = next;
  }

  private wakeIn(ms: number): void {
    const at = this.now() + Math.max(20, ms);
    if (at >= this.wakeAt) return;
    this.wakeAt = at;
    this.later(() => {
      if (this.wakeAt === at) this.wakeAt = Infinity;
      this.dispatch();
      this.assess();
      if (this.flights.size > 0) this.wakeIn(1000);
    }, at - this.now());
  }
}

export type TileEntry = Entry;

function sameTile(a: Want, b: Want): boolean {
  return a.z === b.z && a.i === b.i && a.trace === b.trace && a.summary === b.summary;
}

function flightId(want: Want): string {
  return `${want.trace}/${want.z}/${want.i}/${want.summary ? "s" : "r"}/${want.tracks[0]}`;
}

function forgetHits(tile: Tile): void {
  for (const row of tile.rows) row.hit = null;
}

function absentTile(want: Want, track: TrackId): Tile {
  return { track, z: want.z, i: want.i, exact: false, counter: false, absent: true, rows: [], series: [], bytes: 0 };
}

// Tracks and traces as one number: a Map finds those faster than texts.
function numberOf(trace: TraceId, track: TrackId, summary: boolean): number {
  return trace * 2 ** 33 + track * 2 + (summary ? 1 : 0);
}
