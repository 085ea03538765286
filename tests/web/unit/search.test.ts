import assert from "node:assert/strict";
import { test } from "node:test";
import type { App } from "../../../src/view/web/src/app";
import { Commands } from "../../../src/view/web/src/tools/commands";
import { makeLayout } from "../../../src/view/web/src/tracks/layout";
import type { EventRef, SearchQuery, SearchResult, Session, TraceInfo } from "../../../src/view/web/src/data/model";
import { attachSearch, countText, placeIn, searchStatus, searchStep } from "../../../src/view/web/src/data/search";
import type { SearchPlace, Source } from "../../../src/view/web/src/data/source";
import { newState } from "../../../src/view/web/src/state";

interface Known {
  trace: number;
  track: number;
  row: number;
  start: number;
}

const OFFSETS = [0, 1000];

function trace(id: number): TraceInfo {
  return {
    id, name: `rank${id}.json`, format: "chrome", state: "ready", done: 1, total: 1, start_ns: "0", span_ns: 5000, offset_ns: OFFSETS[id] ?? 0, rank: id, unix_ns: null, tracks: 1, busy: "",
  };
}

// A server's search as docs/reference/view-protocol.md has it, over a list.
function searchIn(events: readonly Known[], id: number, query: SearchQuery, from: number, behind?: SearchPlace): SearchResult {
  if (query.mode === "regex") new RegExp(query.q);
  const order = (each: Known): [number, number] => [each.start, each.row];
  const less = (a: readonly number[], b: readonly number[]): boolean => {
    for (let at = 0; at < a.length; at++) if (a[at] !== b[at]) return (a[at] ?? 0) < (b[at] ?? 0);
    return false;
  };
  const hits = events.filter((each) => each.trace === id).sort((a, b) => (less(order(a), order(b)) ? -1 : 1));
  const place = behind ? [from, behind.row ?? -1] : [from, -1];
  const after = hits.filter((each) => less(place, order(each)));
  const before = hits.filter((each) => less(order(each), place));
  const ref = (each: Known): EventRef => ({ ...each, kind: "slice", depth: 0, duration: 10, name: 1 });
  const result: SearchResult = {
    count: hits.length, more: false, by_event: false, buckets: [], tracks: [], names: [], names_count: 0, ms: 1,
  };
  if (after[0]) Object.assign(result, { next: ref(after[0]), index: hits.length - after.length });
  const last = before[before.length - 1];
  if (last) result.previous = ref(last);
  return result;
}

function appOf(events: Known[], traces: number): { app: App; asked: string[] } {
  const state = newState();
  const asked: string[] = [];
  const session: Session = { version: "", session: "a", revision: 1, traces: [] };
  for (let id = 0; id < traces; id++) session.traces.push(trace(id));
  state.session.value = session;
  state.whole.value = state.range.value = { from: 0, until: 6000 };
  const source: Pick<Source, "search"> = {
    search: (id, query, from, signal, behind) => new Promise((resolve, reject) => {
      asked.push(query.q);
      signal?.addEventListener("abort", () => reject(new DOMException("", "AbortError")));
      setTimeout(() => {
        try {
          resolve(searchIn(events, id, query, from, behind));
        } catch {
          reject(new Error("This is not a regular expression."));
        }
      }, 1);
    }),
  };
  const layout = makeLayout([], { collapsed: new Map(), hidden: new Set(), pinned: [], moved: new Map(), trackFilter: "" });
  const app = { source, state, commands: new Commands(), layout: () => layout, redraw: () => undefined, tiles: { setSearch: () => undefined } } as unknown as App;
  return { app, asked };
}

const wait = (ms: number): Promise<void> => new Promise((wake) => setTimeout(wake, ms));
// Machines are slow at times.
async function until(what: () => boolean): Promise<void> {
  for (let tries = 0; tries < 500 && !what(); tries++) await wait(10);
  assert.ok(what());
}
const query = (q: string, mode: SearchQuery["mode"] = "text"): SearchQuery => ({ q, mode, in: "names", case: false });

