// screenshots.mjs - the pictures of docs/view.md, of one trace: node tools/screenshots.mjs CHROMIUM HEDDLE TRACE FOLDER (screenshots.py)
import assert from "node:assert/strict";
import {writeFileSync} from "node:fs";
import path from "node:path";
import zlib from "node:zlib";
import {launch} from "../tests/web/browser.mjs";
import {readPng} from "../tests/web/pixels.mjs";
import {startView} from "../tests/web/server.mjs";

const [chromium, heddle, trace, folder] = process.argv.slice(2);
const MOST = 150_000; // bytes of a picture
const WIDE = {width: 1600, height: 1000}, SMALL = {width: 1280, height: 720};

// Until all is read, computed, loaded and drawn.
const settled = page => page.waitForFunction(async () => {
  const {app} = window.heddle, session = app.state.session.value;
  const isThere = () => session?.traces.every(t => t.state === "ready" && !t.busy) && app.tiles.idle(false) && app.names.idle() && !window.heddle.isDue();
  if (!isThere()) return false;
  app.redraw();
  await new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(resolve)));
  return isThere() && !document.querySelector("[aria-busy=true]");
}, null, {polling: 100});

const summary = page => page.waitForSelector(".startcolumns .findings");

async function slowStep(page) {
  await summary(page);
  await page.locator(".startside .facts button").first().click();
  await page.waitForSelector(".stepchange .grid tbody tr");
}

// The longest idle time of the slow step, by a click in the middle of it.
async function idle(page) {
  await slowStep(page);
  await settled(page);
  const at = await page.evaluate(async () => {
    const {app} = window.heddle, track = app.state.tracks.value.find(t => t.derived && t.role === "idle"), place = app.layout().find(`${track.trace}.${track.id}`);
    app.hands.motions.scrollTo(Math.max(0, place.y - 60));
    return {key: `${track.trace}.${track.id}`};
  });
  await settled(page);
  const box = await page.evaluate(key => {
    const {app} = window.heddle, place = app.layout().find(key), area = document.querySelector("#tracks canvas").getBoundingClientRect();
    return {x: area.x, y: area.y + place.y + app.layout().pinnedHeight - app.state.scroll.value + place.rowHeight / 2, width: area.width};
  }, at.key);
  let longest = null;
  for (let x = box.x + 4; x < box.x + box.width; x += 8) {
    await page.mouse.move(x, box.y);
    const duration = await page.evaluate(() => window.heddle.app.state.hovered.value?.duration ?? 0);
    if (!longest || duration > longest.duration) longest = {x, duration};
  }
  await page.mouse.click(longest.x, box.y);
  await page.waitForSelector("#pane .facts, #pane dl");
  await page.mouse.move(5, 5);
}

const PICTURES = [
  {name: "view-light", size: WIDE, go: summary},
  {name: "view-dark", size: SMALL, dark: true, go: summary},
  {name: "view-step", size: SMALL, go: slowStep},
  {name: "view-idle", size: SMALL, go: idle},
  {name: "view-large-text", size: SMALL, letters: 32, go: summary},
  {name: "view-deuteranopia", size: SMALL, sees: "deuteranopia", go: slowStep},
];

// A PNG of at most 256 colours, each of which is that of the picture or close to it.
function smaller(png) {
  const {width, height, data} = readPng(png), counts = new Map(), places = new Map(), lines = Buffer.alloc((width + 1) * height);
  const colorAt = k => (data[k] << 16) | (data[k + 1] << 8) | data[k + 2];
  for (let k = 0; k < data.length; k += 4) counts.set(colorAt(k), (counts.get(colorAt(k)) ?? 0) + 1);
  const palette = [];
  const away = (a, b) => ((a >> 16) - (b >> 16)) ** 2 + ((a >> 8 & 255) - (b >> 8 & 255)) ** 2 + ((a & 255) - (b & 255)) ** 2;
  for (const least of [120, 0]) { // first what differs, then what occurs most
    for (const [color] of [...counts].sort((a, b) => b[1] - a[1])) {
      if (palette.length < 256 && palette.every(each => away(each, color) > least)) palette.push(color);
    }
  }
  for (const color of counts.keys()) places.set(color, palette.reduce((best, each, k) => (away(each, color) < away(palette[best], color) ? k : best), 0));
  for (let y = 0; y < height; y++) for (let x = 0; x < width; x++) lines[y * (width + 1) + 1 + x] = places.get(colorAt((y * width + x) * 4));
  const chunk = (type, body) => {
    const head = Buffer.from(type, "latin1"), out = Buffer.alloc(body.length + 12);
    out.writeUInt32BE(body.length, 0);
    head.copy(out, 4);
    body.copy(out, 8);
    out.writeUInt32BE(crc(out.subarray(4, body.length + 8)), body.length + 8);
    return out;
  };
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3, 0, 0, 0], 8);
  return Buffer.concat([Buffer.from("89504e470d0a1a0a", "hex"), chunk("IHDR", header), chunk("PLTE", Buffer.from(palette.flatMap(c => [c >> 16, c >> 8 & 255, c & 255]))),
    chunk("IDAT", zlib.deflateSync(lines, {level: 9})), chunk("IEND", Buffer.alloc(0))]);
}

function crc(bytes) {
  let sum = -1;
  for (const byte of bytes) {
    sum ^= byte;
    for (let k = 0; k < 8; k++) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0);
  }
  return ~sum >>> 0;
}

const server = await startView(heddle, [trace]), browser = await launch(chromium);
try {
  for (const {name, size, dark, letters, sees, go} of PICTURES) {
    const context = await browser.newContext({viewport: size, colorScheme: dark ? "dark" : "light", reducedMotion: "reduce"});
    const page = await context.newPage();
    if (letters) await page.addInitScript(px => addEventListener("DOMContentLoaded", () => { document.documentElement.style.fontSize = `${px}px`; }), letters);
    if (sees) await (await context.newCDPSession(page)).send("Emulation.setEmulatedVisionDeficiency", {type: sees});
    await page.goto(server.url);
    await page.waitForFunction(() => window.heddle?.app);
    await settled(page);
    await go(page);
    await settled(page);
    const picture = smaller(await page.screenshot());
    assert.ok(picture.length <= MOST, `${name}: ${picture.length} bytes`);
    writeFileSync(path.join(folder, `${name}.png`), picture);
    console.log(`${name}.png: ${picture.length} bytes`);
    await context.close();
  }
} finally {
  await browser.close();
  await server.stop();
}
