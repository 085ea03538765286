// Actions on rows of reports: select and show their events, make tracks from their tables.
import { effect } from "@preact/signals";
import type { App } from "../app";
import type { EventRef, ReportAbout, ReportTable, TraceId, TrackId, TrackInfo } from "../data/model";
import { isAbort, messageOf } from "../data/request";
import { formatCount, plural } from "../format";
import { findTrack, goToId, offsetOf, rangeShowing, reveal, scrollTo, selectEvent, showRange, trackPath, uncover } from "../tools/navigate";
import { say } from "../tools/select_actions";
import { trackKey, type Range } from "../state";
import { optionsOfTracks, tracksAt, type Goal, type Row } from "./report_rows";

const PATIENCE = 20000; // ms until new tracks must be there

export interface Place {
  trace: TraceId;
  table: Pick<ReportTable, "columns">;
  row: Row;
  range: Range; // global, of the report
}

let going: AbortController | null = null;

// Runs only the latest request; errors are shown.
export async function last(app: App, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  going?.abort();
  const abort = new AbortController();
  going = abort;
  try {
    await work(abort.signal);
  } catch (error) {
    if (!isAbort(error)) say(app, messageOf(error), true);
  }
}

// Keeps the report open when something is selected.
export function selecting(app: App, select: () => void): void {
  const tab = app.state.tab.value;
  select();
  app.state.tab.value = tab;
}

const idsOf = (tracks: readonly TrackInfo[]): TrackId[] => tracks.filter((track) => track.kind === "slices").map((track) => track.id);

// Where to search: on the row's tracks, then on all tracks of the file. Derived ones repeat events of others.
function placesOf(app: App, { trace, table, row }: Place, derived: boolean): (TrackId[] | null)[] {
  const narrow = idsOf(tracksAt(table, row, app.state.tracks.value, trace).filter((track) => derived || !track.derived));
  return narrow.length > 0 ? [narrow, null] : [null];
}

async function goToEvent(app: App, place: Place, goal: Goal & { what: "event" }, signal: AbortSignal): Promise<void> {
  const { trace } = place;
  const duration = goal.duration ?? undefined;
  const names = goal.name === null ? [] : [goal.name];
  for (const tracks of placesOf(app, place, true)) {
    for (const name of duration === undefined ? names : [...names, undefined]) {
      const { events } = await app.source.find(trace, { start: goal.start, duration, name }, tracks, signal);
      if (signal.aborted) return;
      if (events[0]) {
        selecting(app, () => selectEvent(app, events[0]));
        return;
      }
    }
  }
  const from = goal.start + offsetOf(app, trace);
  showRange(app, from, from + (goal.duration ?? 0));
  say(app, "No event is just this stretch: its time is shown.");
}

// The name is searched for as well, which marks those that are too many to be selected.
async function goToName(app: App, place: Place, name: string, signal: AbortSignal): Promise<void> {
  const { trace, range } = place;
  const offset = offsetOf(app, trace);
  app.state.query.value = { q: name, mode: "text", in: "names", case: true };
  for (const tracks of placesOf(app, place, false)) {
    const { count, events } = await app.source.find(trace, { name, from: range.from - offset, until: range.until - offset }, tracks, signal);
    if (signal.aborted) return;
    if (events.length === 0) continue;
    selecting(app, () => { app.state.selected.value = [...events].reverse(); }); // the details are of the first
    showFirst(app, events);
    say(app, count > events.length
      ? `The first ${formatCount(events.length)} of ${plural(count, "event")} of this name are selected; the search marks all.`
      : `${plural(count, "event")} of this name ${count === 1 ? "is" : "are"} selected.`);
    return;
  }
  say(app, "No event of the range has exactly this name: the search shows those that have it in theirs.");
}

// One that is in view, without moving in time; else the first.
function showFirst(app: App, events: readonly EventRef[]): void {
  const view = app.state.range.value;
  const seen = events.find((event) => {
    const from = event.start + offsetOf(app, event.trace);
    return from < view.until && from + event.duration > view.from;
  });
  if (!seen) {
    reveal(app, events[0]);
    return;
  }
  const key = trackKey(seen.trace, seen.track);
  uncover(app, key, false);
  scrollTo(app, key, seen.depth);
}

export function showTrack(app: App, track: TrackInfo): void {
  const key = trackKey(track.trace, track.id);
  uncover(app, key);
  scrollTo(app, key, 0);
  app.redraw();
  say(app, trackPath(app, key));
}

export function goToTrack(app: App, { trace, table, row }: Place, column = ""): void {
  const [track] = tracksAt(table, row, app.state.tracks.value, trace, column);
  if (track) showTrack(app, track);
}

export function goToTime(app: App, trace: TraceId, start: number): void {
  const { range } = app.state;
  range.value = rangeShowing(range.value, start + offsetOf(app, trace), 0);
}

export function goToGoal(app: App, place: Place, goal: Goal): void {
  if (goal.what === "track") goToTrack(app, place);
  else if (goal.what === "id") void goToId(app, place.trace, goal.id);
  else void last(app, (signal) => (goal.what === "event" ? goToEvent(app, place, goal, signal) : goToName(app, place, goal.name, signal)));
}

// Until the page has heard of a track.
function heardOf(app: App, key: string): Promise<TrackInfo | undefined> {
  return new Promise((resolve) => {
    let stop = (): void => undefined;
    const timer = setTimeout(() => { stop(); resolve(undefined); }, PATIENCE);
    stop = effect(() => {
      void app.state.tracks.value;
      const track = findTrack(app, key);
      if (!track) return;
      clearTimeout(timer);
      resolve(track);
      queueMicrotask(() => stop());
    });
  });
}

// The first of tracks that are made, once it is there.
export async function showMade(app: App, trace: TraceId, name: string, make: (signal: AbortSignal) => Promise<{ tracks: TrackId[]; left_out: number }>): Promise<void> {
  say(app, `Making tracks of ${name} …`);
  await last(app, async (signal) => {
    const { tracks, left_out } = await make(signal);
    const track = await heardOf(app, trackKey(trace, tracks[0]));
    if (!track) throw new Error("The new tracks are not loaded yet: try again in a moment.");
    showTrack(app, track);
    say(app, `${plural(tracks.length, "track")}: ${trackPath(app, trackKey(trace, track.id))}${left_out > 0 ? `; ${plural(left_out, "row")} without a time left out` : ""}`);
  });
}

export function showAsTracks(app: App, trace: TraceId, about: ReportAbout, table: ReportTable, options: Record<string, string>): Promise<void> {
  return showMade(app, trace, table.name, (signal) => app.source.reportTracks(trace, about.name, table.name, optionsOfTracks(about, options), signal));
}
