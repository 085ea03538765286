// page_tracks.test.mjs - collapse, pin, hide, reorder and filter; the page for those who use keys or a screen reader
import assert from "node:assert/strict";
import {onTrack, readChrome, unionOf} from "../oracle.mjs";
import {drawn, file, open, placeOf, settled, setState, show, state, test, trackOf, until} from "../page.mjs";
import {barHeights, contrast, pixelsOf} from "../pixels.mjs";

const small = readChrome(file("small.json"));
const placesOf = page => page.evaluate(() => window.heddle.app.layout().places.map(p => ({key: p.key, name: p.track.name, y: p.y, height: p.height, rows: p.rows, summary: p.summary, depth: p.depth, pinned: p.pinned})));
const headerOf = (page, key) => page.locator(`#headers [data-track="${key}"]`);

test("places are in order, without gaps and without overlap, sections before what they hold", async page => {
  await open(page, "small.json");
  const places = await placesOf(page), names = places.map(p => p.name);
  for (let k = 1; k < places.length; k++) assert.ok(places[k].y >= places[k - 1].y + places[k - 1].height - 1e-6, `${names[k]} is below ${names[k - 1]}`);
  const last = places[places.length - 1];
  assert.ok(await page.evaluate(bottom => window.heddle.app.layout().height >= bottom, last.y + last.height));
  const at = name => names.findIndex(n => n === name);
  assert.ok(at("main") > 0 && at("main") < at("autograd") && at("autograd") < at("crossing"), "threads by their sort index");
  assert.ok(at("stream 7") < at("stream 20") && at("stream 20") < at("main"), "the GPU before the host, streams by their sort index");
  const tracks = await state(page, "tracks");
  for (const p of places) {
    const track = tracks.find(t => `${t.trace}.${t.id}` === p.key);
    if (track.parent !== null) assert.ok(places.findIndex(q => q.key === `${track.trace}.${track.parent}`) < places.indexOf(p), `${p.name} is below its section`);
  }
});

test("a collapsed track is one row, with the busy time of all", async page => {
  await open(page, "small.json");
  const main = await trackOf(page, "main"), key = `0.${main.id}`;
  assert.equal((await placesOf(page)).find(p => p.key === key).rows, main.rows);
  await page.evaluate(key => { window.heddle.app.state.collapsed.value = new Map([[key, true]]); }, key);
  await settled(page);
  const place = (await placesOf(page)).find(p => p.key === key);
  assert.deepEqual([place.rows, place.summary], [1, true]);
  await page.evaluate(key => { window.heddle.app.state.collapsed.value = new Map([[key, false]]); }, key);
  assert.equal((await placesOf(page)).find(p => p.key === key).rows, main.rows);
});

test("a click on a section's header collapses it: what is below is gone, its summary row stays", async page => {
  await open(page, "small.json");
  const section = (await state(page, "tracks")).find(t => t.kind === "section" && /train\.py/.test(t.name)), key = `0.${section.id}`;
  const before = (await placesOf(page)).length;
  await headerOf(page, key).locator(".trackname").click();
  await until(page, key => window.heddle.app.layout().find(key).collapsed, key, "the section is collapsed");
  await settled(page);
  const places = await placesOf(page);
  assert.ok(places.length < before && !places.some(p => p.name === "main"));
  assert.ok(places.find(p => p.key === key).summary);
  await until(page, () => /\btc=/.test(location.hash), null, "the address has it"); // before that it may have no more than the times of the traces
  await page.reload();
  await settled(page);
  assert.ok(!(await placesOf(page)).some(p => p.name === "main"), "and stays so after a reload");
});

test("a summary row has every instant at which a track below is busy", async page => {
  await open(page, "small.json");
  const section = (await state(page, "tracks")).find(t => t.kind === "section" && /GPU 0|python/.test(t.name));
  const tiles = await page.evaluate(id => window.heddle.app.source.tiles(0, 13, 0, [id], true), section.id);
  const union = unionOf(onTrack(small, 0)), width = 2 ** 13;
  const row = tiles[0].rows[0], events = Object.values(row.start).map((start, k) => ({start, end: start + row.duration[k]}));
  const aggregates = new Map(Object.values(row.column).map((c, k) => [c, row.busy[k]]));
  for (let c = 0; c < 367; c++) {
    const a = c * width, b = a + width, cut = s => Math.max(0, Math.min(s.end, b) - Math.max(s.start, a));
    const wanted = union.reduce((sum, s) => sum + cut({start: s.start - small.start, end: s.end - small.start}), 0);
    const got = aggregates.get(c) ?? unionOf(events.filter(s => cut(s) > 0)).reduce((sum, s) => sum + cut(s), 0);
    assert.equal(got, wanted, `column ${c}`);
  }
});

