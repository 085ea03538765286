// page_select.test.mjs - the exact table of what is selected, search, flows, fidelity and flame, against the file
import assert from "node:assert/strict";
import {readFileSync} from "node:fs";
import {busyTime, gapsOf, onTrack, readChrome, tableOf} from "../oracle.mjs";
import {clickEvent, command, drawn, file, open, placeOf, pointAtEvent, settled, setState, show, state, test, trackOf, until} from "../page.mjs";

const small = readChrome(file("small.json")), busy = readChrome(file("busy37.json"));
const near = (a, b, what) => assert.ok(Math.abs(a - b) <= 1e-9 * Math.max(1, Math.abs(b)), `${what}: ${a}, not ${b}`);

// What the server says of a range in trace time, held against the events of the file.
function assertSelected(result, tracks, from, end) {
  const all = tracks.flat().sort((a, b) => a.start - b.start || b.end - a.end);
  const table = tableOf(tracks, from, end);
  assert.equal(result.span, end - from);
  assert.equal(result.busy, busyTime(all, from, end), "busy");
  assert.equal(result.idle, end - from - busyTime(all, from, end), "idle");
  assert.equal(result.events, table.reduce((a, row) => a + row.count, 0), "events");
  assert.equal(result.names, table.length, "names");
  const gaps = gapsOf(all, from, end);
  assert.equal(result.gaps.count, gaps.length, "gaps");
  assert.equal(result.gaps.total, gaps.reduce((a, g) => a + g.duration, 0), "time of gaps");
  assert.deepEqual(result.gaps.longest.map(g => g.duration), gaps.map(g => g.duration).sort((a, b) => b - a).slice(0, 10));
  assert.equal(result.table.length, table.length);
  const selfOfAll = table.reduce((a, row) => a + row.self, 0); // shares add up to 1
  for (const wanted of table) {
    const row = result.table.find(r => r.text === wanted.text);
    assert.ok(row, `no row of ${wanted.text}`);
    for (const key of ["count", "total", "self", "p50", "p99", "min", "max"]) assert.equal(row[key], wanted[key], `${wanted.text}: ${key}`);
    near(row.mean, wanted.mean, `${wanted.text}: mean`);
    near(row.share, selfOfAll ? wanted.self / selfOfAll : 0, `${wanted.text}: share`);
  }
}
const select = (page, from, end, ids) => page.evaluate(([from, end, ids]) =>
  window.heddle.app.source.select(0, from, end, ids, "total"), [from, end, ids]);

test("the table is that of the file: whole, cut, one track, several, nothing", async page => {
  await open(page, "small.json");
  const tracks = {main: [100, 100], autograd: [100, 101], "stream 7": [0, 7], "stream 20": [0, 20]}, ids = {};
  for (const name of Object.keys(tracks)) ids[name] = (await trackOf(page, name)).id;
  for (const names of [["main"], ["stream 7"], ["stream 7", "stream 20"], Object.keys(tracks)]) {
    for (const [from, end] of [[0, 3000000], [123456, 1234567], [210000, 210001], [430000, 690000], [2999999, 3000000], [350000, 351000]]) {
      const result = await select(page, from, end, names.map(name => ids[name]));
      assertSelected({...result, gaps: {...result.gaps, longest: result.gaps.longest}},
        names.map(name => onTrack(small, ...tracks[name]).map(s => ({...s, start: s.start - small.start, end: s.end - small.start}))), from, end);
    }
  }
});

test("an address with the id of an event, as SQL has it, selects and shows that event", async page => {
  const row = 3;
  await open(page, "small.json", {hash: `#r=0~1000&id=${row}`});
  await until(page, row => window.heddle.app.state.selected.value[0]?.row === row, row, "the event is selected");
  const [event] = await state(page, "selected"), range = await state(page, "range");
  assert.equal(event.kind, "slice");
  assert.ok(range.from <= event.start && range.until >= event.start + event.duration, `${event.start} is not in ${range.from} to ${range.until}`);
  await until(page, () => location.hash.includes("s=0."), null, "the address has the event");
  await open(page, "small.json", {hash: `#id=${2 ** 39}`});
  await until(page, () => window.heddle.app.state.message.value?.error, null, "the page says that an async slice has no row");
});

