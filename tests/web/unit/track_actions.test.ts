import assert from "node:assert/strict";
import { test } from "node:test";
import { choicesOf, makeLayout } from "../../../src/view/web/src/tracks/layout";
import type { TrackInfo } from "../../../src/view/web/src/data/model";
import { newState, type State } from "../../../src/view/web/src/state";
import {
  collapseSections, hide, isCollapsed, keyOf, moveBefore, moveBy, showHidden, showOnly, siblingsOf, toggleCollapsed, togglePinned, tracksBelow,
} from "../../../src/view/web/src/tracks/actions";

function track(id: number, parent: number | null, kind: TrackInfo["kind"] = "slices", trace = 0): TrackInfo {
  return {
    trace, id, parent, kind, role: "thread", name: `track ${id}`, rows: 1, exact: true, events: 1, on_lanes: 0, start: 0, end: 1, busy: 1, collapsed: false,
  };
}

// Two sections of trace 0 with three and two tracks, one of trace 1.
function someState(): State {
  const state = newState();
  state.tracks.value = [
    track(0, null, "section"), track(1, 0), track(2, 0), track(3, 0), track(4, null, "section"), track(5, 4), track(6, 4),
    track(0, null, "section", 1), track(1, 0, "slices", 1),
  ];
  return state;
}

const at = (state: State, key: string): TrackInfo => {
  const found = state.tracks.value.find((each) => keyOf(each) === key);
  assert.ok(found);
  return found;
};
const keys = (tracks: TrackInfo[]): string => tracks.map(keyOf).join(" ");
const shown = (state: State): string => makeLayout(state.tracks.value, {
  collapsed: state.collapsed.value, hidden: state.hidden.value, pinned: [], moved: state.moved.value, trackFilter: "",
}).places.map((place) => place.key).join(" ");

test("siblings are those of one parent, of all traces where there is none", () => {
  const state = someState();
  assert.equal(keys(siblingsOf(state, at(state, "0.2"))), "0.1 0.2 0.3");
  assert.equal(keys(siblingsOf(state, at(state, "0.4"))), "0.0 0.4 1.0");
});

test("a moved track stands where it was put, and the layout agrees", () => {
  const state = someState();
  assert.ok(moveBefore(state, at(state, "0.3"), at(state, "0.1")));
  assert.equal(keys(siblingsOf(state, at(state, "0.1"))), "0.3 0.1 0.2");
  assert.equal(shown(state), "0.0 0.3 0.1 0.2 0.4 0.5 0.6 1.0 1.1");
  assert.ok(moveBefore(state, at(state, "0.3"), null));
  assert.equal(shown(state), "0.0 0.1 0.2 0.3 0.4 0.5 0.6 1.0 1.1");
  assert.ok(moveBefore(state, at(state, "1.0"), at(state, "0.0")));
  assert.equal(shown(state), "1.0 1.1 0.0 0.1 0.2 0.3 0.4 0.5 0.6");
});

test("a move to where it stands, or among those of another parent, changes nothing", () => {
  const state = someState();
  assert.equal(moveBefore(state, at(state, "0.1"), at(state, "0.2")), false);
  assert.equal(moveBefore(state, at(state, "0.1"), at(state, "0.5")), false);
  assert.equal(state.moved.value.size, 0);
});

test("one place up and down, past those that are hidden", () => {
  const state = someState();
  assert.equal(moveBy(state, at(state, "0.1"), -1), false);
  assert.equal(moveBy(state, at(state, "0.3"), 1), false);
  assert.ok(moveBy(state, at(state, "0.1"), 1));
  assert.equal(keys(siblingsOf(state, at(state, "0.1"))), "0.2 0.1 0.3");
  hide(state, [at(state, "0.1")]);
  assert.ok(moveBy(state, at(state, "0.3"), -1));
  assert.equal(shown(state), "0.0 0.3 0.2 0.4 0.5 0.6 1.0 1.1");
});

