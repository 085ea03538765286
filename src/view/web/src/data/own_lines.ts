// The tracks Source line without the user's folders of frameworks: the server makes them on request, and they are shown in
// place of the usual ones.
import { effect, signal } from "@preact/signals";
import type { App } from "../app";
import { editor } from "../panels/event/editor";
import type { TraceId, TrackId, TrackInfo } from "./model";
import { messageOf } from "./request";

// By trace; without an entry the usual ones are shown.
export const ownLines = signal<ReadonlyMap<TraceId, ReadonlySet<TrackId>>>(new Map());

// Those of other lists of folders were made for others who look, or before.
export function withOwnLines(tracks: readonly TrackInfo[], made: ReadonlySet<TrackId> | undefined): readonly TrackInfo[] {
  return tracks.filter(({ role, id }) => (role === "source" ? !made : role !== "own_source" || made?.has(id)));
}

// Requests them once a trace is laid out, and again for other folders.
export function attachOwnLines(app: App): void {
  let question = "";
  const asked = new Set<TraceId>();
  effect(() => {
    const session = app.state.session.value;
    const skip = editor.value.skip.trim();
    if (`${session?.session} ${skip}` !== question) {
      question = `${session?.session} ${skip}`;
      asked.clear();
      if (ownLines.peek().size > 0) ownLines.value = new Map();
    }
    const of = question;
    for (const { id, state, busy } of skip ? session?.traces ?? [] : []) {
      if (state !== "ready" || busy !== "" || asked.has(id)) continue;
      asked.add(id);
      app.source.lines(id, skip).then(({ tracks }) => { if (of === question) ownLines.value = new Map(ownLines.peek()).set(id, new Set(tracks)); },
        (error: unknown) => { app.state.message.value = { text: messageOf(error), error: true }; });
    }
  });
}
