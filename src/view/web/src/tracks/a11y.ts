// The tracks for screen readers and keyboard users: a tree of tracks, with the selected event below its track,
// navigated by keys. It is not drawn; the focused track gets a frame on the picture.
import { effect } from "@preact/signals";
import type { App } from "../app";
import { offsetOf } from "./at_pixel";
import type { Command } from "../tools/commands";
import { formatCount, formatDuration, formatPercent } from "../format";
import type { Layout, Place } from "./layout";
import type { EventRef } from "../data/model";
import { spanOf } from "../tools/nav";
import { trackCountText } from "../tools/navigate";
import { say } from "../tools/select_actions";
import { trackKey } from "../state";
import { setCollapsed } from "./actions";

const SHOWN_MS = 8000;
const AROUND = 12; // tracks on both sides of the focused one that are in the document

export function trackText(place: Place): string {
  const { track } = place;
  const parts = [track.name];
  if (track.kind === "counter") parts.push("counter");
  if (track.kind === "section") parts.push("section");
  if (track.role === "instants") parts.push("instants");
  if (track.detail) parts.push(track.detail.replace(/\.$/, ""));
  if (track.kind !== "section") parts.push(track.events === 1 ? "1 event" : `${formatCount(track.events)} events`);
  if (track.kind === "slices" && track.role !== "instants" && track.start !== null && track.end !== null && track.end > track.start) {
    const span = track.end - track.start;
    if (track.covers !== undefined) parts.push(`covers ${formatPercent(track.covers / span)} of its time`);
    else if (track.busy !== null) parts.push(`busy ${formatPercent(track.busy / span)} of its time`);
  }
  if (track.on_lanes > 0) parts.push(`${formatCount(track.on_lanes)} on extra lanes`);
  if (place.pinned) parts.push("pinned");
  return parts.join(", ");
}

const canOpen = (place: Place): boolean => place.track.kind === "section" || place.rows > 1 || place.summary || place.collapsed;

// The places in keyboard order: pinned tracks are among the others, too.
export function neighbour(layout: Layout, key: string | null, by: number): Place | undefined {
  if (layout.places.length === 0) return undefined;
  const at = layout.places.findIndex((place) => place.key === key);
  if (at < 0) return by > 0 ? layout.places[0] : layout.places[layout.places.length - 1];
  return layout.places[Math.max(0, Math.min(layout.places.length - 1, at + by))];
}

// The position of a place among its siblings, from 1, and their number.
export function placeAmongSiblings(places: readonly Place[], at: number): { position: number; size: number } {
  const { trace, parent } = (places[at] as Place).track;
  let position = 1;
  let size = 1;
  for (let k = 0; k < places.length; k++) {
    const { track } = places[k] as Place;
    if (k === at || track.parent !== parent || (parent !== null && track.trace !== trace)) continue;
    size++;
    if (k < at) position++;
  }
  return { position, size };
}

class TrackTree {
  readonly root = document.createElement("div");
  private readonly frame = document.createElement("div");
  private counted = 0;

  constructor(private readonly app: App, tracks: HTMLElement) {
    this.root.id = "track-tree";
    this.root.className = "visually-hidden";
    this.root.tabIndex = 0;
    this.root.setAttribute("role", "tree");
    this.root.setAttribute("aria-label", "Picture of the tracks. Arrows walk the tracks, full stop and comma the events.");
    this.frame.className = "track-focus";
    this.frame.hidden = true;
    this.frame.setAttribute("aria-hidden", "true");
    tracks.prepend(this.root);
    tracks.append(this.frame);
    this.root.addEventListener("focus", () => this.onFocus());
    this.root.addEventListener("blur", () => this.placeFrame());
    this.root.addEventListener("keydown", (event) => this.onKey(event));
  }

  focused(): Place | undefined {
    const key = this.app.hands.focusTrack.value;
    return key === null ? undefined : this.app.layout().find(key);
  }

  private onFocus(): void {
    if (!this.focused()) {
      const layout = this.app.layout();
      const first = layout.at(this.app.state.scroll.value) ?? layout.places[0];
      if (first) this.app.hands.focusTrack.value = first.key;
    }
    this.placeFrame();
  }

  walk(by: number): void {
    const place = neighbour(this.app.layout(), this.app.hands.focusTrack.value, by);
    if (place) this.focus(place);
  }

  private focus(place: Place): void {
    this.app.hands.focusTrack.value = place.key;
    this.app.hands.motions.show(place.y, Math.min(place.height, place.rowHeight));
    this.placeFrame();
    // With the focus on the tree a screen reader reads the item by itself.
    if (document.activeElement !== this.root) say(this.app, trackText(place));
  }

