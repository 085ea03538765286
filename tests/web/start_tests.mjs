// start_tests.mjs - the questions of an engineer, each answered by one click: which step is slow and why, how much communication is
// exposed, why the GPU is idle, which line launched a kernel. Part of page_seen.test.mjs; figures are from the trace's JSON.
import assert from "node:assert/strict";
import {execFileSync} from "node:child_process";
import {readFileSync, writeFileSync} from "node:fs";
import {busyTime, gapsOf, onTrack, readChrome} from "./oracle.mjs";
import {clickEvent, drawn, file, heddle, open, settled, setState, show, state, test, trackOf, until} from "./page.mjs";

const KEY = "heddle-start-closed";
const text = (page, selector) => page.locator(selector).first().innerText();
const ready = page => page.waitForSelector(".startcolumns .findings, .startcolumns .hint");
const trace = () => readChrome(file("questions.json"));
const shortMs = ns => `${Number((ns / 1e6).toPrecision(4))} ms`, shortUs = ns => `${Number((ns / 1e3).toPrecision(4))} \u00b5s`;
const short = ns => (Math.abs(ns) >= 1e6 ? shortMs(ns) : shortUs(ns));

// Of each step its slices on the GPU, and its window there: from the end of the step before's last to its own last.
function stepsOf({slices}) {
  const gpu = slices.filter(s => s.pid === "0"), steps = slices.filter(s => s.name.startsWith("ProfilerStep#"));
  let before = Math.min(...gpu.map(s => s.start));
  return steps.map(step => {
    const own = gpu.filter(s => s.start >= step.start && s.start < step.end), from = before, end = Math.max(...own.map(s => s.end));
    before = end;
    const compute = own.filter(s => !s.name.startsWith("nccl"));
    const exposed = busyTime(own) - busyTime(compute);
    return {...step, duration: step.end - step.start, exposed, compute: busyTime(compute), window: end - from, idle: end - from - busyTime(own), gpu: own};
  });
}

test("the summary opens with the page, says what the trace says, and stays closed once it was closed", async page => {
  await page.addInitScript(key => localStorage.removeItem(key), KEY);
  await open(page, "questions.json");
  await until(page, () => window.heddle.app.state.tab.value === "start", null, "it is open");
  await ready(page);
  const all = trace(), gpu = onTrack(all, 0), span = Math.max(...gpu.map(s => s.end)) - Math.min(...gpu.map(s => s.start));
  const compute = gpu.filter(s => !s.name.startsWith("nccl"));
  assert.match(await text(page, ".startside .facts"), /nothing missing or impossible found in 36 GPU activities, 36 launches and 12 steps/);
  const shares = {compute: busyTime(compute), "exposed communication": busyTime(gpu) - busyTime(compute), "exposed copies": 0, idle: span - busyTime(gpu)};
  const shown = await page.locator(".partlinks li").allInnerTexts();
  assert.deepEqual(shown.map(each => each.trim()), Object.entries(shares).map(([name, ns]) => `${name} ${ns ? short(ns) : "0 ns"}, ${(ns / span * 100).toFixed(2)} %`));
  assert.match(await page.title(), /^rank 0: questions.json \u2013 Heddle$/);
  assert.equal(await text(page, ".tracenames"), "rank 0: questions.json");
  await page.click("[aria-label='Close the pane']");
  assert.equal(await page.evaluate(key => localStorage.getItem(key), KEY), "1");
}, {context: {}});

test("it is not open where the address says what to show", async page => {
  await page.addInitScript(key => localStorage.removeItem(key), KEY);
  await open(page, "questions.json", {hash: "#r=0~1000000"});
  assert.equal(await state(page, "tab"), null);
}, {context: {}});

test("an address of other traces says so; one of these does not", async page => {
  await open(page, "questions.json", {hash: "#r=0~1000000&of=00000000"});
  await until(page, () => /made for other traces/.test(document.querySelector("#status").textContent), null, "it says so");
  await until(page, () => /of=(?!00000000)[0-9a-f]{8}/.test(location.hash), null, "the address is of these now");
  await setState(page, "message", null);
  await page.reload();
  await settled(page);
  assert.equal(await text(page, "#status"), "");
});