test("the table of 20,000 kernels has exact percentiles", async page => {
  await open(page, "busy37.json");
  const stream = await trackOf(page, "stream 7"), slices = onTrack(busy, 0, 7);
  for (const [from, end] of [[0, 100000000], [33333333, 66666666], [50000000, 50100000]]) {
    assertSelected(await select(page, from, end, [stream.id]), [slices], from, end);
  }
});

test("a box dragged over two streams selects them, and the pane has their table", async page => {
  await open(page, "small.json");
  const seven = await trackOf(page, "stream 7"), twenty = await trackOf(page, "stream 20");
  await show(page, 0, 3000000);
  const a = await placeOf(page, seven), b = await placeOf(page, twenty);
  const from = {x: a.x + a.width * 0.2, y: a.y + 2}, to = {x: a.x + a.width * 0.8, y: b.y + b.height - 2};
  await page.mouse.move(from.x, from.y);
  await page.mouse.down();
  await page.mouse.move((from.x + to.x) / 2, (from.y + to.y) / 2, {steps: 3});
  await page.mouse.move(to.x, to.y, {steps: 3});
  await page.mouse.up();
  await until(page, () => window.heddle.app.state.area.value !== null, null, "an area is selected");
  const area = await state(page, "area");
  assert.ok(area.tracks.includes(`0.${seven.id}`) && area.tracks.includes(`0.${twenty.id}`), JSON.stringify(area));
  // Within two pixels.
  assert.ok(Math.abs(area.from - 600000) < 6000 && Math.abs(area.until - 2400000) < 6000, JSON.stringify(area));
  await setState(page, "tab", "selection");
  await page.waitForFunction(() => /AllReduce/.test(document.querySelector("#pane").textContent));
  const text = await page.textContent("#pane");
  const count = small.slices.filter(s => s.pid === "0" && s.start - small.start < area.until && s.end - small.start > area.from
    && /sgemm/.test(s.name)).length;
  const cells = await page.evaluate(() => {
    const row = [...document.querySelectorAll("#pane [role=row], #pane tr")].find(r => /sgemm/.test(r.textContent));
    return row ? [...row.children].map(c => c.textContent.trim()) : null;
  });
  assert.ok(cells && cells.includes(String(count)), `${cells} has no ${count}: ${text.slice(0, 300)}`);
  // Cropped, the file has what lies on these two streams and nothing else.
  const crop = await page.evaluate(async () => {
    const url = document.querySelector("#pane a[download]").getAttribute("href").replace("json.gz", "json");
    return (await (await (window.heddleTransport?.fetch(url, {}) ?? fetch(url))).json()).traceEvents;
  });
  assert.deepEqual([...new Set(crop.filter(e => e.ph === "X").map(e => `${e.pid}/${e.tid}`))].sort(), ["0/20", "0/7"]);
  assert.equal(crop.filter(e => e.ph === "X").length, small.slices.filter(s => s.pid === "0" && s.start - small.start < area.until && s.end - small.start > area.from).length);
});

test("Ctrl+click adds an event to the selection and takes it away", async page => {
  await open(page, "small.json");
  const stream = await trackOf(page, "stream 7");
  await show(page, 150000, 700000);
  await clickEvent(page, stream, 275000);
  await until(page, () => window.heddle.app.state.selected.value.length === 1);
  const two = await pointAtEvent(page, stream, 550000);
  await page.keyboard.down("Control");
  await page.mouse.click(two.x, two.y);
  await until(page, () => window.heddle.app.state.selected.value.length === 2, null, "two are selected");
  await page.mouse.click(two.x, two.y);
  await page.keyboard.up("Control");
  await until(page, () => window.heddle.app.state.selected.value.length === 1, null, "one is left");
  assert.equal((await state(page, "selected"))[0].start, 200000);
});

// ---- search ----

