// page_mouse.test.mjs - the track list by mouse: fold, drag, menu, filter, hide and pin
import assert from "node:assert/strict";
import {drawn, open, placeOf, pointAtEvent, settled, show, state, test, trackOf, until} from "../page.mjs";

const placesOf = page => page.evaluate(() => window.heddle.app.layout().places.map(p => ({key: p.key, name: p.track.name, rows: p.rows, collapsed: p.collapsed})));
const placeOfKey = async (page, key) => (await placesOf(page)).find(p => p.key === key);
const headerOf = (page, key) => page.locator(`#headers [data-track="${key}"]`);
const keyOf = track => `${track.trace}.${track.id}`;

// What the menu of a track has, and one item of it.
async function choose(page, key, item, by = "right") {
  await drawn(page);
  if (by === "right") await headerOf(page, key).locator(".trackname").click({button: "right"});
  else {
    await headerOf(page, key).hover();
    await headerOf(page, key).locator(".more").click();
  }
  const menu = page.locator("[role=menu]");
  await menu.waitFor();
  assert.ok(await menu.locator("[role=menuitem]").count() > 3);
  await menu.locator("[role=menuitem]", {hasText: item}).first().click();
  await menu.waitFor({state: "detached"});
}

test("the button before a name folds the rows of a track and unfolds them", async page => {
  await open(page, "small.json");
  const main = await trackOf(page, "main"), key = keyOf(main);
  assert.ok(main.rows > 1);
  await headerOf(page, key).locator("button.fold").click();
  await until(page, key => window.heddle.app.layout().find(key).collapsed, key, "it is folded");
  assert.equal((await placeOfKey(page, key)).rows, 1);
  await settled(page);
  await headerOf(page, key).locator("button.fold").click();
  await until(page, key => !window.heddle.app.layout().find(key).collapsed, key, "it is unfolded");
  assert.equal((await placeOfKey(page, key)).rows, main.rows);
});

test("a name dragged above another takes its track there", async page => {
  await page.setViewportSize({width: 1400, height: 800}); // both are in view
  await open(page, "small.json");
  const twenty = keyOf(await trackOf(page, "stream 20")), seven = keyOf(await trackOf(page, "stream 7"));
  const order = async () => (await placesOf(page)).filter(p => [twenty, seven].includes(p.key)).map(p => p.key);
  assert.deepEqual(await order(), [seven, twenty]);
  const from = await headerOf(page, twenty).locator(".trackname").boundingBox(), to = await headerOf(page, seven).boundingBox();
  await page.mouse.move(from.x + 5, from.y + from.height / 2);
  await page.mouse.down();
  await page.mouse.move(to.x + 30, to.y + 40, {steps: 5});
  await page.mouse.move(to.x + 30, to.y + 2, {steps: 3});
  await page.locator("#headers .drop").waitFor();
  await page.mouse.up();
  await until(page, ([a, b]) => { const k = window.heddle.app.layout().places.map(p => p.key); return k.indexOf(a) < k.indexOf(b); }, [twenty, seven], "it stands above");
  assert.equal(await page.locator("#headers .drop").count(), 0, "and the line is gone");
  assert.equal((await placeOfKey(page, twenty)).collapsed, false, "and it was no click");
});

test("the menu moves, hides and pins a track, by the right button or by its own", async page => {
  await open(page, "small.json");
  const seven = keyOf(await trackOf(page, "stream 7")), twenty = keyOf(await trackOf(page, "stream 20"));
  const before = (await placesOf(page)).map(p => p.key);
  await choose(page, seven, "Move down");
  await until(page, ([a, b]) => { const k = window.heddle.app.layout().places.map(p => p.key); return k.indexOf(b) < k.indexOf(a); }, [seven, twenty], "stream 20 stands above stream 7");
  await choose(page, seven, "Move up", "button");
  assert.deepEqual((await placesOf(page)).map(p => p.key), before, "and the order is that of before");
  await choose(page, twenty, "Hide", "button");
  await until(page, key => !window.heddle.app.layout().find(key), twenty, "it is gone");
  await page.locator("#corner button", {hasText: "1 hidden"}).click();
  await until(page, key => window.heddle.app.layout().find(key), twenty, "and is there again");
  await choose(page, twenty, "Pin to the top");
  await until(page, key => window.heddle.app.layout().pinned.some(p => p.key === key), twenty, "it is pinned");
  await page.locator(`#headers .pinned [data-track="${twenty}"]`).waitFor();
  await settled(page);
  await page.locator(`#headers .pinned [data-track="${twenty}"] .trackname`).click({button: "right"});
  await page.locator("[role=menuitem]", {hasText: "Unpin"}).click();
  await until(page, () => window.heddle.app.layout().pinned.length === 0, null, "it is not pinned any more");
});

