// measure_job_page.mjs - the heat map of a job in a browser: from the start of `heddle view` to its first picture, and from a
// click at that moment on lateness to the picture of it
//
// usage: node bench/measure_job_page.mjs HEDDLE JOB.hds [--runs N]
//
// Needs tests/web/node_modules and Chromium, which is started before; each run has a server and a page of its own. Prints
// medians, and the least.
import fs from "node:fs";
import {launch} from "../tests/web/browser.mjs";
import {startView} from "../tests/web/server.mjs";

const [heddle, file, flag, count] = process.argv.slice(2);
const chromium = ["chromium", "chromium-browser", "chromium-headless-shell"].map(name => `/usr/bin/${name}`).find(fs.existsSync);
if (!file || !chromium || (flag && flag !== "--runs")) {
  console.error("usage: measure_job_page.mjs HEDDLE JOB.hds [--runs N]; Chromium must be there");
  process.exit(2);
}
const MARK = "heddle: heat map";

// ms from the start of the server to its address, to the heat map, and from a click to lateness.
async function once(browser) {
  const context = await browser.newContext({viewport: {width: 1600, height: 900}}), page = await context.newPage();
  const began = Date.now(), server = await startView(heddle, [file]), listening = Date.now() - began;
  try {
    await page.goto(server.url);
    await page.waitForFunction(mark => performance.getEntriesByName(mark).length, MARK, {polling: "raf"});
    const chosen = await page.evaluate(() => {
      const select = [...document.querySelectorAll("#pane .pick select")].find(each => [...each.options].some(({value}) => value === "late"));
      select.value = "late";
      const now = performance.now();
      select.dispatchEvent(new Event("change", {bubbles: true}));
      return now;
    });
    await page.waitForFunction(([mark, chosen]) => performance.getEntriesByName(mark).some(({startTime}) => startTime > chosen), [MARK, chosen], {polling: "raf"});
    const marks = await page.evaluate(mark => ({zero: performance.timeOrigin, all: performance.getEntriesByName(mark).map(({startTime}) => startTime)}), MARK);
    return {listening, heat_map: marks.zero + marks.all[0] - began, lateness: marks.all.find(time => time > chosen) - chosen};
  } finally {
    await context.close();
    await server.stop();
  }
}

const browser = await launch(chromium), all = [];
for (let run = 0; run < Number(count ?? 11); run++) all.push(await once(browser));
await browser.close();
const of = key => all.map(one => one[key]).sort((a, b) => a - b);
const told = key => `${of(key)[all.length >> 1].toFixed(0)} (${of(key)[0].toFixed(0)})`;
console.log(`listening ${told("listening")}, heat map ${told("heat_map")}, lateness behind a click at once ${told("lateness")} ms; load ${fs.readFileSync("/proc/loadavg", "utf8").split(" ")[0]}`);
