// Actions on selected events: find them again, step, follow flows, fit, mark, clear.
import { formatDuration, plural } from "../format";
import type { Core } from "../app";
import { offsetOf, type Hit, type Spot } from "../tracks/at_pixel";
import { addMark, neighbourMark } from "../marks";
import type { EventDetail, EventRef, FlowInfo, TraceId } from "../data/model";
import type { Motions } from "./motion";
import { fitRange, middleOf, reveal } from "./nav";
import { isDerived, uncover } from "./navigate";
import { isAbort, messageOf } from "../data/request";
import { trackKey, type Range } from "../state";
import { Turns } from "./turns";

const MOST_SELECTED = 1000;
const NO_ROW = 4294967295; // of a column that is not exact yet

export const sameEvent = (a: EventRef, b: EventRef): boolean =>
  a.trace === b.trace && a.kind === b.kind && a.row === b.row && a.track === b.track;

export const rangeOf = (app: Core, event: EventRef): Range => {
  const from = event.start + offsetOf(app, event.trace);
  return { from, until: from + event.duration };
};

// A line for people, and for screen readers (see attachMessages).
export function say(app: Core, text: string, error = false): void {
  app.state.message.value = { text, error };
}

// The whole event for a kind and row. `near`: an event or link with more data.
async function findEvent(app: Core, trace: TraceId, kind: string, row: number): Promise<EventRef> {
  const detail = await app.source.event(trace, kind, row);
  const found = await app.source.step(trace, detail.track, detail.depth, detail.start + 1, "previous");
  if (found && found.row === row) return { ...found, trace };
  return { trace, track: detail.track, kind: detail.kind, row, depth: detail.depth, start: detail.start,
    duration: detail.duration ?? 0, name: 0 };
}

// The events of the URL's link, completed; null if there is no such event (any more).
export async function findStepped(
  app: Core, trace: TraceId, track: number, depth: number, row: number, start: number,
): Promise<EventRef | null> {
  const found = await app.source.step(trace, track, depth, start + 1, "previous");
  if (found && found.start === start && found.row === row) return { ...found, trace };
  // Several events of length 0 may have the same time: the server returns one of them, the table has all.
  const info = app.state.tracks.value.find((one) => one.trace === trace && one.id === track);
  if (!info?.events_kind) return null;
  const event = await findEvent(app, trace, info.events_kind, row);
  return event.start === start ? event : null;
}

// The event that a click means: on an aggregate the longest of the column.
export async function eventOf(app: Core, hit: Hit, spot: Spot): Promise<EventRef | null> {
  const track = spot.place?.track;
  if (!track) return null;
  const { trace } = track;
  const offset = offsetOf(app, trace);
  const plain = !spot.place?.summary && track.events_kind !== undefined;
  if (hit.exact) {
    if (plain) return hit.event;
    // In a summary the one that starts last before the pointer, on any row.
    const found = spot.place?.summary
      ? await app.source.step(trace, track.id, null, Math.max(Math.floor(spot.time - offset), hit.event.start) + 1, "previous")
      : await app.source.step(trace, track.id, spot.depth, hit.event.start + 1, "previous");
    return found ? { ...found, trace } : null;
  }
  if (track.events_kind !== undefined && hit.row !== NO_ROW) return findEvent(app, trace, track.events_kind, hit.row);
  // Rows of derived tracks are not of one table, and estimates have none: the server finds the longest.
  const width = hit.until - hit.from; // of the column, 2^z ns
  return app.source.longest(trace, track.id, spot.place?.summary ? null : spot.depth, Math.round(Math.log2(width)),
    Math.round((hit.from - offset) / width));
}

type Ask = <T>(question: () => Promise<T>) => Promise<T | undefined>;

export class SelectActions {
  private readonly turns = new Turns();
  private flowAt: { of: EventRef; at: EventRef; direction: "in" | "out"; index: number; partners: Partner[] } | null = null;

  constructor(private readonly app: Core, private readonly motions: Motions, private readonly width: () => number) {}

  letGo(): void {
    this.turns.begin();
    this.app.state.selected.value = [];
    this.app.state.area.value = null;
    this.app.redraw();
  }

  // Selects the result of a query, in order: a click that adds waits for the previous one, any other click starts over.
  // `found` receives the result.
  pick(question: () => Promise<EventRef | null>, add: boolean, found: (event: EventRef | null) => void): Promise<void> {
    if (!add) this.turns.begin();
    return this.inTurn(async (ask) => {
      const event = await ask(question);
      if (event) this.select(event, add);
      if (event !== undefined) found(event);
    });
  }

  // Errors are shown; undefined: an error, or superseded.
  private inTurn(step: (ask: Ask) => Promise<void>, event?: KeyboardEvent): Promise<void> {
    return this.turns.add((isCurrent) => step(async (question) => {
      try {
        const answer = await question();
        return isCurrent() ? answer : undefined;
      } catch (error) {
        if (isCurrent() && !isAbort(error)) say(this.app, messageOf(error), true);
        return undefined;
      }
    }), event);
  }

