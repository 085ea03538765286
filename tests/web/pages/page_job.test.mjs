// page_job.test.mjs - the Job panel over eight ranks: each figure against the traces' JSON, colours, order, keys, opening
import assert from "node:assert/strict";
import {file, hasServer, open, PATIENCE, setState, state, test, until} from "../page.mjs";
import {readChrome} from "../oracle.mjs";
import {readPng} from "../pixels.mjs";

const RANKS = 8, names = Array.from({length: RANKS}, (_, rank) => `job_rank${rank}.json`);
const BASE = 3894127e6; // of heddle synth, µs
const MEASURES = ["time", "exposed communication", "idle", "lateness"];

// ---- what the files say, by the plainest means ----

const isWork = slice => /^(kernel|gpu_memcpy|gpu_memset)$/.test(slice.category ?? "");
const isCommunication = slice => /nccl/i.test(slice.name);
const isCopy = slice => slice.category === "gpu_memcpy";

// Time of [from, until) in which `test` holds of the slices that run.
function timeOf(slices, from, until, test) {
  const edges = [...new Set([from, until, ...slices.flatMap(s => [s.start, s.end])])].filter(t => t >= from && t <= until).sort((a, b) => a - b);
  return edges.slice(1).reduce((sum, end, k) => sum + (test(slices.filter(s => s.start < end && s.end > edges[k])) ? end - edges[k] : 0), 0);
}

