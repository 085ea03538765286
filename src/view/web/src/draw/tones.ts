// The current colour of each name number of a trace, with search dimming and hiding. Filled as names are drawn; rebuilt
// when names arrive, or the search, the theme or the colouring changes.
import type { TraceId } from "../data/model";
import type { Names } from "../data/names";
import { changeTone, idleTone, mix, pack, toneOf, type Rgba, type Theme } from "./color";
import type { ColorBy } from "../state";

export const HIDDEN: Rgba = pack(1, 0, 0, 0);
const LIMIT = 1 << 22; // numbers above it are worked out each time

export class Tones {
  table = new Uint32Array(1024); // 0: not worked out yet, of() does that
  private readonly hits: Uint8Array | null; // by name

  private readonly faints = new Map<Rgba, Rgba>();

  constructor(
    private readonly trace: TraceId,
    private readonly names: Names,
    readonly theme: Theme,
    private readonly by: ColorBy,
    private readonly changes: ReadonlyMap<string, string>, // for the colours by change
    hits: ReadonlySet<number> | null, // null: no search
    private readonly filter: "none" | "dim" | "hide",
    readonly byEvent = false, // tiles say which events are hits, not names
  ) {
    this.hits = hits && bytesOf(hits);
  }

  of(name: number): Rgba {
    if (name < this.table.length) {
      const tone = this.table[name];
      if (tone !== 0) return tone;
    }
    return this.make(name);
  }

  isHit(name: number): boolean {
    return this.hits !== null && this.hits[name] === 1;
  }

  dims(name: number): boolean {
    return this.hits !== null && this.filter === "dim" && this.hits[name] !== 1;
  }

  // Of what is no hit: the tone of its name, dimmed or hidden.
  faint(tone: Rgba): Rgba {
    if (this.filter === "none") return tone;
    if (this.filter === "hide") return HIDDEN;
    let faint = this.faints.get(tone);
    if (faint === undefined) this.faints.set(tone, (faint = mix(tone, this.theme.background, 0.78)));
    return faint;
  }

  // Whether a label of an event that is no hit is dimmed.
  get dimming(): boolean {
    return this.filter === "dim";
  }

  searching(): boolean {
    return this.hits !== null || this.byEvent;
  }

  private make(name: number): Rgba {
    const info = this.names.get(this.trace, name);
    const idle = info?.class === "idle" && info.category === ""; // as the server names them; no event of a trace is so called
    let tone = idle ? idleTone(info.text, this.by, this.theme) : !info ? this.theme.unknown
      : this.by === "change" ? changeTone(this.changes.get(info.text), this.theme) : toneOf(info, this.by, this.theme);
    if (this.hits && !this.isHit(name)) tone = this.faint(tone);
    // get() requests an unknown name: it is looked up again in the next frame, when the table is rebuilt.
    if (name < LIMIT) {
      if (name >= this.table.length) {
        const table = new Uint32Array(Math.min(LIMIT, Math.max(name + 1, this.table.length * 2)));
        table.set(this.table);
        this.table = table;
      }
      this.table[name] = tone;
    }
    return tone;
  }
}

function bytesOf(names: ReadonlySet<number>): Uint8Array {
  let most = 0;
  for (const name of names) if (name > most) most = name;
  const bytes = new Uint8Array(most + 1);
  for (const name of names) bytes[name] = 1;
  return bytes;
}
