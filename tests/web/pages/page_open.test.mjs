// page_open.test.mjs - each kind of trace opens; one event, a crop, a dropped file, several ranks, the address
import assert from "node:assert/strict";
import {execFileSync} from "node:child_process";
import fs from "node:fs";
import {busyTime, onTrack, readChrome} from "../oracle.mjs";
import {clickEvent, file, folder, heddle, nowhere, open, placeOf, settled, setState, show, state, test, trackOf, until, view} from "../page.mjs";
import {getJson, startView} from "../server.mjs";

const small = readChrome(file("small.json"));
const ofSlices = tracks => tracks.filter(t => t.kind === "slices" && t.events_kind === "slice" && !t.derived);
const sum = (list, of) => list.reduce((a, b) => a + of(b), 0);

const infoOf = path => JSON.parse(execFileSync(heddle, ["info", "--json", path]));

// ---- formats ----

const FORMATS = {"small.json": "chrome", "small.json.gz": "chrome", "small.heddle": "heddle", "small.pftrace": "perfetto",
  "small.sbt": "sbt", "small.otf2": "otf2", "small.folded": "folded"};
for (const [name, format] of Object.entries(FORMATS)) {
  test(`opens ${name} and shows every slice that it has`, async page => {
    await open(page, name);
    const session = await state(page, "session"), tracks = await state(page, "tracks");
    assert.equal(session.traces[0].state, "ready");
    assert.equal(session.traces[0].format, format);
    const shown = sum(ofSlices(tracks), t => t.events);
    if (format === "folded") {
      assert.equal(sum(tracks.filter(t => t.events_kind === "sample"), t => t.events), 30);
    } else {
      assert.equal(shown, infoOf(file(name)).slices);
      assert.ok(shown > 0);
    }
    assert.ok(await page.evaluate(() => JSON.stringify(window.heddle.drawList()).length) > 100, "something is drawn");
    const names = await page.evaluate(() => window.heddle.app.state.fidelity.value.get(0)?.slices ?? null);
    if (names) assert.deepEqual(names, {read: shown, shown, dropped: 0});
  }, {server: "stores", skip: fs.existsSync(file(name)) ? undefined : `${name} cannot be written by this build`});
}

test("the tracks are those of the file, in its order, GPUs above the host", async page => {
  await open(page, "small.json");
  const tracks = await state(page, "tracks");
  const own = tracks.filter(t => !t.derived);
  assert.deepEqual(own.filter(t => t.events_kind === "slice").map(t => t.name).filter(n => /main|autograd|crossing|stream/.test(n)),
    ["stream 7", "stream 20", "main", "autograd", "crossing"]);
  const stream = await trackOf(page, "stream 7");
  const slices = onTrack(small, 0, 7);
  assert.deepEqual([stream.events, stream.busy, stream.device, stream.stream], [slices.length, busyTime(slices), 0, 7]);
  assert.deepEqual([stream.start + small.start, stream.end + small.start], [slices[0].start, Math.max(...slices.map(s => s.end))]);
  const crossing = await trackOf(page, "crossing");
  assert.equal(crossing.on_lanes, 1);
});

