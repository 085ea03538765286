// measure_page.mjs - the page and its server on a large store: first picture, frames while zooming, tiles, memory, clients
//
// usage: node bench/measure_page.mjs HEDDLE FILE [--seconds N] [--clients N] [--runs N] [--json]
//
// Needs tests/web/node_modules and Chromium, as the tests do. What is done is told on stderr; a step that takes longer than
// it should on any machine is left out, and named in `left_out`, so this comes to an end also where others use the machine.
//
// Frame times are those of the page's own work (building and handing over what is drawn), which is what the page can do
// about it; the rest is the browser's, here without a GPU. `own` is by the clock, and so has in it what other processes
// took; `cpu` is what the page's thread used for its animation frames, as Chromium traces it.
import fs from "node:fs";
import {launch} from "../tests/web/browser.mjs";
import {getJson, startView, waitReady} from "../tests/web/server.mjs";

const args = process.argv.slice(2);
const option = (name, otherwise) => args.includes(name) ? Number(args[args.indexOf(name) + 1]) : otherwise;
const [heddle, file] = args;
const seconds = option("--seconds", 8), clients = option("--clients", 20), runs = option("--runs", 5);
const chromium = ["chromium", "chromium-browser", "chromium-headless-shell"].map(name => `/usr/bin/${name}`).find(fs.existsSync);
if (!file || !chromium) {
  console.error("usage: measure_page.mjs HEDDLE FILE [--seconds N] [--clients N] [--runs N] [--json]; Chromium must be there");
  process.exit(2);
}

const quantile = (values, share) => {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted.length ? sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] : NaN;
};
const spread = values => ({n: values.length, p50: quantile(values, 0.5), p95: quantile(values, 0.95), max: quantile(values, 1)});

// MB of a process that are its own, not of the file that it maps; and all of what is resident.
function memoryOf(pid) {
  const status = fs.readFileSync(`/proc/${pid}/status`, "utf8");
  const of = key => Number(status.match(new RegExp(`^${key}:\\s+(\\d+) kB`, "m"))?.[1] ?? NaN) * 1024 / 1e6;
  return {anonymous: of("RssAnon"), shared_memory: of("RssShmem"), file: of("RssFile"), peak: of("VmHWM")};
}

const newPage = async browser => (await browser.newContext({viewport: {width: 1600, height: 900}})).newPage();
const median = values => quantile(values, 0.5);

// Milliseconds from the start of the navigation to the first picture with events, and to one with nothing missing, as the
// page marks them; and from its first request of the API.
async function firstPicture(browser, url) {
  const page = await newPage(browser);
  try {
    await page.goto(url);
    await page.waitForFunction(() => performance.getEntriesByName("heddle: whole picture").length, null, {timeout: 30000, polling: 50});
    return await page.evaluate(() => {
      const at = name => performance.getEntriesByName(name)[0].startTime;
      const asked = Math.min(...performance.getEntriesByType("resource").filter(e => e.name.includes("/api/")).map(e => e.startTime));
      const from = performance.getEntriesByType("navigation")[0].requestStart, first = at("heddle: first picture");
      return {from_navigation: first, from_page_request: first - from, from_first_request: first - asked, complete: at("heddle: whole picture")};
    });
  } finally {
    await page.context().close();
  }
}

async function firstPictures(browser, url, count) {
  const all = [];
  for (let k = 0; k < count; k++) all.push(await firstPicture(browser, url));
  const of = key => all.map(one => one[key]);
  return {runs: count, ...Object.fromEntries(Object.keys(all[0]).map(key => [key, median(of(key))])), least: Math.min(...of("from_first_request"))};
}

// Zooms in at a place, pans, zooms out, again and again, with keys held down as a person does.
async function zoomAbout(page, box, ms) {
  const end = Date.now() + ms;
  for (let k = 0; Date.now() < end; k++) {
    await page.mouse.move(box.x + box.width * (0.2 + 0.6 * ((k * 0.37) % 1)), box.y + 200);
    for (const [key, held] of [["w", 1200], [k % 2 ? "d" : "a", 500], ["s", 1500]]) {
      const wait = Math.min(held, end - Date.now());
      if (wait <= 0) return;
      await page.keyboard.down(key);
      await page.waitForTimeout(wait);
      await page.keyboard.up(key);
    }
  }
}

// CPU time of each frame of a trace of Chromium: callbacks that follow each other at once are of one frame.
function frameCpu(events) {
  const calls = events.filter(e => e.name === "FireAnimationFrame" && e.ph === "X" && e.dur > 0).sort((a, b) => a.ts - b.ts), frames = [];
  let end = -Infinity;
  for (const {ts, dur, tdur = 0} of calls) {
    if (ts - end > 1000) frames.push(0);
    frames[frames.length - 1] += tdur / 1000;
    end = ts + dur;
  }
  return frames;
}

async function frames(browser, url) {
  const page = await newPage(browser);
  try {
    await page.goto(url);
    await page.waitForFunction(() => performance.getEntriesByName("heddle: whole picture").length && window.heddle.app.tiles.idle(),
      null, {timeout: 30000, polling: 50});
    const box = await page.locator("#tracks").boundingBox();
    const before = await page.evaluate(() => {
      window.measuredFrames = [];
      let last = performance.now();
      const look = now => { window.measuredFrames.push(now - last); last = now; requestAnimationFrame(look); };
      requestAnimationFrame(look);
      return window.heddle.frames().length;
    });
    await zoomAbout(page, box, seconds * 1000);
    const own = (await page.evaluate(() => window.heddle.frames())).slice(before);
    const between = await page.evaluate(() => window.measuredFrames.slice(2));
    await browser.startTracing(page, {categories: ["devtools.timeline"]});
    await zoomAbout(page, box, seconds * 500);
    const {traceEvents} = JSON.parse((await browser.stopTracing()).toString());
    const heap = await page.evaluate(() => performance.memory?.usedJSHeapSize / 1e6);
    return {own: spread(own), cpu: spread(frameCpu(traceEvents)), between: spread(between), heap_mb: heap};
  } finally {
    await page.context().close();
  }
}

