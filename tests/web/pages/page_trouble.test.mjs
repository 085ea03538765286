// page_trouble.test.mjs - a server that is slow, fails, goes away, comes back as another; a browser without WebGL
import assert from "node:assert/strict";
import {launch, watch} from "../browser.mjs";
import {drawn, file, heddle, open, PATIENCE, placeOf, program, settled, setState, show, state, test, trackOf, until, view} from "../page.mjs";
import {pixelAt, pixelsOf} from "../pixels.mjs";
import {startProxy, startView} from "../server.mjs";

// What the browser itself says of answers that fail is no trouble here.
const PROXIED = {expects: [/Failed to load resource|net::ERR_/], server: "requests"};
const isTiles = path => path.startsWith("/api/tiles");

// A page behind a proxy that follows `rule`.
async function withProxy(page, names, rule, body) {
  const proxy = await startProxy((await view(...names)).url);
  try {
    if (rule) proxy.rule = rule;
    await page.goto(proxy.url);
    await body(proxy);
  } finally {
    await page.goto("about:blank"); // which needs no server
    await proxy.stop();
  }
}
const ready = page => page.waitForFunction(() => window.heddle?.app.state.tracks.value.length > 0
  && window.heddle.app.state.session.value.traces.every(t => t.state === "ready"));

test("while a server is slow, what is not there is hatched, never idle", async page => {
  let release;
  const released = new Promise(resolve => { release = resolve; });
  await withProxy(page, ["busy37.json"], path => isTiles(path) ? {until: released} : undefined, async () => {
    await ready(page);
    await drawn(page);
    const list = await page.evaluate(() => window.heddle.drawList());
    assert.ok(list.hatched.length > 0, "hatched at first");
    const place = await placeOf(page, await trackOf(page, "stream 7"), {loaded: false});
    const box = {x: place.x, y: Math.round(place.y), width: place.width, height: place.rowHeight};
    await page.mouse.move(1, 1);
    await drawn(page);
    const loading = await pixelsOf(page, box);
    release();
    await settled(page);
    const loaded = await pixelsOf(page, box), ground = pixelAt(loaded, 5, 1).join();
    for (let x = 0; x < loading.width; x++) {
      const colors = new Set(Array.from({length: loading.height - 2}, (_, y) => pixelAt(loading, x, y + 1).join()));
      assert.ok(colors.size > 1 || !colors.has(ground), `pixel ${x} is ground while nothing is known of it`);
    }
    assert.equal((await page.evaluate(() => window.heddle.drawList())).hatched.length, 0, "and loaded at last");
    // What was loaded stands in for what is not, when zooming in.
    const whole = await state(page, "whole"), quarter = (whole.until - whole.from) / 4;
    await setState(page, "range", {from: whole.from + quarter, until: whole.from + 2 * quarter});
    await drawn(page);
    const zoomed = await page.evaluate(() => window.heddle.drawList());
    assert.equal(zoomed.hatched.length, 0, "nothing is hatched: the tiles above stand in");
    assert.ok(zoomed.bars.length > 0, "and are drawn");
    await settled(page);
  });
}, PROXIED);

test("a slow server is said to be slow", async page => {
  let release;
  const released = new Promise(resolve => { release = resolve; });
  await withProxy(page, ["small.json"], path => isTiles(path) ? {until: released} : undefined, async () => {
    await page.waitForFunction(() => /slow/i.test(document.querySelector("#status").textContent));
    release();
    await settled(page);
    await page.waitForFunction(() => document.querySelector("#status").textContent === "");
  });
}, PROXIED);