test("which step is the slowest, and why: one click frames it and shows what it has more than the median step", async page => {
  await open(page, "questions.json");
  await setState(page, "tab", "start");
  await ready(page);
  await page.waitForSelector(".stepstrip .step");
  const steps = stepsOf(trace()), slow = steps[6], sorted = [...steps].sort((a, b) => a.duration - b.duration), median = sorted[(steps.length - 1) >> 1];
  assert.match(await text(page, ".startside .facts"), new RegExp(`12, the median ${short(median.duration)}, the slowest\\s*#7 ${short(slow.duration)}`));
  await page.locator(".startside .facts button", {hasText: "#7"}).click();
  const range = await state(page, "range");
  assert.ok(range.from <= slow.start && range.from > slow.start - slow.duration / 10 && range.until >= slow.end && range.until < slow.end + slow.duration / 10, JSON.stringify(range));
  await page.waitForSelector(".stepchange .grid tbody tr");
  assert.match(await text(page, ".stepchange h4"), new RegExp(`ProfilerStep#7 ${short(slow.duration)}, \\+${short(slow.duration - median.duration)} against the median step`));
  assert.match(await text(page, ".stepchange .changes"), new RegExp(`exposed communication \\+${short(slow.exposed - median.exposed)}`));
  const rows = await page.locator(".stepchange .grid tbody tr").allInnerTexts();
  assert.match(rows[0], new RegExp(`record_param_comms\\s+${short(slow.exposed)}\\s+${short(median.exposed)}\\s+\\+${short(slow.exposed - median.exposed)}`));
  await page.locator(".stepchange select").selectOption("kernels");
  await until(page, () => document.querySelector(".stepchange .grid tbody")?.innerText.includes("ncclDevKernel_AllReduce_Sum_f32_RING_LL"), null, "kernels");
  // All steps, by the keyboard: each bar says its figures.
  const bars = await page.locator(".stepstrip .step").evaluateAll(list => list.map(e => e.getAttribute("aria-label")));
  for (const [k, step] of steps.entries()) {
    for (const part of [step.duration, step.window, step.compute, step.exposed, step.idle]) assert.ok(bars[k].includes(short(part)), `${bars[k]}: ${short(part)}`);
  }
  await page.locator(".stepstrip .step").nth(6).focus();
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("Enter");
  await until(page, () => document.querySelector(".stepchange h4").innerText.startsWith("ProfilerStep#6"), null, "the step before");
});