  current(): EventRef | null {
    const { selected } = this.app.state;
    return selected.value[selected.value.length - 1] ?? null;
  }

  // `add`: toggles the event in the selection.
  select(event: EventRef, add = false): void {
    const { state } = this.app;
    const old = state.selected.value;
    if (!add) state.selected.value = [event];
    else if (old.some((one) => sameEvent(one, event))) state.selected.value = old.filter((one) => !sameEvent(one, event));
    else state.selected.value = [...old, event].slice(-MOST_SELECTED);
    if (!add) state.area.value = null;
    this.app.redraw();
  }

  // Select it and bring it into view, in time and in height.
  goTo(event: EventRef, note = ""): void {
    this.select(event);
    this.showTrack(event);
    const { state } = this.app;
    this.motions.go(reveal(this.motions.target(), rangeOf(this.app, event), state.whole.value, this.width()));
    void this.announce(event, note);
  }

  // Makes the track of an event visible and scrolls to its row.
  showTrack(event: EventRef): void {
    const key = trackKey(event.trace, event.track);
    uncover(this.app, key, false);
    const layout = this.app.layout();
    if (layout.pinned.some((place) => place.key === key)) return;
    const place = layout.find(key);
    if (place) this.motions.show(place.y + (place.summary ? 0 : event.depth * place.rowHeight), place.rowHeight);
  }

  // `note`: additional text.
  async announce(event: EventRef, note = ""): Promise<void> {
    const name = await this.nameOf(event);
    const track = this.app.state.tracks.value.find((one) => one.trace === event.trace && one.id === event.track);
    say(this.app, `${name}, ${formatDuration(event.duration)}, ${track?.name ?? ""}, starts at ${formatDuration(rangeOf(this.app, event).from)}${note && `. ${note}`}`);
  }

  async nameOf(event: EventRef): Promise<string> {
    const known = event.name === 0 ? undefined : this.app.names.get(event.trace, event.name);
    if (known) return known.short ?? known.text;
    try {
      const asked = event.name === 0 ? [] : (await this.app.source.names(event.trace, [event.name])).names;
      return asked[0] ? (asked[0].short ?? asked[0].text) : "event";
    } catch {
      return "event"; // the announcement is optional, so its failure is ignored
    }
  }

  // The next or previous event of the row; without a selection the first one in view, on the track with the focus.
  step(forward: boolean, key?: KeyboardEvent): Promise<void> {
    return this.inTurn(async (ask) => {
      const event = this.current();
      if (!event) {
        await this.goToFirst(ask, null);
        return;
      }
      const found = await ask(() =>
        this.app.source.step(event.trace, event.track, event.depth, event.start, forward ? "next" : "previous", event.row));
      if (found) this.goTo({ ...found, trace: event.trace });
      else if (found === null) say(this.app, forward ? "This was the last event of its row." : "This was the first event of its row.");
    }, key);
  }

  ends(last: boolean): Promise<void> {
    return this.inTurn(async (ask) => {
      const event = this.current();
      if (!event) return;
      const found = await ask(() => this.app.source.step(event.trace, event.track, event.depth, 0, last ? "last" : "first"));
      if (found) this.goTo({ ...found, trace: event.trace });
    });
  }

  firstInView(track: { trace: TraceId; id: number } | null = null): Promise<void> {
    return this.inTurn((ask) => this.goToFirst(ask, track));
  }

  private async goToFirst(ask: Ask, track: { trace: TraceId; id: number } | null): Promise<void> {
    const { state } = this.app;
    const layout = this.app.layout();
    const place = layout.at(state.scroll.value) ?? layout.places[0];
    const chosen = track
      ?? layout.seen.slice(layout.seen.findIndex((one) => one.place === place)).find((one) => one.track.kind === "slices" && one.track.events > 0)?.track;
    if (!chosen) return;
    const from = Math.floor(state.range.value.from - offsetOf(this.app, chosen.trace));
    const found = await ask(() => this.app.source.step(chosen.trace, chosen.id, null, from - 1, "next"));
    if (found) this.goTo({ ...found, trace: chosen.trace });
    else if (found === null) say(this.app, "No event of this track starts in view or later.");
  }

  // The event around or within the selected one: one row up or down, at its middle.
  moveDepth(down: boolean, key?: KeyboardEvent): Promise<void> {
    return this.inTurn(async (ask) => {
      const event = this.current();
      if (!event) return;
      const depth = event.depth + (down ? 1 : -1);
      if (depth < 0) return;
      const found = await ask(() => down
        ? this.app.source.step(event.trace, event.track, depth, event.start - 1, "next")
        : this.app.source.step(event.trace, event.track, depth, event.start + 1, "previous"));
      if (found === undefined) return;
      const inside = found && (down ? found.start < event.start + Math.max(event.duration, 1) : found.start + found.duration >= event.start);
      if (found && inside) this.goTo({ ...found, trace: event.trace });
      else say(this.app, down ? "Nothing lies below this event." : "Nothing lies above this event.");
    }, key);
  }