const EVENTS: Known[] = [
  { trace: 0, track: 3, row: 9, start: 1500 }, { trace: 0, track: 1, row: 4, start: 1500 }, { trace: 0, track: 1, row: 5, start: 1500 },
  { trace: 1, track: 0, row: 0, start: 500 }, { trace: 1, track: 2, row: 7, start: 4000 }, { trace: 0, track: 1, row: 1, start: 0 },
];
const IN_ORDER = ["0.1.1", "0.1.4", "0.1.5", "0.3.9", "1.0.0", "1.2.7"];
const selectedOf = (app: App): string => app.state.selected.value.map((ref) => `${ref.trace}.${ref.track}.${ref.row}`).join();

test("steps visit every hit once, in order, also those that start together and on several traces", async () => {
  const { app } = appOf(EVENTS, 2);
  app.state.query.value = query("x");
  const seen: string[] = [];
  for (let step = 1; step <= EVENTS.length; step++) {
    await searchStep(app, 1);
    seen.push(selectedOf(app));
    assert.equal(searchStatus.value.at, step);
  }
  assert.deepEqual(seen, IN_ORDER);
  await searchStep(app, 1);
  assert.equal(selectedOf(app), IN_ORDER[0], "from the end to the first");
});

test("steps that are asked for while the server answers are all done", async () => {
  const { app } = appOf(EVENTS, 2);
  app.state.query.value = query("x");
  await Promise.all([searchStep(app, 1), searchStep(app, 1), searchStep(app, 1)]);
  assert.equal(selectedOf(app), IN_ORDER[2]);
  const held = { repeat: true } as KeyboardEvent;
  await Promise.all([searchStep(app, 1), searchStep(app, 1, held), searchStep(app, 1, held)]);
  assert.equal(selectedOf(app), IN_ORDER[3], "a key that is held goes on when it was answered");
});

test("steps back are the same in reverse, with their numbers", async () => {
  const { app } = appOf(EVENTS, 2);
  app.state.query.value = query("x");
  const seen: string[] = [];
  for (let step = EVENTS.length; step >= 1; step--) {
    await searchStep(app, -1);
    seen.unshift(selectedOf(app));
    assert.equal(searchStatus.value.at, step);
  }
  assert.deepEqual(seen, IN_ORDER);
});

test("a hit that is stepped to is in view, wide enough to be seen", async () => {
  const { app } = appOf(EVENTS, 2);
  app.state.query.value = query("x");
  app.state.range.value = { from: 0, until: 6000 };
  await searchStep(app, -1);
  const { from, until } = app.state.range.value;
  assert.ok(from <= 5000 && until >= 5010 && (until - from) * (1 / 300) <= 10);
});

test("the query is asked once typing stops, of all traces, and what is typed over is not", async () => {
  const { app, asked } = appOf(EVENTS, 2);
  const end = attachSearch(app);
  for (const q of ["a", "ab", "abc"]) {
    app.state.query.value = query(q);
    await wait(1);
  }
  await until(() => app.state.results.value.size === 2);
  assert.deepEqual(asked, ["abc", "abc"]);
  assert.equal(app.state.results.value.get(0)?.count, 4);
  assert.equal(countText(app.state.results.value), "6 in 2 traces");
  app.state.query.value = query("");
  assert.equal(app.state.results.value.size, 0);
  end();
});

test("an expression that is none is said, and the next query forgets it", async () => {
  const { app } = appOf(EVENTS, 1);
  const end = attachSearch(app);
  app.state.query.value = query("(", "regex");
  await until(() => searchStatus.value.error !== "");
  assert.equal(searchStatus.value.error, "This is not a regular expression.");
  assert.equal(app.state.results.value.size, 0);
  app.state.query.value = query("a", "regex");
  await until(() => app.state.results.value.size === 1);
  assert.equal(searchStatus.value.error, "");
  assert.equal(countText(app.state.results.value), "4");
  end();
});

test("traces with a smaller number come first at one time", () => {
  const event: EventRef = { trace: 1, track: 5, row: 6, kind: "slice", depth: 0, start: 100, duration: 1, name: 0 };
  assert.deepEqual(placeIn(0, 10, { time: 100, event }), { from: 91 });
  assert.deepEqual(placeIn(1, 0, { time: 100, event }), { from: 100, behind: { kind: "slice", row: 6 } });
  assert.deepEqual(placeIn(2, 0, { time: 100, event }), { from: 100 });
});
