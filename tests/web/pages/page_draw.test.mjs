// page_draw.test.mjs - what is on the screen is what is in the file: pixels against exact busy time
import assert from "node:assert/strict";
import {busyTime, onTrack, readChrome} from "../oracle.mjs";
import {drawn, file, open, placeOf, settled, setState, show, state, test, trackOf, until} from "../page.mjs";
import {barHeights, pixelAt, pixelsOf} from "../pixels.mjs";

const busy = readChrome(file("busy37.json")), kernels = onTrack(busy, 0, 7);
const GAP = 1; // px between rows, see draw/compose.ts

// The picture of one row of a track, and the line of ground above it.
async function rowPicture(page, track, row = 0) {
  const place = await placeOf(page, track);
  await page.mouse.move(1, 1);
  await drawn(page);
  const y = Math.round(place.y + row * place.rowHeight);
  return {picture: await pixelsOf(page, {x: place.x, y, width: place.width, height: place.rowHeight}), height: place.rowHeight - GAP, width: place.width};
}
const share = (slices, from, until) => busyTime(slices, from, until) / (until - from);

for (const [what, query] of [["WebGL", ""], ["a 2D canvas", "?webgl=0"]]) {
  test(`a stream that is busy to 37 % is drawn as 37 %, not as 95 % (${what})`, async page => {
    await open(page, "busy37.json", {query});
    const stream = await trackOf(page, "stream 7");
    await show(page, 0, 100000000);
    const {picture, height, width} = await rowPicture(page, stream), heights = barHeights(picture);
    const area = heights.reduce((a, b) => a + b, 0) / (height * width);
    assert.ok(Math.abs(area - 0.37) <= 0.01, `${(100 * area).toFixed(2)} % of the row is bar, 37 % is busy`);
  });

  test(`of each pixel the bar is as high as its time is busy (${what})`, async page => {
    await open(page, "busy37.json", {query});
    const stream = await trackOf(page, "stream 7"), {width} = await placeOf(page, stream);
    for (const z of [16, 15, 17]) {
      // A pixel is a column: nothing has to be shared out.
      const from = 2 ** z * 20;
      await show(page, from, from + width * 2 ** z);
      const {picture, height} = await rowPicture(page, stream), heights = barHeights(picture);
      for (let x = 0; x < width; x++) {
        const exact = share(kernels, from + x * 2 ** z, from + (x + 1) * 2 ** z) * height;
        const slack = exact > 0 && exact < 1.05 ? 1 : 0.501; // one pixel alone does not tell how strong its colour is at most
        assert.ok(Math.abs(heights[x] - exact) <= slack, `z ${z}, pixel ${x}: ${heights[x]} px of ${height}, ${exact.toFixed(2)} are busy; ${heights.slice(x, x + 8)}`);
      }
    }
  });
}

test("at any zoom the area is the busy time of what is in view", async page => {
  await open(page, "busy37.json");
  const stream = await trackOf(page, "stream 7");
  for (const [from, until] of [[1234567, 91234567], [20000000, 63333333], [50000000, 52345678], [70000000, 70200000]]) {
    await show(page, from, until);
    const {picture, height, width} = await rowPicture(page, stream), heights = barHeights(picture);
    const area = heights.reduce((a, b) => a + b, 0) / (height * width), exact = share(kernels, from, until);
    assert.ok(Math.abs(area - exact) <= 0.012, `${from} to ${until}: ${(100 * area).toFixed(2)} % are drawn, ${(100 * exact).toFixed(2)} % busy`);
  }
});

test("idle time is ground: nothing is drawn between two kernels", async page => {
  await open(page, "small.json");
  const stream = await trackOf(page, "stream 7");
  // Kernels of the first step: 200 to 350, 400 to 440, 450 to 650 µs.
  await show(page, 150000, 750000);
  const {picture, height, width} = await rowPicture(page, stream), heights = barHeights(picture), at = ns => Math.floor((ns - 150000) / 600000 * width);
  for (const [a, b, full] of [[150000, 200000, 0], [200000, 350000, 1], [350000, 400000, 0], [400000, 440000, 1], [440000, 450000, 0], [450000, 650000, 1], [650000, 750000, 0]]) {
    for (let x = at(a) + 2; x < at(b) - 2; x++) assert.equal(heights[x], full * height, `pixel ${x} (${a} to ${b} ns)`);
  }
});

test("slices that overlap stand on rows of their own, none is dropped", async page => {
  await open(page, "small.json");
  const crossing = await trackOf(page, "crossing");
  await show(page, 0, 3000000);
  const {rows, width} = await placeOf(page, crossing);
  assert.ok(rows >= 2);
  const at = ns => Math.floor(ns / 3000000 * width);
  const first = barHeights((await rowPicture(page, crossing, 0)).picture), second = barHeights((await rowPicture(page, crossing, 1)).picture);
  assert.ok(first[at(500000)] > 5, "first of two");
  assert.ok(second[at(1200000)] > 5, "second of two, below it");
  assert.equal(second[at(300000)], 0, "and there only where it is");
});

test("a stair of 500 slices that each cross the next is all there", async page => {
  await open(page, "crossings.json");
  const track = (await state(page, "tracks")).find(t => t.kind === "slices" && !t.derived);
  assert.equal(track.events, 500);
  await show(page, 2000000, 2100000);
  let bars = 0;
  const {rows} = await placeOf(page, track);
  assert.ok(rows >= 3, `${rows} rows`);
  for (let row = 0; row < rows; row++) {
    const {picture} = await rowPicture(page, track, row), heights = barHeights(picture);
    bars += heights.filter(h => h > 5).length / heights.length;
  }
  assert.ok(Math.abs(bars - 2.5) < 0.05, `each instant has 2.5 slices, ${bars.toFixed(2)} are drawn`);
});

