// page_truth.test.mjs - what a click, a box, a list and an address lead to is exactly what they say
import assert from "node:assert/strict";
import {onTrack, readChrome} from "../oracle.mjs";
import {clickEvent, drawn, file, open, placeOf, setState, settled, show, state, test, trackOf, until} from "../page.mjs";

const small = readChrome(file("small.json")), busy = readChrome(file("busy37.json"));

test("a click on a block of a derived row selects the longest of its events", async page => {
  await open(page, "busy37.json");
  const compute = (await state(page, "tracks")).find(t => t.role === "compute");
  assert.ok(compute, "there is a row of compute");
  const place = await placeOf(page, compute);
  for (const share of [0.21, 0.5, 0.83]) {
    const wanted = await page.evaluate(([key, x, y]) => {
      const {app} = window.heddle, canvas = document.querySelector("#tracks canvas");
      return new Promise(resolve => {
        const range = app.state.range.value, time = range.from + (range.until - range.from) * x / canvas.clientWidth;
        const z = Math.floor(Math.log2((range.until - range.from) / canvas.clientWidth));
        for (let zoom = z; zoom < z + 3; zoom++) {
          const tile = app.tiles.get(0, key, zoom, Math.floor(time / (512 * 2 ** zoom)), false);
          const row = tile?.rows[0], column = Math.floor(time / 2 ** zoom) % 512;
          const at = row ? [...row.column].indexOf(column) : -1;
          if (at >= 0) return resolve({longest: row.longest[at], count: row.count[at]});
        }
        resolve(null);
      });
    }, [compute.id, place.width * share, place.y]);
    assert.ok(wanted && wanted.count > 2, "many events are under the pointer");
    await setState(page, "selected", []);
    await page.mouse.click(place.x + place.width * share, place.y + place.rowHeight / 2);
    await until(page, () => window.heddle.app.state.selected.value.length === 1, null, "an event is selected");
    assert.equal((await state(page, "selected"))[0].duration, wanted.longest);
    await until(page, () => /longest of/.test(window.heddle.app.state.message.value?.text ?? ""), null, "it says so");
  }
});

test("the critical path is a row, and details say what an event waited for, with a way to it", async page => {
  await open(page, "small.json");
  const path = (await state(page, "tracks")).find(t => t.role === "critical_path");
  assert.equal(path.covers, path.end - path.start, "no moment of it is left out");
  const stream = await trackOf(page, "stream 7"), kernel = onTrack(small, 0, 7)[0], start = kernel.start - small.start;
  const launch = small.slices.find(s => s !== kernel && s.args?.correlation === kernel.args.correlation);
  await show(page, start - 100000, start + 300000);
  await clickEvent(page, stream, start + (kernel.end - kernel.start) / 2);
  await setState(page, "tab", "details");
  const bound = page.locator("#pane dt:text-is('Bound by') + dd");
  assert.equal((await bound.textContent()).trim(), `launch ${launch.name}`);
  assert.match(await page.locator("#pane dt:text-is('Slack') + dd").textContent(), /later, and the trace ends/);
  await bound.locator("button").click();
  await until(page, start => window.heddle.app.state.selected.value[0]?.start === start, launch.start - small.start, "it is gone to");
});

test("a box dragged while the pane is closed opens its table, a click does not", async page => {
  await open(page, "small.json");
  const stream = await trackOf(page, "stream 7");
  const start = onTrack(small, 0, 7)[0].start - small.start;
  await show(page, start - 100000, start + 300000);
  await setState(page, "tab", "details");
  await setState(page, "tab", null);
  const at = await clickEvent(page, stream, start + 75000);
  await until(page, () => window.heddle.app.state.selected.value.length === 1);
  assert.equal(await state(page, "tab"), null, "the pane stays closed");
  await page.mouse.move(at.x - 60, at.y);
  await page.mouse.down();
  await page.mouse.move(at.x + 60, at.y + 4, {steps: 4});
  await page.mouse.up();
  await until(page, () => window.heddle.app.state.tab.value === "selection", null, "the table is shown");
  await page.waitForSelector("#pane .grid");
});