async function search(page, q, more = {}) {
  await setState(page, "query", {q, mode: "text", in: "names", case: false, ...more});
  await until(page, () => window.heddle.app.state.results.value.get(0) !== undefined, null, "there is a result");
  return page.evaluate(query => window.heddle.app.source.search(0, query, -1e15), {q, mode: "text", in: "names", case: false, ...more});
}
const hits = match => small.slices.filter(s => !s.unended && match(s.name, s)).length;

test("a search counts what the file has", async page => {
  await open(page, "small.json");
  const isOf = tracks => tracks.reduce((a, [, n]) => a + n, 0);
  for (const [q, more, match] of [
    ["sgemm", {}, n => n.includes("sgemm")], ["SGEMM", {}, n => n.includes("sgemm")], ["SGEMM", {case: true}, () => false],
    ["^aten::(linear|relu)$", {mode: "regex"}, n => /^aten::(linear|relu)$/.test(n)],
    ["cuda*Kernel", {mode: "glob"}, n => /^cuda.*Kernel$/.test(n)],
    ["sgemm dur>=150us", {}, (n, s) => n.includes("sgemm") && s.end - s.start >= 150000], ["dur<100us", {}, (n, s) => s.end - s.start < 100000],
    ["arg:stream=7", {}, (n, s) => s.args?.stream === 7], ["(", {}, n => n.includes("(")], ["nothing has this", {}, () => false], ["\u00fc", {}, () => false]]) {
    const result = await search(page, q, more);
    assert.equal(result.count, hits(match), `${q} ${JSON.stringify(more)}`);
    assert.equal(isOf(result.tracks), result.count, "and by track");
    assert.equal(result.buckets.reduce((a, b) => a + b, 0), result.count, "and by time");
    assert.equal(result.buckets.length, 512);
  }
});

test("a search in the arguments finds what is written there", async page => {
  await open(page, "small.json");
  const count = small.slices.filter(s => JSON.stringify(s.args ?? {}).includes("allreduce")).length;
  assert.equal((await search(page, "allreduce", {in: "args"})).count, count);
});

