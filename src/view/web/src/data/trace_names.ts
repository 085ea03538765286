// Names of traces and tracks: with several files the sections name their trace.
import type { TraceId, TraceInfo, TrackInfo } from "./model";

const ENDING = /\.(json|pftrace|heddle|otf2|folded|txt|raw)$/i;

const stemOf = (name: string): string => {
  const stem = (name.split("/").pop() ?? name).replace(/\.(gz|zst)$/i, "").replace(ENDING, "");
  return stem || name;
};

// "rank 3" if ranks distinguish all traces, else the name of the file, with the trace's number for duplicates; "" for a
// single trace.
export function labelsOf(traces: readonly TraceInfo[]): Map<TraceId, string> {
  const shown = traces.filter((trace) => trace.state !== "failed");
  if (shown.length < 2) return new Map();
  const ranks = new Set(shown.map((trace) => trace.rank));
  const byRank = !ranks.has(null) && ranks.size === shown.length;
  const stems = shown.map((trace) => stemOf(trace.name));
  return new Map(shown.map((trace, at) => {
    const twice = stems.filter((stem) => stem === stems[at]).length > 1;
    return [trace.id, byRank ? `rank ${trace.rank}` : twice ? `${stems[at]} (${trace.id})` : stems[at]];
  }));
}

// Tracks for display: a track without a parent has the label of its trace before its name, and its rank if it has none
// of its own.
export function withLabel(tracks: readonly TrackInfo[], label: string | undefined, rank: number | null = null): readonly TrackInfo[] {
  if (!label && rank === null) return tracks;
  return tracks.map((track) => {
    if (track.parent !== null) return track;
    const own = track.rank ?? rank;
    return { ...track, name: label ? `${label} · ${track.name}` : track.name, ...(own === null ? {} : { rank: own }) };
  });
}

const PLAIN = /^[\x20-\x7e]*$/;
const LONG = 20; // characters from which a name may be cut
const TAIL = 9; // "stream 24", ":device=3"

// A name in two parts: one that is shortened if there is no room, and the end, which is often the only difference
// between names.
export function cutName(name: string): [head: string, tail: string] {
  if (name.length < LONG || !PLAIN.test(name)) return [name, ""];
  return [name.slice(0, -TAIL), name.slice(-TAIL)];
}
