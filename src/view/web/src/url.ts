// Synchronises the address and the view: the part after # is applied to the state initially and on history navigation;
// changes of the state are written, replacing the entry while it moves, as a new entry after a jump.
import { batch, effect } from "@preact/signals";
import type { App } from "./app";
import { choicesOf } from "./tracks/layout";
import { clampRange, sameRange } from "./tools/nav";
import { goTo } from "./tools/navigate";
import { findStepped, say } from "./tools/select_actions";
import { trackKey, type State } from "./state";
import { eventOfId, filesText, isJump, LONGEST_SQL, parseView, viewText, type EventKey, type ViewText } from "./url_text";

const WAIT_MS = 250; // for the view to come to rest

// The state that the text can represent; initial values are absent.
function viewOf(state: State): ViewText {
  const view: ViewText = {};
  const { value: range } = state.range;
  if (!sameRange(range, state.whole.value)) view.range = range;
  if (state.scroll.value > 0) view.scroll = state.scroll.value;
  if (state.selected.value.length > 0) {
    view.selected = state.selected.value.map(({ trace, track, depth, row, start }) => ({ trace, track, depth, row, start }));
  }
  if (state.area.value) view.area = state.area.value;
  if (state.timing.value) view.timing = state.timing.value;
  if (state.marks.value.length > 0) view.marks = state.marks.value;
  if (state.query.value.q) view.query = state.query.value;
  if (state.filter.value !== "none") view.filter = state.filter.value;
  if (state.tool.value !== "select") view.tool = state.tool.value;
  if (state.tab.value !== null) view.tab = state.tab.value;
  if (state.sql.value && state.sql.value.length <= LONGEST_SQL) view.sql = state.sql.value;
  if (state.flows.value.mode !== "selection") view.flows = state.flows.value;
  if (!state.aligned.value) view.clocks = "raw";
  if (state.colorBy.value !== "class") view.colorBy = state.colorBy.value;
  if (state.axis.value !== "relative") view.axis = state.axis.value;
  if (state.collapsed.value.size > 0) view.collapsed = state.collapsed.value;
  if (state.hidden.value.size > 0) view.hidden = state.hidden.value;
  if (state.pinned.value.length > 0) view.pinned = state.pinned.value;
  if (state.moved.value.size > 0) view.moved = state.moved.value;
  if (state.trackFilter.value) view.trackFilter = state.trackFilter.value;
  const { folded } = choicesOf(state);
  if (folded && folded.size > 0) view.folded = folded;
  const session = state.session.value; // a job opens traces as they are needed
  if (session && !session.job) view.of = filesText(session.traces);
  return view;
}

// Puts all but the selected events into the state. A view without a range is the whole.
function applyView(state: State, view: ViewText): void {
  batch(() => {
    state.range.value = view.range ?? state.whole.value;
    state.scroll.value = view.scroll ?? 0;
    state.area.value = view.area ?? null;
    state.timing.value = view.timing ?? null;
    state.marks.value = view.marks ?? [];
    state.query.value = view.query ?? { ...state.query.value, q: "" };
    state.filter.value = view.filter ?? "none";
    state.tool.value = view.tool ?? "select";
    state.tab.value = view.tab ?? null;
    state.sql.value = view.sql ?? "";
    state.flows.value = view.flows ?? { mode: "selection" };
    state.aligned.value = view.clocks !== "raw";
    state.colorBy.value = view.colorBy ?? "class";
    state.axis.value = view.axis ?? "relative";
    state.collapsed.value = view.collapsed ?? new Map();
    state.hidden.value = view.hidden ?? new Set();
    state.pinned.value = view.pinned ?? [];
    state.moved.value = view.moved ?? new Map();
    state.trackFilter.value = view.trackFilter ?? "";
    state.folded.value = { filter: state.trackFilter.value, sections: view.folded ?? new Set() };
  });
}

class Address {
  private waiting: EventKey[] = []; // from the address; their tracks are not loaded yet
  private id: number | undefined; // likewise, of an event given by its id
  private of: string | undefined; // the files that the address is about, until they are compared
  private asked = 0;
  private checked = false; // the range against the whole
  private timer = 0;
  private jumps = 0; // of the motions, when the address was written last
  private written: ViewText;
  private text: string;