test("events without length are seen at any zoom", async page => {
  await open(page, "zero_durations.json");
  const track = (await state(page, "tracks")).find(t => t.kind === "slices" && !t.derived);
  for (const [from, until] of [[0, 6000000], [98000, 102000]]) {
    await show(page, from, until);
    const {picture} = await rowPicture(page, track);
    let marked = 0;
    for (let x = 0; x < picture.width; x++) {
      const ground = pixelAt(picture, x, 0).join();
      marked += Array.from({length: picture.height - 1}, (_, y) => pixelAt(picture, x, y + 1).join()).some(c => c !== ground) ? 1 : 0;
    }
    assert.ok(marked > 0, `${from} to ${until}: ${marked} columns have a mark`);
  }
});

test("names are in the bars where they fit", async page => {
  await open(page, "small.json");
  await show(page, 190000, 360000);
  const list = await page.evaluate(() => window.heddle.drawList());
  assert.ok(list.labels > 0, JSON.stringify(list).slice(0, 400));
  await setState(page, "range", {from: 0, until: 3000000000});
  await settled(page);
});

test("colours are those of classes, of names, or of categories", async page => {
  await open(page, "small.json");
  const stream = await trackOf(page, "stream 7");
  await show(page, 150000, 750000);
  const colors = async () => {
    const {picture, width} = await rowPicture(page, stream);
    return [250000, 420000, 550000].map(ns => pixelAt(picture, Math.floor((ns - 150000) / 600000 * width), picture.height - 2).join());
  };
  // Kernels are blue, of any name, and the legend has that blue.
  assert.deepEqual((await colors()).filter(rgb => { const [r, g, b] = rgb.split(",").map(Number); return !(b > g && g > r); }), []);
  assert.match(await page.textContent(".legend"), /^ComputeCommunicationCopyWait/);
  await setState(page, "colorBy", "name");
  await settled(page);
  assert.equal(await page.locator(".legend").count(), 0);
  const byName = await colors();
  assert.equal(byName[0], byName[2], "one name, one colour");
  assert.notEqual(byName[0], byName[1], "two names, two");
  await setState(page, "colorBy", "category");
  await settled(page);
  const byCategory = await colors();
  assert.equal(byCategory[0], byCategory[1], "one category");
});

test("a condition dims the events that do not meet it, at every zoom and also those of the name of one that does", async page => {
  await open(page, "small.json");
  const stream = await trackOf(page, "stream 7");
  await setState(page, "filter", "dim");
  // Two kernels of one name, of 150 and 200 µs, and between them one of 40 µs.
  const search = async (q, where = "names") => {
    await page.evaluate(([q, where]) => {
      const {state} = window.heddle.app;
      window.before = state.results.value;
      state.query.value = {q, mode: "text", in: where, case: false};
    }, [q, where]);
    await until(page, () => window.heddle.app.state.results.value !== window.before, null, `the hits of ${q}`);
  };
  const looks = async (q, where) => {
    if (q !== await page.evaluate(() => window.heddle.app.state.query.value.q)) await search(q, where);
    await show(page, 150000, 750000);
    const {picture, width} = await rowPicture(page, stream);
    return [250000, 420000, 550000].map(ns => pixelAt(picture, Math.floor((ns - 150000) / 600000 * width), picture.height - 2).join());
  };
  const plain = await looks(""), lit = (shown, k) => shown[k] === plain[k];
  for (const [q, expected, where] of [["dur>=180us", [false, false, true]], ["gemm dur<180us", [true, false, false]], ["arg:grid=*16*", [true, false, false]],
    ["4096", [true, false, false], "args"], ["", [true, true, true]]]) {
    const shown = await looks(q, where);
    assert.deepEqual([0, 1, 2].map(k => lit(shown, k)), expected, `${q} in ${where}`);
  }
  // From afar, where a column has several events: "hide the rest" leaves columns with a hit, and no others.
  await setState(page, "filter", "hide");
  const left = async q => {
    await search(q);
    await show(page, 0, 500000000);
    const {picture} = await rowPicture(page, stream);
    return Array.from({length: picture.width}, (_, x) => pixelAt(picture, x, picture.height - 2).join());
  };
  const none = await left("dur>1s"), some = await left("dur>=180us"), all = await left("dur>=1ns");
  const differ = (a, b) => a.filter((color, x) => color !== b[x]).length;
  assert.ok(differ(some, none) > 0 && differ(some, none) <= differ(all, none), `${differ(some, none)} of ${differ(all, none)} columns`);
});

test("the picture fits the device's pixels", async page => {
  await open(page, "small.json");
  const sizes = await page.evaluate(() => [...document.querySelectorAll("#tracks canvas")].map(c => [c.width, c.getBoundingClientRect().width * devicePixelRatio]));
  for (const [pixels, wanted] of sizes) assert.ok(Math.abs(pixels - wanted) <= 1, sizes.join());
  await page.setViewportSize({width: 900, height: 500});
  await settled(page);
  const after = await page.evaluate(() => [...document.querySelectorAll("#tracks canvas")].map(c => [c.width, c.getBoundingClientRect().width * devicePixelRatio]));
  for (const [pixels, wanted] of after) assert.ok(Math.abs(pixels - wanted) <= 1, after.join());
  assert.ok(after[0][0] !== sizes[0][0]);
}, {context: {deviceScaleFactor: 1.5}});