test("after a click on an event the pane has all that the file says of it", async page => {
  await open(page, "small.json");
  const stream = await trackOf(page, "stream 7"), kernel = onTrack(small, 0, 7)[0];
  const start = kernel.start - small.start;
  await show(page, start - 100000, start + 300000);
  await clickEvent(page, stream, start + 75000);
  await until(page, () => window.heddle.app.state.selected.value.length === 1, null, "one event is selected");
  const [selected] = await state(page, "selected");
  assert.deepEqual([selected.track, selected.start, selected.duration], [stream.id, start, 150000]);
  await page.waitForFunction(() => document.querySelector("#pane").textContent.includes("registers per thread"));
  const text = await page.textContent("#pane");
  for (const part of [/sgemm/, /150[.,]?0* ?[µu]s/, /stream 7/, /cudaLaunchKernel/, /64/, /31/]) assert.match(text, part);
  // What was around the launch is the kernel's stack.
  for (const part of [/ProfilerStep#1/, /aten::linear/]) assert.match(text, part);
});

test("one event fills the window", async page => {
  await open(page, "small.json");
  const stream = await trackOf(page, "stream 20"), memcpy = onTrack(small, 0, 20)[0];
  const start = memcpy.start - small.start;
  await show(page, start + 40, start + 60);
  const list = await page.evaluate(() => window.heddle.drawList());
  assert.ok(JSON.stringify(list).length > 2);
  await clickEvent(page, stream, start + 50);
  await until(page, () => window.heddle.app.state.selected.value[0]?.duration === 100000, null, "the event around the window is hit");
});

// ---- a crop, a dropped file ----

for (const format of ["heddle", "json", "json.gz", "pftrace"]) {
  test(`a crop as ${format} opens again and has what touches the range`, async page => {
    await open(page, "small.json");
    const path = await page.evaluate(format => window.heddle.app.source.cropUrl(0, 1000000, 2000000, format), format);
    const [download] = await Promise.all([page.waitForEvent("download"),
      page.evaluate(path => { const a = document.createElement("a"); a.href = path; a.download = ""; a.click(); }, path)]);
    assert.match(download.suggestedFilename(), new RegExp(`\\.${format.replace(".", "\\.")}$`));
    const target = `${folder}/crop.${format}`;
    await download.saveAs(target);
    const wanted = small.slices.filter(s => s.start < small.start + 2000000 && s.end > small.start + 1000000);
    assert.equal(infoOf(target).slices, wanted.length);
  }, {server: "requests"});
}

// The engine is tests/wasm's; here the page puts the store of the trace, and its name, where the marks of a template are.
test("the open traces are saved as one HTML file, with the engine if there is one", async page => {
  await open(page, "small.json");
  const save = () => page.evaluate(() => window.heddle.app.commands.run("save-html"));
  const answer = body => page.route("**/api/engine", route => route.fulfill(body));
  await answer({contentType: "text/html", body: "<title>Another page</title>"});
  await save();
  await page.waitForFunction(() => document.querySelector("#status").textContent.startsWith("The engine is not of this version"));
  await page.unroute("**/api/engine");
  await answer({contentType: "text/html", body: "<title><!--heddle:title-->Heddle</title>$&<!--heddle:traces--><p>the end"});
  const [download] = await Promise.all([page.waitForEvent("download"), save()]);
  await page.unroute("**/api/engine");
  assert.equal(download.suggestedFilename(), "small.html");
  const html = fs.readFileSync(await download.path(), "utf8");
  const [, title, store] = html.match(/^<title>(.*)Heddle<\/title>\$&<script type="text\/plain" class="heddle-trace" data-name="small\.json">(.*)<\/script>\n<p>the end$/);
  assert.equal(title, "small.json – ");
  fs.writeFileSync(`${folder}/saved.heddle`, Buffer.from(store, "base64"));
  assert.deepEqual(infoOf(`${folder}/saved.heddle`).slices, infoOf(file("small.json")).slices);
}, {server: "requests"});

test("without a file there is a place to drop one, and the files of before are opened again", async page => {
  await page.goto((await view()).url);
  await page.waitForSelector(".empty");
  await page.waitForFunction(() => window.heddle);
  assert.match(await page.locator(".empty").innerText(), /^Drop a trace here/);
  const content = fs.readFileSync(file("small.json"), "utf8");
  await page.evaluate(async content => {
    // A file of the page's own storage takes the place of one of the disk.
    const handle = await (await navigator.storage.getDirectory()).getFileHandle("small.json", {create: true}), writable = await handle.createWritable();
    await writable.write(content);
    await writable.close();
    window.showOpenFilePicker = async () => [handle];
  }, content);
  await page.click(".empty button >> text=Open a file");
  await until(page, () => window.heddle.app.state.session.value.traces.some(t => t.name.includes("small.json") && t.state === "ready"), null, "it is opened");
  assert.equal(await page.locator(".empty").count(), 0);
  await until(page, () => indexedDB.databases().then(all => all.some(({name}) => name === "heddle")), null, "it is stored");
  await page.reload();
  await settled(page);
  await setState(page, "session", {...await state(page, "session"), traces: []});
  await page.locator(".empty button", {hasText: "small.json"}).focus();
  await page.keyboard.press("Enter");
  await until(page, () => window.heddle.app.state.session.value.traces.filter(t => t.name.includes("small.json")).length === 2, null, "it is opened again");
}, {context: {}, server: "requests"});

test("a dropped file is opened beside those that are there", async page => {
  await page.goto((await view("one_event.json")).url);
  await settled(page);
  const content = fs.readFileSync(file("small.json"), "utf8");
  const data = await page.evaluateHandle(content => {
    const data = new DataTransfer();
    data.items.add(new File([content], "dropped.json", {type: "application/json"}));
    return data;
  }, content);
  for (const type of ["dragenter", "dragover", "drop"]) await page.dispatchEvent("#tracks", type, {dataTransfer: data});
  await until(page, () => window.heddle.app.state.session.value.traces.some(t => t.name.includes("dropped.json") && t.state === "ready"),
    null, "the dropped trace is ready");
  await settled(page);
  const tracks = await state(page, "tracks");
  assert.equal(sum(ofSlices(tracks).filter(t => t.trace > 0), t => t.events), small.slices.length);
  // One that cannot be read says so in the page that opened it, until it is closed; another page does not.
  await page.setInputFiles("input[type=file]", {name: "bad.json", mimeType: "application/json", buffer: Buffer.from("nothing that is a trace")});
  await page.waitForSelector(".reading-card.failed:has-text('bad.json')");
  assert.match(await page.textContent("#fidelity"), /bad.json/);
  await page.click(".reading-card.failed button");
  assert.equal(await page.locator(".reading-card.failed").count(), 0);
  assert.doesNotMatch(await page.textContent("#fidelity"), /bad.json/);
  await page.reload();
  await settled(page);
  assert.equal(await page.locator(".reading-card.failed").count(), 0);
  assert.doesNotMatch(await page.textContent("#fidelity"), /bad.json/);
});

test("one of several traces is closed by the menu of its tracks: nothing shows or counts it any more", async (page, {troubles}) => {
  const server = await startView(heddle, [file("small.json"), file("one_event.json")]);
  try {
    await page.goto(server.url);
    await settled(page);
    const one = (await state(page, "session")).traces.find(t => t.name === "one_event.json"), count = sql => page.evaluate(async sql =>
      (await window.heddle.app.source.query(sql, {})).rows[0].map(String), sql);
    const both = Number((await count("select count(*) from slice"))[0]);
    await page.evaluate(trace => { window.heddle.app.state.selected.value = [{trace, kind: "slice", row: 0, track: 0, depth: 0, start: 0, duration: 1, name: 0}]; }, one.id);
    const section = (await state(page, "tracks")).find(t => t.trace === one.id && t.role === "rank");
    await placeOf(page, section);
    await page.locator(`#headers [data-track="${one.id}.${section.id}"]`).first().click({button: "right"});
    await page.getByRole("menuitem", {name: "Close one_event.json"}).click();
    await until(page, () => window.heddle.app.state.session.value.traces.length === 1, null, "it is closed");
    await settled(page);
    assert.ok((await state(page, "tracks")).every(t => t.trace === 0), "its tracks are gone");
    assert.deepEqual(await state(page, "selected"), []);
    assert.equal(await page.title(), "rank 0: small.json \u2013 Heddle");
    // Tiles that were asked for meanwhile are those of no trace.
    troubles.splice(0, troubles.length, ...troubles.filter(text => !/404 .*\/api\/tiles\?trace=1&/.test(text)));
    assert.equal(Number((await count("select count(*) from slice"))[0]), both - 1);
    assert.equal((await fetch(new URL(`/api/tracks?trace=${one.id}`, server.url))).status, 404);
    assert.equal((await fetch(new URL(`/api/close?trace=${one.id}`, server.url), {method: "POST"})).status, 400);
    await page.reload();
    await settled(page);
    assert.equal((await state(page, "session")).traces.length, 1);
  } finally {
    await page.goto("about:blank");
    await server.stop();
  }
});

// ---- several ranks ----

test("eight ranks share one time axis, and the page says why their collectives cannot align them", async page => {
  await open(page, Array.from({length: 8}, (_, rank) => `rank${rank}.json`));
  const session = await state(page, "session"), tracks = await state(page, "tracks");
  assert.deepEqual(session.traces.map(t => t.rank), [0, 1, 2, 3, 4, 5, 6, 7]);
  assert.equal(sum(ofSlices(tracks), t => t.events), 8 * small.slices.length);
  // The clocks of the files differ by 5 ms a rank, the Unix times do not.
  const starts = await page.evaluate(() => window.heddle.app.state.session.value.traces.map(t => t.offset_ns));
  const whole = await state(page, "whole");
  assert.ok(starts.every(s => s === starts[0]), starts.join());
  assert.ok(whole.until - whole.from < 1.2 * (small.end - small.start), JSON.stringify(whole));
  await until(page, () => document.querySelector("#fidelity").textContent.includes("ranks are not aligned: groups of collectives have no names"));
  assert.ok((await state(page, "session")).traces.every(t => t.offset_ns === t.told_ns));
  // Each is one row, of its GPU; a key opens it, and what is below has no label twice.
  const rows = () => page.evaluate(() => window.heddle.app.layout().places.map(({track, collapsed, depth}) => [track.role, collapsed, depth]));
  assert.deepEqual(await rows(), session.traces.map(() => ["rank", true, 0]));
  const ranks = tracks.filter(t => t.role === "rank");
  assert.ok(ranks.every(t => tracks.find(d => d.trace === t.trace && t.draws.length === 1 && d.id === t.draws[0])?.role === "device"), JSON.stringify(ranks));
  await page.locator("#headers .track").first().focus();
  await page.keyboard.press("ArrowRight");
  await until(page, () => document.querySelectorAll("#headers .track").length > 8, null, "it is open");
  assert.ok((await rows()).some(([role, , depth]) => role === "device" && depth === 1));
  assert.doesNotMatch(await page.locator("#headers .track").nth(1).innerText(), /rank 0/);
});

// ---- the address ----

test("the address holds the view: reload shows it again", async page => {
  await open(page, "small.json");
  const stream = await trackOf(page, "stream 7");
  await show(page, 500000, 1500000);
  await page.evaluate(key => {
    const {state} = window.heddle.app;
    state.pinned.value = [key];
    state.marks.value = [{id: 1, name: "a & b=c #1", from: 600000, until: 700000}];
    state.query.value = {q: "sgemm", mode: "text", in: "names", case: false};
    state.colorBy.value = "category";
  }, `0.${stream.id}`);
  await until(page, () => /sgemm/.test(decodeURIComponent(location.hash)), null, "the address has the search");
  const before = await Promise.all(["range", "pinned", "marks", "query", "colorBy"].map(name => state(page, name)));
  await page.reload();
  await settled(page);
  assert.deepEqual(await Promise.all(["range", "pinned", "marks", "query", "colorBy"].map(name => state(page, name))), before);
});

test("a selected event is there again after a reload", async page => {
  await open(page, "small.json");
  const stream = await trackOf(page, "stream 7"), start = onTrack(small, 0, 7)[0].start - small.start;
  await show(page, start - 100000, start + 300000);
  await clickEvent(page, stream, start + 75000);
  await until(page, () => window.heddle.app.state.selected.value.length === 1);
  const before = await state(page, "selected"), hash = await page.evaluate(() => location.hash);
  await until(page, hash => location.hash !== hash || /s=/.test(hash), hash, "the address has the event");
  await page.reload();
  await settled(page);
  await until(page, () => window.heddle.app.state.selected.value.length === 1, null, "the event is selected again");
  assert.deepEqual(await state(page, "selected"), before);
  await page.waitForFunction(() => /sgemm/.test(document.querySelector("#pane").textContent));
});

test("back and forward go through what was searched and selected", async page => {
  await open(page, "small.json");
  const first = await state(page, "range");
  const rangeIs = wanted => until(page, ({from, until}) => {
    const {value} = window.heddle.app.state.range;
    return value.from === from && value.until === until;
  }, wanted);
  const url = page.url();
  await page.goto(url.replace(/#.*/, "") + "#r=1000000~2000000");
  await settled(page);
  await rangeIs({from: 1000000, until: 2000000});
  await page.goBack();
  await settled(page);
  await rangeIs(first);
  await page.goForward();
  await settled(page);
  await rangeIs({from: 1000000, until: 2000000});
});

const GARBAGE = ["#", "#r=", "#r=5~4", "#r=NaN~Infinity", "#r=-9223372036854775808~9223372036854775807", "#r=1e400~2", "#%", "#%ff%fe",
  "#s=0.0.0.0.0", "#s=9.9.9.9.9", "#s=0.99999.0.4294967295.1", "#m=1~2 <img src=x onerror=alert(1)>", "#q=(((&qm=regex", "#at=0.0-4294967295&a=1~2",
  "#collapsed=&hidden=0.0-99999999", "#" + "x".repeat(40000), "#__proto__=1&constructor=2", "#tab=none&tool=none"];
test("garbage in the address makes a view all the same", async page => {
  const server = await view("small.json");
  for (const [n, hash] of GARBAGE.entries()) { // some of a page that starts, the others of one that is there: one function reads both
    if (n % 6 === 0) await page.goto(nowhere(server.url));
    await page.goto(server.url + hash);
    await settled(page);
    const range = await state(page, "range"), whole = await state(page, "whole");
    assert.ok(range.from < range.until && range.until - range.from <= 1.2 * (whole.until - whole.from), `${hash.slice(0, 60)}: ${JSON.stringify(range)}`);
    assert.ok(await page.evaluate(() => window.heddle.app.layout().height > 0), hash.slice(0, 60));
  }
}, {expects: [/status of 400/]});

// ---- looks ----

test("the page follows the system from light to dark", async page => {
  await page.emulateMedia({colorScheme: "light"});
  await open(page, "small.json");
  const becomes = (darkest, lightest, what) => until(page, ([darkest, lightest]) => {
    const [r, g, b] = getComputedStyle(document.body).backgroundColor.match(/[\d.]+/g).map(Number);
    return (r + g + b) / 3 >= darkest && (r + g + b) / 3 <= lightest;
  }, [darkest, lightest], what);
  await becomes(200, 255, "light");
  await page.emulateMedia({colorScheme: "dark"});
  await becomes(0, 70, "dark");
  await setState(page, "theme", "light");
  await until(page, () => document.documentElement.dataset.theme === "light");
  await becomes(200, 255, "light again, as it is told");
});

test("a page that starts asks once for what there is, before its script runs, and at once for tiles", async page => {
  const asked = [];
  await page.goto("about:blank"); // the page of the test before may still ask
  page.on("request", r => { if (r.url().includes("/api/")) asked.push(new URL(r.url())); });
  await open(page, "small.json", {fresh: true});
  assert.equal(asked[0].search, "?with=tracks");
  assert.equal(asked.filter(u => u.search === "?with=tracks").length, 1, "what the browser asked for ahead is used");
  assert.ok(asked.some(u => u.pathname === "/api/tiles"));
  const marks = await page.evaluate(() => performance.getEntriesByType("mark").map(m => m.name));
  assert.deepEqual(marks, ["heddle: first picture", "heddle: whole picture"]);
}, {server: "requests"});

test("nothing is asked of anyone else, and the policy says so", async page => {
  const server = await open(page, "small.json");
  const answer = await fetch(server.url);
  const policy = answer.headers.get("content-security-policy");
  assert.match(policy, /default-src 'none'/);
  assert.doesNotMatch(policy, /unsafe-inline|unsafe-eval|https?:|\*/);
  assert.equal(answer.headers.get("x-content-type-options"), "nosniff");
  const {tracks} = await getJson(new URL("/api/tracks?trace=0", server.url));
  assert.ok(tracks.length > 0);
  assert.ok((await placeOf(page, await trackOf(page, "stream 7"))).height > 0);
}, {server: "requests"});

// ---- a diff ----

test("two sides of a diff begin together, in the colours of what changed, and a row leads to its events on both", async page => {
  const make = (name, ...more) => execFileSync(heddle, ["synth", "-q", "--steps", "6", "--layers", "1", "--ranks", "2", "--rank", "0", "--no-python",
    ...more, "-o", file(name)]);
  make("before.json");
  make("after.json", "--slow-gpu", "0=30");
  const wanted = JSON.parse(execFileSync(heddle, ["diff", "--json", file("before.json"), file("after.json")], {encoding: "utf8"}));
  const server = await startView(heddle, [file("before.json"), file("after.json")], {args: ["--diff"]});
  try {
    await page.goto(server.url);
    await settled(page);
    await page.locator("section[aria-label='What changed'] button.link").first().waitFor();
    assert.equal(await page.locator(".diff .rankline").textContent(), wanted.sentence);
    assert.equal(await page.locator("section[aria-label='What changed'] table").getAttribute("aria-rowcount"), String(wanted.rows.length + 1));
    // The first compared steps begin together.
    const {steps} = await getJson(new URL("/api/diff", server.url));
    const starts = async pair => {
      const {traces} = await state(page, "session");
      return steps.filter(step => step.pair === pair).map(step => step.start + traces[step.trace].offset_ns);
    };
    await until(page, () => window.heddle.app.state.session.value.traces.every(t => t.clock?.basis === "step"), null, "the traces are aligned");
    const [before, after] = await starts(0);
    assert.equal(before, after);
    const {offset_ns} = (await state(page, "session")).traces[1];
    await page.getByRole("button", {name: "Next step"}).click();
    await until(page, was => window.heddle.app.state.session.value.traces[1].offset_ns !== was, offset_ns, "the after side moves");
    const [first, second] = await starts(1);
    assert.equal(first, second);
    // Colours, and the first row's events in both traces.
    assert.equal(await state(page, "colorBy"), "change");
    const changes = new Map(await state(page, "changes"));
    for (const row of wanted.rows.filter(({kind, verdict}) => kind === "kernel" && verdict === "slower")) assert.equal(changes.get(row.name), "slower");
    const row = wanted.rows.findIndex(({kind, verdict}) => kind === "kernel" && verdict === "slower");
    await page.locator("section[aria-label='What changed'] button.link").nth(row).click();
    await until(page, () => new Set(window.heddle.app.state.selected.value.map(e => e.trace)).size === 2, null, "events of both sides are selected");
  } finally {
    await page.goto("about:blank");
    await server.stop();
  }
});