test("a server that fails in turn in all ways is reported, and asked again until it is well", async page => {
  const ways = [{status: 500}, {cut: "within"}, {status: 503}, {cut: "before"}];
  let next = 0;
  await withProxy(page, ["small.json"], path => isTiles(path) ? ways[next++ % ways.length] : undefined, async proxy => {
    await ready(page);
    const times = () => proxy.asked.flatMap((path, k) => isTiles(path) ? [proxy.times[k]] : []);
    for (let failed = 0; failed < ways.length; failed = next) {
      await page.waitForFunction(() => document.querySelector("#status").textContent.length > 10);
      assert.ok((await page.evaluate(() => window.heddle.drawList())).hatched.length > 0, "what is missing is hatched");
      await until(page, () => window.heddle.app.tiles.flights.size === 0, null, "all that was asked for has failed");
      const count = times().length;
      while (times().length === count) await drawn(page);
      const wait = times()[count] - times()[count - 1];
      assert.ok(wait >= 395, `it is hammered: asked again after ${wait} ms`);
    }
    proxy.rule = () => undefined;
    await settled(page);
    await page.waitForFunction(() => document.querySelector("#status").textContent === "");
    assert.equal((await page.evaluate(() => window.heddle.drawList())).hatched.length, 0);
  });
}, PROXIED);

test("a session that fails at first is asked for again", async page => {
  let left = 3;
  await withProxy(page, ["small.json"], path => path.startsWith("/api/session") && left-- > 0 ? {status: 500} : undefined,
    () => settled(page));
}, PROXIED);

test("details, selection and search that fail leave a page that works", async page => {
  await withProxy(page, ["small.json"], undefined, async proxy => {
    await settled(page);
    proxy.rule = path => /\/api\/(event|select|search|flows|flame|snap|step)/.test(path) ? {status: 500} : undefined;
    const stream = await trackOf(page, "stream 7");
    await page.evaluate(([key]) => {
      const {state} = window.heddle.app;
      state.area.value = {from: 0, until: 1000000, tracks: [key]};
      state.tab.value = "selection";
      state.query.value = {q: "gemm", mode: "text", in: "names", case: false};
    }, [`0.${stream.id}`]);
    await page.waitForFunction(() => /proxy of the test|500/.test(document.body.textContent));
    proxy.rule = () => undefined;
    await page.evaluate(([key]) => { window.heddle.app.state.area.value = {from: 0, until: 2000000, tracks: [key]}; }, [`0.${stream.id}`]);
    await page.waitForFunction(() => /sgemm/.test(document.querySelector("#pane").textContent));
  });
}, PROXIED);

test("a server that was started again is a new session: nothing of the old one stays", async page => {
  const first = await startView(heddle, [file("small.json")]), proxy = await startProxy(first.url);
  let second = null;
  try {
    await page.goto(proxy.url);
    await settled(page);
    const old = (await state(page, "session")).session;
    await first.kill();
    await page.waitForFunction(() => document.querySelector("#status").textContent.length > 10);
    second = await startView(heddle, [file("busy37.json")]);
    proxy.target = second.url;
    await page.waitForFunction(old => window.heddle.app.state.session.value.session !== old, old);
    await settled(page);
    const tracks = await state(page, "tracks");
    assert.equal(tracks.filter(t => t.name === "stream 7" && !t.derived).length, 1);
    assert.ok(tracks.every(t => t.name !== "autograd"));
    await page.waitForFunction(() => document.querySelector("#status").textContent === "");
  } finally {
    await page.goto("about:blank");
    await proxy.stop();
    if (second) await second.stop();
  }
}, PROXIED);

