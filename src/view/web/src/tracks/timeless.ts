// Files of stacks alone (folded, a perf script without times): the tracks have nothing to draw, the flame graph has all.
import { effect } from "@preact/signals";
import type { App } from "../app";
import type { Session, TrackInfo } from "../data/model";

function isTimeless(session: Session | null, tracks: readonly TrackInfo[]): boolean {
  const shown = session?.traces.filter((trace) => trace.state !== "failed") ?? [];
  return shown.length > 0 && shown.every((trace) => trace.state === "ready" && !trace.busy) && tracks.some((track) => track.role === "samples")
    && tracks.every((track) => track.events === 0);
}

// Once: who closes the tab wants it closed.
export function attachTimeless(app: App): void {
  const { state } = app;
  let told = false;
  effect(() => {
    if (told || !isTimeless(state.session.value, state.tracks.value)) return;
    told = true;
    if (state.tab.peek() === null) state.tab.value = "flame";
    state.message.value = { text: "These stacks have no times: the flame graph shows them.", error: false };
  });
}
