// speedscope.mjs - speedscope's own page, which loads files that we write and tells what it made of them
//
// usage: node speedscope.mjs CHROMIUM FILE...
//
// Writes a line of JSON for each file: the name of the profile, the rows of the Sandwich view that are in sight, and what
// the page saves as its own ("profile"); or "error", what it said instead.
import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import {fileURLToPath} from "node:url";
import {launch, PATIENCE, watch} from "./browser.mjs";

const PAGE = fileURLToPath(new URL("node_modules/speedscope/dist/release/", import.meta.url));
const TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".wasm": "application/wasm"};
// What Chromium says of its software renderer, and the page's own clock after it has refused a file.
const HARMLESS = /Timer 'import' already exists|GPU stall due to ReadPixels|Automatic fallback to software WebGL|GroupMarkerNotSet/;

const [program, ...files] = process.argv.slice(2);

// The page and nothing else.
const server = http.createServer((request, response) => {
  const name = path.basename(request.url.split("?")[0]) || "index.html";
  fs.readFile(path.join(PAGE, name), (error, data) => {
    response.writeHead(error ? 404 : 200, {"Content-Type": TYPES[path.extname(name)] ?? "application/octet-stream"});
    response.end(data);
  });
});
await new Promise(resolve => server.listen(0, "127.0.0.1", resolve));
const origin = `http://127.0.0.1:${server.address().port}/`;

const browser = await launch(program), context = await browser.newContext({viewport: {width: 1400, height: 800}});
const page = await context.newPage(), said = [];
page.setDefaultTimeout(PATIENCE);
const troubles = watch(context, page, url => url.startsWith(origin) || url.startsWith("blob:" + origin));
page.on("console", m => said.push(m.text()));
page.on("dialog", dialog => { troubles.push("dialog: " + dialog.message()); dialog.dismiss(); });
// What a person would choose in a window of the system, and where a file is saved to.
await page.addInitScript(() => {
  HTMLInputElement.prototype.click = function () { window.chooser = this; };
  HTMLAnchorElement.prototype.click = function () { window.saved = this.href; };
});
await page.goto(origin + "#view=sandwich");

const press = key => page.evaluate(key => window.dispatchEvent(new KeyboardEvent("keydown", {key, ctrlKey: true})), key);

async function load(file) {
  troubles.length = said.length = 0;
  await page.evaluate(() => { document.title = ""; });
  await press("o");
  await (await page.evaluateHandle(() => window.chooser)).setInputFiles(file);
  // While the page reads, nothing of the file before is there.
  for (let loaded = false; !loaded;) {
    loaded = await page.evaluate(() => new Promise(resolve => requestAnimationFrame(() =>
      resolve(document.title !== "" && document.querySelector("table") !== null))));
    const wrong = troubles.find(text => !HARMLESS.test(text)) ?? said.find(text => text.startsWith("Failed to load"));
    if (wrong) throw new Error([wrong, ...said].join("\n"));
  }
  const rows = await page.$$eval("tr", all => all.map(row => [...row.cells].map(cell => cell.textContent)));
  await press("s");
  return {title: await page.title(), rows, profile: await page.evaluate(async () => (await fetch(window.saved)).json())};
}

for (const file of files) console.log(JSON.stringify(await load(file).catch(e => ({error: e.message}))));
await browser.close();
server.close();