test("sections tell how busy they are, and the overview has a row for the device", async page => {
  await open(page, "busy37.json");
  const device = (await state(page, "tracks")).find(t => t.kind === "section" && t.role === "device");
  const work = onTrack(busy, 0, 7);
  assert.equal(device.events, work.length);
  assert.equal(device.busy, work.reduce((a, s) => a + s.end - s.start, 0));
  assert.ok(device.end > device.start);
});

test("hits on hidden, collapsed and filtered tracks are shown when they are stepped to", async page => {
  await open(page, "small.json");
  const twenty = await trackOf(page, "stream 20");
  const hide = {
    hidden: key => { window.heddle.app.state.hidden.value = new Set([key]); },
    collapsed: key => {
      const {state} = window.heddle.app, [trace, id] = key.split(".").map(Number);
      const track = state.tracks.value.find(t => t.trace === trace && t.id === id);
      state.collapsed.value = new Map([[`${trace}.${track.parent}`, true]]);
    },
    filtered: () => { window.heddle.app.state.trackFilter.value = "autograd"; },
  };
  for (const [name, body] of Object.entries(hide)) {
    await page.evaluate(body, `0.${twenty.id}`);
    await setState(page, "selected", []);
    await drawn(page);
    assert.ok(!await page.evaluate(key => window.heddle.app.layout().find(key), `0.${twenty.id}`), `${name}: it is not shown`);
    await page.click("#search-text");
    await page.fill("#search-text", "AllReduce");
    await until(page, () => window.heddle.app.state.results.value.get(0)?.count === 3, null, "three hits");
    await page.keyboard.press("Enter");
    await until(page, () => window.heddle.app.state.selected.value.length === 1, null, `${name}: a hit is selected`);
    assert.ok(await page.evaluate(key => window.heddle.app.layout().find(key) !== undefined, `0.${twenty.id}`), `${name}: its track is shown`);
    await setState(page, "trackFilter", "");
  }
});

test("a table of more names than it has room for is cut in its order, up and down", async page => {
  await open(page, "names.json");
  await setState(page, "area", {from: 0, until: 31e9, tracks: null});
  await page.waitForSelector("#pane .grid");
  const first = async () => (await page.textContent("#pane .grid tbody tr:not(.space) td:first-child")).trim();
  const sorted = async (title, way) => {
    for (let k = 0; k < 3; k++) {
      if (await page.getAttribute(`#pane .grid th:has(button:text-matches("^${title}"))`, "aria-sort") === way) break;
      await page.click(`#pane .grid th button:text-matches("^${title}")`);
    }
  };
  for (const [title, way, wanted] of [["Total", "descending", "name 2999"], ["Total", "ascending", "name 0000"],
    ["Name", "descending", "name 2999"], ["Name", "ascending", "name 0000"], ["Max", "ascending", "name 0000"]]) {
    await sorted(title, way);
    await until(page, wanted => (document.querySelector("#pane .grid tbody tr:not(.space) td:first-child")?.textContent ?? "").includes(wanted), wanted,
      `${title} ${way}: ${wanted} comes first, not ${await first()}`);
  }
  // A copy has all of them.
  await page.evaluate(() => { navigator.clipboard.writeText = async text => { window.copied = text; }; });
  await page.click("#pane >> text=Copy CSV");
  await until(page, () => window.copied !== undefined, null, "the table is copied");
  const [, ...rows] = (await page.evaluate(() => window.copied)).trimEnd().split("\n");
  const wanted = readChrome(file("names.json")).slices.map(s => `${s.name},1,${s.end - s.start}`);
  assert.deepEqual(rows.map(row => row.split(",").slice(0, 3).join()).sort(), wanted.sort());
  assert.match((await state(page, "message")).text, /CSV, 3,000 names/);
});

