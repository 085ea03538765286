// page_seen.test.mjs - what is counted is what is seen: boxes, arrows and filters with sections collapsed, on one trace and
// on eight; no click and no key is lost while the server answers; the bar on top at a large text
import assert from "node:assert/strict";
import {busyTime, onTrack, readChrome} from "../oracle.mjs";
import "../start_tests.mjs";
import {clickEvent, command, drawn, file, open, PATIENCE, placeOf, settled, setState, show, state, test, trackOf, until} from "../page.mjs";

const small = readChrome(file("small.json")), gpu = onTrack(small, 0);
const ranks = Array.from({length: 8}, (_, rank) => `rank${rank}.json`);
const keyOf = track => `${track.trace}.${track.id}`;
const gpuSection = async (page, trace = 0) => (await state(page, "tracks")).find(t => t.trace === trace && t.kind === "section" && t.role === "device");

// Drags a box from the middle of one place to that of another, from one share of the width to another.
async function dragBox(page, first, last, [left, right] = [0.1, 0.9]) {
  const a = await placeOf(page, first), b = await placeOf(page, last);
  const middle = place => place.y + place.height / 2;
  await page.mouse.move(a.x + a.width * left, middle(a));
  await page.mouse.down();
  await page.mouse.move(a.x + a.width * (left + right) / 2, middle(b), {steps: 3});
  await page.mouse.move(a.x + a.width * right, middle(b) + 1, {steps: 3});
  await page.mouse.up();
  await until(page, () => window.heddle.app.state.area.value !== null, null, "a box is selected");
  return state(page, "area");
}
// What the pane says of the box, once it has the server's answer: {busy, events, counts by name}.
async function panelOf(page) {
  await until(page, () => document.querySelectorAll("#pane section .grid tbody tr").length > 0
    && !document.querySelector("#pane section[aria-busy=true]"), null, "the table is there");
  return page.evaluate(() => ({
    facts: Object.fromEntries([...document.querySelectorAll("#pane .facts dt")].map(dt => [dt.textContent, dt.nextElementSibling.textContent])),
    bar: document.querySelector("#pane .bar").textContent,
    names: Object.fromEntries([...document.querySelectorAll("#pane .grid tbody tr")].map(tr =>
      [tr.querySelector(".link").title.split("\n")[0], Number(tr.children[1].textContent.replaceAll(",", ""))])),
  }));
}
const touching = (slices, area) => slices.filter(s => s.start - small.start < area.until && s.end - small.start > area.from);
const countsOf = slices => slices.reduce((all, s) => ({...all, [s.name]: (all[s.name] ?? 0) + 1}), {});
const shownTracks = page => page.evaluate(() => window.heddle.app.layout().tracksSeen().map(t => `${t.trace}.${t.id}`));

test("a box on a collapsed section counts the events of the file below it, once, and is drawn", async page => {
  await open(page, "small.json");
  await command(page, "collapse-all");
  await settled(page);
  const section = await gpuSection(page);
  const area = await dragBox(page, section, section);
  const tracks = await state(page, "tracks");
  assert.deepEqual(area.tracks.map(key => tracks.find(t => keyOf(t) === key).name).sort(), ["stream 20", "stream 7"]);
  const {facts, names, bar} = await panelOf(page);
  const inside = touching(gpu, area);
  assert.deepEqual(names, countsOf(inside));
  const share = busyTime(inside.map(s => ({start: s.start - small.start, end: s.end - small.start})), area.from, area.until) / (area.until - area.from);
  assert.ok(facts.Busy.endsWith(`${(share * 100).toFixed(2)} %`), `${facts.Busy}, not ${share}`);
  assert.match(bar, /, 2 tracks/);
  await setState(page, "tab", "flame"); // which is of all tracks, and says so
  await until(page, () => /the box: .*, all tracks/.test(document.querySelector("#pane .bar").textContent));
  // The box is three rectangles on the row of the section.
  const overlay = () => page.evaluate(() => window.heddle.drawList().rects.overlay);
  await page.mouse.move(0, 0);
  await drawn(page);
  const boxed = await overlay();
  await setState(page, "area", null);
  await drawn(page);
  assert.equal(boxed - await overlay(), 3);
  await page.keyboard.press("."); // the first event in view, though no track of events has a row
  await until(page, () => window.heddle.app.state.selected.value.length === 1, null, "an event is selected");
});

