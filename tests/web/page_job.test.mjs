// page_job.test.mjs - the Job panel over eight ranks: each figure against the traces' JSON, colours, order, keys, opening
import assert from "node:assert/strict";
import {file, open, run, setState, state, test, until} from "./page.mjs";
import {readChrome} from "./oracle.mjs";
import {readPng} from "./pixels.mjs";

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

// Collectives by the sequence number that the profiler wrote; the most that a rank came later than the first, of a step's.
function addLateness(ranks) {
  const bySeq = new Map();
  ranks.forEach(({trace, steps}, rank) => {
    const launches = new Map(trace.slices.filter(s => s.category === "cuda_runtime").map(s => [s.args.correlation, s]));
    const calls = trace.slices.filter(s => s.args?.Seq !== undefined && s.category !== "kernel");
    for (const s of trace.slices.filter(s => isWork(s) && isCommunication(s))) {
      const launch = launches.get(s.args.correlation), inCall = c => c.tid === launch.tid && c.start <= launch.start && c.end >= launch.end;
      const seq = calls.find(inCall).args.Seq, step = steps.find(each => s.start < each.end && s.start >= each.from);
      bySeq.set(seq, [...bySeq.get(seq) ?? [], {rank, step, duration: s.end - s.start}]);
    }
  });
  for (const all of bySeq.values()) {
    assert.equal(all.length, RANKS);
    const longest = Math.max(...all.map(each => each.duration));
    for (const {step, duration} of all) step.lateness = Math.max(step.lateness ?? 0, longest - duration);
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

test("summaries tell the same, and a click opens the traces beside them", async page => {
  await openJob(page, ["job.hds"]);
  assert.equal((await state(page, "session")).traces.length, 0);
  await checkCells(page);
  const {x, y} = await middleOf(page, 5, 2);
  await page.mouse.click(x, y);
  await until(page, () => window.heddle.app.state.session.value.traces.filter(t => t.state === "ready").length === 3, null, "three traces are open");
  const {traces} = await state(page, "session"), {trace, steps} = expected()[5];
  const own = traces.findIndex(t => t.name.endsWith("job_rank5.json"));
  assert.ok(own >= 0, JSON.stringify(traces));
  const from = steps[2].start - trace.start + traces[own].offset_ns;
  await until(page, ([from, until]) => { const r = window.heddle.app.state.range.value; return r.from < from && r.until > until; }, [from, from + steps[2].time], "the step is in view");
});

test("ranks are grouped by pipeline stage, and peers do the same work", async page => {
  await open(page, ["roles.hds"]);
  await setState(page, "tab", "job");
  await choose(page, "Order", "pp");
  await page.focus("#pane .flame canvas");
  await page.keyboard.press("Home");
  for (let k = 0; k < 5; k++) await page.keyboard.press("ArrowDown");
  assert.match(await textOf(page), /^rank 5 on node1 \(tp 1, pp 1\), ProfilerStep#1: /);
  await page.keyboard.press("Enter");
  await until(page, () => { const t = window.heddle.app.state.session.value.traces; return t.length === 2 && t.every(each => each.state === "ready"); }, null, "two traces are open");
  assert.deepEqual((await state(page, "session")).traces.map(t => t.name).sort(), ["job_rank5.json", "job_rank7.json"]);
  await choose(page, "Order", "rank");
});

test("4,096 ranks are drawn, and the slow one is found", async page => {
  await open(page, ["many.hds"]);
  await setState(page, "tab", "job");
  await until(page, () => document.querySelector("#pane .bar")?.textContent.includes("4,096 ranks"), null, "all ranks are there");
  await choose(page, "Order", "most");
  await page.focus("#pane .flame canvas");
  await page.keyboard.press("Home");
  await until(page, () => document.querySelector("#pane .flametext").textContent.startsWith("rank 1365 on "), null, "the slow rank is first");
});

for (const theme of ["light", "dark"]) {
  test(`who is late stands out, ${theme}`, async page => {
    await setUp(page, theme);
    await choose(page, "Colours", "late");
    await page.mouse.move(0, 0);
    await page.waitForTimeout(100);
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
  const {x, y} = await middleOf(page, 5, 2);
  await page.mouse.click(x, y);
  await until(page, () => window.heddle.app.state.hidden.value.size > 0, null, "others are hidden");
  const seen = await page.evaluate(() => [...new Set(window.heddle.app.layout().tracksSeen().map(t => t.trace))].sort());
  const late = expected().map(({steps}) => steps[2].lateness), others = [0, 1, 2, 3, 4, 6, 7].sort((a, b) => late[a] - late[b] || a - b);
  assert.deepEqual(seen, [5, others[3], others[0]].sort());
  const session = await state(page, "session"), range = await state(page, "range"), {trace, steps} = expected()[5];
  const from = steps[2].start - trace.start + session.traces[5].offset_ns;
  assert.ok(range.from < from && range.until > from + steps[2].time, JSON.stringify([range, from]));
  assert.ok(range.until - range.from < 3 * steps[2].time);
  const first = await page.evaluate(() => { // the rank that was clicked is in view, not the first peer
    const {app} = window.heddle, {scroll, tracks} = app.state, top = tracks.value.find(t => t.trace === 5 && t.parent === null);
    return app.layout().find(`5.${top.id}`).y - scroll.value;
  });
  assert.ok(first >= 0 && first < 400, String(first));
});

test("a summary that cannot be read is left out, and named", async page => {
  await open(page, ["job.hds", "broken.hds"]);
  await setState(page, "tab", "job");
  await until(page, () => document.querySelector("#pane .bar")?.textContent.includes("8 ranks, 4 steps"), null, "the others are there");
  const notes = await page.locator("#pane .hint").allTextContents();
  assert.ok(notes.some(text => /broken\.hds is left out: /.test(text)), notes.join());
});

test("a trace without steps says so", async page => {
  await open(page, "one_event.json");
  await setState(page, "tab", "job");
  await until(page, () => document.querySelector("#pane .hint")?.textContent.startsWith("No trace that was asked has steps"));
});

await run();
