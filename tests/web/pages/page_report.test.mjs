// page_report.test.mjs - reports as an HTML page, in a browser: on a desk, on a phone, on paper
//
// usage: node page_report.test.mjs CHROMIUM DIR HEDDLE [NAME...]; run.py writes DIR and calls this
import assert from "node:assert/strict";
import {execFileSync} from "node:child_process";
import path from "node:path";
import {runTests} from "../browser.mjs";

const [program, folder, heddle, ...only] = process.argv.slice(2);
const tests = [];
const test = (name, body) => tests.push({name, body});
const address = name => "file://" + path.join(folder, name);
const write = (out, ...inputs) => execFileSync(heddle, ["report", "-q", "-o", path.join(folder, out), ...inputs.map(i => path.join(folder, i))]);

const RANKS = [1, 2, 10];
write("one.html", "rank3.json");
execFileSync(heddle, ["synth", "-q", "--ranks", "12", "--steps", "2", "--layers", "2", "--no-python", "-o", path.join(folder, "late.json")]);
write("all.html", ...RANKS.map(rank => `late_rank${rank}.json`));

const open = async (page, name, width = 1280) => {
  await page.setViewportSize({width, height: 900});
  await page.goto(address(name));
};
const openAll = page => page.evaluate(() => document.querySelectorAll("details").forEach(d => { d.open = true; }));
const isShown = (page, selector) => page.$$eval(selector, list => list.map(e => e.getClientRects().length > 0));

for (const name of ["one.html", "all.html"]) {
  test(`${name}: nothing is wider than a phone but tables, which scroll`, async page => {
    await open(page, name, 420);
    await openAll(page);
    await page.waitForFunction(() => [...document.querySelectorAll("table[data-chart]")].every(t => t.dataset.drawn));
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 420);
    const wide = await page.$$eval("p, h1, h2, h3, li, summary, figure, .bar, .strip",
      list => list.filter(e => !e.closest(".scroll") && e.getBoundingClientRect().right > innerWidth).map(e => e.textContent));
    assert.deepEqual(wide, []);
  });

  test(`${name}: letters of charts are as large on a phone as on a desk, and inside of their pictures`, async page => {
    for (const width of [1280, 420]) {
      await open(page, name, width);
      await openAll(page);
      await page.waitForFunction(() => document.querySelectorAll("figure svg").length > 0);
      const texts = await page.$$eval("figure text", list => list.filter(e => e.textContent).map(e => {
        const svg = e.ownerSVGElement.getBoundingClientRect(), own = e.getBoundingClientRect();
        return {text: e.textContent, high: own.height, left: own.left - svg.left, right: svg.right - own.right};
      }));
      assert.ok(texts.length > 5);
      for (const t of texts) {
        assert.ok(t.high >= 10, `${t.text} is ${t.high} px high at ${width}`);
        assert.ok(t.left >= -1 && t.right >= -1, `${t.text} is cut at ${width}: ${t.left} ${t.right}`);
      }
    }
  });
}

test("charts are drawn when a fold opens, and again for another width", async page => {
  await open(page, "one.html");
  assert.equal(await page.locator("details figure").count(), 0);
  await page.locator("summary", {hasText: "kernels"}).first().click();
  await page.locator("details[open] figure").first().waitFor();
  const before = await page.locator("details[open] figure svg").first().getAttribute("viewBox");
  await page.setViewportSize({width: 500, height: 900});
  await page.waitForFunction(old => document.querySelector("details[open] figure svg").getAttribute("viewBox") !== old, before);
  assert.equal(await page.locator("details[open] table[data-drawn]").count(), await page.locator("details[open] figure").count());
});

test("a bar of ranks says which rank and GPU", async page => {
  await open(page, "all.html");
  const labels = await page.$$eval("section > figure", list => [...list[0].querySelectorAll("text title")].map(e => e.textContent));
  assert.deepEqual(labels, RANKS.map(rank => `rank ${rank} \u00b7 GPU ${rank % 8}`));
  assert.deepEqual(await page.$$eval("details.rank > summary > b", list => list.map(e => e.textContent)),
    RANKS.map(rank => `rank ${rank}`));
});

test("kernels have their whole name on hover", async page => {
  await open(page, "one.html");
  const names = await page.$$eval(".wide .who", list => list.map(e => e.title));
  await page.locator("summary", {hasText: "kernels"}).first().click();
  const cells = await page.$$eval("table[data-title=kernels]", ([table]) => {
    const at = [...table.tHead.rows[0].cells].findIndex(e => e.dataset.name === "name");
    return [...table.tBodies[0].rows].map(row => row.cells[at].textContent.trim());
  });
  assert.ok(names.length > 0);
  assert.deepEqual(names, cells.slice(0, names.length));
});

test("on paper folds and search are left out, and what is opened is there", async page => {
  await open(page, "one.html");
  await page.locator("summary", {hasText: "kernels"}).first().click();
  await page.emulateMedia({media: "print", colorScheme: "dark"});
  assert.equal((await isShown(page, "details[open] table")).every(Boolean), true);
  assert.equal((await isShown(page, "details:not([open]) > summary, .find")).some(Boolean), false);
  assert.equal((await isShown(page, ".facts, .findings, .strip, .flame, .bar")).every(Boolean), true);
  assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(255, 255, 255)");
});

process.exit(await runTests(tests, {program, only, allowed: url => url.startsWith("file://")}) ? 0 : 1);
