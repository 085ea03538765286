// The state of the web UI, as signals: everything else (drawing, panels, the URL) follows from these. No DOM in here.
import { signal, type Signal } from "@preact/signals";
import type { ClockInfo, EventRef, Fidelity, SearchQuery, SearchResult, Session, TraceId, TrackId, TrackInfo } from "./data/model";

// Global ns relative to `origin`: the earliest start of the traces, so that doubles are exact.
export interface Range {
  from: number;
  until: number;
}

export type Tool = "select" | "pan" | "zoom" | "time";
export type ColorBy = "class" | "name" | "category" | "change"; // change: between the two sides of a diff
export type FlowMode = { mode: "off" } | { mode: "selection" } | { mode: "category"; category: string } | { mode: "all" };
export type TrackKey = string; // `${trace}.${track}`

export const trackKey = (trace: TraceId, track: TrackId): TrackKey => `${trace}.${track}`;

// A box dragged over tracks: tracks null means all.
export interface Area extends Range {
  tracks: TrackKey[] | null;
}

export interface Mark extends Range {
  id: number;
  name: string;
}

export type Tab = "start" | "diff" | "details" | "selection" | "flame" | "reports" | "query" | "job" | "fidelity" | "search";

export interface State {
  session: Signal<Session | null>;
  tracks: Signal<TrackInfo[]>; // of all traces, in the order of the server
  origin: Signal<bigint>; // absolute ns of global time 0
  whole: Signal<Range>;
  range: Signal<Range>; // what is in view
  scroll: Signal<number>; // px from the top of all tracks
  pointer: Signal<{ x: number; y: number; time: number } | null>; // on the tracks, px and global ns
  tool: Signal<Tool>;
  selected: Signal<EventRef[]>; // clicked; the last is the one of the details
  hovered: Signal<EventRef | null>;
  area: Signal<Area | null>;
  timing: Signal<Range | null>; // between the two edges of the timing tool
  marks: Signal<Mark[]>;
  query: Signal<SearchQuery>;
  filter: Signal<"none" | "dim" | "hide">; // effect on events that are not search hits
  results: Signal<Map<TraceId, SearchResult>>;
  flows: Signal<FlowMode>;
  clocks: Signal<ClockInfo[]>; // of the traces, as far as they were compared
  aligned: Signal<boolean>; // by these clocks; else times are those of the files
  colorBy: Signal<ColorBy>;
  changes: Signal<ReadonlyMap<string, string>>; // of a diff: verdicts by name, slower, faster, new, gone
  axis: Signal<"relative" | "absolute">;
  theme: Signal<"auto" | "light" | "dark">;
  collapsed: Signal<Map<TrackKey, boolean>>; // where the user changed it
  folded: Signal<{ filter: string; sections: ReadonlySet<TrackKey> }>; // sections that the user collapsed under that filter
  hidden: Signal<Set<TrackKey>>;
  pinned: Signal<TrackKey[]>;
  moved: Signal<Map<TrackKey, number>>; // places among the tracks of one parent that the user chose
  trackFilter: Signal<string>;
  sql: Signal<string>; // that was run last
  tab: Signal<Tab | null>; // of the pane at the bottom; null: closed
  hasHeatMap: Signal<boolean>; // that of a job was drawn
  fidelity: Signal<Map<TraceId, Fidelity>>;
  dialog: Signal<"help" | "palette" | "marks" | null>;
  message: Signal<{ text: string; error: boolean } | null>; // one line, also read to screen readers
}

export function newState(): State {
  return {
    session: signal(null),
    tracks: signal([]),
    origin: signal(0n),
    whole: signal({ from: 0, until: 1 }),
    range: signal({ from: 0, until: 1 }),
    scroll: signal(0),
    pointer: signal(null),
    tool: signal("select"),
    selected: signal([]),
    hovered: signal(null),
    area: signal(null),
    timing: signal(null),
    marks: signal([]),
    query: signal({ q: "", mode: "text", in: "names", case: false }),
    filter: signal("none"),
    results: signal(new Map()),
    flows: signal({ mode: "selection" }),
    clocks: signal([]),
    aligned: signal(true),
    colorBy: signal("class"),
    changes: signal(new Map()),
    axis: signal("relative"),
    theme: signal("auto"),
    collapsed: signal(new Map()),
    folded: signal({ filter: "", sections: new Set<TrackKey>() }),
    hidden: signal(new Set()),
    pinned: signal([]),
    moved: signal(new Map()),
    trackFilter: signal(""),
    sql: signal(""),
    tab: signal(null),
    hasHeatMap: signal(false),
    fidelity: signal(new Map()),
    dialog: signal(null),
    message: signal(null),
  };
}
