// measure_page.mjs - the page and its server on a large store: first picture, frames while zooming, tiles, memory, clients
//
// usage: node bench/measure_page.mjs HEDDLE FILE [--seconds N] [--clients N] [--json]
//
// Needs tests/web/node_modules and Chromium, as the tests do. Frame times are those of the page's own work (building and
// handing over what is drawn), which is what the page can do about it; the rest is the browser's, here without a GPU.
import fs from "node:fs";
import {launch} from "../tests/web/browser.mjs";
import {getJson, startView, waitReady} from "../tests/web/server.mjs";

const args = process.argv.slice(2);
const option = (name, otherwise) => args.includes(name) ? Number(args[args.indexOf(name) + 1]) : otherwise;
const [heddle, file] = args;
const seconds = option("--seconds", 12), clients = option("--clients", 20);
const chromium = ["/usr/bin/chromium", "/usr/bin/chromium-browser"].find(fs.existsSync);
if (!file || !chromium) {
  console.error("usage: measure_page.mjs HEDDLE FILE [--seconds N] [--clients N] [--json]; Chromium must be there");
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

// Milliseconds from the start of the navigation to the first picture with events, and to one without anything missing.
async function firstPicture(browser, url) {
  const context = await browser.newContext({viewport: {width: 1600, height: 900}}), page = await context.newPage();
  await page.addInitScript(() => {
    window.measured = {};
    const look = () => {
      const list = window.heddle?.drawList();
      if (list && list.bars > 0) window.measured.first ??= performance.now();
      if (list && list.bars > 0 && list.hatched === 0 && window.heddle.app.tiles.idle()) window.measured.whole ??= performance.now();
      if (!window.measured.whole) requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  });
  await page.goto(url);
  await page.waitForFunction(() => window.measured.whole, null, {timeout: 60000});
  const measured = await page.evaluate(() => {
    const asked = performance.getEntriesByType("resource").filter(e => e.name.includes("/api/")).map(e => e.startTime);
    return {...window.measured, asked: Math.min(...asked)};
  });
  await context.close();
  return {from_navigation: measured.first, from_first_request: measured.first - measured.asked, complete: measured.whole};
}

// Zooms in at a place, pans, zooms out, again and again, with keys held down as a person does.
async function frames(browser, url) {
  const context = await browser.newContext({viewport: {width: 1600, height: 900}}), page = await context.newPage();
  await page.goto(url);
  await page.waitForFunction(() => window.heddle?.drawList().bars > 0 && window.heddle.app.tiles.idle());
  const box = await page.locator("#tracks").boundingBox();
  const before = await page.evaluate(() => { window.measuredFrames = []; return window.heddle.frames().length; });
  await page.evaluate(() => {
    let last = performance.now();
    const look = now => { window.measuredFrames.push(now - last); last = now; requestAnimationFrame(look); };
    requestAnimationFrame(look);
  });
  const end = Date.now() + seconds * 1000;
  for (let k = 0; Date.now() < end; k++) {
    await page.mouse.move(box.x + box.width * (0.2 + 0.6 * ((k * 0.37) % 1)), box.y + 200);
    for (const [key, ms] of [["w", 1200], [k % 2 ? "d" : "a", 500], ["s", 1500]]) {
      await page.keyboard.down(key);
      await page.waitForTimeout(ms);
      await page.keyboard.up(key);
    }
  }
  const own = (await page.evaluate(() => window.heddle.frames())).slice(-100000);
  const between = await page.evaluate(() => window.measuredFrames.slice(2));
  const heap = await page.evaluate(() => performance.memory?.usedJSHeapSize / 1e6);
  await context.close();
  return {own: spread(own.length > before ? own.slice(before) : own), between: spread(between), heap_mb: heap};
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
const result = {file, bytes: fs.statSync(file).size, listening_ms: Date.now() - began};
try {
  const browser = await launch(chromium);
  result.first_cold = await firstPicture(browser, server.url);
  await waitReady(server.url, 600000);
  result.ready_ms = Date.now() - began;
  result.memory_ready = memoryOf(server.pid);
  result.first_warm = await firstPicture(browser, server.url);
  result.frames = await frames(browser, server.url);
  await browser.close();
  const one = await batches(server.url, 300, 1);
  result.batch_one_client = {tracks: one.tracks, ...spread(one.times), bytes: one.bytes_a_batch};
  const many = await Promise.all(Array.from({length: clients}, (_, c) => batches(server.url, 50, c + 2)));
  result.batch_many_clients = {clients, ...spread(many.flatMap(m => m.times))};
  result.search_names = await searches(server.url);
  result.memory_end = memoryOf(server.pid);
} finally {
  await server.stop();
}
if (args.includes("--json")) {
  console.log(JSON.stringify(result, null, 2));
} else {
  const show = (v, unit = "ms") => `p50 ${v.p50.toFixed(1)}, p95 ${v.p95.toFixed(1)}, max ${v.max.toFixed(1)} ${unit} (${v.n})`;
  const picture = p => `${p.from_first_request.toFixed(0)} ms after its first request, ${p.from_navigation.toFixed(0)} ms after navigation, complete at ${p.complete.toFixed(0)} ms`;
  console.log(`${file}: ${(result.bytes / 1e6).toFixed(1)} MB
first picture, at once       ${picture(result.first_cold)}
all laid out and derived     ${result.ready_ms} ms after the start
first picture, then          ${picture(result.first_warm)}
frame, the page's work       ${show(result.frames.own)}
between frames               ${show(result.frames.between)}
batch of ${result.batch_one_client.tracks} tracks, 1 client   ${show(result.batch_one_client)}, ${(result.batch_one_client.bytes / 1e3).toFixed(0)} kB
batch, ${clients} clients            ${show(result.batch_many_clients)}
search in names              ${show(result.search_names)}
server, anonymous memory     ${result.memory_ready.anonymous.toFixed(0)} MB when ready, ${result.memory_end.anonymous.toFixed(0)} MB at the end, shared ${result.memory_end.shared_memory.toFixed(0)} MB (file ${result.memory_end.file.toFixed(0)} MB)`);
}