test("any number of moves keeps every track exactly once", () => {
  const state = someState();
  for (let step = 0; step < 300; step++) {
    const all = state.tracks.value;
    const one = all[Math.floor(Math.random() * all.length)];
    assert.ok(one);
    const siblings = siblingsOf(state, one);
    moveBefore(state, one, Math.random() < 0.3 ? null : siblings[Math.floor(Math.random() * siblings.length)] ?? null);
    assert.equal(new Set(shown(state).split(" ")).size, all.length);
    assert.equal(makeLayout(all, {
      collapsed: new Map(), hidden: new Set(), pinned: [], moved: state.moved.value, trackFilter: "",
    }).places.filter((place) => place.track.parent === one.parent && (one.parent === null || place.track.trace === one.trace)).map((place) => place.key).join(" "),
    keys(siblingsOf(state, one)));
  }
});

test("collapse, pin, hide and show only", () => {
  const state = someState();
  toggleCollapsed(state, at(state, "0.0"));
  assert.ok(isCollapsed(state, at(state, "0.0")));
  assert.equal(shown(state), "0.0 0.4 0.5 0.6 1.0 1.1");
  collapseSections(state, true);
  assert.equal(shown(state), "0.0 0.4 1.0");
  collapseSections(state, false);
  showOnly(state, at(state, "0.5"));
  assert.equal(shown(state), "0.4 0.5");
  showHidden(state);
  showOnly(state, at(state, "0.0"));
  assert.equal(shown(state), "0.0 0.1 0.2 0.3");
  togglePinned(state, at(state, "0.1"));
  togglePinned(state, at(state, "0.2"));
  togglePinned(state, at(state, "0.1"));
  assert.deepEqual(state.pinned.value, ["0.2"]);
  assert.equal(keys(tracksBelow(state.tracks.value, at(state, "0.4"))), "0.5 0.6");
});

test("under a filter sections are open until they are collapsed, and as before when it goes", () => {
  const state = someState();
  collapseSections(state, true);
  state.trackFilter.value = "track";
  const places = (): string => makeLayout(state.tracks.value, choicesOf(state)).places.map((place) => place.key).join(" ");
  assert.equal(places(), "0.0 0.1 0.2 0.3 0.4 0.5 0.6 1.0 1.1", "what is found is shown");
  collapseSections(state, true);
  assert.equal(places(), "0.0 0.4 1.0");
  toggleCollapsed(state, at(state, "0.4"));
  assert.equal(places(), "0.0 0.4 0.5 0.6 1.0");
  assert.deepEqual([...choicesOf(state).folded ?? []], ["0.0", "1.0"]);
  state.trackFilter.value = "track 2";
  assert.equal(places(), "0.0 0.2", "another filter begins anew");
  state.trackFilter.value = "";
  assert.equal(places(), "0.0 0.4 1.0");
});

test("what is in a collapsed rank with several GPUs is in the row of its GPU", () => {
  const rank = { ...track(9, null, "section"), draws: [1, 4] };
  const tracks = [rank, track(1, 9, "section"), track(2, 1), track(4, 9, "section"), track(5, 4), track(6, 9, "section"), track(7, 6)];
  const choices = { collapsed: new Map([["0.9", true]]), hidden: new Set<string>(), pinned: [], moved: new Map(), trackFilter: "" };
  const layout = makeLayout(tracks, choices);
  assert.equal(layout.seenAt("0.5")?.key, "0.9");
  assert.deepEqual(["0.2", "0.5", "0.7"].map((key) => layout.rowAt(key, 3)), [0, 1, 0]);
  assert.equal(makeLayout(tracks, { ...choices, pinned: ["0.5"] }).rowAt("0.5", 3), 0); // one row of its own
  assert.equal(makeLayout([{ ...track(2, null), rows: 5 }], { ...choices, collapsed: new Map() }).rowAt("0.2", 3), 3);
});