test("a regex that is none is a message, not an exception", async page => {
  await open(page, "small.json");
  await setState(page, "query", {q: "(((", mode: "regex", in: "names", case: false});
  await page.waitForFunction(() => /regex|expression|parenthes|bracket|\(\(\(/i.test(document.querySelector("#search").textContent
    + document.querySelector("#status").textContent));
  await setState(page, "query", {q: "sgemm", mode: "text", in: "names", case: false});
  await until(page, () => window.heddle.app.state.results.value.get(0)?.count > 0, null, "the next search works");
}, {expects: [/400/]});

test("/ goes to the search box, Enter steps through the hits in time, Shift+Enter back", async page => {
  await open(page, "small.json");
  await page.keyboard.press("/");
  await page.keyboard.type("AllReduce");
  await until(page, () => window.heddle.app.state.results.value.get(0)?.count === 3, null, "three hits");
  assert.match(await page.textContent("#search"), /3/);
  const starts = [];
  for (const key of ["Enter", "Enter", "Enter", "Shift+Enter"]) {
    const before = JSON.stringify(await state(page, "selected"));
    await page.keyboard.press(key);
    await until(page, before => JSON.stringify(window.heddle.app.state.selected.value) !== before, before, `${key} goes on`);
    starts.push((await state(page, "selected")).at(-1).start);
  }
  assert.deepEqual(starts, [500000, 1500000, 2500000, 1500000]);
  const range = await state(page, "range");
  assert.ok(range.from <= 1500000 && range.until >= 1500000, "the hit is in view");
});

test("the filter dims or hides what the search does not find", async page => {
  await open(page, "small.json");
  await setState(page, "query", {q: "sgemm", mode: "text", in: "names", case: false});
  await until(page, () => window.heddle.app.state.results.value.get(0)?.count > 0);
  const summary = async filter => {
    await setState(page, "filter", filter);
    await settled(page);
    await drawn(page);
    return page.evaluate(() => window.heddle.drawList());
  };
  const none = await summary("none"), dim = await summary("dim"), hide = await summary("hide");
  assert.notDeepEqual(dim, none, "dimmed is seen");
  assert.notDeepEqual(hide, none, "hidden is seen");
  assert.deepEqual(await summary("none"), none, "and it is as before");
});

// ---- flows ----

test("the arrows of a launch end at its kernel", async page => {
  await open(page, "small.json");
  const result = await page.evaluate(() => window.heddle.app.source.flows(0, {all: true}, 0, 3000000, null));
  const starts = small.flows.filter(f => f.phase === "s").length;
  assert.equal(result.count, starts);
  assert.deepEqual(new Map(result.categories), new Map([["ac2g", 15], ["fwdbwd", 3], ["dataflow", 1]]));
  const backward = result.flows.filter(f => f[6]);
  assert.deepEqual(backward.map(f => [f[2], f[5]]).sort((a, b) => a[0] - b[0]), [[2400000, 2395000], [2500000, 200000]]);
});

test("[ and ] follow the arrows of the selected event", async page => {
  await open(page, "small.json");
  const stream = await trackOf(page, "stream 7"), main = await trackOf(page, "main");
  await show(page, 0, 700000);
  await clickEvent(page, stream, 275000);
  await until(page, () => window.heddle.app.state.selected.value.length === 1);
  const go = async (key, track) => {
    await page.keyboard.press(key);
    await until(page, track => window.heddle.app.state.selected.value.at(-1)?.track === track, track, `${key} goes to track ${track}`);
  };
  await go("[", main.id);
  assert.equal((await state(page, "selected")).at(-1).start, 120000);
  await go("]", stream.id);
  assert.equal((await state(page, "selected")).at(-1).start, 200000);
});

test("arrows are drawn for the selection, a category, all in view, or not", async page => {
  await open(page, "small.json");
  const arrows = async (mode, count) => {
    await setState(page, "flows", mode);
    await settled(page);
    await until(page, count => window.heddle.drawList().curves === count, count, `${count} arrows for ${JSON.stringify(mode)}`);
  };
  await arrows({mode: "all"}, 19);
  await arrows({mode: "category", category: "fwdbwd"}, 3);
  await arrows({mode: "off"}, 0);
});

// ---- derived slices ----

test("a derived slice has details of its own, and is not busy in a selection", async page => {
  await open(page, "busy37.json");
  const idle = await page.evaluate(() => window.heddle.app.state.tracks.value.find(t => t.role === "idle"));
  assert.equal(idle.busy, null);
  const event = await page.evaluate(async id => {
    const found = await window.heddle.app.source.step(0, id, 0, -1, "first");
    window.heddle.app.state.selected.value = [{...found, trace: 0}];
    return found;
  }, idle.id);
  await setState(page, "tab", "details");
  await page.waitForFunction(() => /It is not an event of the file/.test(document.querySelector("#pane").textContent));
  const text = await page.textContent("#pane");
  assert.match(text, /Time between the first and the last activity of the device in which no stream runs one/);
  await page.keyboard.press("]");
  await page.waitForFunction(() => /was worked out of events: it has no flows/.test(document.body.textContent));
  // The works around it are those of the file that end and begin where it begins and ends.
  const slices = onTrack(busy, 0, 7), detail = await page.evaluate(([id, start]) => window.heddle.app.source.derived(0, id, 0, start), [idle.id, event.start]);
  assert.ok(slices.some(s => s.end - busy.start === event.start && s.start === detail.before.start + busy.start));
  assert.ok(slices.some(s => s.start - busy.start === event.start + event.duration && detail.after.start === event.start + event.duration));
  const result = await select(page, 0, 100000000, [idle.id]);
  assert.deepEqual([result.busy, result.idle, result.derived, result.gaps.count], [null, null, true, 0]);
  await setState(page, "area", {from: 0, until: 100000000, tracks: [`0.${idle.id}`]});
  await setState(page, "tab", "selection");
  await page.waitForFunction(() => /derived rows are made of other events/.test(document.querySelector("#pane").textContent));
});

// ---- fidelity and flame ----

test("the fidelity line counts, a click lists", async page => {
  await open(page, "small.json");
  await page.waitForFunction(() => /51 of 51 slices/.test(document.querySelector("#fidelity").textContent));
  const text = await page.textContent("#fidelity");
  assert.match(text, /0 dropped/);
  assert.match(text, /1 on extra lanes/);
  assert.match(text, /1 kernel before its launch|1 kernels before their launch/);
  await page.click("#fidelity >> text=/before/");
  await page.waitForFunction(() => /vectorized_elementwise|Relu/.test(document.querySelector("#pane").textContent));
});

test("the flame graph of the range has the GPU time of the file", async page => {
  await open(page, "small.json");
  const flame = await page.evaluate(() => window.heddle.app.source.flame(0, 0, 3000000, "gpu-time", "nothing"));
  const total = onTrack(small, 0).reduce((a, s) => a + s.end - s.start, 0);
  assert.equal(flame.total, total);
  await setState(page, "area", {from: 0, until: 3000000, tracks: null});
  await setState(page, "tab", "flame");
  await page.waitForFunction(() => /sgemm|forward/.test(document.querySelector("#pane").textContent
    + [...document.querySelectorAll("#pane [aria-label]")].map(e => e.getAttribute("aria-label")).join()));
  await page.selectOption("#pane select >> nth=0", "launches");
  await until(page, () => /Total launches/.test(document.querySelector("#pane thead")?.textContent), null, "a table of launches");
  assert.deepEqual(await page.$$eval("#pane th button", heads => heads.filter(e => e.scrollWidth > e.clientWidth).map(e => e.textContent)), [], "titles that are cut");
});

// ---- reports ----

const cellsOf = page => page.$$eval("#pane tbody tr:not(.space)", rows => rows.map(row => [...row.cells].map(cell => cell.textContent)));

test("a report is a table: sorted, searched, over what is selected; a name is searched for", async page => {
  await open(page, "small.json");
  await setState(page, "tab", "reports");
  await page.selectOption("#pane select >> nth=0", "kernels");
  await until(page, () => /sgemm/.test(document.querySelector("#pane").textContent), null, "the kernels");
  const {tables: asked} = await page.evaluate(() => window.heddle.app.source.report(0, "kernels", {}));
  const kernels = small.slices.filter(s => s.category === "kernel"), total = kernels.reduce((a, s) => a + s.end - s.start, 0);
  const at = asked[0].columns.findIndex(c => c.name === "total");
  assert.equal(asked[0].rows.reduce((a, row) => a + row[at], 0), total, "all kernels of the file");
  assert.equal((await cellsOf(page)).length, asked[0].rows.length);
  const names = async () => page.$$eval("#pane tbody td:not(.right) button", all => all.map(each => each.textContent));
  const wanted = asked[0].rows.map(row => [row[asked[0].columns.findIndex(c => c.name === "name")], row[at]]).sort((a, b) => a[1] - b[1]).map(([name]) => name);
  await page.click("#pane th >> text=/^total/"); // most first, and the other way round
  await page.click("#pane th >> text=/^total/");
  await until(page, name => document.querySelector("#pane tbody td:not(.right) button").textContent === name, wanted[0], "sorted");
  assert.deepEqual(await names(), wanted);
  await page.click("#pane tbody td button:has-text('sgemm')");
  await until(page, () => window.heddle.app.state.query.value.q.length > 3, null, "the name is searched for");
  await setState(page, "area", {from: 0, until: 1, tracks: null});
  await until(page, () => window.heddle.app.state.tab.value === "reports" && !/sgemm/.test(document.querySelector("#pane").textContent), null, "in the box no kernel begins");
});

test("an option that a report refuses is said, and the page goes on", async page => {
  await open(page, "small.json");
  await setState(page, "tab", "reports");
  await page.selectOption("#pane select >> nth=0", "kernels");
  await page.fill("#pane label:has-text('rank') input >> nth=0", "bogus");
  await page.keyboard.press("Enter");
  await until(page, () => /bogus/.test(document.querySelector("#pane").textContent), null, "why it is refused");
  await page.fill("#pane label:has-text('rank') input >> nth=0", "");
  await page.click("#pane .words summary");
  await page.check("#pane .words label:has-text('op') >> nth=0");
  await until(page, () => [...document.querySelectorAll("#pane th")].some(th => th.textContent.startsWith("op")), null, "the column op");
  const [csv] = await Promise.all([page.waitForEvent("download"), page.click("#pane button:has-text('Save CSV')")]);
  const lines = readFileSync(await csv.path(), "utf8").trim().split("\n");
  assert.equal(lines.length, 1 + await page.locator("#pane tbody tr").count());
  assert.match(lines[0], /^rank,device,.*,name,op,/);
  const [png] = await Promise.all([page.waitForEvent("download"), command(page, "save-picture")]);
  const image = readFileSync(await png.path()), wide = await page.evaluate(() => ["#headers", "#tracks"].reduce((sum, id) => sum + document.querySelector(id).clientWidth, 0));
  assert.equal(image.readUInt32BE(16), Math.round(wide * await page.evaluate(() => devicePixelRatio)), "the names and the tracks");
  const [file] = await Promise.all([page.waitForEvent("download"), command(page, "save-svg")]);
  const drawn = await page.evaluate(text => {
    const svg = new DOMParser().parseFromString(text, "image/svg+xml").documentElement, list = window.heddle.drawList();
    const rects = new Set([...svg.querySelectorAll("rect")].map(r => ["x", "y", "width", "height"].map(name => r.getAttribute(name)).join()));
    return {root: svg.nodeName, width: svg.viewBox.baseVal.width, texts: [...svg.querySelectorAll("text")].map(t => t.textContent),
      bars: list.bars.length, lacking: list.bars.filter(([x, y, w, h]) => !rects.has([x, y, w, h].join())).length};
  }, readFileSync(await file.path(), "utf8"));
  assert.deepEqual([drawn.root, drawn.width, drawn.lacking], ["svg", image.readUInt32BE(16), 0]);
  assert.ok(drawn.bars > 50, "there are bars");
  for (const text of [/^Critical path$/, /^ProfilerStep#1$/, /^0.5 ms$/]) assert.ok(drawn.texts.some(each => text.test(each)), `${text}: ${drawn.texts}`);
}, {expects: [/400/]});

async function report(page, name, table) {
  await setState(page, "tab", "reports");
  await page.selectOption("#pane select >> nth=0", name);
  if (table) await page.selectOption("#pane label:has-text('Table') select", table);
  await until(page, () => document.querySelector("#pane tbody tr"), null, "a table");
}
const selected = page => page.evaluate(() => window.heddle.app.state.selected.value.map(each => each.start).sort((a, b) => a - b));
const startsOf = match => small.slices.filter(match).map(s => s.start - small.start).sort((a, b) => a - b);

test("a click on a row selects its events and goes there, and the report stays", async page => {
  await open(page, "small.json");
  await report(page, "kernels");
  const isGemm = s => s.category === "kernel" && s.name.includes("sgemm");
  await page.click("#pane tbody tr:has-text('sgemm') td >> nth=2");
  await until(page, count => window.heddle.app.state.selected.value.length === count, startsOf(isGemm).length, "all kernels of the name");
  assert.deepEqual(await selected(page), startsOf(isGemm));
  assert.equal(await state(page, "tab"), "reports");
  await show(page, 0, 1000000);
  await setState(page, "selected", []);
  await setState(page, "tab", "reports");
  assert.match(await page.textContent("#pane"), /held: 3 ms from 0 ns on/); // the report is of the whole still
  await page.click("#pane >> text=Follow the view");
  await until(page, () => [...document.querySelectorAll("#pane tbody tr")].some(row => /sgemm/.test(row.textContent) && row.cells[5].textContent === "2"), null, "two in view");
  await page.click("#pane tbody tr:has-text('sgemm') td >> nth=2");
  await until(page, () => window.heddle.app.state.selected.value.length === 2, null, "those in view");
  assert.deepEqual(await selected(page), startsOf(isGemm).filter(start => start < 1000000));
  await setState(page, "selected", []);
  await page.click("#pane >> text=Follow the view");
  await show(page, 0, 3000000);
  await report(page, "communication", "collectives");
  await page.click("#pane tbody tr >> nth=1 >> td >> nth=1");
  const second = startsOf(s => s.name.includes("AllReduce"))[1], twenty = await trackOf(page, "stream 20");
  await until(page, start => window.heddle.app.state.selected.value.at(-1)?.start === start, second, "the second of them");
  assert.equal((await state(page, "selected")).at(-1).track, twenty.id, "the kernel, not what is derived of it");
  const range = await state(page, "range");
  assert.ok(range.from <= second && range.until >= second, "it is in view");
  // The call that ended a gap is one event, which the row knows by its id.
  await report(page, "idle", "gaps");
  await page.click("#pane tbody tr button.link:has-text('cudaLaunchKernel')");
  await until(page, second => window.heddle.app.state.selected.value.at(-1)?.start !== second, second, "the call");
  const [call, ...others] = await state(page, "selected");
  assert.deepEqual(others, []);
  assert.ok(startsOf(s => s.name === "cudaLaunchKernel").includes(call.start), JSON.stringify(call));
  await report(page, "queue");
  await page.click("#pane tbody tr >> nth=1 >> td >> nth=2 >> button");
  await until(page, () => /stream 20$/.test(window.heddle.app.state.message.value?.text), null, "the track of the stream");
});

test("tables of times become tracks, once each: slices, and a counter", async page => {
  await open(page, "small.json");
  const made = () => page.evaluate(() => window.heddle.app.state.tracks.value.filter(t => t.role === "table"));
  await report(page, "idle", "gaps");
  for (let k = 0; k < 2; k++) {
    await page.click("#pane >> text=Show as track");
    await until(page, () => /^1 track: .*idle: gaps/.test(window.heddle.app.state.message.value?.text), null, "the track is told");
    await setState(page, "message", null);
  }
  const [track, ...others] = await made();
  assert.equal(others.length, 0);
  const works = onTrack(small, 0), first = Math.min(...works.map(s => s.start)), end = Math.max(...works.map(s => s.end));
  const gaps = gapsOf(works.sort((a, b) => a.start - b.start || b.end - a.end), first, end);
  const result = await select(page, 0, 3000000, [track.id]);
  assert.equal(result.events, gaps.length);
  assert.equal(result.table.reduce((sum, row) => sum + row.total, 0), gaps.reduce((sum, gap) => sum + gap.duration, 0));
  assert.ok(result.table.some(row => row.text === "host"), "named by their causes");
  await placeOf(page, track); // it is drawn
  await report(page, "queue");
  await page.check("#pane label:has-text('Make the table queue length') input");
  await until(page, () => [...document.querySelectorAll("#pane option")].some(option => option.value === "queue_length"));
  await report(page, "queue", "queue_length");
  await page.click("#pane >> text=Show as track");
  await until(page, () => window.heddle.app.state.tracks.value.filter(t => t.role === "table").length === 3, null, "two streams");
  const counter = (await made()).find(t => t.name === "queue length, stream 20");
  assert.deepEqual([counter.kind, counter.series[0].max], ["counter", 1]);
  await placeOf(page, counter);
});

test("a report has its chart, and the filter takes what is shown", async page => {
  await open(page, "small.json");
  await report(page, "kernels");
  await page.waitForSelector("#pane svg[aria-label=kernels] rect");
  const rows = await cellsOf(page);
  assert.equal(await page.locator("#pane svg[aria-label=kernels] rect").count(), rows.length);
  await page.uncheck("#pane label:has-text('Chart') input");
  await until(page, () => !document.querySelector("#pane svg[aria-label=kernels]"));
  await report(page, "operators");
  const all = await cellsOf(page);
  const shown = all.flat().find(text => /^\d+ \u00b5s$/.test(text) && all.filter(row => row.includes(text)).length < all.length);
  await page.fill("#pane label:has-text('Rows with') input", shown);
  await until(page, count => document.querySelectorAll("#pane tbody tr:not(.space)").length < count, all.length, "fewer rows");
  for (const row of await cellsOf(page)) assert.ok(row.join(" ").includes(shown.split(" ")[0]), row.join());
  await page.check("#pane label:has-text('Chart') input").catch(() => {}); // as it was
});
