// Actions on rows of SQL results: show events and times, make tracks from results.
import type { App } from "../../app";
import type { QueryResult, TraceId } from "../../data/model";
import { findTrack, goTo } from "../../tools/navigate";
import { trackKey } from "../../state";
import { goToGoal, goToTime, last, selecting, showMade, showTrack } from "../report_actions";
import type { Answer } from "./query_run";
import { bigOf, placeOf, splitSliceId, splitTrackId, tracesOf, type QueryRow, type RowPlace } from "./query_rows";

export function startOf(app: App, trace: TraceId): bigint | null {
  const text = app.state.session.value?.traces.find(({ id }) => id === trace)?.start_ns;
  return text ? BigInt(text) : null;
}

// To the first slice that SQL finds.
async function goToFirst(app: App, condition: string, signal: AbortSignal): Promise<void> {
  const found = await app.source.query(`select id, ts, dur, name from slice where ${condition} limit 1`, {}, signal);
  const place = "error" in found || !found.rows[0] ? null : placeOf(found, found.rows[0]);
  if (!place || place.start === null) throw new Error("Nothing of this is shown.");
  goToStart(app, place);
}

// Without taking the result away.
async function goToSlice(app: App, result: QueryResult, id: bigint): Promise<void> {
  const { tab } = app.state;
  const before = tab.value;
  const event = splitSliceId(result, id);
  if (!event) return;
  if (event.kind === null) await last(app, (signal) => goToFirst(app, `id = ${id}`, signal));
  else await goTo(app, event.trace, event.kind, event.row);
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

// Tracks of async slices are of SQL alone: the page shows their slices.
function goToTrackOf(app: App, result: QueryResult, id: bigint): void {
  const of = splitTrackId(result, id);
  if (!of) return;
  void last(app, async (signal) => {
    const shown = await app.source.queryTrack(of.trace, of.track, signal);
    const track = shown === null ? undefined : findTrack(app, trackKey(of.trace, shown));
    if (track) showTrack(app, track);
    else await goToFirst(app, `track_id = ${id}`, signal);
  });
}

// The event, else the time, else all events of the name; null: nothing that can be shown.
export function rowAction(app: App, result: QueryResult, row: QueryRow): (() => void) | null {
  const place = placeOf(result, row);
  if (!place) return null;
  const { trace, slice, name } = place;
  if (slice !== null) return () => void goToSlice(app, result, slice);
  if (place.start !== null) return () => goToStart(app, place);
  return name === null ? null : () => goToName(app, trace, name);
}

// The target of a cell itself: a slice, a time, a track, a name.
export function cellAction(app: App, result: QueryResult, row: QueryRow, column: number): (() => void) | null {
  const { role, name } = result.columns[column];
  const cell = row[column];
  if (role === "time" || role === "duration") {
    const place = placeOf(result, row);
    return place && place.start !== null ? rowAction(app, result, row) : null;
  }
  if (role === "slice" || role === "track") {
    const id = bigOf(cell);
    if (id === null || !splitTrackId(result, id)) return null;
    return role === "slice" ? () => void goToSlice(app, result, id) : () => goToTrackOf(app, result, id);
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
