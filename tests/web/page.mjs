// page.mjs - the page of `heddle view` under test: servers, opening it, its state, its keys
import assert from "node:assert/strict";
import path from "node:path";
import {PATIENCE, runTests} from "./browser.mjs";
import {startSaved, startView} from "./server.mjs";

const [program, folder, heddle, names, ...only] = process.argv.slice(2);
export const scripts = names.split(",");
// Scripts of what hands do draw with canvas 2D: a frame takes half of the CPU time of one with WebGL in software, which the other
// scripts test.
const HANDS = ["page_keys", "page_mouse", "page_select", "page_tracks"];
const usualQuery = scripts.every(name => HANDS.includes(name)) ? "?webgl=0" : "";
const engine = process.env.HEDDLE_ENGINE; // the page has the engine in it, and no server (run.py --engine)
export const hasServer = !engine;
export {folder, heddle, PATIENCE, program};
export const file = name => path.join(folder, name);

// options.server: why a page without a server has no such test.
const REASONS = {
  requests: "the test watches, delays or answers requests to a server",
  stores: "a saved page has stores, whatever its traces were",
  summaries: "summaries open traces of the server's machine",
};
const tests = [], left = new Map();
export const test = (name, body, options) => {
  const why = options?.server && REASONS[options.server];
  if (options?.server && !why) throw new Error(`${name}: no reason is called ${options.server}`);
  if (engine && why) left.set(why, (left.get(why) ?? 0) + 1);
  else tests.push({name, body, options});
};

// ---- servers: one for each set of files, for all scripts ----

const servers = new Map(), retired = [];
export async function view(...names) {
  const key = names.join();
  const files = names.map(name => path.resolve(folder, name));
  if (!servers.has(key)) servers.set(key, engine ? startSaved(heddle, files, engine) : startView(heddle, files));
  return servers.get(key);
}

// What Chromium says about its software renderer is nothing of ours, nor that it finds no icon of the picture on which the
// page waits for the next test; 409 is the answer while a trace is being read.
const HARMLESS = /status of 409|\/favicon.ico$|GPU stall due to ReadPixels|Automatic fallback to software WebGL|GroupMarkerNotSet/;