test("with a filter a box counts the rows that it shades, and so does one that is there already", async page => {
  await open(page, "small.json");
  const stream = await trackOf(page, "stream 7"), other = await trackOf(page, "stream 20"), section = await gpuSection(page);
  const seven = onTrack(small, 0, 7);
  await setState(page, "trackFilter", "stream:7 -/framework|scopes/");
  await settled(page);
  for (const first of [stream, section]) {
    const area = await dragBox(page, first, stream);
    assert.deepEqual(area.tracks, [keyOf(stream)]);
    assert.deepEqual((await panelOf(page)).names, countsOf(touching(seven, area)));
    await setState(page, "area", null);
  }
  await setState(page, "trackFilter", "");
  await settled(page);
  const area = await dragBox(page, stream, other);
  assert.deepEqual(area.tracks, [keyOf(stream), keyOf(other)]);
  assert.deepEqual((await panelOf(page)).names, countsOf(touching(gpu, area)));
  await setState(page, "trackFilter", "stream:7 -/framework|scopes/");
  await until(page, () => /, 1 track(?!s)/.test(document.querySelector("#pane .bar").textContent), null, "of the box one track is left");
  assert.deepEqual((await panelOf(page)).names, countsOf(touching(seven, area)));
});

test("derived rows show events of others: beside these they do not count again", async page => {
  await page.setViewportSize({width: 1400, height: 800}); // both are in view
  await open(page, "small.json");
  const all = await state(page, "tracks"), compute = all.find(t => t.derived && t.role === "compute"), stream = await trackOf(page, "stream 7");
  const area = await dragBox(page, compute, stream);
  const boxed = area.tracks.map(key => all.find(t => keyOf(t) === key));
  assert.ok(boxed.some(t => t.name === "stream 7") && !boxed.some(t => t.derived && t.kind === "slices"), boxed.map(t => t.name).join());
  assert.deepEqual((await panelOf(page)).names, countsOf(touching(onTrack(small, 0, 7), area)));
  await setState(page, "area", null);
  assert.deepEqual((await dragBox(page, compute, compute)).tracks, [keyOf(compute)], "alone they do");
});

test("arrows end at the rows of collapsed sections, and those to tracks that are not shown are told", async page => {
  await open(page, "small.json");
  await setState(page, "flows", {mode: "all"});
  await until(page, () => window.heddle.drawList().curves === 19, null, "19 arrows are drawn");
  await command(page, "collapse-all");
  await settled(page);
  await until(page, () => window.heddle.drawList().curves === 19, null, "and with all sections collapsed");
  await until(page, () => /19 arrows/.test(document.querySelector("#fidelity").textContent));
  const section = await gpuSection(page);
  await page.evaluate(key => { window.heddle.app.state.hidden.value = new Set([key]); }, keyOf(section));
  await until(page, () => window.heddle.drawList().curves === 4, null, "three fwdbwd and one dataflow are left");
  await until(page, () => /showing 4 of 19 arrows: 15 to tracks that are not shown/.test(document.querySelector("#fidelity").textContent));
});

