import { signal, type ReadonlySignal } from "@preact/signals";
import type { App } from "./app";
import type { TrackKey } from "./state";

// One end of an arrow: where it stands, in global ns.
export interface FlowEnd {
  key: TrackKey;
  depth: number;
  time: number;
}

export interface DrawnFlow {
  from: FlowEnd;
  to: FlowEnd;
  backward: boolean; // ends before it starts
}

export function attachFlows(_app: App): ReadonlySignal<DrawnFlow[]> {
  return signal([]);
}