// What a test opens, as its first call of open(page, …) or the like says it. Tests of the same are run one after another.
const openedBy = ({body}) => /\bopen\w*\(page, ([^;{)]*)/.exec(String(body))?.[1] ?? "";

export async function run() {
  const order = [...new Set(tests.map(openedBy))];
  tests.sort((a, b) => order.indexOf(openedBy(a)) - order.indexOf(openedBy(b)));
  for (const t of tests) {
    const body = t.body;
    t.body = async (page, more) => {
      try {
        await body(page, more);
      } finally {
        const expected = [HARMLESS, ...t.options?.expects ?? []];
        more.troubles.splice(0, more.troubles.length, ...more.troubles.filter(text => !expected.some(e => e.test(text))));
      }
    };
  }
  let good = await runTests(tests, {program, only, allowed: url => /^(http:\/\/(127\.0\.0\.1|localhost):\d+\/|data:|blob:|about:)/.test(url),
    rest, prepare: watchChanges});
  for (const server of [...servers.values(), ...retired]) {
    try {
      await (await server).stop();
    } catch (e) {
      good = false;
      console.log(`failed: a server\n${e.stack}`);
    }
  }
  for (const [why, count] of left) console.log(`left out without a server: ${count} tests, as ${why}`);
  console.log(`the page was loaded ${loads} times and reset ${reuses} times`);
  process.exit(good ? 0 : 1);
}

// ---- a page that is kept ----

// Tests that open the same files one after another share a loaded page, since loading it costs more than most tests. Between
// two tests each signal that was written gets back the value that it had when the page was loaded: those of the state, of
// modules and of components. The page is kept only if all that can be read of it is then as it was (seenOf), else the next
// test loads it again. HEDDLE_KEPT=1 prints why a page was not kept.
const kept = new WeakMap(); // by page: the address, and what was seen
const RESET_MS = 2000;
const CLOCKS_MS = 400; // WAIT_MS of data/clocks.ts, and a little
let loads = 0, reuses = 0;

// In a page, before its script: notes the first value of each signal that is written, and counts requests that run.
function watchChanges() {
  const watched = window.watched = {before: null, running: 0};
  const define = Object.defineProperty, ask = window.fetch;
  Object.defineProperty = (object, name, how) => define(object, name, name !== "value" || !how.set ? how : {...how, set(value) {
    if (watched.before && !watched.before.has(this)) watched.before.set(this, this.peek());
    how.set.call(this, value);
  }});
  window.fetch = watched.fetch = async (url, ...more) => {
    const isLongPoll = /api\/session\?.*after/.test(String(url));
    watched.running += !isLongPoll;
    try {
      return await ask.call(window, url, ...more);
    } finally {
      watched.running -= !isLongPoll;
    }
  };
}

// What can be read of the page, each as text.
const seenOf = page => page.evaluate(() => {
  const {app} = window.heddle, all = selector => [...document.querySelectorAll(selector)];
  const markup = document.documentElement.cloneNode(true);
  for (const hidden of markup.querySelectorAll("[hidden]")) hidden.replaceWith(`${hidden.id} ${hidden.className} is hidden`);
  const attributes = e => [...e.attributes].map(a => `${a.name}=${a.value.replace(/ ?cursor: [^;]*;/, "")}`).filter(text => text !== "style=").sort();
  const seen = {
    text: markup.textContent,
    elements: [...markup.querySelectorAll("*")].map(e => [e.tagName, ...attributes(e)]),
    inputs: all("input, select, textarea").map(e => [e.value, e.checked]),
    scrolled: all("*").filter(e => e.scrollTop || e.scrollLeft).map(e => e.id || e.className),
    focus: document.activeElement.id,
    signals: [...window.watched.before].filter(([signal, value]) => typeof value !== "object" && signal.peek() !== value).map(([, value]) => String(value)),
    state: Object.entries(app.state).map(([name, signal]) => [name, signal.peek()]),
    drawn: window.heddle.drawList(),
    commands: app.commands.all().map(c => [c.id, c.title, c.keys, String(c.run), String(c.enabled)]),
    stored: Object.entries(localStorage),
    globals: [Object.keys(window).filter(name => !/^\d+$/.test(name)), window.fetch === window.watched.fetch],
  };
  const plain = (_, v) => typeof v === "bigint" ? String(v) : v instanceof Map || v instanceof Set ? [...v] : v;
  return Object.fromEntries(Object.entries(seen).map(([name, what]) => [name, JSON.stringify(what, plain)]));
});

// Until all requests of the page are answered, and it is drawn.
async function quiet(page, timeout = PATIENCE) {
  await page.waitForFunction(() => window.watched.running === 0, null, {polling: 20, timeout});
  await settled(page, timeout);
}

async function keep(page, address) {
  if (engine) return; // requests to it are messages to a Worker, and watched.running counts calls of fetch alone
  if (!await page.evaluate(() => Boolean(window.watched))) return; // in a context that a test made
  await quiet(page);
  if ((await state(page, "session")).traces.length > 1) { // their clocks are compared a while later
    await page.waitForTimeout(CLOCKS_MS);
    await quiet(page);
  }
  await page.evaluate(() => { window.watched.before = new Map(); });
  kept.set(page, {address, seen: await seenOf(page)});
}

const putBack = (page, stored) => page.evaluate(stored => {
  const {app} = window.heddle, {before} = window.watched;
  app.hands.motions.stop();
  document.activeElement?.blur();
  for (const e of document.querySelectorAll("*")) if (e.scrollTop || e.scrollLeft) e.scrollTo(0, 0);
  for (let k = 0; k < 2; k++) { // again, after effects of the first time
    let done = false;
    app.state.dialog.subscribe(() => { // which is a batch: effects see the values of all signals
      if (!done) for (const [signal, value] of before) if (signal !== app.state.clocks) signal.value = value;
      done = true;
    })();
  }
  localStorage.clear();
  for (const [name, value] of stored) localStorage.setItem(name, value);
}, stored);

// Whether the page is again as it was when it was loaded.
async function isReset(page, was) {
  if (!await page.evaluate(() => Boolean(window.heddle && window.watched?.before))) return false;
  await putBack(page, JSON.parse(was.seen.stored));
  let differs = [];
  for (const end = Date.now() + RESET_MS; Date.now() < end;) {
    // What a test left to do may never end without what was put back: such a page is loaded again.
    if (!await quiet(page, RESET_MS).then(() => true, () => false)) return false;
    const seen = await seenOf(page);
    differs = Object.keys(seen).filter(name => seen[name] !== was.seen[name]).map(name => [name, was.seen[name], seen[name]]);
    if (differs.length === 0) return true;
    if (differs.some(([name]) => name === "globals" || name === "commands")) break; // which no time brings back
  }
  for (const [name, a, b] of process.env.HEDDLE_KEPT ? differs : []) {
    const at = Math.max(0, [...a].findIndex((letter, k) => letter !== b[k]) - 80);
    console.log(`not kept: ${name}\n  ${a.slice(at, at + 200)}\n  ${b.slice(at, at + 200)}`);
  }
  return false;
}

// Where nothing of the page is, but in the same place as it: Chromium keeps its process.
export const nowhere = url => url.startsWith("http") ? new URL("/icon.svg", url).href : "about:blank";

// What a server has: a test may have made tracks on it, or opened or closed traces.
const hasOf = page => page.evaluate(() => {
  const state = window.heddle?.app.state;
  return state ? JSON.stringify([state.session.value?.traces.map(t => t.id), state.tracks.value.length]) : null;
});

// A server that a test left otherwise than it began is no other test's.
async function retire(page) {
  const now = engine ? null : await hasOf(page);
  if (now === null) return;
  for (const [key, one] of servers) {
    const server = await one;
    if (!page.url().startsWith(server.url) || server.has === now) continue;
    servers.delete(key);
    retired.push(server);
    kept.delete(page);
  }
}

// After a test: what the page shows until the next one.
async function rest(page) {
  await retire(page);
  const was = kept.get(page);
  if (was && await isReset(page, was)) return;
  kept.delete(page);
  if (page.url().startsWith("http")) await page.evaluate(() => localStorage.clear());
  await page.goto(nowhere(page.url()));
}

// ---- the page ----

// Until all traces are read and laid out, what is in view is loaded, also its names, and it is drawn.
export async function settled(page, timeout = PATIENCE) {
  await page.waitForFunction(async () => {
    const isThere = () => {
      const {app} = window.heddle ?? {}, session = app?.state.session.value;
      return session && session.traces.every(t => t.state === "failed" || (t.state === "ready" && !t.busy))
        && (app.state.tracks.value.length > 0 || !session.traces.some(t => t.state === "ready" && t.span_ns > 1)) && app.tiles.idle(false)
        && app.names.idle() && !window.heddle.isDue();
    };
    for (;;) {
      while (!isThere()) await new Promise(resolve => setTimeout(resolve, 20));
      window.heddle.app.redraw();
      await new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(resolve)));
      if (isThere()) return true; // what was drawn did not ask for more
    }
  }, null, {timeout});
}

