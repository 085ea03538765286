// Pages of `heddle view --save` in a browser, from file://, without a server: what tests/wasm/run.py runs.
//
//   node saved.mjs CHROMIUM PAGE.html EMPTY.html FOLDER TRACE.json...
//
// PAGE has the traces of tests/wasm/run.py. It must load nothing, show them, answer SQL, be the same after a query that is
// cancelled, and save itself as a page that does the same. EMPTY has none: a trace that is put on it is read, the view fits to
// it, and progress is shown meanwhile; one that is too large for the page's memory can be opened in part.
import assert from "node:assert/strict";
import {readFileSync, writeFileSync} from "node:fs";
import {join} from "node:path";
import {pathToFileURL} from "node:url";
import {gunzipSync, gzipSync} from "node:zlib";
import {PATIENCE, launch, watch} from "./browser.mjs";

const [program, file, empty, folder, ...traces] = process.argv.slice(2);
const browser = await launch(program);

async function opened(path) {
  const context = await browser.newContext();
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  const address = pathToFileURL(path).href;
  const troubles = watch(context, page, url => url === address || url.startsWith("blob:") || url.startsWith("data:"));
  await page.goto(address);
  return {page, troubles};
}

const asked = (page, url, init = {}) =>
  page.evaluate(async ([url, init]) => (await window.heddleTransport.fetch(url, init)).text(), [url, init]);

async function settled(page, count) {
  for (;;) {
    const session = JSON.parse(await asked(page, "api/session"));
    if (session.traces.length === count && session.traces.every(trace => trace.state === "ready" && !trace.busy)) return session;
    await page.waitForTimeout(20);
  }
}

const quiet = troubles => assert.deepEqual(troubles.filter(trouble => !trouble.includes("GL Driver Message")), []);
const rowsOf = async (page, name) => JSON.parse(await asked(page, "api/query", {method: "POST", body: `select count(*), sum(dur) from slice where name = '${name}'`})).rows;

async function checkTraces(path, picture) {
  const {page, troubles} = await opened(path);
  await settled(page, 2);
  assert.match(readFileSync(path, "utf8"), /<title>rank0\.json, rank1\.json – Heddle</);
  assert.deepEqual(await rowsOf(page, "gemm"), [[268, 268 * 55000]]);
  assert.deepEqual(await rowsOf(page, "</script><b>&"), [[266, 266 * 55000]]);
  await page.getByText("aten::op_").or(page.getByText("main")).first().waitFor();
  if (picture) await page.screenshot({path: picture});
  quiet(troubles);
  return page;
}

async function savedAgain(page, to) {
  const [download] = await Promise.all([page.waitForEvent("download"), page.evaluate(() => window.heddle.app.commands.run("save-html"))]);
  assert.equal(download.suggestedFilename(), "rank0.html");
  await download.saveAs(to);
  return to;
}

async function checkEmpty() {
  const {page, troubles} = await opened(empty);
  assert.equal(await page.title(), "Heddle");
  await page.getByText("Drop a trace here").waitFor();
  await page.getByText("It is read in this browser and sent nowhere.").waitFor();
  await page.locator("input[type=file]").setInputFiles(traces[0]);
  const session = await settled(page, 1);
  await page.waitForFunction(() => window.heddle.app.state.tracks.value.length > 0);
  const shown = await page.evaluate(() => window.heddle.app.state.range.value);
  assert.deepEqual(shown, {from: 0, until: session.traces[0].span_ns});
  assert.deepEqual(await rowsOf(page, "gemm"), [[134, 134 * 55000]]);
  quiet(troubles);
}

// Cancelling ends the Worker: the next one has the traces under their numbers, also one that was put on the page, and none in
// place of one that is closed; tracks that were made; and the view.
async function checkCancelled() {
  const {page, troubles} = await opened(file);
  await settled(page, 2);
  await page.locator("input[type=file]").setInputFiles(traces[1]);
  await settled(page, 3);
  await asked(page, "api/close?trace=0", {method: "POST"});
  const made = await asked(page, "api/query/tracks?trace=1&title=made", {method: "POST", body: "select id, ts, dur, name from slice where name = 'gemm'"});
  assert.equal(JSON.parse(made).tracks?.length, 1, made);
  await page.waitForFunction(() => window.heddle.app.state.tracks.value.some(track => track.name.includes("made")));
  await page.evaluate(() => {
    const {state} = window.heddle.app;
    state.range.value = {from: 5e6, until: 7e6};
    state.pinned.value = [`1.${state.tracks.value.find(track => track.name.includes("made")).id}`];
    state.tab.value = "query";
  });
  const seen = () => page.evaluate(() => {
    const {session, tracks, range, pinned, tab} = window.heddle.app.state;
    return {traces: session.value.traces.map(trace => [trace.id, trace.name, trace.state, trace.busy]), range: range.value, pinned: pinned.value, tab: tab.value,
      tracks: tracks.value.map(track => [track.trace, track.id, track.name, track.events])};
  });
  const before = await seen(), {session} = await settled(page, 2);
  assert.deepEqual(before.traces.map(([id]) => id), [1, 2]);
  await page.fill("#sql", "with recursive c(n) as (select 1 union all select n + 1 from c) select sum(n) from c");
  await page.keyboard.press("Control+Enter");
  await page.waitForTimeout(500);
  await page.keyboard.press("Escape");
  await page.getByText("The query was cancelled.", {exact: true}).waitFor();
  assert.notEqual((await settled(page, 2)).session, session, "it is another engine");
  await page.waitForFunction(id => window.heddle.app.state.session.value.session !== id, session);
  assert.deepEqual(await seen(), before);
  assert.deepEqual(await rowsOf(page, "gemm"), [[268, 268 * 55000]]);
  quiet(troubles);
}