test("pinned tracks stand on top and stay there while the others scroll", async page => {
  await open(page, "small.json");
  await page.setViewportSize({width: 1400, height: 400});
  const stream = await trackOf(page, "stream 20"), key = `0.${stream.id}`;
  await setState(page, "pinned", [key]);
  await settled(page);
  const pinned = await page.evaluate(() => ({keys: window.heddle.app.layout().pinned.map(p => p.key), height: window.heddle.app.layout().pinnedHeight}));
  assert.deepEqual(pinned.keys, [key]);
  assert.ok(pinned.height > 0);
  const box = await page.locator("#tracks canvas").first().boundingBox();
  const top = () => pixelsOf(page, {x: box.x, y: box.y, width: box.width, height: pinned.height - 2});
  const before = await top();
  assert.ok(barHeights(before).some(height => height > 5), "with its kernels");
  await setState(page, "scroll", 60);
  await settled(page);
  assert.equal(Buffer.compare(before.data, (await top()).data), 0, "the same picture");
  assert.equal(await headerOf(page, key).first().isVisible(), true, "and its name");
});

test("hidden tracks take no room, and come back", async page => {
  await open(page, "small.json");
  const stream = await trackOf(page, "stream 20"), key = `0.${stream.id}`, before = await placesOf(page);
  await page.evaluate(key => { window.heddle.app.state.hidden.value = new Set([key]); }, key);
  await settled(page);
  assert.ok(!(await placesOf(page)).some(p => p.key === key));
  await page.evaluate(() => { window.heddle.app.state.hidden.value = new Set(); });
  assert.deepEqual(await placesOf(page), before);
});

test("the filter by name leaves matching tracks and their sections", async page => {
  await open(page, "small.json");
  await setState(page, "trackFilter", "STREAM 7");
  await settled(page);
  const names = (await placesOf(page)).map(p => p.name);
  assert.ok(names.includes("stream 7") && !names.includes("main") && !names.includes("stream 20"), names.join());
  await setState(page, "trackFilter", "nothing is called this");
  assert.ok(!(await placesOf(page)).some(p => p.name === "stream 7"));
});

test("a track is moved among those of its section", async page => {
  await open(page, "small.json");
  const seven = await trackOf(page, "stream 7"), twenty = await trackOf(page, "stream 20");
  const order = async () => (await placesOf(page)).filter(p => [`0.${seven.id}`, `0.${twenty.id}`].includes(p.key)).map(p => p.name);
  assert.deepEqual(await order(), ["stream 7", "stream 20"]);
  await page.evaluate(([a, b]) => { window.heddle.app.state.moved.value = new Map([[a, 1000], [b, 999]]); }, [`0.${seven.id}`, `0.${twenty.id}`]);
  assert.deepEqual(await order(), ["stream 20", "stream 7"]);
});

test("counters are drawn by their least and greatest, never decimated", async page => {
  await open(page, "only_counters.json");
  const [counter] = (await state(page, "tracks")).filter(t => t.kind === "counter");
  assert.deepEqual(counter.series.map(s => [s.min, s.max]), [[0, 16], [-2999, 0]]);
  const [tile] = await page.evaluate(async id => (await window.heddle.app.source.tiles(0, 15, 0, [id], false))
    .map(t => ({series: t.series.map(s => ({min: [...s.min], max: [...s.max], column: [...s.column], count: [...s.count], starting: s.starting}))})), counter.id);
  tile.series[0].column.forEach((c, k) => {
    const inside = Array.from({length: 3000}, (_, i) => i).filter(i => Math.floor(i * 1000 / 2 ** 15) === c).map(i => i % 17);
    if (c === 65535) return;
    assert.deepEqual([tile.series[0].min[k], tile.series[0].max[k], tile.series[0].count[k]], [Math.min(...inside), Math.max(...inside), inside.length], `column ${c}`);
  });
});