  // The next flow partner in a direction; a second press goes to the next of several.
  follow(direction: "in" | "out", key?: KeyboardEvent): Promise<void> {
    return this.inTurn(async (ask) => {
      const selected = this.current();
      if (!selected) {
        say(this.app, "Select an event first: [ and ] follow its flows.");
        return;
      }
      if (isDerived(this.app, selected)) {
        say(this.app, "This slice was worked out of events: it has no flows.");
        return;
      }
      const back = this.flowAt;
      if (back !== null && back.direction === direction && sameEvent(back.at, selected) && back.partners.length > 1) {
        await this.visit(ask, back.of, direction, back.partners, (back.index + 1) % back.partners.length);
        return;
      }
      const detail = await ask(() => this.app.source.event(selected.trace, selected.kind, selected.row));
      if (detail) await this.visit(ask, selected, direction, partnersOf(detail, direction), 0);
    }, key);
  }

  private async visit(ask: Ask, of: EventRef, direction: "in" | "out", partners: Partner[], index: number): Promise<void> {
    const partner = partners[index];
    if (!partner) {
      say(this.app, direction === "out" ? "No flow leaves this event." : "No flow comes to this event.");
      return;
    }
    const event = await ask(() => findEvent(this.app, of.trace, partner.kind, partner.row));
    if (!event) return;
    this.flowAt = { of, at: event, direction, index, partners };
    this.goTo(event, partners.length > 1 ? `${index + 1} of ${plural(partners.length, "partner")}` : "");
  }

  // ---- ranges ----

  // The range for fitting and marking: the area, the selected events together, else the timing tool's.
  range(): Range | null {
    const { state } = this.app;
    if (state.area.value) return { from: state.area.value.from, until: state.area.value.until };
    const events = state.selected.value.map((event) => rangeOf(this.app, event));
    if (events.length > 0) {
      return { from: Math.min(...events.map((r) => r.from)), until: Math.max(...events.map((r) => r.until)) };
    }
    return state.timing.value;
  }

  fit(): void {
    const range = this.range();
    if (!range) {
      say(this.app, "Nothing is selected to fit.");
      return;
    }
    this.motions.go(fitRange(range, this.app.state.whole.value, this.width()));
  }

  fitWhole(): void {
    this.motions.go(this.app.state.whole.value);
  }

  async mark(): Promise<void> {
    const { state } = this.app;
    // The timing tool's range first, if it is the tool: it was made to be marked.
    const range = (state.tool.value === "time" ? state.timing.value : null) ?? this.range();
    if (!range) {
      say(this.app, "Nothing is selected to mark.");
      return;
    }
    const only = state.selected.value.length === 1 && !state.area.value && range !== state.timing.value ? this.current() : null;
    const name = only ? await this.nameOf(only) : "";
    const { marks, mark } = addMark(state.marks.value, range, name);
    if (!mark) {
      say(this.app, "There are too many marks: remove some first.", true);
      return;
    }
    state.marks.value = marks;
    say(this.app, `${mark.name}: ${formatDuration(mark.until - mark.from)}`);
    this.app.redraw();
  }

  goToMark(forward: boolean): void {
    const { state } = this.app;
    const mark = neighbourMark(state.marks.value, middleOf(this.motions.target()), forward);
    if (mark) this.showMark(mark);
    else say(this.app, "There are no marks. M makes one of what is selected.");
  }

  showMark(mark: Range & { name: string }): void {
    this.motions.go(fitRange(mark, this.app.state.whole.value, this.width()));
    say(this.app, `${mark.name}: ${formatDuration(mark.until - mark.from)}`);
  }

  // One item per press: message, timing, area, selection, pane.
  clear(): void {
    const { state } = this.app;
    if (state.message.value?.error) state.message.value = null;
    else if (state.timing.value) state.timing.value = null;
    else if (state.area.value) state.area.value = null;
    else if (state.selected.value.length > 0) state.selected.value = [];
    else if (state.tab.value !== null) state.tab.value = null;
    else if (state.filter.value !== "none") state.filter.value = "none";
    else state.message.value = null;
    this.app.redraw();
  }
}

interface Partner {
  kind: string;
  row: number;
  name: string;
}

// Flows in a direction; a launch and its work count as a flow, too. Each event once.
export function partnersOf(detail: EventDetail, direction: "in" | "out"): Partner[] {
  const flows: Partner[] = (detail.flows ?? [])
    .filter((flow: FlowInfo) => flow.direction === direction)
    .map((flow) => ({ kind: "slice", row: flow.row, name: flow.name }));
  const links = direction === "out" ? (detail.works ?? []) : detail.launch ? [detail.launch] : [];
  for (const link of links) flows.push({ kind: "slice", row: link.row, name: link.name });
  const seen = new Set<number>();
  return flows.filter((flow) => !seen.has(flow.row) && seen.add(flow.row));
}
