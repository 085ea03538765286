// A page of `heddle view --save` in a browser, from file://, without a server: what tests/wasm/run.py runs.
//
//   node saved.mjs CHROMIUM PAGE.html
//
// The page has two traces of tests/wasm/run.py. It must load nothing, show them, and answer SQL.
import assert from "node:assert/strict";
import {readFileSync} from "node:fs";
import {pathToFileURL} from "node:url";
import {PATIENCE, launch, watch} from "./browser.mjs";

const [program, file] = process.argv.slice(2);
const browser = await launch(program);
try {
  const context = await browser.newContext();
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  const address = pathToFileURL(file).href;
  const troubles = watch(context, page, url => url === address || url.startsWith("blob:") || url.startsWith("data:"));
  await page.goto(address);
  const ask = (url, init = {}) => page.evaluate(async ([url, init]) => (await window.heddleTransport.fetch(url, init)).text(), [url, init]);
  for (let done = false; !done;) {
    const session = JSON.parse(await ask("api/session"));
    assert.equal(session.traces.length, 2);
    done = session.traces.every(trace => trace.state === "ready" && !trace.busy);
    if (!done) await page.waitForTimeout(20);
  }
  assert.match(readFileSync(file, "utf8"), /<title>rank0\.json, rank1\.json – Heddle</);
  const answer = JSON.parse(await ask("api/query", {method: "POST", body: "select count(*), sum(dur) from slice where name = 'gemm'"}));
  assert.deepEqual(answer.rows, [[268, 268 * 55000]]);
  await page.getByText("aten::op_").or(page.getByText("main")).first().waitFor();
  if (process.env.HEDDLE_PICTURE) await page.screenshot({path: process.env.HEDDLE_PICTURE});
  assert.deepEqual(troubles.filter(trouble => !trouble.includes("GL Driver Message")), []);
  console.log(`saved page: ${await page.title()}: shown, ${JSON.stringify(answer.rows)}`);
} finally {
  await browser.close();
}