// Until the range stands still; it moves with the frames.
export async function still(page) {
  await until(page, () => !window.heddle.app.hands.motions.isMoving(), null, "the range comes to rest");
  return state(page, "range");
}

export const drawn = page => page.evaluate(() => new Promise(resolve => {
  window.heddle.app.redraw();
  requestAnimationFrame(() => requestAnimationFrame(() => resolve()));
}));

// Opens what is served there; `hash` as in the address. With the page's own events settled. It may be a page that is kept,
// unless it is to be `fresh`.
export async function open(page, names, {query = usualQuery, hash = "", fresh = Boolean(hash)} = {}) {
  const server = await view(...[names].flat()), address = server.url.replace(/\/?$/, "/") + query;
  if (!fresh && kept.get(page)?.address === address) {
    reuses++;
    return server;
  }
  if (kept.delete(page)) await page.goto(nowhere(address));
  loads++;
  await page.goto(address + hash);
  await settled(page);
  server.has ??= await hasOf(page);
  if (!hash) await keep(page, address);
  return server;
}

// A signal of the state, as JSON can tell it: Maps and Sets are lists, BigInts text.
export const state = (page, name) => page.evaluate(name => {
  const plain = v => typeof v === "bigint" ? String(v) : v instanceof Map ? [...v].map(plain) : v instanceof Set ? [...v].map(plain)
    : Array.isArray(v) ? v.map(plain) : v && typeof v === "object" ? Object.fromEntries(Object.entries(v).map(([k, w]) => [k, plain(w)])) : v;
  return plain(window.heddle.app.state[name].value);
}, name);