// Of each step: time, exposed communication, idle. Work is of the step that launched it; a step's window on the device ends
// with its last work, and begins with the end of the one before.
function stepsOf(trace) {
  const steps = trace.slices.filter(s => /^ProfilerStep#/.test(s.name) && s.category === "user_annotation");
  const launches = new Map(trace.slices.filter(s => s.category === "cuda_runtime").map(s => [s.args.correlation, s.start]));
  const works = trace.slices.filter(isWork).map(s => ({...s, launch: launches.get(s.args.correlation)}));
  let end = Math.min(...works.map(s => s.start));
  return steps.map(step => {
    const own = works.filter(w => w.launch >= step.start && w.launch < step.end), from = end;
    end = Math.max(...own.map(w => w.end));
    const near = works.filter(w => w.start < end && w.end > from);
    return {name: step.name, start: step.start, from, end, time: step.end - step.start,
      "exposed communication": timeOf(near, from, end, on => on.some(isCommunication) && on.every(s => isCommunication(s) || isCopy(s))),
      idle: timeOf(near, from, end, on => on.length === 0)};
  });
}

// Collectives by the sequence number that the profiler wrote: of each rank where it ran.
function collectivesOf(ranks) {
  const bySeq = new Map();
  ranks.forEach(({trace, steps}, rank) => {
    const launches = new Map(trace.slices.filter(s => s.category === "cuda_runtime").map(s => [s.args.correlation, s]));
    const calls = trace.slices.filter(s => s.args?.Seq !== undefined && s.category !== "kernel");
    for (const s of trace.slices.filter(s => isWork(s) && isCommunication(s))) {
      const launch = launches.get(s.args.correlation), inCall = c => c.tid === launch.tid && c.start <= launch.start && c.end >= launch.end;
      const seq = calls.find(inCall).args.Seq, step = steps.find(each => s.start < each.end && s.start >= each.from);
      bySeq.set(seq, [...bySeq.get(seq) ?? [], {rank, step, start: s.start, end: s.end, duration: s.end - s.start}]);
    }
  });
  for (const all of bySeq.values()) assert.equal(all.length, RANKS);
  return bySeq;
}

// How much later than the first a rank came to all collectives of a step.
function addLateness(ranks) {
  for (const all of collectivesOf(ranks).values()) {
    const longest = Math.max(...all.map(each => each.duration));
    for (const {step, duration} of all) step.lateness = (step.lateness ?? 0) + longest - duration;
  }
}

let told = null;
function expected() {
  if (told) return told;
  const ranks = names.map(name => readChrome(file(name), BASE)).map(trace => ({trace, steps: stepsOf(trace)}));
  addLateness(ranks);
  return told = ranks;
}

// ---- the panel ----

const UNITS = {ns: 1, "µs": 1e3, ms: 1e6, s: 1e9};
const toNs = text => { const [value, unit] = text.split(" "); return Math.round(Number(value.replaceAll(",", "")) * UNITS[unit]); };
const textOf = page => page.textContent("#pane .flametext");
const choose = async (page, label, value) => page.locator("#pane .pick", {has: page.getByText(label, {exact: true})}).locator("select").selectOption(value);

async function openJob(page, files = names) {
  await open(page, files);
  await setState(page, "tab", "job");
  await page.waitForSelector("#pane .stacked[aria-busy=false] .flame canvas");
  await until(page, () => document.querySelector("#pane .bar").textContent.includes("8 ranks, 4 steps"), null, "all ranks are there");
  await until(page, () => document.querySelector("#pane .flame canvas").style.height !== "", null, "they are drawn");
}

// The middle of a cell in the window.
const middleOf = (page, row, step, rows = RANKS) => page.evaluate(([row, step, rows]) => {
  const box = document.querySelector("#pane .flame canvas").getBoundingClientRect();
  return {x: box.x + 110 + (box.width - 110) * (step + 0.5) / 4, y: box.y + 16 + (box.height - 16) * (row + 0.5) / rows};
}, [row, step, rows]);

// A click on the cell of a rank and a step, which the page knows to be there.
async function clickCell(page, rank, step) {
  for (const end = Date.now() + PATIENCE; ;) {
    const {x, y} = await middleOf(page, rank, step);
    await page.mouse.move(x + 1, y);
    await page.mouse.move(x, y);
    const text = await textOf(page);
    if (text.startsWith(`rank ${rank} on`) && text.includes(`, ProfilerStep#${step + 1}: `)) return page.mouse.click(x, y);
    assert.ok(Date.now() < end, text);
  }
}

// Until the heat map is drawn of that figure in that theme.
const drawnOf = (page, figure, theme) => page.waitForSelector(`#pane .flame canvas[data-drawn="${figure}, ${theme}"]`);

async function lightnessAt(page, row, step) {
  const {x, y} = await middleOf(page, row, step);
  const {data: [r, g, b]} = readPng(await page.screenshot({clip: {x: Math.round(x), y: Math.round(y), width: 1, height: 1}}));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

async function checkCells(page) {
  await page.focus("#pane .flame canvas");
  await page.keyboard.press("Home");
  for (let rank = 0; rank < RANKS; rank++) {
    for (let step = 0; step < 4; step++) {
      const text = await textOf(page), wanted = expected()[rank].steps[step];
      assert.ok(text.startsWith(`rank ${rank} on node${rank >> 2}, ${wanted.name}: `), text);
      const figures = Object.fromEntries(MEASURES.map(measure => [measure, toNs(new RegExp(`${measure} ([^:]+?)(,|$)`).exec(text.slice(text.indexOf(": ")))[1])]));
      for (const measure of MEASURES) assert.equal(figures[measure], wanted[measure], `${measure} of ${text}`);
      await page.keyboard.press("ArrowRight");
    }
    await page.keyboard.press("Home");
    await page.keyboard.press("ArrowDown");
  }
}

test("each cell tells what its trace says, by keys and by the mouse", async page => {
  await openJob(page);
  await checkCells(page);
  const {x, y} = await middleOf(page, 6, 2);
  await page.mouse.move(x, y);
  await until(page, () => document.querySelector("#pane .flametext").textContent.startsWith("rank 6 on node1, ProfilerStep#3: "));
});

// The rows of the table of ranks, exact values of durations in ns, by rank.
const rankRows = page => page.locator(".rankgrid tbody tr").evaluateAll(list => Object.fromEntries(list.map(tr => {
  const cells = [...tr.children].map(td => ({text: td.innerText.trim(), exact: td.querySelector("span[title]:not(.warn)")?.title, marked: td.querySelector(".warn") !== null}));
  return [/rank (\d+)/.exec(cells[0].text)[1], cells];
})));

test("which rank is the straggler: a table marks it and where its time goes, and a click goes to its tracks", async page => {
  for (const files of hasServer ? [names, ["job.hds"]] : [names]) {
    await openJob(page, files);
    await choose(page, "Show", "ranks");
    await page.waitForSelector(".rankgrid tbody tr");
    const rows = await rankRows(page), sum = (rank, measure) => expected()[rank].steps.reduce((all, step) => all + step[measure], 0);
    for (let rank = 0; rank < RANKS; rank++) {
      const [steps, exposed, idle, late] = [2, 4, 6, 7].map(c => toNs(rows[rank][c].exact));
      assert.deepEqual([steps, exposed, idle, late], MEASURES.map(measure => sum(rank, measure)), `rank ${rank}`);
      assert.equal(rows[rank][0].marked, rank === 3 || rank === 5, `rank ${rank}`);
    }
    assert.ok(rows[3][3].marked && !rows[5][3].marked && rows[5][6].marked && !rows[3][6].marked, "3 computes for long, 5 waits for its batches");
    assert.match(await page.textContent(".rankline"), /^Arrives far later than the others: rank 5 \(.*\), rank 3 \(/);
    assert.match(await page.locator(".rankgrid tbody tr").first().innerText(), /rank 5/);
    if (files === names) {
      await page.locator(".rankgrid tbody tr").first().locator("button.link").click();
      await until(page, () => {
        const {app} = window.heddle, {places} = app.layout(), top = app.state.scroll.value, room = document.querySelector("#tracks").clientHeight;
        const {id} = app.state.session.value.traces.find(t => t.rank === 5);
        return places.some(place => place.track.trace === id && place.track.role === "device" && place.y >= top && place.y < top + room);
      }, null, "its tracks are in view");
    }
    await choose(page, "Show", "steps");
    if (files === names) continue;
    await page.locator("#pane [role=tab]", {hasText: "Summary"}).click(); // summaries alone: the ranks are their summary
    await until(page, () => document.querySelectorAll(".start .rankgrid tbody tr").length === 8, null, "the same table");
  }
});

test("a click on a rank of summaries opens its trace in its latest step, and those of two others", async page => {
  await openJob(page, ["./job.hds"]); // a server of its own: other tests count the traces that are open
  await setState(page, "tab", "start");
  await page.waitForSelector(".start .rankgrid tbody tr");
  await page.locator(".start .rankgrid tbody tr").first().click();
  await until(page, () => window.heddle.app.state.session.value.traces.filter(t => t.state === "ready").length === 3, null, "three traces are open");
  assert.ok((await state(page, "session")).traces[0].name.endsWith("job_rank5.json"));
  const late = expected()[5].steps.map(step => step.lateness), worst = late.indexOf(Math.max(...late));
  await until(page, name => window.heddle.app.state.message.value?.text.startsWith(`${name} of rank 5`), expected()[5].steps[worst].name, "its latest step");
}, {server: "summaries"});

test("summaries tell the same, and a click opens the traces beside them", async page => {
  await openJob(page, ["job.hds"]);
  assert.equal((await state(page, "session")).traces.length, 0);
  await checkCells(page);
  await clickCell(page, 5, 2);
  await until(page, () => window.heddle.app.state.session.value.traces.filter(t => t.state === "ready").length === 3, null, "three traces are open");
  const {traces} = await state(page, "session"), {trace, steps} = expected()[5];
  const own = traces.findIndex(t => t.name.endsWith("job_rank5.json"));
  assert.ok(own >= 0, JSON.stringify(traces));
  await until(page, ([own, start, time]) => {
    const {range, session} = window.heddle.app.state, from = start + session.value.traces[own].offset_ns;
    return range.value.from < from && range.value.until > from + time;
  }, [own, steps[2].start - trace.start, steps[2].time], "the step is in view");
}, {server: "summaries"});

test("ranks are grouped by pipeline stage, and peers do the same work", async page => {
  await open(page, ["roles.hds"]);
  await setState(page, "tab", "job");
  await choose(page, "Order", "pp");
  await until(page, () => { // the line between the stages, dark below light, on cells of any colour
    const box = document.querySelector("#pane .flame canvas"), middle = Math.floor(16 + (box.height - 16) / 2);
    const copy = new OffscreenCanvas(1, 7).getContext("2d", {willReadFrequently: true});
    copy.drawImage(box, 400, middle - 3, 1, 7, 0, 0, 1, 7);
    const {data} = copy.getImageData(0, 0, 1, 7);
    const across = Array.from({length: 7}, (_, k) => data[4 * k] + data[4 * k + 1] + data[4 * k + 2]);
    return across.some((tone, k) => k > 0 && tone < 200 && across[k - 1] > 600);
  }, null, "a line between the stages");
  await page.focus("#pane .flame canvas");
  await page.keyboard.press("Home");
  for (let k = 0; k < 5; k++) await page.keyboard.press("ArrowDown");
  assert.match(await textOf(page), /^rank 5 on node1 \(tp 1, pp 1\), ProfilerStep#1: /);
  await page.keyboard.press("Enter");
  await until(page, () => { const t = window.heddle.app.state.session.value.traces; return t.length === 2 && t.every(each => each.state === "ready"); }, null, "two traces are open");
  assert.deepEqual((await state(page, "session")).traces.map(t => t.name).sort(), ["job_rank5.json", "job_rank7.json"]);
  await choose(page, "Order", "rank");
}, {server: "summaries"});

test("4,096 ranks are drawn, and the slow one is found", async page => {
  await open(page, ["many.hds"]);
  await setState(page, "tab", "job");
  await until(page, () => document.querySelector("#pane .bar")?.textContent.includes("4,096 ranks"), null, "all ranks are there");
  await choose(page, "Order", "most");
  await page.focus("#pane .flame canvas");
  await page.keyboard.press("Home");
  await until(page, () => document.querySelector("#pane .flametext").textContent.startsWith("rank 1365 on "), null, "the slow rank is first");
}, {server: "summaries"});

for (const theme of ["light", "dark"]) {
  test(`who is late stands out, ${theme}`, async page => {
    await setUp(page, theme);
    await choose(page, "Colours", "late");
    await page.mouse.move(0, 0);
    await drawnOf(page, "late", theme);
    const [late, usual] = [await lightnessAt(page, 5, 1), await lightnessAt(page, 0, 1)];
    assert.ok(theme === "dark" ? late > usual + 100 : late < usual - 100, `${late} beside ${usual}`);
    await choose(page, "Order", "most");
    await page.focus("#pane .flame canvas");
    const {x, y} = await middleOf(page, 0, 1);
    await page.mouse.move(x, y);
    await until(page, () => document.querySelector("#pane .flametext").textContent.startsWith("rank 5 on node1, ProfilerStep#2: "), null, "rank 5 is first");
    await choose(page, "Order", "rank");
    await choose(page, "Colours", "time");
  });
}
test("a system that turns dark is followed by an open heat map", async page => {
  await setUp(page, "light");
  await drawnOf(page, "time", "light");
  const light = await lightnessAt(page, 0, 1);
  await page.emulateMedia({colorScheme: "dark"});
  await drawnOf(page, "time", "dark");
  const dark = await lightnessAt(page, 0, 1), at = await page.locator("#pane .flame canvas").boundingBox();
  const names = readPng(await page.screenshot({clip: {x: at.x, y: at.y + 16, width: 80, height: 30}}));
  assert.ok(Math.max(...names.data.filter((_, k) => k % 4 === 0)) > 150, "names of ranks can be read");
  assert.notEqual(light, dark);
});

async function setUp(page, theme) {
  await page.emulateMedia({colorScheme: theme});
  await openJob(page);
}

test("zoomed by the wheel fewer ranks are in view, and the focus is never lost", async page => {
  await openJob(page);
  const {x, y} = await middleOf(page, 7, 0);
  await page.mouse.move(x, y);
  for (let k = 0; k < 8; k++) await page.mouse.wheel(0, -100);
  const top = await middleOf(page, 0, 0, 4);
  await page.waitForSelector("#pane .flame canvas[aria-label*='Rows 5 to 8 of 8.']");
  await page.mouse.move(top.x, top.y);
  await until(page, () => document.querySelector("#pane .flametext").textContent.startsWith("rank 4 on"), null, "four ranks are left");
  await page.focus("#pane .flame canvas");
  for (let k = 0; k < 4; k++) await page.keyboard.press("ArrowUp");
  await page.waitForSelector("#pane .flame canvas[aria-label*='Rows 1 to 4 of 8.']");
  assert.ok((await textOf(page)).startsWith("rank 0 on"), await textOf(page));
});

test("a click shows the step in the rank's trace and its peers', the others are hidden", async page => {
  await openJob(page);
  await choose(page, "Colours", "late");
  await clickCell(page, 5, 2);
  await until(page, () => window.heddle.app.state.hidden.value.size > 0, null, "others are hidden");
  const seen = await page.evaluate(() => [...new Set(window.heddle.app.layout().tracksSeen().map(t => t.trace))].sort());
  const late = expected().map(({steps}) => steps[2].lateness), others = [0, 1, 2, 3, 4, 6, 7].sort((a, b) => late[a] - late[b] || a - b);
  assert.deepEqual(seen, [5, others[3], others[0]].sort());
  const session = await state(page, "session"), range = await state(page, "range"), {trace, steps} = expected()[5];
  const from = steps[2].start - trace.start + session.traces[5].offset_ns;
  assert.ok(range.from < from && range.until > from + steps[2].time, JSON.stringify([range, from]));
  assert.ok(range.until - range.from < 3 * steps[2].time);
  const [first, folded] = await page.evaluate(() => { // what is not of a device is collapsed
    const {app} = window.heddle, places = app.layout().places, own = places.filter(p => p.track.trace === 5 && p.track.kind === "section" && p.depth === 1);
    return [places.find(p => p.track.trace === 5).y - app.state.scroll.value, own.map(p => [/GPU/.test(p.track.name), p.collapsed])];
  });
  assert.ok(first >= 0, "the rank that was clicked is in view");
  assert.ok(folded.some(([device]) => device) && folded.every(([device, collapsed]) => device !== collapsed), JSON.stringify(folded));
});

test("three ranks fit into a window of 1280 by 720, and a click shows what is hidden of one", async page => {
  await page.setViewportSize({width: 1280, height: 720});
  await openJob(page);
  await clickCell(page, 5, 2);
  await until(page, () => window.heddle.app.state.hidden.value.size > 0 && window.heddle.app.state.clocks.value.length === 8, null, "clocks are compared");
  await until(page, () => window.heddle.app.layout().height <= document.querySelector("#headers").clientHeight, null, "they fit");
  const shown = await page.evaluate(() => window.heddle.app.layout().places.map(({track, y, height}) => ({trace: track.trace, stream: track.stream !== undefined && !track.derived, section: track.kind === "section", name: track.name, y, height})));
  const traces = [...new Set(shown.map(({trace}) => trace))];
  assert.equal(traces.length, 3);
  const above = await page.evaluate(() => window.heddle.app.state.scroll.value);
  assert.equal(above, 0);
  for (const trace of traces) {
    const own = shown.filter(each => each.trace === trace);
    assert.ok(own.some(each => each.section && /GPU/.test(each.name)) && own.some(each => each.section && !/GPU/.test(each.name)), JSON.stringify(own));
  }
  const [button] = await page.locator("#headers .rest").all();
  const count = Number((await button.textContent()).slice(1)), hidden = await page.evaluate(() => window.heddle.app.state.hidden.value.size);
  assert.ok(count > 0);
  await button.click();
  await until(page, left => window.heddle.app.state.hidden.value.size === left, hidden - count, "those of one rank are shown");
  assert.deepEqual(await page.evaluate(() => [...new Set(window.heddle.app.layout().places.map(p => p.track.trace))]), traces, "no other rank is");
});

// ---- ranks beside each other ----

const fidelity = page => page.textContent("#fidelity");
const toTraceTime = (rank, time) => time - expected()[rank].trace.start;

async function openAligned(page) {
  await open(page, names);
  await until(page, () => window.heddle.app.state.clocks.value.length === 8, null, "clocks are compared");
  await until(page, () => document.querySelector("#fidelity").textContent.includes("aligned"));
}

// Puts a collective into view and selects it on rank 0.
async function selectCollective(page, all) {
  const {start, duration} = all[0], at = toTraceTime(0, start);
  await page.evaluate(async ([at, duration]) => {
    const {app} = window.heddle, {collectives} = await app.source.collectives(0, {from: at, until: at + 1, limit: 10}, [0, 1]);
    const {track, depth, row} = collectives.find(c => c.parts[0].start === at).parts[0];
    app.state.range.value = {from: at - 8e6, until: at + duration + 8e6};
    app.state.selected.value = [{trace: 0, kind: "slice", row, track, depth, start: at, duration, name: 0}];
    app.state.tab.value = "details";
  }, [at, duration]);
}

const strongBand = page => page.evaluate(() => {
  const {app, drawList} = window.heddle, list = drawList(), range = app.state.range.value, band = list.bands.find(b => b.strong);
  const time = x => range.from + x / list.width * (range.until - range.from);
  return band && {spots: band.spots.map(({x0, x1, y}) => [time(x0), time(x1), y]), last: band.last === null ? null : time(band.last), perPixel: (range.until - range.from) / list.width};
});

test("ranks are aligned by the ends of their collectives, and the bar is told", async page => {
  await openAligned(page);
  const {traces} = await state(page, "session"), all = [...collectivesOf(expected()).values()];
  for (let rank = 1; rank < RANKS; rank++) {
    const {offset_ns: offset, told_ns: told, clock} = traces[rank], apart = expected()[rank].trace.start - expected()[0].trace.start;
    assert.equal(told, apart, `rank ${rank} as its file has it`);
    const behind = all.map(parts => parts[0].end - parts[rank].end).sort((a, b) => a - b)[all.length >> 1];
    assert.ok(clock.bar_ns < 100e3 && (rank < 4) === (clock.bar_ns === 0), JSON.stringify(clock));
    if (rank < 4) assert.equal(offset, told);
    else assert.ok(Math.abs(offset - told - behind) <= clock.bar_ns && Math.abs(behind + 5e6) < 2e5, `${offset - told} beside ${behind}`);
  }
  const bar = `${Number((traces[4].clock.bar_ns / 1000).toPrecision(4))} µs`, by = traces[4].told_ns - traces[4].offset_ns;
  assert.ok((await fidelity(page)).includes(`aligned ± ${bar}`), await fidelity(page));
  await page.waitForSelector("#headers .clock");
  assert.equal(await page.locator("#headers .clock").count(), RANKS - 4); // ranks 0 to 3 have the clock that counts
  const cut = await page.evaluate(() => [...document.querySelectorAll("#headers .track:has(.clock) .trackname")].filter(e => e.scrollWidth > e.clientWidth || e.scrollHeight > e.clientHeight ||
    [...e.children].some(part => part.scrollWidth > part.clientWidth && getComputedStyle(part).display !== "inline")).map(e => e.textContent));
  assert.deepEqual(cut, [], "names beside a clock are whole");
  assert.equal(await page.locator("#headers .clock").first().textContent(), `−${Number((by / 1e6).toPrecision(4))} ms ± ${bar}`);
});

test("a collective is drawn across all ranks, and its details tell who came last", async page => {
  await openAligned(page);
  const inOrder = [...collectivesOf(expected()).values()].sort((a, b) => a[0].start - b[0].start); // all are of one group
  for (const number of [7, 8, 9]) {
    const all = inOrder[number], {step} = all[0], place = inOrder.slice(0, number).filter(([other]) => other.step === step).length;
    await selectCollective(page, all);
    await until(page, text => document.querySelector("#pane [aria-label=Collective]")?.textContent.includes(text),
      ` ${place} of group 0 counted from the start of step ${step.name.split("#")[1]}`, "it is told");
    const {traces} = await state(page, "session");
    const shortest = Math.min(...all.map(part => part.duration)), longest = Math.max(...all.map(part => part.duration)), last = all.findIndex(part => part.duration === shortest);
    await until(page, ([from, perPixel]) => { // the band of the last one has gone
      const {app, drawList} = window.heddle, list = drawList(), range = app.state.range.value, band = list.bands.find(b => b.strong);
      return band && Math.abs(range.from + band.spots[0].x0 / list.width * (range.until - range.from) - from) < 2 * perPixel;
    }, [toTraceTime(0, all[0].start), 2e4]);
    const band = await strongBand(page);
    assert.equal(band.spots.length, RANKS);
    for (const {rank, start, end} of all) {
      const [from, until] = band.spots[rank].slice(0, 2), offset = traces[rank].offset_ns;
      assert.ok(Math.abs(from - toTraceTime(rank, start) - offset) <= band.perPixel && Math.abs(until - toTraceTime(rank, end) - offset) <= band.perPixel, `rank ${rank}: ${from} ${until}`);
    }
    assert.ok(band.spots.every(([, , y], at) => at === 0 || y > band.spots[at - 1][2]), "from the upper to the lower");
    assert.ok(Math.abs(band.last - toTraceTime(last, all[last].start) - traces[last].offset_ns) <= band.perPixel);
    const text = await page.textContent("#pane [aria-label=Collective]"), toldBy = toNs(/Came lastrank \d, (.*?) after/.exec(text)[1]);
    assert.ok(text.includes(`Came lastrank ${last}, `) && toldBy === longest - shortest, text);
    const waits = (await page.locator("#pane [aria-label=Collective] li").allTextContents()).map(line => /^rank (\d) (.*)$/.exec(line)).map(([, rank, by]) => [Number(rank), toNs(by)]);
    assert.deepEqual(waits.sort((a, b) => a[0] - b[0]), all.map(({rank, duration}) => [rank, duration - shortest]));
    const byClocks = /By the clocks(.*?)Waits/.exec(text)[1], at = all.map(({rank, start}) => toTraceTime(rank, start) + traces[rank].offset_ns);
    const first = at.indexOf(Math.min(...at)), latest = at.indexOf(Math.max(...at)), apart = at[latest] - at[first];
    if (byClocks.startsWith("rank")) assert.ok(byClocks.startsWith(`rank ${latest} last, `) && toNs(/last, (.*?) ±/.exec(byClocks)[1]) === apart, byClocks);
    else assert.ok(at.some((time, rank) => rank !== latest && at[latest] - time <= 2 * traces[4].clock.bar_ns), byClocks);
  }
});

test("raw times come back, here and from the address", async page => {
  await openAligned(page);
  await page.locator("#fidelity button", {hasText: "aligned"}).click();
  await until(page, () => window.heddle.app.state.session.value.traces.every(t => t.offset_ns === t.told_ns), null, "they are as the files have them");
  assert.ok((await fidelity(page)).includes("raw clocks"));
  await until(page, () => location.hash.includes("cl=raw"));
  await page.reload();
  await until(page, () => window.heddle?.app.state.clocks.value.length === 8 && document.querySelector("#fidelity").textContent.includes("raw clocks"));
  await page.evaluate(() => window.heddle.app.commands.run("clocks"));
  await until(page, () => { const t = window.heddle.app.state.session.value.traces; return t[4].offset_ns < t[4].told_ns - 4e6; }, null, "they are aligned again");
});

test("of many collectives only the number is told, until all are asked for or few are in view", async page => {
  await openAligned(page);
  const all = [...collectivesOf(expected()).values()];
  await page.evaluate(() => { const {range, whole} = window.heddle.app.state; range.value = whole.value; });
  const many = all.length > 40;
  await until(page, text => document.querySelector("#fidelity").textContent.includes(text), `${all.length} collectives across ranks${many ? ": zoom in to see them" : ""}`);
  await until(page, count => window.heddle.drawList().bands.length === count, many ? 0 : all.length, "as many are drawn");
  await setState(page, "flows", {mode: "all"});
  await until(page, count => window.heddle.drawList().bands.length === count, all.length, "all are drawn");
  await setState(page, "flows", {mode: "off"});
  await until(page, () => window.heddle.drawList().bands.length === 0, null, "none is drawn");
  await setState(page, "flows", {mode: "selection"});
  const {traces} = await state(page, "session"), [from, end] = [0, 15e6]; // in view: where the first that has it touches it
  await setState(page, "range", {from, until: end});
  const inView = all.filter(parts => toTraceTime(0, parts[0].start) + traces[0].offset_ns < end && toTraceTime(0, parts[0].end) + traces[0].offset_ns >= from).length;
  assert.ok(inView > 0 && inView < 40);
  await until(page, text => document.querySelector("#fidelity").textContent.includes(text), `${inView} collective${inView === 1 ? "" : "s"} across ranks`);
});

test("a summary that cannot be read is left out, and named", async page => {
  await open(page, ["job.hds", "broken.hds"]);
  await setState(page, "tab", "job");
  await until(page, () => document.querySelector("#pane .bar")?.textContent.includes("8 ranks, 4 steps"), null, "the others are there");
  const notes = await page.locator("#pane .hint").allTextContents();
  assert.ok(notes.some(text => /broken\.hds is left out: /.test(text)), notes.join());
}, {server: "summaries"});

test("a trace without steps says so", async page => {
  await open(page, "one_event.json");
  await setState(page, "tab", "job");
  await until(page, () => document.querySelector("#pane .hint")?.textContent.startsWith("No trace that was asked has steps"));
});
