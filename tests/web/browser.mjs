// browser.mjs - what the tests in a browser share: one Chromium, a fresh context a test, and no trouble left unseen
import assert from "node:assert/strict";
import {chromium} from "playwright-core";

// How long what must come may take: a time limit only guards against hangs (tests/patience.py).
export const patience = seconds => seconds * Math.max(1, Number(process.env.HEDDLE_TEST_PATIENCE) || 1);
export const PATIENCE = 1000 * patience(300); // ms

export const launch = (program, args = []) => chromium.launch({executablePath: program, timeout: PATIENCE,
  args: [...(process.getuid() === 0 ? ["--no-sandbox"] : []), ...args]});

// In each page: does a fixed piece of work, some 2 ms of an idle machine, and returns how long it took. What should be
// quick is compared with that, as both wait alike for others who use the machine.
function defineReference() {
  const numbers = new Uint32Array(1 << 12);
  window.referenceMs = () => {
    const begin = performance.now();
    for (let round = 0; round < 800; round++) for (let k = 0; k < numbers.length; k++) numbers[k] = Math.imul(numbers[k] + round, 1664525) + k;
    return performance.now() - begin;
  };
}

// The summary is not open at first: most tests need the room for tracks. A test of it takes the key away again.
function closeStart() {
  try {
    localStorage.setItem("heddle-start-closed", "1");
  } catch {
    // this page has no storage
  }
}

// Everything that a page says, throws or asks for and should not; `allowed` sees the address of each request.
export function watch(context, page, allowed, troubles = []) {
  page.on("console", m => { if (["error", "warning"].includes(m.type())) troubles.push(`console: ${m.text()} ${m.location()?.url ?? ""}`); });
  page.on("pageerror", e => troubles.push("error: " + (e.stack ?? e)));
  page.on("crash", () => troubles.push("the page crashed"));
  context.on("request", r => { if (!allowed(r.url())) troubles.push("request: " + r.url()); });
  return troubles;
}

// Each answer of a server's api waits for as long as HEDDLE_DELAY says, in ms: "700", or "0-2000" for a random time.
async function delay(context) {
  if (!process.env.HEDDLE_DELAY) return;
  const [least, most = least] = process.env.HEDDLE_DELAY.split("-").map(Number);
  await context.route("**/api/**", async route => {
    await new Promise(resolve => setTimeout(resolve, least + Math.random() * (most - least)));
    await route.continue().catch(() => {}); // whoever asked may have gone
  });
}

// A context with a page, as a test finds it.
async function openPage(browser, allowed, options, timeout, prepare) {
  const context = await browser.newContext(options);
  await delay(context);
  await context.addInitScript(defineReference);
  await context.addInitScript(closeStart);
  if (prepare) await context.addInitScript(prepare);
  const page = await context.newPage(), troubles = watch(context, page, allowed);
  page.setDefaultTimeout(timeout);
  return {context, page, troubles};
}

// Makes a page that a test has used as good as new. rest(page) is what it shows until the next test.
async function forget(page, viewport, rest) {
  page.removeAllListeners("request");
  await page.unrouteAll();
  await page.mouse.move(0, 0);
  await page.emulateMedia({media: null, colorScheme: null, reducedMotion: null, forcedColors: null});
  await page.setViewportSize(viewport);
  await rest(page);
}

// A list of tests, {name, body, options}: body(page, {browser, context, troubles}). They take turns with one page, as a new
// one costs more than most tests; a test whose options ask for a `context` has one of its own, and a failed one takes its
// page along. A test that expects trouble takes it out of `troubles`: what is left at the end fails it.
export async function runTests(tests, {program, args, only = [], allowed, rest = page => page.goto("about:blank"), prepare, options = {}, timeout = PATIENCE}) {
  // A small window: what is drawn in software takes time by its area.
  const browser = await launch(program, args), usual = {viewport: {width: 1200, height: 640}, ...options};
  let failed = 0, passed = 0, skipped = 0, shared = null;
  for (const {name, body, options: own = {}} of tests.filter(t => !only.length || only.some(o => t.name.includes(o)))) {
    if (own.skip) {
      skipped++;
      console.log(`skipped: ${name} (${own.skip})`);
      continue;
    }
    if (!own.context) shared ??= await openPage(browser, allowed, usual, timeout, prepare);
    const used = own.context ? await openPage(browser, allowed, {...usual, ...own.context}, timeout, prepare) : shared;
    const {context, page, troubles} = used, begin = Date.now();
    troubles.length = 0;
    try {
      await body(page, {browser, context, troubles});
      assert.deepEqual(troubles, []);
      if (used === shared) await forget(page, usual.viewport, rest);
      else await context.close();
      passed++;
      console.log(`ok: ${name} (${Date.now() - begin} ms)`);
    } catch (e) {
      failed++;
      console.log(`failed: ${name}\n${e.stack}\n${troubles.join("\n")}`);
      if (process.env.HEDDLE_SHOTS) await page.screenshot({path: `${process.env.HEDDLE_SHOTS}/${failed}.png`}).catch(() => {});
      await context.close();
      if (used === shared) shared = null;
    }
  }
  await browser.close();
  console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`);
  return failed === 0 && passed + skipped > 0;
}