  toggle(open?: boolean): void {
    const place = this.focused();
    if (!place || !canOpen(place) || (open !== undefined && open === !place.collapsed)) return;
    setCollapsed(this.app.state, [place.track], !place.collapsed);
    if (document.activeElement !== this.root) say(this.app, `${place.track.name} ${place.collapsed ? "open" : "collapsed"}`);
  }

  private toParent(): void {
    const place = this.focused();
    const parent = place?.track.parent;
    if (!place || parent === null || parent === undefined) return;
    const above = this.app.layout().find(trackKey(place.track.trace, parent));
    if (above) this.focus(above);
  }

  private onKey(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    const place = this.focused();
    const far = this.app.layout().places.length;
    const actions: Record<string, () => void> = {
      ArrowDown: () => this.walk(1),
      ArrowUp: () => this.walk(-1),
      Home: () => this.walk(-far),
      End: () => this.walk(far),
      ArrowRight: () => (place && canOpen(place) && place.collapsed ? this.toggle(true) : this.walk(1)),
      ArrowLeft: () => (place && canOpen(place) && !place.collapsed ? this.toggle(false) : this.toParent()),
      Enter: () => place && place.track.kind !== "section"
        ? void this.app.hands.actions.firstInView({ trace: place.track.trace, id: place.track.id }) : this.toggle(),
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  }

  // The items around the focused track; others are only counted.
  render(): void {
    const { places } = this.app.layout();
    const key = this.app.hands.focusTrack.value;
    const at = Math.max(0, places.findIndex((place) => place.key === key));
    const event = this.app.hands.actions.current();
    const items: HTMLElement[] = [];
    for (let k = Math.max(0, at - AROUND); k < Math.min(places.length, at + AROUND + 1); k++) {
      const place = places[k] as Place;
      const { position, size } = placeAmongSiblings(places, k);
      const item = this.item(`track-${place.key}`, trackText(place), place.depth + 1, position, size);
      if (canOpen(place)) item.setAttribute("aria-expanded", String(!place.collapsed));
      items.push(item);
      if (event && trackKey(event.trace, event.track) === place.key) items.push(this.eventItem(event, place));
    }
    this.root.replaceChildren(...items);
    const active = event && trackKey(event.trace, event.track) === key ? "track-event" : `track-${key ?? ""}`;
    if (this.root.querySelector(`#${CSS.escape(active)}`)) this.root.setAttribute("aria-activedescendant", active);
    else this.root.removeAttribute("aria-activedescendant");
    this.placeFrame();
  }

  private item(id: string, text: string, level: number, position: number, size: number): HTMLElement {
    const item = document.createElement("div");
    item.id = id;
    item.textContent = text;
    item.setAttribute("role", "treeitem");
    item.setAttribute("aria-level", String(level));
    item.setAttribute("aria-posinset", String(position));
    item.setAttribute("aria-setsize", String(size));
    return item;
  }

  private eventItem(event: EventRef, place: Place): HTMLElement {
    const start = formatDuration(event.start + offsetOf(this.app, event.trace));
    const name = this.app.names.label(event.trace, event.name) || "event";
    const item = this.item("track-event", `${name}, ${formatDuration(event.duration)}, ${place.track.name}, starts at ${start}`,
      place.depth + 2, 1, 1);
    item.setAttribute("aria-selected", "true");
    void this.count(event, item);
    return item;
  }

  // "3 of 120 in view", as soon as the server has counted.
  private async count(event: EventRef, item: HTMLElement): Promise<void> {
    const mine = ++this.counted;
    await new Promise((wake) => setTimeout(wake, 250));
    if (mine !== this.counted || document.activeElement !== this.root) return;
    const offset = offsetOf(this.app, event.trace);
    const from = Math.floor(this.app.state.range.value.from - offset);
    const until = Math.ceil(this.app.state.range.value.until - offset);
    if (event.start < from || event.start >= until) return;
    try {
      const { source } = this.app;
      const [all, before] = await Promise.all([
        source.select(event.trace, from, until, [event.track], "total"),
        source.select(event.trace, from, event.start + 1, [event.track], "total"),
      ]);
      if (mine === this.counted) item.textContent += `, ${formatCount(before.events)} of ${formatCount(all.events)} in view`;
    } catch {
      // The summary goes without.
    }
  }

  placeFrame(): void {
    const place = this.focused();
    const shown = document.activeElement === this.root && place !== undefined;
    this.frame.hidden = !shown;
    if (!shown || !place) return;
    const layout = this.app.layout();
    const top = place.y - this.app.state.scroll.value + layout.pinnedHeight;
    Object.assign(this.frame.style, { top: `${top}px`, height: `${place.height}px` });
  }

  // The view in a sentence.
  tellView(): void {
    const { state } = this.app;
    const { from } = state.range.value;
    const span = spanOf(state.range.value);
    const share = span / Math.max(1, spanOf(state.whole.value));
    const selected = state.selected.value.length;
    const traces = state.session.value?.traces.length ?? 0;
    say(this.app, [
      `In view: ${formatDuration(span)} from ${formatDuration(from)}, ${formatPercent(Math.min(1, share))} of ${traces === 1 ? "the trace" : `${traces} traces`}`,
      trackCountText(this.app),
      selected === 0 ? "nothing selected" : `${formatCount(selected)} selected`,
    ].join(", "));
  }
}

// Messages disappear after a while; errors stay until the next message or Escape.
function attachMessages(app: App): void {
  const { message } = app.state;
  effect(() => {
    const said = message.value;
    if (!said || said.error) return;
    const timer = setTimeout(() => {
      if (message.peek() === said) message.value = null;
    }, SHOWN_MS);
    return () => clearTimeout(timer);
  });
}

// The overview as a slider: the position of the view, moved by arrows, Home and End.
const OVERVIEW_KEYS: Readonly<Record<string, string>> = { ArrowLeft: "pan-left", ArrowRight: "pan-right", Home: "to-start", End: "to-end" };

function attachOverviewKeys(app: App): void {
  const strip = document.getElementById("overview");
  if (!strip) return;
  strip.tabIndex = 0;
  strip.setAttribute("role", "slider");
  strip.setAttribute("aria-label", "Position of the view in the trace");
  strip.addEventListener("keydown", (event) => {
    const id = OVERVIEW_KEYS[event.key];
    if (id === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
    app.commands.run(id);
    event.preventDefault();
    event.stopPropagation();
  });
  effect(() => {
    const { from, until } = app.state.range.value;
    const whole = app.state.whole.value;
    const free = whole.until - whole.from - (until - from);
    const share = free > 0 ? Math.max(0, Math.min(1, (from - whole.from) / free)) : 0;
    strip.setAttribute("aria-valuemin", "0");
    strip.setAttribute("aria-valuemax", "100");
    strip.setAttribute("aria-valuenow", String(Math.round(share * 100)));
    strip.setAttribute("aria-valuetext", `${formatDuration(until - from)} from ${formatDuration(from)}`);
  });
}

export function attachA11y(app: App): void {
  attachMessages(app);
  attachOverviewKeys(app);
  const tracks = document.getElementById("tracks");
  if (!tracks) return;
  const tree = new TrackTree(app, tracks);
  const command = (id: string, title: string, keys: string[], run: () => void): Command => ({ id, title, group: "Tracks", keys, run });
  app.commands.add(
    command("track-next", "Next track (then Enter: its first event in view)", ["Alt+ArrowDown"], () => tree.walk(1)),
    command("track-previous", "Previous track", ["Alt+ArrowUp"], () => tree.walk(-1)),
    command("track-toggle", "Open or collapse the track that has the focus", ["Alt+Enter"], () => tree.toggle()),
    command("track-first-event", "First event in view of the track that has the focus", ["Alt+."], () => {
      const place = tree.focused();
      void app.hands.actions.firstInView(place ? { trace: place.track.trace, id: place.track.id } : null);
    }),
    command("focus-tracks", "Put the focus on the tracks", ["Alt+t"], () => tree.root.focus()),
    command("tell-view", "Announce what is in view", ["Alt+v"], () => tree.tellView()),
  );
  // A header that gets the focus takes the walk to its track, so does the selected event.
  document.getElementById("headers")?.addEventListener("focusin", (event) => {
    const row = event.target instanceof Element ? event.target.closest<HTMLElement>("[data-track]") : null;
    if (row?.dataset.track) app.hands.focusTrack.value = row.dataset.track;
  });

  effect(() => {
    const event = app.state.selected.value[app.state.selected.value.length - 1];
    if (event) app.hands.focusTrack.value = trackKey(event.trace, event.track);
  });
  effect(() => {
    void app.layout();
    void app.hands.focusTrack.value;
    void app.state.selected.value;
    tree.render();
  });
  effect(() => {
    void app.state.scroll.value;
    tree.placeFrame();
  });
}