  constructor(private readonly app: App) {
    const view = parseView(location.hash);
    this.written = view;
    this.text = location.hash.replace(/^#/, "");
    this.restore(view);
  }

  // From the address to the state.
  restore(view: ViewText): void {
    applyView(this.app.state, view);
    this.checked = false;
    this.waiting = view.selected ?? [];
    this.id = view.id;
    this.of = view.of;
    this.asked++;
    this.app.state.selected.value = [];
    this.settle();
    this.app.redraw();
  }

  // Parts that had to wait for the traces: clamps the range, finds the selected events.
  settle(): void {
    const { state, hands } = this.app;
    const traces = state.session.value?.traces;
    if (!traces || traces.some((trace) => trace.state === "reading")) return;
    if (!this.checked && state.tracks.value.length > 0) { // without a trace the first one to come is shown whole
      this.checked = true;
      const clamped = clampRange(state.range.value, state.whole.value, hands.size().width);
      if (!sameRange(clamped, state.range.value)) state.range.value = clamped;
    }
    if (this.of !== undefined && this.checked) {
      const isOther = !state.session.value?.job && this.of !== filesText(traces);
      this.of = undefined;
      if (isOther) say(this.app, "The address was made for other traces: its times, tracks and events may be others here.", true);
    }
    const known = new Set(state.tracks.value.map((track) => trackKey(track.trace, track.id)));
    const all = traces.every((trace) => trace.busy === "" || trace.state === "failed");
    const area = state.area.value;
    if (all && known.size > 0 && area?.tracks && area.tracks.some((key) => !known.has(key))) {
      const tracks = area.tracks.filter((key) => known.has(key));
      state.area.value = tracks.length > 0 ? { ...area, tracks } : null;
    }
    if (this.id !== undefined && all && known.size > 0) {
      const event = eventOfId(this.id);
      this.id = undefined;
      if (event) void goTo(this.app, event.trace, event.kind, event.row);
      else say(this.app, "The address names an event that has no row.", true);
    }
    // All at once, to keep their order: as soon as the track of each exists, or no more tracks will come.
    if (this.waiting.length === 0) return;
    const there = this.waiting.filter((key) => known.has(`${key.trace}.${key.track}`));
    if (there.length < this.waiting.length && !(all && known.size > 0)) return;
    const lost = this.waiting.length - there.length;
    this.waiting = [];
    void this.find(there, lost);
  }

  private async find(keys: EventKey[], lost: number): Promise<void> {
    const mine = ++this.asked;
    const found = await Promise.all(keys.map(async (key) => {
      try {
        return await findStepped(this.app, key.trace, key.track, key.depth, key.row, key.start);
      } catch {
        return null;
      }
    }));
    const { selected } = this.app.state;
    // A selection that the user made in the meantime is kept.
    if (mine !== this.asked || selected.value.length > 0) return;
    const events = found.filter((event) => event !== null);
    selected.value = events;
    if (events.length < keys.length + lost) say(this.app, "The address names events that this trace does not have.", true);
    this.app.redraw();
  }

  // From the state to the address, once it is stable.
  later(): void {
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.write(), WAIT_MS);
  }

  private write(): void {
    const session = this.app.state.session.value;
    if (!session || session.traces.some((trace) => trace.state === "reading") || this.waiting.length > 0 || this.id !== undefined) return;
    const view = viewOf(this.app.state);
    const text = viewText(view);
    if (text === this.text) return;
    const whole = this.app.state.whole.value;
    const { jumps } = this.app.hands.motions;
    const jumped = jumps !== this.jumps || isJump({ range: whole, ...this.written }, { range: whole, ...view });
    this.jumps = jumps;
    const address = text === "" ? location.pathname + location.search : `#${text}`;
    if (jumped) history.pushState(null, "", address);
    else history.replaceState(null, "", address);
    this.text = text;
    this.written = view;
  }

  // People went back or forward, or changed the address.
  moved(): void {
    const text = location.hash.replace(/^#/, "");
    if (text === this.text) return;
    window.clearTimeout(this.timer);
    const view = parseView(text);
    this.text = text;
    this.written = view;
    this.app.hands.motions.stop();
    this.jumps = this.app.hands.motions.jumps;
    this.restore(view);
  }
}

export function attachUrl(app: App): void {
  const address = new Address(app);
  effect(() => {
    void app.state.session.value;
    void app.state.tracks.value;
    address.settle();
  });
  effect(() => {
    void app.state.session.value;
    viewOf(app.state);
    address.later();
  });
  window.addEventListener("popstate", () => address.moved());
  window.addEventListener("hashchange", () => address.moved());
}
