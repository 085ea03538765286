// Names of traces and tracks: with several files the sections name their trace.
import { RANK_SECTION, type TraceId, type TraceInfo, type TrackInfo } from "./model";

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

// What the devices of these traces are called: "GPU", "TPU"; "device" where they differ or no trace is open.
export function deviceKindOf(traces: readonly TraceInfo[]): string {
  const kinds = new Set(traces.map((trace) => trace.device_kind).filter(Boolean));
  return kinds.size === 1 ? [...kinds][0] as string : "device";
}

// Tracks for display: a track without a parent has the label of its trace before its name, and its rank if it has none
// of its own.
export function withLabel(tracks: readonly TrackInfo[], label: string | undefined, rank: number | null = null): readonly TrackInfo[] {
  if (!label && rank === null) return tracks;
  return tracks.map((track) => {
    if (track.parent !== null) return track;
    const own = track.rank ?? rank;
    return { ...track, name: label ? `${label} · ${track.name}` : track.name, ...(label ? { label } : {}), ...(own === null ? {} : { rank: own }) };
  });
}

// The name in the section of its trace, which has the label.
export const nameBelow = ({ name, label, parent }: TrackInfo): string => (label && parent !== null ? name.slice(label.length + " · ".length) : name);

const OPEN_RANKS = 3; // of more, each is one row until it is opened

// Of several traces each is a section: its devices and processes are below it, and collapsed it shows what its GPUs do.
export function withSection(tracks: readonly TrackInfo[], traces: number): readonly TrackInfo[] {
  const roots = tracks.filter((track) => track.parent === null);
  const [first] = roots;
  if (traces < 2 || first?.label === undefined) return tracks;
  const devices = roots.filter(({ role }) => role === "device");
  const ends = (of: (track: TrackInfo) => number | null): number[] => roots.map(of).filter((at) => at !== null);
  const section: TrackInfo = {
    trace: first.trace, id: RANK_SECTION, parent: null, kind: "section", role: "rank", name: first.label, rows: 1, exact: true,
    events: roots.reduce((sum, { events, derived }) => sum + (derived ? 0 : events), 0), on_lanes: 0,
    start: ends(({ start }) => start).reduce<number | null>((least, at) => (least === null || at < least ? at : least), null),
    end: ends(({ end }) => end).reduce<number | null>((most, at) => (most === null || at > most ? at : most), null),
    busy: devices.length === 1 ? devices[0].busy : null, collapsed: traces > OPEN_RANKS, draws: devices.map(({ id }) => id),
    detail: devices.length === 0 ? "Its processes and devices."
      : `What its ${devices.length === 1 ? "device does" : "devices do, a row each"}: communication where nothing hides it, else compute and copies.`,
    ...(first.rank === undefined ? {} : { rank: first.rank }),
  };
  return [section, ...tracks.map((track) => (track.parent === null ? { ...track, parent: RANK_SECTION } : track))];
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