test("each count of the fidelity line lists its events, and a click on each shows it", async page => {
  await open(page, "doubts.json");
  await page.waitForFunction(() => /of 7 slices/.test(document.querySelector("#fidelity").textContent));
  for (const [fact, name] of [["before", "early"], ["on extra lanes", "crossing"], ["negative", "negative"], ["slice without an end", "open"],
    ["flow start without an end", "begun"], ["flow end without a start", "ended"], ["flow point bound to no slice", "flow"], ["backward", "flow"]]) {
    await setState(page, "selected", []);
    await setState(page, "timing", null);
    await page.click(`#fidelity button:text-matches("${fact}")`);
    const link = page.locator("#pane .grid button.link", {hasText: name}).first();
    await link.click();
    await until(page, () => window.heddle.app.state.selected.value.length === 1 || window.heddle.app.state.timing.value !== null, null, `${fact}: it is shown`);
    const [at] = await state(page, "selected"), range = await state(page, "range"), timing = await state(page, "timing");
    const time = at ? at.start : timing.from;
    assert.ok(range.from <= time && time <= range.until, `${fact}: it is in view`);
  }
  await page.evaluate(() => {
    const {state} = window.heddle.app;
    state.fidelity.value = new Map([...state.fidelity.value].map(([k, v]) => [k, {...v, lost: 3, ledger: [{stage: "reading", code: "x", level: "loss", count: 3, text: "three lost"}]}]));
  });
  await page.click('#fidelity button:text-matches("lost")');
  await page.waitForFunction(() => /three lost/.test(document.querySelector("#pane .ledger")?.textContent ?? ""));
});

test("several selected events, the timing range and renamed marks are in the address", async page => {
  await open(page, "small.json");
  const stream = await trackOf(page, "stream 7"), slices = onTrack(small, 0, 7).slice(0, 2).map(s => s.start - small.start);
  await show(page, slices[0] - 50000, slices[1] + 300000);
  for (const [k, start] of slices.entries()) {
    if (k) await page.keyboard.down("Control");
    await clickEvent(page, stream, start + 5000);
    if (k) await page.keyboard.up("Control");
    await until(page, n => window.heddle.app.state.selected.value.length === n, k + 1, `${k + 1} are selected`);
  }
  await setState(page, "timing", {from: 250000, until: 350000});
  await page.keyboard.press("m");
  await until(page, () => window.heddle.app.state.marks.value.length === 1, null, "there is a mark");
  await setState(page, "dialog", "marks");
  const input = page.locator("#dialogs input").first();
  await input.fill("é & #1 = x,y;~");
  await input.press("Enter");
  await until(page, () => window.heddle.app.state.marks.value[0].name === "é & #1 = x,y;~", null, "it has its name");
  await setState(page, "dialog", null);
  const names = ["selected", "timing", "marks", "range"], before = await Promise.all(names.map(name => state(page, name)));
  await until(page, () => new URLSearchParams(location.hash.slice(1)).get("m")?.includes("é & #1"), null, "the address has the name");
  await page.reload();
  await settled(page);
  await until(page, () => window.heddle.app.state.selected.value.length === 2, null, "both events are selected again");
  assert.deepEqual(await Promise.all(names.map(name => state(page, name))), before);
});

test("Tab goes from the tools to the search, the overview, the tracks and the pane", async page => {
  await open(page, "small.json");
  await setState(page, "tab", "details");
  await drawn(page);
  const order = [];
  for (let k = 0; k < 150; k++) {
    await page.keyboard.press("Tab");
    const area = await page.evaluate(() => {
      if (document.activeElement === document.body) return "body";
      for (let e = document.activeElement; e && e !== document.body; e = e.parentElement) {
        for (const id of ["toolbar", "search", "overview", "headers", "tracks", "pane", "fidelity"]) if (e.id === id) return id;
      }
      return null;
    });
    if (area && order.at(-1) !== area) order.push(area);
  }
  const at = ["toolbar", "search", "overview", "tracks", "pane"].map(id => order.indexOf(id));
  assert.ok(at.every((n, k) => n >= 0 && (k === 0 || n > at[k - 1])), `${order}`);
});