test("of a trace without steps they are guessed on request, and compared like others", async page => {
  const {traceEvents, ...more} = JSON.parse(readFileSync(file("questions.json"), "utf8"));
  writeFileSync(file("no_steps.json"), JSON.stringify({...more, traceEvents: traceEvents.filter(e => !/^ProfilerStep#/.test(e.name))}));
  const wanted = JSON.parse(execFileSync(heddle, ["report", "steps", "--step", "auto", "--json", file("no_steps.json")], {encoding: "utf8"})).steps;
  assert.ok(wanted.length > 3, "they can be guessed");
  await open(page, "no_steps.json");
  await setState(page, "tab", "start");
  await ready(page);
  await page.getByText("Guess them from what repeats").click();
  await page.waitForSelector(".stepstrip .step");
  assert.equal(await page.locator(".stepstrip .step").count(), wanted.length);
  await page.locator(".stepstrip .step").nth(2).click();
  await page.waitForSelector(".stepchange h4");
  assert.match(await text(page, ".stepchange h4"), /#3 /);
});

test("how much communication is exposed: per step in percent, and a click shows it as a track", async page => {
  await open(page, "questions.json");
  await setState(page, "tab", "start");
  await page.waitForSelector(".stepgrid .grid tbody tr");
  const steps = stepsOf(trace());
  const shown = await page.locator(".stepgrid tbody tr td:nth-child(4)").allInnerTexts();
  assert.deepEqual(shown, steps.map(s => `${short(s.exposed)} ${(s.exposed / s.window * 100).toFixed(2)} %`));
  await page.locator(".stepgrid tbody tr").nth(6).locator("td:nth-child(4) button").click();
  const track = (await state(page, "tracks")).find(t => t.derived && t.role === "exposed");
  await settled(page);
  assert.ok(await page.evaluate(key => {
    const {app} = window.heddle, place = app.layout().find(key), top = app.state.scroll.value;
    return place && place.y + place.height > top && place.y < top + document.querySelector("#tracks").clientHeight;
  }, `${track.trace}.${track.id}`), "the track is in view");
  const range = await state(page, "range");
  assert.ok(range.from < steps[6].start && range.until > steps[6].end);
});

test("why is the GPU idle here: a click on idle names the cause, the user's line, and what ended it", async page => {
  await open(page, "questions.json");
  const all = trace(), [, second] = stepsOf(all);
  const gap = gapsOf(onTrack(all, 0), second.gpu[0].end, second.gpu[1].end)[0];
  assert.equal(gap.duration, 1200000);
  await show(page, second.start, second.end);
  const idle = (await state(page, "tracks")).find(t => t.derived && t.role === "idle");
  await clickEvent(page, idle, gap.start + gap.duration / 2 - all.start);
  await page.waitForSelector("[aria-label='Why it is idle'] dd");
  await until(page, () => /Your line\s+data.py:22/.test(document.querySelector("[aria-label='Why it is idle']").innerText), null, "the line is there");
  assert.match(await text(page, "#pane h3, #pane h2"), /^idle: host/, "its name, by which it is coloured, has the cause of the report");
  const said = await text(page, "[aria-label='Why it is idle']");
  assert.match(said, /Cause\s+host: the host had not launched anything yet/);
  assert.match(said, /Meanwhile the host was in\s+aten::stack/);
  assert.match(said, /in the function\s+data.py\(22\): load_batch/);
  await page.locator("[aria-label='Why it is idle'] button", {hasText: "add"}).click();
  await until(page, () => window.heddle.app.state.selected.value[0]?.kind === "slice" && window.heddle.app.state.selected.value[0].duration === 200000, null, "what ended it is selected");
  assert.equal((await state(page, "selected"))[0].start, second.gpu[1].start - all.start);
});

test("which line launched this kernel: the user's own first, then the stack from the leaf, others folded; an editor opens it", async page => {
  await open(page, "questions.json");
  const all = trace(), [first] = stepsOf(all);
  await show(page, first.start, first.end);
  await clickEvent(page, await trackOf(page, "stream 7"), first.gpu[0].start + 1000 - all.start);
  await page.waitForSelector("[aria-label='Stack'] > ul");
  assert.match(await text(page, "[aria-label='Event'] .facts"), /^Your line\s+train.py:40/);
  assert.equal(await page.locator("[aria-label='Event'] a.small").count(), 0, "no folder is known");
  const runs = await page.locator("[aria-label='Stack'] > ul.stack, [aria-label='Stack'] > details.frames > summary").allInnerTexts();
  assert.equal(runs.length, 3, runs.join());
  assert.match(runs[0], /^4 frames of api, op, fastops, torch$/);
  assert.match(runs[1], /^train.py\(40\): train_step/);
  assert.match(runs[2], /ProfilerStep#1/);
  await page.locator(".editor summary").click();
  await page.locator(".editor input").nth(1).fill("/home/me/a b");
  await page.locator(".editor input").nth(1).press("Tab");
  assert.equal(await page.locator("[aria-label='Event'] a.small").getAttribute("href"), "vscode://file/home/me/a%20b/train.py:40");
  assert.equal((await state(page, "tracks")).find(t => t.name === "Source line, stream 7").rows, 1, "the lines of the stream are a track");
  await page.locator(".editor input").nth(2).fill("train.py");
  await page.locator(".editor input").nth(2).press("Tab");
  await until(page, () => /^Library line\s+.*fastops/.test(document.querySelector("[aria-label='Event'] .facts").innerText), null, "the folder is skipped");
  const named = names => until(page, names => JSON.stringify(window.heddle.app.state.tracks.value.filter(t => t.name.startsWith("Source line")).map(t => [t.role, t.name])) === names,
    JSON.stringify(names), `the tracks are ${names}`);
  await named([["own_source", "Source line, stream 7"]]); // of the other one no line is left
  await settled(page);
  const lines = await page.evaluate(async () => {
    const {app} = window.heddle, {trace, id} = app.state.tracks.value.find(t => t.role === "own_source");
    return (await app.source.select(trace, 0, 1e12, [id], "name")).table.map(row => row.text);
  });
  assert.ok(lines.length > 0 && lines.every(name => !name.startsWith("train.py")), lines.join());
  await page.locator(".editor input").nth(2).fill("");
  await page.locator(".editor input").nth(2).press("Tab");
  await named(["Source line, stream 7", "Source line, stream 20"].map(name => ["source", name]));
  await page.locator(".editor input").nth(0).fill("javascript://{file}");
  await page.locator(".editor input").nth(0).press("Tab");
  await until(page, () => document.querySelectorAll("[aria-label='Event'] a.small").length === 0, null, "no scheme that runs in the page");
});

test("a finding leads to its place, and the summary stays", async page => {
  await open(page, "questions.json");
  await setState(page, "tab", "start");
  await ready(page);
  await page.locator(".findings button", {hasText: "Show"}).first().click();
  await until(page, () => window.heddle.app.state.selected.value.length === 1, null, "an event is selected");
  assert.equal(await state(page, "tab"), "start");
});

test("a tooltip follows the view that keys move", async page => {
  await open(page, "questions.json");
  const all = trace(), [, second] = stepsOf(all);
  await show(page, second.start, second.end);
  await clickEvent(page, await trackOf(page, "stream 7"), second.gpu[0].start + 1000 - all.start);
  await drawn(page);
  const before = await text(page, ".tip");
  await setState(page, "range", {from: second.gpu[1].start - 10000 - all.start, until: second.gpu[1].end - all.start});
  await settled(page);
  await until(page, before => document.querySelector(".tip").hidden || document.querySelector(".tip").innerText !== before, before, "it is another");
});
