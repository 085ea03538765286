// What is done with rows of results of SQL: events and times are shown, results become tracks.
import type { App } from "../app";
import type { QueryResult, TraceId } from "../data/model";
import { findTrack, goTo } from "../tools/navigate";
import { trackKey } from "../state";
import { goToGoal, goToTime, last, selecting, showMade, showTrack } from "./report_actions";
import type { Answer } from "./query_run";
import { bigOf, placeOf, splitId, tracesOf, type QueryRow, type RowPlace } from "./query_rows";

export function startOf(app: App, trace: TraceId): bigint | null {
  const text = app.state.session.value?.traces.find(({ id }) => id === trace)?.start_ns;
  return text ? BigInt(text) : null;
}

// Without taking the result away.
async function goToSlice(app: App, trace: TraceId, row: number): Promise<void> {
  const { tab } = app.state;
  const before = tab.value;
  await goTo(app, trace, "slice", row);
  tab.value = before;
}

function goToStart(app: App, place: RowPlace): void {
  const zero = startOf(app, place.trace);
  if (zero === null || place.start === null) return;
  const start = Number(place.start - zero);
  if (place.duration === null) goToTime(app, place.trace, start);
  else {
    goToGoal(app, { trace: place.trace, table: { columns: [] }, row: [], range: app.state.whole.value },
      { what: "event", start, duration: place.duration, name: place.name });
  }
}

function goToName(app: App, trace: TraceId, name: string): void {
  selecting(app, () => goToGoal(app, { trace, table: { columns: [] }, row: [], range: app.state.whole.value }, { what: "name", name }));
}

function goToTrackOf(app: App, trace: TraceId, of: number): void {
  void last(app, async (signal) => {
    const id = await app.source.queryTrack(trace, of, signal);
    const track = id === null ? undefined : findTrack(app, trackKey(trace, id));
    if (!track) throw new Error("Nothing of this track is shown.");
    showTrack(app, track);
  });
}

// The event, else the time, else all events of the name; null: it stands for nothing that can be shown.
export function rowAction(app: App, result: QueryResult, row: QueryRow): (() => void) | null {
  const place = placeOf(result, row);
  if (!place) return null;
  const { trace, slice, name } = place;
  if (slice !== null) return () => void goToSlice(app, trace, slice);
  if (place.start !== null) return () => goToStart(app, place);
  return name === null ? null : () => goToName(app, trace, name);
}

// What a cell says by itself: a slice, a time, a track, a name.
export function cellAction(app: App, result: QueryResult, row: QueryRow, column: number): (() => void) | null {
  const { role, name } = result.columns[column];
  const cell = row[column];
  if (role === "time" || role === "duration") {
    const place = placeOf(result, row);
    return place && place.start !== null ? rowAction(app, result, row) : null;
  }
  if (role === "slice" || role === "track") {
    const id = bigOf(cell);
    const of = id === null ? null : splitId(result, id);
    if (!of) return null;
    return role === "slice" ? () => void goToSlice(app, of.trace, of.row) : () => goToTrackOf(app, of.trace, of.row);
  }
  if (name !== "name" || typeof cell !== "string" || cell === "") return null;
  const trace = placeOf(result, row)?.trace ?? result.inputs[0]?.trace;
  return trace === undefined ? null : () => goToName(app, trace, cell);
}

export async function showQueryTracks(app: App, { asked, params, result }: Answer): Promise<void> {
  const title = asked.kept.replace(/\s+/g, " ").slice(0, 60);
  for (const trace of tracesOf(result)) {
    await showMade(app, trace, "the result", (signal) => app.source.queryTracks(trace, asked.sent, params, `query: ${title}`, signal));
  }
}