// ---- by keys, by ear, by eye ----

test("everything can be reached with Tab, and what has the focus is seen", async page => {
  await open(page, "small.json");
  const seen = new Set();
  for (let k = 0; k < 120; k++) {
    await page.keyboard.press("Tab");
    const at = await page.evaluate(() => {
      const e = document.activeElement;
      if (!e || e === document.body) return null;
      const style = getComputedStyle(e), area = e.closest("[id]")?.id ?? "";
      const name = [e.getAttribute("aria-label"), e.title, e.textContent, e.labels?.[0]?.textContent].find(text => text?.trim()) ?? "";
      return {area, name: name || e.getAttribute("placeholder") || "", html: e.outerHTML.slice(0, 120),
        ring: style.outlineStyle !== "none" || style.boxShadow !== "none" || e.matches("canvas, [role=tree], [role=grid], [role=application], [role=treegrid]")};
    });
    if (at === null) break;
    assert.ok(at.name, `it has a name: ${at.html}`);
    assert.ok(at.ring, `it has a ring: ${at.html}`);
    seen.add(at.area);
  }
  for (const area of ["toolbar", "search"]) assert.ok([...seen].some(a => a.includes(area)), `${area} is reached: ${[...seen]}`);
});

test("a screen reader finds tracks and events by name, with a spoken summary", async page => {
  await open(page, "small.json");
  await show(page, 0, 1000000);
  await until(page, () => [...document.querySelectorAll("[aria-label], [role=treeitem], [role=row]")].some(e =>
    /stream 7/.test(`${e.getAttribute("aria-label") ?? ""} ${e.textContent}`)), null, "the track is in the tree");
  const text = await page.evaluate(() => [...document.querySelectorAll("[aria-label], [aria-live], [role=treeitem], [role=row], [role=option]")]
    .map(e => `${e.getAttribute("aria-label") ?? ""} ${e.textContent}`).join("\n"));
  assert.match(text, /stream 7/);
  const snapshot = await page.locator("body").ariaSnapshot();
  assert.match(snapshot, /stream 7/, "tracks have names in the tree");
  assert.match(snapshot, /main/);
  const stream = await trackOf(page, "stream 7");
  await page.evaluate(track => { window.heddle.app.state.selected.value = [track]; },
    {trace: 0, track: stream.id, kind: "slice", row: 0, depth: 0, start: 200000, duration: 150000, name: 0});
  await page.keyboard.press(".");
  await until(page, () => /[µu]s|ms|micro/.test([...document.querySelectorAll("[aria-live]")].map(e => e.textContent).join(" ")),
    null, "the event that is gone to is told");
});

for (const scheme of ["light", "dark"]) {
  test(`texts have a contrast of 4.5 (${scheme})`, async page => {
    await page.emulateMedia({colorScheme: scheme});
    await open(page, "small.json");
    await page.evaluate(() => { window.heddle.app.state.tab.value = "fidelity"; });
    await until(page, () => document.querySelector("#pane").textContent.length > 100 && document.getAnimations().length === 0,
      null, "the panel is there, and nothing fades");
    const texts = await page.evaluate(() => {
      const color = text => text.match(/[\d.]+/g).map(Number), out = [];
      const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
      for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        const e = node.parentElement, style = getComputedStyle(e);
        if (!node.textContent.trim() || /SCRIPT|STYLE|NOSCRIPT/.test(e.tagName) || e.closest("[disabled], [aria-disabled=true]")) continue;
        if (!e.checkVisibility({checkOpacity: true, checkVisibilityCSS: true}) || e.getBoundingClientRect().width < 2) continue;
        let back = null;
        for (let p = e; p && !back; p = p.parentElement) {
          const c = color(getComputedStyle(p).backgroundColor);
          if (c.length === 3 || c[3] === 1) back = c.slice(0, 3);
        }
        const front = color(style.color);
        if (front.length === 4 && front[3] < 1) continue;
        out.push([node.textContent.trim().slice(0, 30), front.slice(0, 3), back ?? [255, 255, 255]]);
      }
      return out;
    });
    assert.ok(texts.length > 20);
    const weak = texts.filter(([, front, back]) => contrast(front, back) < 4.5);
    assert.deepEqual(weak.map(([t, f, b]) => `${t}: ${contrast(f, b).toFixed(2)}`), []);
  });
}