test("the filter \"rank 3\" leaves what is of rank 3, also when it is typed", async page => {
  await open(page, ranks);
  const all = await state(page, "tracks"), wanted = all.filter(t => t.trace === 3 && t.kind !== "section").map(keyOf).sort();
  const type = async text => {
    await page.fill("#track-filter", text);
    await until(page, text => window.heddle.app.state.trackFilter.value === text, text);
    return (await shownTracks(page)).sort();
  };
  assert.deepEqual(await type("rank 3"), wanted);
  assert.deepEqual(await type("rank:3"), wanted);
  assert.deepEqual(await type("rank:3 /^stream/"), all.filter(t => t.trace === 3 && /^stream/.test(t.name)).map(keyOf).sort());
  assert.equal((await type("/(/")).length, all.filter(t => t.kind !== "section").length);
  assert.equal(await page.getAttribute("#track-filter", "aria-invalid"), "true");
  assert.match(await page.textContent("#track-count"), /regular expression/i);
});

test("under a filter sections collapse and open, by all and one by one, and the address has it", async page => {
  await open(page, ranks);
  await setState(page, "trackFilter", "/^stream/");
  await settled(page);
  const places = () => page.evaluate(() => window.heddle.app.layout().places.map(p => p.track.kind));
  const before = await places();
  assert.ok(before.includes("slices"));
  await page.click("[aria-label='Collapse all sections']");
  await until(page, () => window.heddle.app.layout().places.every(p => p.track.kind === "section"), null, "only sections are left");
  const sections = (await places()).length;
  await until(page, () => location.hash.includes("tfc="), null, "the address has it");
  await page.reload();
  await settled(page);
  assert.equal((await places()).length, sections);
  const first = await page.evaluate(() => window.heddle.app.layout().places[0].key);
  await page.locator(`#headers [data-track="${first}"] .trackname`).click();
  await until(page, first => !window.heddle.app.layout().find(first).collapsed, first, "a click opens one");
  assert.ok((await places()).length > sections, "what is in the rank");
  await page.click("[aria-label='Expand all sections']");
  await until(page, count => window.heddle.app.layout().places.length === count, before.length, "all of it is there again");
});

test("Alt+V tells as many tracks as the list does", async page => {
  await open(page, "small.json");
  const stream = await trackOf(page, "stream 7");
  for (const make of [() => {}, () => command(page, "collapse-all"), () => setState(page, "trackFilter", "stream"),
    () => page.evaluate(key => { window.heddle.app.state.hidden.value = new Set([key]); }, keyOf(stream))]) {
    await make();
    await settled(page);
    const listed = await page.textContent("#track-count");
    assert.match(listed, /tracks/);
    await page.keyboard.press("Alt+v");
    assert.match((await state(page, "message")).text, new RegExp(`, ${listed}, nothing selected`));
  }
});

test("with eight traces the tables of the search tab have room, and a name is one row", async page => {
  await open(page, ranks);
  await setState(page, "query", {q: "sgemm", mode: "text", in: "names", case: false});
  await setState(page, "tab", "search");
  await until(page, () => document.querySelectorAll("#pane .grid").length === 2
    && [...document.querySelectorAll("#pane .grid")].every(g => g.querySelector("tbody tr")), null, "there are two tables");
  const tables = await page.evaluate(() => [...document.querySelectorAll("#pane .grid")].map(g => ({height: g.clientHeight,
    rows: [...g.querySelectorAll("tbody tr")].map(tr => [...tr.children].map(td => td.textContent))})));
  for (const {height} of tables) assert.ok(height > 150, `a table of ${height} px`);
  assert.equal(tables[0].rows.length, 8, "a track of each rank");
  assert.deepEqual(tables[1].rows.map(row => row.slice(1)), [["kernel", "8"]]);
});