export const setState = (page, name, value) => page.evaluate(([name, value]) => {
  window.heddle.app.state[name].value = value;
}, [name, value]);

// Waits until a predicate of the state holds (`what` is for the message).
export async function until(page, predicate, argument, what = predicate.toString()) {
  try {
    await page.waitForFunction(predicate, argument, {timeout: PATIENCE, polling: 30});
  } catch {
    throw new assert.AssertionError({message: `did not come true: ${what}`});
  }
}

export const command = (page, id) => page.evaluate(id => {
  if (!window.heddle.app.commands.find(id)) throw new Error(`there is no command ${id}`);
  window.heddle.app.commands.run(id);
}, id);

// A track by its name and the name of the section that it is in.
export const trackOf = (page, name, parent) => page.evaluate(([name, parent]) => {
  const tracks = window.heddle.app.state.tracks.value;
  const found = tracks.filter(t => t.name === name && t.role !== "instants" && !t.derived
    && (!parent || tracks.some(p => p.trace === t.trace && p.id === t.parent && p.name.includes(parent))));
  if (found.length !== 1) throw new Error(`${found.length} tracks are named ${name}: ${tracks.map(t => t.name).join(", ")}`);
  return found[0];
}, [name, parent]);

// Where a track stands: {x, y, width, height} of its rows in the window, and how many rows; scrolled to if it is not in
// view, and loaded (with `loaded` false only drawn: for a test whose server does not answer).
export const placeOf = async (page, track, {loaded = true} = {}) => {
  const key = typeof track === "string" ? track : `${track.trace}.${track.id}`;
  await page.evaluate(key => {
    const {app} = window.heddle, layout = app.layout(), place = layout.find(key);
    if (!place) throw new Error(`track ${key} is not shown`);
    if (place.pinned) return;
    const room = document.querySelector("#tracks").clientHeight - layout.pinnedHeight;
    if (place.y < app.state.scroll.value || place.y + place.height > app.state.scroll.value + room) app.hands.motions.scrollTo(place.y);
  }, key);
  await (loaded ? settled : drawn)(page);
  return page.evaluate(key => {
    const {app} = window.heddle, layout = app.layout(), place = layout.find(key);
    const box = document.querySelector("#tracks canvas").getBoundingClientRect();
    const y = box.y + place.y + (place.pinned ? 0 : layout.pinnedHeight - app.state.scroll.value);
    return {x: box.x, y, width: box.width, height: place.height, rowHeight: place.rowHeight, rows: place.rows};
  }, key);
};

// The window's place of a global time on a row of a track.
export async function pointAt(page, track, time, row = 0) {
  const place = await placeOf(page, track), range = await state(page, "range");
  return {x: place.x + (time - range.from) / (range.until - range.from) * place.width,
    y: place.y + (row + 0.6) * place.rowHeight};
}

// Puts the pointer on an event of a track at a time, and waits until the page knows it there; the window's place.
export async function pointAtEvent(page, track, time, row = 0) {
  for (const end = Date.now() + PATIENCE; ;) {
    const at = await pointAt(page, track, time, row);
    await page.mouse.move(at.x + 1, at.y);
    await page.mouse.move(at.x, at.y);
    await drawn(page);
    const hovered = await state(page, "hovered"), offset = (await state(page, "session")).traces.find(t => t.id === track.trace).offset_ns;
    const begin = (hovered?.start ?? Infinity) + offset;
    if (hovered?.trace === track.trace && hovered.track === track.id && begin <= time && time <= begin + hovered.duration) return at;
    assert.ok(Date.now() < end, `no event of ${track.name} at ${time}: ${JSON.stringify([at, hovered])}`);
  }
}

// A click on it.
export async function clickEvent(page, track, time, row = 0) {
  const at = await pointAtEvent(page, track, time, row);
  await page.mouse.click(at.x, at.y);
  return at;
}

// Shows [from, until), loaded.
export async function show(page, from, end) {
  await setState(page, "range", {from, until: end});
  await settled(page);
}
