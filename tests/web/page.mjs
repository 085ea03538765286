// page.mjs - the page of `heddle view` under test: servers, opening it, its state, its keys
import assert from "node:assert/strict";
import path from "node:path";
import {PATIENCE, runTests} from "./browser.mjs";
import {startView} from "./server.mjs";

const [program, folder, heddle, names, ...only] = process.argv.slice(2);
export const scripts = names.split(",");
export {folder, heddle, PATIENCE, program};
export const file = name => path.join(folder, name);

const tests = [];
export const test = (name, body, options) => tests.push({name, body, options});

// ---- servers: one for each set of files, for all scripts ----

const servers = new Map();
export async function view(...names) {
  const key = names.join();
  if (!servers.has(key)) servers.set(key, startView(heddle, names.map(name => path.resolve(folder, name))));
  return servers.get(key);
}

// What Chromium says about its software renderer is nothing of ours, nor that it finds no icon of the picture on which the
// page waits for the next test; 409 is the answer while a trace is being read.
const HARMLESS = /status of 409|\/favicon.ico$|GPU stall due to ReadPixels|Automatic fallback to software WebGL|GroupMarkerNotSet/;

// Where nothing of the page is, but in the same place as it: Chromium keeps its process.
export const rest = url => url.startsWith("http") ? new URL("/icon.svg", url).href : "about:blank";

export async function run() {
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
    rest});
  for (const server of servers.values()) {
    try {
      await (await server).stop();
    } catch (e) {
      good = false;
      console.log(`failed: a server\n${e.stack}`);
    }
  }
  process.exit(good ? 0 : 1);
}

// ---- the page ----

// Until all traces are read and laid out, what is in view is loaded, also its names, and it is drawn.
export async function settled(page) {
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
  });
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

// Opens what is served there; `hash` as in the address. With the page's own events settled.
export async function open(page, names, {query = "", hash = ""} = {}) {
  const server = await view(...[names].flat());
  await page.goto(server.url.replace(/\/?$/, "/") + query + hash);
  await settled(page);
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
