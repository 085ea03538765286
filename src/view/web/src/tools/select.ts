// The selection tool: a click selects an event, a drag a box of time and tracks.
import type { App } from "../app";
import { hitAt, placeAt, type Hit, type Spot } from "../tracks/at_pixel";
import { formatCount, formatShort, plural } from "../format";
import { firstBelow, type Layout, type Place } from "../tracks/layout";
import type { TrackInfo } from "../data/model";
import { timeAt } from "./nav";
import { eventOf, say } from "./select_actions";
import type { TrackKey } from "../state";
import { keyOf, toggleCollapsed } from "../tracks/actions";
import type { Drag, Modifiers, ToolHandler, ToolPlace } from "./tools";

// Places that px [top, bottom] of the canvas touch.
export function placesBetween(layout: Layout, scroll: number, top: number, bottom: number): Place[] {
  const out = layout.pinned.filter((place) => place.y < bottom && place.y + place.height > top);
  if (bottom <= layout.pinnedHeight) return out;
  const from = Math.max(top, layout.pinnedHeight) - layout.pinnedHeight + scroll;
  const until = bottom - layout.pinnedHeight + scroll;
  for (let k = firstBelow(layout.places, from); k < layout.places.length; k++) {
    const place = layout.places[k] as Place;
    if (place.y >= until) break;
    out.push(place);
  }
  return out;
}

// The tracks with events in a box, all of them visible: a collapsed section means its tracks, an open one counts only
// if nothing else is in the box. Derived rows repeat events of others: they count only if the box has no others.
export function tracksOf(places: readonly Place[], layout: Layout): TrackKey[] {
  const isSection = (place: Place): boolean => place.track.kind === "section";
  const met = places.filter((place) => !isSection(place) || place.collapsed);
  const tracks = new Map<TrackKey, TrackInfo>();
  for (const place of met.length > 0 ? met : places) {
    for (const track of isSection(place) ? layout.tracksSeen(place.key) : [place.track]) {
      if (!isSection(place) || !track.derived) tracks.set(keyOf(track), track);
    }
  }
  const all = [...tracks];
  const own = all.filter(([, track]) => !track.derived || track.kind === "counter");
  return (own.some(([, track]) => !track.derived) ? own : all).map(([key]) => key);
}

// A note about a click on a block of many events.
function noteOf(hit: Hit, spot: Spot): string {
  if (hit.exact || hit.count < 2) return "";
  // In a summary, which merges overlapping events, the longest is of the merged ones.
  const longest = !spot.place?.summary || spot.place.track.events_kind === undefined;
  return `${longest ? "The longest" : "One"} of ${formatCount(hit.count)} that start here, double click zooms in`;
}

export function clickSelects(place: ToolPlace, spot: Spot, modifiers: Modifiers): void {
  const { app, canvas } = place;
  const add = modifiers.ctrl || modifiers.shift;
  const hit = hitAt(app, spot, canvas.clientWidth);
  if (!hit) {
    if (!add) app.hands.actions.letGo();
    return;
  }
  void app.hands.actions.pick(() => eventOf(app, hit, spot), add, (event) => {
    if (event) {
      void app.hands.actions.announce(event, noteOf(hit, spot));
      return;
    }
    const section = spot.place?.track.kind === "section";
    say(app, section ? `${spot.place?.track.name}: double click ${spot.place?.collapsed ? "opens" : "collapses"} it, a drag over it gives the table of what is inside.`
      : "There is no event of its own here: zoom in.");
  });
}

function boxDrag(place: ToolPlace, from: Spot): Drag {
  const { app, canvas, rubber } = place;
  const startTime = from.time;
  const startScroll = app.state.scroll.value;
  const bounds = (spot: Spot): { top: number; bottom: number } => {
    // The start stays on its track while the tracks scroll, unless that is pinned.
    const startY = from.y < app.layout().pinnedHeight ? from.y : from.y - (app.state.scroll.value - startScroll);
    return { top: Math.min(startY, spot.y), bottom: Math.max(startY, spot.y) };
  };
  const times = (spot: Spot): { from: number; until: number } => {
    const time = timeAt(app.state.range.value, canvas.clientWidth, Math.max(0, Math.min(canvas.clientWidth, spot.x)));
    const { whole } = app.state;
    const clamp = (t: number): number => Math.max(whole.value.from, Math.min(whole.value.until, t));
    return { from: Math.floor(clamp(Math.min(startTime, time))), until: Math.ceil(clamp(Math.max(startTime, time))) };
  };
  return {
    move(spot) {
      const range = app.state.range.value;
      const width = canvas.clientWidth;
      const { top, bottom } = bounds(spot);
      const x = ((startTime - range.from) / (range.until - range.from)) * width;
      const box = { left: Math.min(x, spot.x), top, width: Math.abs(spot.x - x), height: bottom - top };
      const time = times(spot);
      rubber.show(box, formatShort(time.until - time.from));
    },
    end(spot) {
      rubber.hide();
      const { top, bottom } = bounds(spot);
      const time = times(spot);
      const places = placesBetween(app.layout(), app.state.scroll.value, top, bottom);
      const tracks = tracksOf(places, app.layout());
      if (tracks.length === 0 || time.until <= time.from) return;
      app.state.selected.value = [];
      app.state.area.value = { ...time, tracks };
      say(app, `${formatShort(time.until - time.from)} on ${plural(tracks.length, "track")}`);
      app.redraw();
    },
    cancel() {
      rubber.hide();
    },
  };
}

// Two clicks: fit the event, or open and close a section.
export function doubleClick(app: App, canvas: HTMLElement, spot: Spot): void {
  const hit = hitAt(app, spot, canvas.clientWidth);
  const found = placeAt(app, spot.y);
  if (found && found.place.track.kind === "section") {
    toggleCollapsed(app.state, found.place.track);
  } else if (hit && !hit.exact) {
    app.hands.motions.go({ from: spot.time - app.hands.nsPerPx() * 20, until: spot.time + app.hands.nsPerPx() * 20 });
  } else if (hit) {
    app.hands.actions.fit();
  }
}

export function selectTool(place: ToolPlace): ToolHandler {
  return {
    cursor: "default",
    drag: (from) => boxDrag(place, from),
    click: (spot, modifiers) => clickSelects(place, spot, modifiers),
  };
}
