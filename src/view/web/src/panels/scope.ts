// Which stretch of time and which tracks a panel is about. Pure.
import type { TraceId, TrackId, TrackInfo } from "../data/model";
import { trackKey, type Area, type Range, type TrackKey } from "../state";

export type ScopeChoice = "auto" | "area" | "events" | "timing" | "view" | "whole";

export interface Scope extends Range {
  what: Exclude<ScopeChoice, "auto">;
  tracks: TrackKey[] | null;
}

export interface ScopeInput {
  area: Area | null;
  events: Range | null; // from the first start to the last end of two or more selected events
  timing: Range | null;
  view: Range;
  whole: Range;
}

// "auto" takes the first available scope; so does a choice that is not available.
export function scopeOf(choice: ScopeChoice, input: ScopeInput): Scope {
  const plain = (what: Scope["what"], range: Range): Scope => ({ what, from: range.from, until: range.until, tracks: null });
  if ((choice === "auto" || choice === "area") && input.area) return { ...input.area, what: "area" };
  if ((choice === "auto" || choice === "events") && input.events) return plain("events", input.events);
  if ((choice === "auto" || choice === "timing") && input.timing) return plain("timing", input.timing);
  if (choice === "whole") return plain("whole", input.whole);
  return plain("view", input.view);
}

// The tracks of one trace in a scope: null for all, empty if it has none of them. Sections mean the tracks below them
// that show events of the file. `seen`: the visible tracks, if some are hidden; no others count.
export function tracksOf(scope: Pick<Scope, "tracks">, trace: TraceId, all: readonly TrackInfo[], seen: ReadonlySet<TrackKey> | null): TrackId[] | null {
  if (!scope.tracks && !seen) return null;
  const wanted = new Set(scope.tracks);
  const open = new Set<TrackId>(); // sections that are wanted, or below one
  const found: TrackId[] = [];
  for (const track of all) {
    if (track.trace !== trace) continue;
    const key = trackKey(trace, track.id);
    const inside = !scope.tracks || (track.parent !== null && open.has(track.parent));
    const itself = wanted.has(key);
    if (!inside && !itself) continue;
    if (track.kind === "section") open.add(track.id);
    else if ((itself || !track.derived) && (!seen || seen.has(key))) found.push(track.id);
  }
  return found.sort((a, b) => a - b);
}