test("what is no longer in view is no longer waited for", async page => {
  const never = new Promise(() => {});
  await withProxy(page, ["busy37.json"], undefined, async proxy => {
    await settled(page);
    proxy.rule = path => isTiles(path) ? {until: never} : undefined;
    const whole = await state(page, "whole"), span = whole.until - whole.from;
    const requests = () => page.evaluate(() => window.heddle.app.tiles.requests);
    const asked = await requests();
    let givenUp = 0;
    const count = request => { givenUp += isTiles(new URL(request.url()).pathname) ? 1 : 0; };
    page.on("requestfailed", count);
    for (let k = 1; k <= 20; k++) {
      await setState(page, "range", {from: whole.from + span * k / 40, until: whole.from + span * k / 40 + span / 2 ** (3 + k / 3)});
      await drawn(page);
    }
    // Had any of the 19 views before kept its requests, there would be no room for those of the last.
    const tiles = await requests() - asked;
    assert.ok(tiles > 8, `${tiles} requests`);
    proxy.rule = () => undefined;
    await setState(page, "range", {from: 1000000, until: 1100000});
    await settled(page);
    for (const end = Date.now() + PATIENCE; givenUp < tiles - 6 && Date.now() < end;) await drawn(page);
    page.off("requestfailed", count);
    assert.ok(givenUp >= tiles - 6, `${givenUp} of ${tiles} were given up`);
  });
}, PROXIED);

// ---- drawing without WebGL, and with one that goes away ----

async function barsOf(page) {
  return page.evaluate(() => { const {bars, hatched} = window.heddle.drawList(); return {bars, hatched}; });
}

// What is drawn when nothing changes any more: all that is asked for ahead is there, too.
async function restingBars(page) {
  await until(page, () => window.heddle.app.tiles.idle(), null, "nothing is asked for ahead");
  await settled(page);
  return barsOf(page);
}

test("?webgl=0 draws the same on a 2D canvas", async page => {
  await open(page, "small.json");
  const wanted = await restingBars(page);
  await open(page, "small.json", {query: "?webgl=0"});
  assert.equal(await page.evaluate(() => window.heddle.drawList().backend), "canvas2d");
  assert.deepEqual(await restingBars(page), wanted);
});

test("a browser without WebGL has the same picture", async () => {
  const browser = await launch(program, ["--disable-gpu", "--disable-3d-apis", "--disable-webgl", "--disable-webgl2"]);
  try {
    const context = await browser.newContext({viewport: {width: 1400, height: 800}}), page = await context.newPage();
    page.setDefaultTimeout(PATIENCE);
    const troubles = watch(context, page, () => true);
    await open(page, "small.json");
    assert.equal(await page.evaluate(() => window.heddle.drawList().backend), "canvas2d");
    assert.ok((await barsOf(page)).bars.length > 10);
    await show(page, 1000000, 2000000);
    assert.ok((await barsOf(page)).bars.length > 5);
    assert.deepEqual(troubles, []);
  } finally {
    await browser.close();
  }
});

test("a card that has WebGL2 but cannot link a program has the same picture", async page => {
  await open(page, "small.json", {query: "?webgl=0"});
  const wanted = await restingBars(page), pixels = await pixelsOf(page);
  await page.addInitScript(() => { WebGL2RenderingContext.prototype.getProgramParameter = () => false; });
  await open(page, "small.json");
  await page.waitForFunction(() => window.heddle.drawList().backend === "canvas2d");
  assert.deepEqual(await restingBars(page), wanted);
  assert.equal(Buffer.compare((await pixelsOf(page)).data, pixels.data), 0, "the same picture");
}, {context: {}}); // what it does to WebGL would stay

test("a lost WebGL context is drawn again when it is restored", async page => {
  await open(page, "small.json");
  assert.equal(await page.evaluate(() => window.heddle.drawList().backend), "webgl2");
  const before = await pixelsOf(page);
  await page.evaluate(() => {
    const canvas = [...document.querySelectorAll("#tracks canvas")].find(c => c.getContext("webgl2"));
    window.lost = canvas.getContext("webgl2").getExtension("WEBGL_lose_context");
    window.lost.loseContext();
  });
  await drawn(page);
  await page.evaluate(() => window.lost.restoreContext());
  for (const end = Date.now() + PATIENCE; ;) {
    await settled(page);
    if (Buffer.compare(before.data, (await pixelsOf(page)).data) === 0) break;
    assert.ok(Date.now() < end, "the same picture");
  }
});
