// page_real.test.mjs - real traces of ../shared/data: what the issue says of them is on the page
//
// HEDDLE_REAL_TRACES may name another folder, which has the files unzipped and without folders.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import {command, drawn, open, run, settled, setState, state, test} from "./page.mjs";

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
  for (const part of ["138,373 of 138,373 slices", "0 dropped", "3,551 on lanes", "0 kernels before their launch"]) assert.ok(text.includes(part), `${part}: ${text}`);
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

test("eight Megatron ranks side by side", async page => {
  const names = Array.from({length: 8}, (_, rank) => `ranks/megatron-tp8/rank${rank}.json.gz`).map(real);
  await open(page, names);
  const session = await state(page, "session");
  assert.equal(session.traces.length, 8);
  assert.ok(session.traces.every(t => t.state === "ready"));
  assert.deepEqual(session.traces.map(t => t.rank), [0, 1, 2, 3, 4, 5, 6, 7]);
  await zoomAbout(page);
}, there("ranks/megatron-tp8/rank0.json.gz"));

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

await run({timeout: 60000});
