// browser.mjs - what the tests in a browser share: one Chromium, a fresh context a test, and no trouble left unseen
import assert from "node:assert/strict";
import {chromium} from "playwright-core";

export const launch = (program, args = []) => chromium.launch({executablePath: program,
  args: [...(process.getuid() === 0 ? ["--no-sandbox"] : []), ...args]});

// Everything that a page says, throws or asks for and should not; `allowed` sees the address of each request.
export function watch(context, page, allowed, troubles = []) {
  page.on("console", m => { if (["error", "warning"].includes(m.type())) troubles.push(`console: ${m.text()} ${m.location()?.url ?? ""}`); });
  page.on("pageerror", e => troubles.push("error: " + (e.stack ?? e)));
  page.on("crash", () => troubles.push("the page crashed"));
  context.on("request", r => { if (!allowed(r.url())) troubles.push("request: " + r.url()); });
  return troubles;
}

// A list of tests, {name, body, options}, each with a page of its own: body(page, {browser, context, troubles}).
// A test that expects trouble takes it out of `troubles`: what is left at the end fails it.
export async function runTests(tests, {program, args, only = [], allowed, options = {}, timeout = 300000}) {
  const browser = await launch(program, args);
  let failed = 0, passed = 0, skipped = 0;
  for (const {name, body, options: own = {}} of tests.filter(t => !only.length || only.some(o => t.name.includes(o)))) {
    if (own.skip) {
      skipped++;
      console.log(`skipped: ${name} (${own.skip})`);
      continue;
    }
    const context = await browser.newContext({viewport: {width: 1400, height: 800}, ...options, ...own.context});
    const page = await context.newPage(), troubles = watch(context, page, allowed);
    page.setDefaultTimeout(timeout);
    const begin = Date.now();
    try {
      await body(page, {browser, context, troubles});
      assert.deepEqual(troubles, []);
      passed++;
      console.log(`ok: ${name} (${Date.now() - begin} ms)`);
    } catch (e) {
      failed++;
      console.log(`failed: ${name}\n${e.stack}\n${troubles.join("\n")}`);
      if (process.env.HEDDLE_SHOTS) await page.screenshot({path: `${process.env.HEDDLE_SHOTS}/${failed}.png`}).catch(() => {});
    }
    await context.close();
  }
  await browser.close();
  console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`);
  return failed === 0 && passed + skipped > 0;
}