test("Ctrl+clicks on derived rows are all kept, in their order, however slow the first answer is", async page => {
  await open(page, "small.json");
  const compute = (await state(page, "tracks")).find(t => t.derived && t.role === "compute");
  await show(page, 0, 3000000);
  const wait = [], clicked = [];
  await page.route("**/api/step?*", route => { wait.push(route); });
  await page.evaluate(() => {
    window.heard = [];
    for (const type of ["pointerdown", "pointerup", "pointercancel", "lostpointercapture", "blur", "resize"]) {
      window.addEventListener(type, e => window.heard.push([Math.round(performance.now()), type, e.clientX, e.clientY]), true);
    }
  });
  for (const time of [275000, 550000, 1275000, 1550000]) {
    clicked.push(await clickEvent(page, compute, time));
    await page.keyboard.down("Control");
  }
  await page.keyboard.up("Control");
  // Each answer comes when it is asked for; none is asked for before the one ahead of it is there.
  const goOn = async () => {
    for (const end = Date.now() + PATIENCE; !wait.length && Date.now() < end;) await drawn(page);
    assert.ok(wait.length, `a click was lost: ${JSON.stringify([clicked, await placeOf(page, compute), await state(page, "selected"),
      await state(page, "range"), await state(page, "message"), await page.evaluate(() => window.heard)])}`);
    await wait.shift().continue();
  };
  for (let count = 1; count <= 4; count++) {
    await goOn();
    await until(page, count => window.heddle.app.state.selected.value.length === count, count, `${count} are selected`);
  }
  const starts = (await state(page, "selected")).map(e => e.start);
  assert.deepEqual(starts, [200000, 450000, 1200000, 1450000]);
  await page.unroute("**/api/step?*");
}, {server: "requests"});

test("Esc leaves the search box, and the filter of tracks: keys work at once", async page => {
  await open(page, "small.json");
  for (const [id, name, read] of [["search-text", "query", q => q.q], ["track-filter", "trackFilter", text => text]]) {
    await page.focus(`#${id}`);
    await page.keyboard.type("stream");
    await page.keyboard.press("Escape");
    assert.equal(await page.evaluate(() => document.activeElement === document.body), true, `${id} is left`);
    assert.equal(read(await state(page, name)), "", "and empty");
    await page.keyboard.press("2");
    assert.equal(await state(page, "tool"), "pan");
    await page.keyboard.press("1");
  }
});

test("at 200 % the bar on top is two lines, all of it in the window", async page => {
  await page.setViewportSize({width: 700, height: 400}); // 1400 by 800 at 200 %
  await open(page, ranks);
  await setState(page, "query", {q: "e", mode: "text", in: "names", case: false});
  await until(page, () => /in 8 traces/.test(document.querySelector("#search .count").textContent), null, "with its longest text");
  const outside = () => page.evaluate(() => [...document.querySelectorAll("#top button, #top input, #top select")].filter(e => {
    const box = e.getBoundingClientRect();
    return box.left < 0 || box.right > innerWidth || box.bottom > document.querySelector("#top").getBoundingClientRect().bottom;
  }).map(e => e.getAttribute("aria-label")));
  const height = () => page.evaluate(() => document.querySelector("#top").getBoundingClientRect().height);
  assert.deepEqual(await outside(), []);
  assert.ok(await height() <= 70, `${await height()} px`);
  assert.ok(await page.evaluate(() => document.querySelector("#fidelity").getBoundingClientRect().bottom <= innerHeight));
  await page.setViewportSize({width: 1400, height: 800});
  await drawn(page);
  assert.ok(await height() <= 36, "and one line where there is room");
  await page.evaluate(() => { document.body.style.fontSize = "24px"; }); // the text alone
  await drawn(page);
  assert.deepEqual(await outside(), []);
  assert.ok(await height() <= 80, `${await height()} px`);
  await page.setViewportSize({width: 1280, height: 720}); // a browser's text at 200 %
  await page.evaluate(() => { document.documentElement.style.fontSize = "32px"; document.body.style.fontSize = ""; });
  await setState(page, "tab", "start");
  await page.waitForSelector(".rankgrid tbody tr");
  const low = () => page.evaluate(() => [document.querySelector("#fidelity").getBoundingClientRect().bottom, innerHeight, document.querySelector("#pane-body").clientHeight]);
  const [bottom, window, body] = await low();
  assert.ok(bottom <= window && body > 60, `the bottom line ends at ${bottom} of ${window} px, the pane has ${body} px`);
});