// Each answer of a session that a long step sends on the way is newer than the last, and counts bytes that grow.
async function checkProgress() {
  const {page, troubles} = await opened(empty);
  await page.getByText("Drop a trace here").waitFor();
  const seen = page.evaluate(async () => {
    const states = [];
    for (let after = ""; ;) {
      const session = await (await window.heddleTransport.fetch(`api/session${after}`, {})).json();
      after = `?after=${session.revision}`;
      states.push(session.traces.map(({state, done, total}) => ({state, done, total})));
      if (session.traces.some(({state, busy}) => state === "ready" && !busy)) return states;
    }
  });
  await page.locator("input[type=file]").setInputFiles(traces.at(-1));
  const reading = (await seen).flat().filter(({state, done, total}) => state === "reading" && done > 0 && done < total);
  assert.ok(reading.length > 0, "no progress was seen while a file was read");
  for (let k = 1; k < reading.length; k++) assert.ok(reading[k].done >= reading[k - 1].done);
  quiet(troubles);
}

// A WebAssembly module whose memory ends at so many bytes: section 5 is one memory, with flags 1, least and most pages.
function limited(module, bytes) {
  const out = Buffer.from(module);
  const number = at => {
    let value = 0, end = at;
    do value += (out[end] & 0x7f) * 2 ** (7 * (end - at)); while (out[end++] & 0x80);
    return {value, end};
  };
  for (let at = 8; at < out.length;) {
    const size = number(at + 1), next = size.end + size.value;
    if (out[at] === 5) {
      assert.deepEqual([...out.subarray(size.end, size.end + 2)], [1, 1], "one memory, with a limit");
      const most = number(number(size.end + 2).end), from = number(size.end + 2).end;
      let pages = bytes / 65536;
      for (let k = from; k < most.end; k++, pages = Math.floor(pages / 128)) out[k] = pages % 128 | (k < most.end - 1 ? 0x80 : 0);
      assert.equal(pages, 0);
      return out;
    }
    at = next;
  }
  throw new Error("the module has no memory");
}

// The page says what a trace needs, and opens its first seconds: all events before some time, and none that fit no more.
async function checkTooLarge() {
  const MEMORY = 96 * 2 ** 20, EVENT = 245, large = traces.at(-1), path = join(folder, "limited.html");
  const events = JSON.parse(readFileSync(large, "utf8")).traceEvents.filter(({ph}) => ph === "X");
  writeFileSync(path, readFileSync(empty, "utf8").replace(/(id="heddle-engine">)([^<]*)/,
    (_, start, text) => start + gzipSync(limited(gunzipSync(Buffer.from(text, "base64")), MEMORY)).toString("base64")));
  const {page} = await opened(path);
  await page.getByText("Drop a trace here").waitFor();
  await page.locator("input[type=file]").setInputFiles(large);
  const card = page.getByRole("alert");
  await card.getByText(/out of memory.*: this page has [\d.]+ MiB, and the trace needs about [\d.]+ MiB \(estimated\)\. heddle view large\.json/).waitFor();
  await card.getByRole("button", {name: "Open its first seconds, as many as fit"}).click();
  await page.waitForFunction(() => window.heddle.app.state.session.value.traces[0]?.part);
  const [{part, span_ns}] = (await settled(page, 1)).traces;
  assert.match(part, /^first [\d.e-]+ s$/);
  await page.getByText(`large.json: only the ${part}`).waitFor();
  const query = async sql => JSON.parse(await asked(page, "api/query", {method: "POST", body: sql})).rows[0];
  const [count, last] = await query("select count(*), max(ts) from slice where dur > 0");
  assert.equal(count, events.filter(({ts}) => ts * 1000 <= last).length, "all until the last one");
  assert.ok(count > MEMORY / EVENT / 8 && count < events.length / 2, `${count} of ${events.length} slices, ${part}, ${span_ns} ns`);
}

try {
  const page = await checkTraces(file, process.env.HEDDLE_PICTURE);
  await checkTraces(await savedAgain(page, join(folder, "again.html")));
  await checkCancelled();
  await checkEmpty();
  await checkProgress();
  await checkTooLarge();
  console.log("saved pages: shown, saved again, a query cancelled, and a trace put on an empty one, also a part of one");
} finally {
  await browser.close();
}
