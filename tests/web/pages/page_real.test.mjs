// page_real.test.mjs - real traces of ../shared/data: what the issue says of them is on the page
//
// HEDDLE_REAL_TRACES may name another folder, which has the files unzipped and without folders.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import {command, drawn, open, settled, setState, state, test, until} from "../page.mjs";

const shared = path.resolve(process.env.HEDDLE_SHARED ?? path.join(process.env.HEDDLE_SOURCE_ROOT ?? ".", "../shared"), "data");
const flat = process.env.HEDDLE_REAL_TRACES;
const real = name => flat ? path.resolve(flat, path.basename(name, ".gz")) : path.join(shared, name);
const there = name => ({skip: fs.existsSync(real(name)) ? undefined : `${name} is not there`});

async function zoomAbout(page) {
  const whole = await state(page, "whole"), span = whole.until - whole.from;
  for (let k = 1; k <= 10; k++) {
    const width = span / 4 ** k, from = whole.from + span * (0.3 + 0.04 * k);
    await setState(page, "range", {from, until: from + Math.max(200, width)});
    await drawn(page);
  }
  await settled(page);
  await command(page, "fit-whole");
  await settled(page);
}

test("mtia_rank_0: the fidelity line is that of the issue", async page => {
  await open(page, real("kineto/mtia_rank_0.json.gz"));
  await page.waitForFunction(() => /of [\d,]+ slices/.test(document.querySelector("#fidelity").textContent));
  const text = (await page.textContent("#fidelity")).replace(/\s+/g, " ");
  for (const part of ["138,373 of 138,373 slices", "0 dropped", "3,551 on extra lanes", "0 kernels before their launch"]) assert.ok(text.includes(part), `${part}: ${text}`);
  await zoomAbout(page);
}, there("kineto/mtia_rank_0.json.gz"));

test("df_index_resolver: two GPUs, their streams and derived rows", async page => {
  await open(page, real("kineto/df_index_resolver.json.gz"));
  const tracks = await state(page, "tracks"), fidelity = await page.evaluate(() => window.heddle.app.source.fidelity(0));
  assert.deepEqual(fidelity.slices, {read: 123379, shown: 123379, dropped: 0});
  const slices = tracks.filter(t => t.kind === "slices" && !t.derived && t.events_kind === "slice").reduce((a, t) => a + t.events, 0);
  assert.equal(slices, 123379);
  for (const role of ["compute", "idle", "copy"]) assert.ok(tracks.some(t => t.role === role), `no row ${role}: ${[...new Set(tracks.map(t => t.role))]}`);
  await zoomAbout(page);
}, there("kineto/df_index_resolver.json.gz"));

// What a Python program says of the raw JSON of each rank (intervals of exact integers): time of kernels that compute and of memsets, of
// NCCL's, of those while nothing computes, of copies; idle time; the longest launch latency. 777 pieces of work, 1 step each.
const MEGATRON = [
  [131516000, 241191000, 241191000, 20000, 222514000, 26095000], [132081000, 481306000, 481306000, 20000, 7383000, 46347000],
  [131624000, 413325000, 413325000, 20000, 65886000, 39498000], [132896000, 472390000, 472390000, 20000, 20297000, 50586000],
  [132035000, 495240000, 495240000, 20000, 3329000, 54276000], [131706000, 490928000, 490928000, 19000, 7978000, 51905000],
  [133685000, 263846000, 263846000, 20000, 208748000, 28648000], [132431000, 481865000, 481865000, 19000, 11015000, 47231000]];

test("eight Megatron ranks: sections by rank, and the times of each device as Python counts them", async page => {
  const names = Array.from({length: 8}, (_, rank) => `ranks/megatron-tp8/rank${rank}.json.gz`).map(real);
  await open(page, names);
  const session = await state(page, "session"), tracks = await state(page, "tracks");
  assert.equal(session.traces.length, 8);
  assert.ok(session.traces.every(t => t.state === "ready"));
  assert.deepEqual(session.traces.map(t => t.rank), [0, 1, 2, 3, 4, 5, 6, 7]);
  for (const [rank, [compute, communication, exposed, copy, idle, latency]] of MEGATRON.entries()) {
    const own = tracks.filter(t => t.trace === rank), device = own.find(t => t.role === "device");
    assert.equal(device.name, `rank ${rank} · GPU ${rank}`);
    const of = role => own.filter(t => t.role === role && t.parent === device.id);
    assert.deepEqual(["compute", "communication", "exposed", "copy", "idle"].map(role => of(role).map(t => t.covers)),
      [[compute], [communication], [exposed], [copy], [idle]], `rank ${rank}`);
    assert.deepEqual(of("launch").map(t => [t.events, t.series[0].max]), [[777, latency]]);
    assert.deepEqual(of("steps").map(t => [t.name, t.events]), [["Steps", 1], ["Steps on the device", 1]]);
  }
  await page.fill("#track-filter", "rank 3 · GPU");
  await until(page, () => window.heddle.app.layout().places.length > 3 && window.heddle.app.layout().places.every(p => p.track.trace === 3),
    null, "the filter leaves the GPU of rank 3");
  await page.fill("#track-filter", "");
  await zoomAbout(page);
}, there("ranks/megatron-tp8/rank0.json.gz"));

test("mi300 (OTF2): counters of each device, none of percent in bytes", async page => {
  await open(page, path.join(real("otf2/mi300"), "traces.otf2"));
  const tracks = await state(page, "tracks");
  const busy = tracks.filter(t => t.name.includes("memory_busy_percent"));
  assert.deepEqual(busy.map(t => [t.events, t.series[0].unit, t.series[0].max]), [[1740, "", 0], [1740, "", 0], [1740, "", 49], [1740, "", 0]]);
  assert.equal(tracks.filter(t => t.role === "device").length, 2);
}, {skip: fs.existsSync(path.join(real("otf2/mi300"), "traces.otf2")) ? undefined : "otf2/mi300 is not there"});

test("folded stacks have no times: the flame graph opens, with all samples", async page => {
  await open(page, real("stacks/pytorch.folded"));
  await until(page, () => window.heddle.app.state.tab.value === "flame", null, "the tab Flame is open");
  await page.waitForFunction(() => /18 samples/.test(document.querySelector("#pane").textContent));
  await page.click("#pane button[aria-label='Close the pane']");
  await until(page, () => window.heddle.app.state.tab.value === null, null, "it can be closed, and stays so");
}, there("stacks/pytorch.folded"));

for (const name of ["kineto/b200_eager.json.gz", "kineto/mi250_minitoy.json.gz", "chrome/lthi_cats.json.gz", "otf2/mi300", "rocm/matmul_result.json",
  "cupti/cupti_trace.json", "stacks/gpu_trace.folded"]) {
  test(`${name} opens and is moved about`, async page => {
    const target = name === "otf2/mi300" ? fs.readdirSync(real(name)).filter(f => f.endsWith(".otf2")).map(f => path.join(real(name), f))[0] : real(name);
    await open(page, target);
    const session = await state(page, "session");
    assert.equal(session.traces[0].state, "ready", session.traces[0].error);
    const fidelity = await page.evaluate(() => window.heddle.app.source.fidelity(0));
    assert.equal(fidelity.slices.shown, fidelity.slices.read);
    assert.equal(fidelity.slices.dropped, 0);
    await zoomAbout(page);
  }, there(name));
}