test("Escape closes the menu, and a click beside it", async page => {
  await open(page, "small.json");
  const key = keyOf(await trackOf(page, "stream 7")), menu = page.locator("[role=menu]");
  await headerOf(page, key).locator(".trackname").click({button: "right"});
  await menu.waitFor();
  await page.keyboard.press("Escape");
  await menu.waitFor({state: "detached"});
  await headerOf(page, key).locator(".trackname").click({button: "right"});
  await menu.waitFor();
  await page.mouse.click(900, 600);
  await menu.waitFor({state: "detached"});
});

test("typed into the filter, words leave what has them; Escape brings all back", async page => {
  await open(page, "small.json");
  const before = await placesOf(page);
  await page.fill("#track-filter", "stream 7");
  await until(page, () => window.heddle.app.state.trackFilter.value === "stream 7", null, "it is the filter");
  const names = (await placesOf(page)).map(p => p.name);
  assert.ok(names.includes("stream 7") && !names.includes("main") && !names.includes("stream 20"), names.join());
  assert.match(await page.textContent("#corner"), /\d+ of \d+/);
  await page.press("#track-filter", "Escape");
  await until(page, () => window.heddle.app.state.trackFilter.value === "", null, "Escape clears it");
  assert.deepEqual(await placesOf(page), before);
});

// As a busy browser does, which takes the capture of a press for that of the press before, whose end it hears of late.
const loseCapture = page => page.evaluate(() => {
  const {target, pointerId} = window.pressed;
  if (!target.hasPointerCapture(pointerId)) throw new Error("it has no capture to lose");
  target.releasePointerCapture(pointerId);
});

test("a press whose capture the browser takes away goes on: a click selects, a drag makes its box", async page => {
  await open(page, "small.json");
  await page.evaluate(() => { addEventListener("pointerdown", e => { window.pressed = {target: e.target, pointerId: e.pointerId}; }, true); });
  const stream = await trackOf(page, "stream 7");
  await show(page, 0, 1000000);
  const at = await pointAtEvent(page, stream, 275000);
  await page.mouse.down();
  await loseCapture(page);
  await page.mouse.up();
  await until(page, () => window.heddle.app.state.selected.value.length === 1, null, "an event is selected");
  const place = await placeOf(page, stream);
  await page.mouse.move(place.x + 100, place.y + 4);
  await page.mouse.down();
  await page.mouse.move(place.x + 150, place.y + 4);
  await loseCapture(page);
  await page.mouse.move(place.x + 300, place.y + 4);
  await page.mouse.up();
  await until(page, () => window.heddle.app.state.area.value !== null, null, "a box is made");
  const area = await state(page, "area");
  assert.ok(Math.abs(area.until - 300 / place.width * 1000000) < 5000, JSON.stringify(area));
  // A press that nobody saw end is none when the next begins, or the pointer moves with no button down.
  await page.mouse.move(at.x, at.y);
  await page.mouse.down();
  await page.mouse.move(at.x + 50, at.y);
  await page.evaluate(() => { addEventListener("pointerup", e => e.stopImmediatePropagation(), {capture: true, once: true}); });
  await page.mouse.up();
  await page.mouse.move(at.x + 100, at.y);
  assert.equal(await page.locator(".rubber").isVisible(), false, "the box is given up");
});

test("one button folds all, another unfolds all", async page => {
  await open(page, "small.json");
  await page.click("[aria-label='Collapse all sections']");
  await until(page, () => window.heddle.app.layout().places.every(p => p.track.kind === "section" || p.track.parent === null), null,
    "only sections and what stands in none are left");
  await page.click("[aria-label='Expand all sections']");
  await until(page, () => window.heddle.app.layout().places.some(p => p.track.name === "main"), null, "and all is there");
  const sections = (await state(page, "tracks")).filter(t => t.kind === "section").length;
  assert.ok((await placesOf(page)).length > sections);
});