// Latency of batches of up to 100 tracks, as one client sees it: at the whole, and at random places and zooms.
async function batches(url, count, seed) {
  const {tracks} = await getJson(new URL("/api/tracks?trace=0", url)), session = await getJson(new URL("/api/session", url));
  const ids = tracks.filter(t => t.kind !== "section").map(t => t.id).slice(0, 100), span = session.traces[0].span_ns;
  const top = Math.max(0, Math.ceil(Math.log2(span / 512))), times = [];
  let state = seed, bytes = 0;
  const random = () => { state = (state * 1103515245 + 12345) % 2147483648; return state / 2147483648; };
  for (let k = 0; k < count; k++) {
    const z = Math.max(0, top - Math.floor(random() * 16)), i = Math.floor(random() * span / 512 / 2 ** z);
    const begin = performance.now();
    const answer = await fetch(new URL(`/api/tiles?trace=0&z=${z}&i=${i}&tracks=${ids.join()}&detail=rows`, url));
    bytes += (await answer.arrayBuffer()).byteLength;
    if (answer.status !== 200) throw new Error(`tiles: status ${answer.status}`);
    times.push(performance.now() - begin);
  }
  return {tracks: ids.length, times, bytes_a_batch: bytes / count};
}

async function searches(url) {
  const times = [];
  for (const q of ["gemm", "nccl", "aten::", "zzz", "e"]) {
    const begin = performance.now();
    await getJson(new URL(`/api/search?trace=0&q=${q}&mode=text&in=names`, url));
    times.push(performance.now() - begin);
  }
  return spread(times);
}

const began = Date.now();
const server = await startView(heddle, [file]);
const result = {file, bytes: fs.statSync(file).size, listening_ms: Date.now() - began, load: Number(fs.readFileSync("/proc/loadavg", "utf8").split(" ")[0]), left_out: []};

// One step of the measuring; null where it fails or takes too long.
async function step(what, limit, work) {
  const start = Date.now();
  let timer;
  try {
    return await Promise.race([work(), new Promise((_, reject) => { timer = setTimeout(() => reject(new Error(`no end after ${limit} s`)), limit * 1000); })]);
  } catch (error) {
    result.left_out.push(`${what}: ${error.message.split("\n")[0]}`);
    return null;
  } finally {
    clearTimeout(timer);
    console.error(`measure_page: ${what}, ${((Date.now() - start) / 1000).toFixed(1)} s`);
  }
}

async function batchesOfOne() {
  const one = await batches(server.url, 300, 1);
  return {tracks: one.tracks, ...spread(one.times), bytes: one.bytes_a_batch};
}

async function batchesOfMany() {
  const many = await Promise.all(Array.from({length: clients}, (_, c) => batches(server.url, 50, c + 2)));
  return {clients, ...spread(many.flatMap(m => m.times))};
}

const browser = await launch(chromium);
try {
  result.first_cold = await step("first picture at once", 60, () => firstPicture(browser, server.url));
  await step("until all is laid out", 300, () => waitReady(server.url, 300000));
  result.ready_ms = Date.now() - began;
  result.memory_ready = memoryOf(server.pid);
  result.first_warm = await step(`first picture, ${runs} times`, 90, () => firstPictures(browser, server.url, runs));
  result.frames = await step("frames", 60 + 3 * seconds, () => frames(browser, server.url));
  result.batch_one_client = await step("batches of one client", 60, batchesOfOne);
  result.batch_many_clients = await step(`batches of ${clients} clients`, 120, batchesOfMany);
  result.search_names = await step("searches", 30, () => searches(server.url));
  result.memory_end = memoryOf(server.pid);
} finally {
  await browser.close();
  await server.stop();
}
if (args.includes("--json")) {
  console.log(JSON.stringify(result, null, 2));
} else {
  const show = v => v ? `p50 ${v.p50.toFixed(1)}, p95 ${v.p95.toFixed(1)}, max ${v.max.toFixed(1)} ms (${v.n})` : "left out";
  const picture = p => p ? `${p.from_first_request.toFixed(0)} ms after its first request, ${p.from_navigation.toFixed(0)} ms after navigation, complete at ${p.complete.toFixed(0)} ms` : "left out";
  const {frames: f, batch_one_client: one, memory_ready: ready, memory_end: end} = result;
  console.log(`${file}: ${(result.bytes / 1e6).toFixed(1)} MB, load ${result.load}
first picture, at once       ${picture(result.first_cold)}
all laid out and derived     ${result.ready_ms} ms after the start
first picture, then          ${picture(result.first_warm)}
frame, the page's work       ${show(f?.own)}
frame, its thread's CPU      ${show(f?.cpu)}
between frames               ${show(f?.between)}
batch of ${one?.tracks} tracks, 1 client   ${show(one)}, ${((one?.bytes ?? NaN) / 1e3).toFixed(0)} kB
batch, ${clients} clients            ${show(result.batch_many_clients)}
search in names              ${show(result.search_names)}
server, anonymous memory     ${ready.anonymous.toFixed(0)} MB when ready, ${end.anonymous.toFixed(0)} MB at the end, shared ${end.shared_memory.toFixed(0)} MB (file ${end.file.toFixed(0)} MB)`);
  for (const left of result.left_out) console.log(`left out: ${left}`);
}
if (result.left_out.length) process.exitCode = 1;
