// page_keys.test.mjs - each key, tool and command does what it says; the mouse, the wheel, two fingers
import assert from "node:assert/strict";
import {readFileSync} from "node:fs";
import {onTrack, readChrome} from "../oracle.mjs";
import {clickEvent, drawn, file, open, pointAt, placeOf, settled, setState, show, state, still, test, trackOf, until} from "../page.mjs";

const small = readChrome(file("small.json"));
const TINY = {width: 600, height: 320}; // for tests that draw hundreds of frames
const WHOLE = {from: 0, until: 3000000};
const spanOf = range => range.until - range.from;
const closeTo = (a, b, slack, what) => assert.ok(Math.abs(a - b) <= slack, `${what}: ${a}, not ${b}`);

// Touches a key that moves the view, "Shift+W" and the like; where the view is then.
async function touch(page, key) {
  await page.keyboard.press(key);
  return still(page);
}
// Holds it down until the view, far enough, goes no further.
async function hold(page, key, isFar) {
  const parts = key.split("+");
  for (const part of parts) await page.keyboard.down(part);
  let range = null;
  for (let last = null, same = 0; same < 5; last = range) {
    await drawn(page);
    range = await state(page, "range");
    same = isFar(range) && last?.from === range.from && last.until === range.until ? same + 1 : 0;
  }
  for (const part of parts.reverse()) await page.keyboard.up(part);
  return range;
}
async function middle(page, share = 0.5) {
  const box = await page.locator("#tracks").boundingBox();
  await page.mouse.move(box.x + box.width * share, box.y + 60);
  return {x: box.x + box.width * share, y: box.y + 60, box};
}
// keyOf() spells "Shift+W", "Ctrl+k", "?"; playwright presses "Shift+W", "Control+k", "?".
const pressed = key => key.replace(/^Ctrl\+/, "Control+").replace(/Space$/, " ");

// ---- the table of commands ----

test("every key in the table runs its command, and the help has all of them", async page => {
  await page.setViewportSize(TINY);
  await open(page, "small.json");
  await middle(page);
  const table = await page.evaluate(() => window.heddle.app.commands.all().map(({id, title, group, keys, held}) => ({id, title, group, keys: keys ?? [], held})));
  assert.ok(table.length > 30, `${table.length} commands`);
  await page.evaluate(() => {
    window.ran = [];
    for (const c of window.heddle.app.commands.all()) {
      window["was_" + c.id] = c.run;
      c.run = () => { window.ran.push(c.id); };
      c.enabled = () => true;
    }
  });
  for (const {id, keys, held} of table) {
    for (const key of keys) {
      if (held) {
        // Held keys move the view itself; where the view is at its limit it cannot be seen, so begin within.
        const room = await page.evaluate(() => {
          const {app} = window.heddle, room = app.layout().height - document.querySelector("#tracks").clientHeight;
          app.state.range.value = {from: 1000000, until: 2000000};
          app.state.scroll.value = Math.max(0, room / 2);
          return room;
        });
        await drawn(page);
        const place = () => page.evaluate(() => JSON.stringify([window.heddle.app.state.range.value, window.heddle.app.state.scroll.value]));
        const before = await place();
        await touch(page, pressed(key)); // one that is only touched moves, too
        const after = await place();
        if (!(room < 4 && /scroll/.test(id)) && key !== "Space") assert.notEqual(after, before, `${key} (${id}) moves the view`);
      } else {
        await page.evaluate(() => { window.ran = []; document.activeElement?.blur?.(); });
        await page.keyboard.press(pressed(key));
        assert.deepEqual(await page.evaluate(() => window.ran), [id], `${key} runs ${id}`);
      }
    }
  }
  await page.evaluate(() => { for (const c of window.heddle.app.commands.all()) c.run = window["was_" + c.id]; });
  await page.keyboard.press("?");
  await until(page, () => window.heddle.app.state.dialog.value === "help", null, "? opens the help");
  await page.waitForFunction(() => document.querySelector("#dialogs").textContent.length > 200);
  const help = await page.textContent("#dialogs");
  for (const {title, keys} of table) if (keys.length) assert.ok(help.includes(title), `the help has no "${title}"`);
  await page.keyboard.press("Escape");
  await until(page, () => window.heddle.app.state.dialog.value === null, null, "Escape closes it");
});

test("the keys of the issue are there", async page => {
  await open(page, "small.json");
  const known = new Set(await page.evaluate(() => window.heddle.app.commands.all().flatMap(c => c.keys ?? [])));
  for (const key of ["w", "a", "s", "d", "Shift+W", "Shift+A", "Shift+S", "Shift+D", "ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "f", "0",
    "[", "]", ".", ",", "?", "1", "!", "2", "@", "3", "#", "4", "$", "m", "/"]) assert.ok(known.has(key), `no command has ${key}`);
});

test("the keys in docs/view.md are those of the page", async page => {
  await open(page, "small.json");
  const commands = await page.evaluate(() => window.heddle.app.commands.all().map(({title, keys = []}) => ({title, keys})));
  const rows = commands.filter(({keys}) => keys.length).map(({title, keys}) => `| ${keys.map(key => `\`${key}\``).join(" ")} | ${title} |`);
  const guide = readFileSync(new URL("../../../docs/view.md", import.meta.url), "utf8");
  const table = guide.split("## Keys")[1].split("\n## ")[0].split("\n").filter(line => line.startsWith("| `"));
  assert.deepEqual(table.sort(), rows.sort());
});

test("no command throws, whatever is selected", async page => {
  await page.setViewportSize(TINY);
  await open(page, "small.json");
  const ids = await page.evaluate(() => window.heddle.app.commands.all().map(c => c.id));
  const stream = await trackOf(page, "stream 7");
  for (const selected of [false, true]) {
    for (const id of ids.filter(id => !/crop|download|open/.test(id))) {
      const isOpen = await page.evaluate(async ([id, key]) => {
        const {state, commands} = window.heddle.app;
        state.area.value = key && {from: 100000, until: 900000, tracks: [key]};
        state.timing.value = key && {from: 100000, until: 200000};
        state.selected.value = [];
        commands.run(id);
        await new Promise(resolve => requestAnimationFrame(() => setTimeout(resolve)));
        return state.dialog.value !== null || document.activeElement !== document.body;
      }, [id, selected ? `0.${stream.id}` : null]);
      if (isOpen) await page.keyboard.press("Escape");
    }
  }
  await settled(page);
}, {context: {permissions: ["clipboard-read", "clipboard-write"]}, expects: [/404 .*\/api\/engine/]}); // this build has no engine

test("the palette finds a command by its words and runs it", async page => {
  await open(page, "small.json");
  const [key] = await page.evaluate(() => window.heddle.app.commands.all().filter(c => /palette/.test(c.id)).flatMap(c => c.keys));
  await page.keyboard.press(pressed(key));
  await until(page, () => window.heddle.app.state.dialog.value === "palette", null, "the palette is open");
  const title = await page.evaluate(() => window.heddle.app.commands.ofKey("4").title);
  await page.keyboard.type(title.slice(0, 12));
  await page.keyboard.press("Enter");
  await until(page, () => window.heddle.app.state.tool.value === "time", null, "the timing tool is chosen");
  assert.equal(await state(page, "dialog"), null);
});

// ---- moving ----

test("w and s zoom at the pointer", async page => {
  await open(page, "small.json");
  await middle(page, 0.25);
  // Far from both limits, unless a busy machine lets go of the key late.
  for (let near = null, far = null; !far || spanOf(near) < 200 || spanOf(far) > 100000;) {
    await setState(page, "range", {from: 1500000, until: 1501000});
    near = await touch(page, "w");
    assert.ok(spanOf(near) < 950, JSON.stringify(near));
    closeTo(near.from + spanOf(near) * 0.25, 1500250, 2, "the time under the pointer stays");
    far = await touch(page, "s");
    assert.ok(spanOf(far) > 1.05 * spanOf(near));
    if (spanOf(far) < 100000) closeTo(far.from + spanOf(far) * 0.25, 1500250, spanOf(far) * 0.002, "and when zooming out");
  }
});

test("a, d and the arrows pan by the same span; Shift is faster", async page => {
  await open(page, "small.json");
  // How long a letter was really held: a busy machine lets go late.
  await page.evaluate(() => {
    const since = {};
    addEventListener("keydown", e => { since[e.code] ??= e.timeStamp; }, true);
    addEventListener("keyup", e => { if (e.code.startsWith("Key")) window.heldFor = e.timeStamp - since[e.code]; delete since[e.code]; }, true);
  });
  await middle(page);
  for (const [slow, fast, way] of [["d", "Shift+D", 1], ["a", "Shift+A", -1]]) {
    const speeds = [];
    for (const key of [slow, fast]) {
      let after = null, held = Infinity;
      while (held > 200) { // what a frame that comes late has missed is not made up for without limit
        await setState(page, "range", {from: 1400000, until: 1410000});
        after = await touch(page, key);
        held = Math.max(90, await page.evaluate(() => window.heldFor));
      }
      closeTo(spanOf(after), 10000, 1, "the span stays");
      speeds.push((after.from - 1400000) * way / held);
    }
    assert.ok(speeds[0] > 0 && speeds[1] > 1.5 * speeds[0], `${slow}: ${speeds}`);
  }
  for (const [key, way] of [["ArrowRight", 1], ["ArrowLeft", -1]]) {
    await setState(page, "range", {from: 1400000, until: 1410000});
    const after = await touch(page, key);
    assert.ok((after.from - 1400000) * way > 0, key);
  }
});

test("zoom ends at a tenth of a ns a pixel and at a little more than the whole", async page => {
  await open(page, "small.json");
  await middle(page);
  await setState(page, "range", {from: 1500000, until: 1502000});
  const near = await hold(page, "Shift+W", range => spanOf(range) < 1000);
  assert.ok(spanOf(near) > 1 && spanOf(near) < 1000, JSON.stringify(near));
  await setState(page, "range", {from: 1000000, until: 2000000});
  const far = await hold(page, "Shift+S", range => spanOf(range) >= spanOf(WHOLE));
  assert.ok(spanOf(far) >= spanOf(WHOLE) && spanOf(far) < 1.2 * spanOf(WHOLE), JSON.stringify(far));
});

test("0 shows the whole, f the selection", async page => {
  await open(page, "small.json");
  await setState(page, "range", {from: 1000000, until: 1000100});
  await page.keyboard.press("0");
  const whole = await still(page);
  assert.ok(whole.from <= 0 && whole.until >= 3000000 && spanOf(whole) < 1.2 * spanOf(WHOLE), JSON.stringify(whole));
  await setState(page, "area", {from: 1234000, until: 1235000, tracks: null});
  await page.keyboard.press("f");
  const fit = await still(page);
  assert.ok(fit.from <= 1234000 && fit.until >= 1235000 && spanOf(fit) < 3000, JSON.stringify(fit));
});

test("the wheel scrolls the tracks, with Ctrl it zooms at the pointer", async page => {
  await open(page, "small.json");
  await page.setViewportSize({width: 1400, height: 320});
  await drawn(page);
  await setState(page, "range", WHOLE);
  await middle(page, 0.25);
  await page.mouse.wheel(0, 120);
  await until(page, () => window.heddle.app.state.scroll.value > 0, null, "the tracks scroll");
  assert.deepEqual(await state(page, "range"), WHOLE, "and the time stays");
  await page.keyboard.down("Control");
  await page.mouse.wheel(0, -240);
  await until(page, span => { const {range} = window.heddle.app.state; return range.value.until - range.value.from < 0.9 * span; }, spanOf(WHOLE), "it zooms");
  await page.keyboard.up("Control");
  const near = await still(page);
  assert.ok(spanOf(near) < 0.9 * spanOf(WHOLE), JSON.stringify(near));
  closeTo(near.from + spanOf(near) * 0.25, 750000, spanOf(WHOLE) * 0.01, "the time under the pointer stays");
  await page.mouse.wheel(100, 0);
  await until(page, from => window.heddle.app.state.range.value.from > from, near.from, "a sideways wheel pans");
  const panned = await still(page);
  closeTo(spanOf(panned), spanOf(near), 1, "and keeps the span");
});

test("two fingers zoom", async (page, {context}) => {
  await open(page, "small.json");
  await setState(page, "range", WHOLE);
  await drawn(page);
  const {box} = await middle(page), y = box.y + 60, session = await context.newCDPSession(page);
  const touch = (type, points) => session.send("Input.dispatchTouchEvent", {type, touchPoints: points.map((share, id) => ({x: box.x + box.width * share, y, id}))});
  await touch("touchStart", [0.4, 0.6]);
  for (let k = 1; k <= 5; k++) await touch("touchMove", [0.4 - 0.04 * k, 0.6 + 0.04 * k]);
  await touch("touchEnd", []);
  const near = await still(page);
  closeTo(spanOf(near), spanOf(WHOLE) / 3, spanOf(WHOLE) * 0.03, "three times as near");
  closeTo(near.from + spanOf(near) / 2, 1500000, spanOf(WHOLE) * 0.03, "the middle stays");
}, {context: {hasTouch: true}});

test("the overview shows and moves the view", async page => {
  await open(page, "small.json");
  await setState(page, "range", {from: 0, until: 300000});
  await drawn(page);
  const box = await page.locator("#overview").boundingBox(), tracks = await page.locator("#tracks").boundingBox();
  await page.mouse.click(tracks.x + tracks.width * 0.8, box.y + box.height / 2);
  const range = await still(page);
  assert.ok(range.from < 2400000 && range.until > 2400000 && range.from > 1500000, JSON.stringify(range));
});

// ---- tools ----

test("tools are chosen by 1 to 4, !, @, # and $, and by their buttons", async page => {
  await open(page, "small.json");
  for (const [keys, tool] of [["2@", "pan"], ["3#", "zoom"], ["4$", "time"], ["1!", "select"]]) {
    for (const key of keys) {
      await setState(page, "tool", tool === "select" ? "pan" : "select");
      await page.keyboard.press(key);
      assert.equal(await state(page, "tool"), tool, key);
    }
    await setState(page, "tool", tool === "select" ? "pan" : "select");
    await page.click(`#toolbar [data-command=tool-${tool}]`);
    assert.equal(await state(page, "tool"), tool);
    assert.equal(await page.getAttribute(`#toolbar [data-command=tool-${tool}]`, "aria-pressed"), "true");
  }
});

async function drag(page, a, b) {
  const {box} = await middle(page), y = box.y + 40;
  await page.mouse.move(box.x + box.width * a, y);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * (a + b) / 2, y + 5, {steps: 4});
  await page.mouse.move(box.x + box.width * b, y + 10, {steps: 4});
  await page.mouse.up();
}

test("the pan tool drags the view", async page => {
  await open(page, "small.json");
  await setState(page, "range", {from: 1000000, until: 1100000});
  await page.keyboard.press("2");
  await drag(page, 0.6, 0.4);
  const range = await still(page);
  closeTo(spanOf(range), 100000, 1, "the span stays");
  assert.ok(range.from >= 1019000 && range.from < 1040000, `what was under the pointer stays under it: ${JSON.stringify(range)}`);
});

test("the zoom tool shows what was dragged over", async page => {
  await open(page, "small.json");
  await setState(page, "range", WHOLE);
  await page.keyboard.press("3");
  await drag(page, 0.25, 0.5);
  const range = await still(page);
  closeTo(range.from, 750000, 60000, "from");
  closeTo(range.until, 1500000, 60000, "until");
});

test("edges of the timing tool snap to slices", async page => {
  await open(page, "small.json");
  const stream = await trackOf(page, "stream 7");
  await show(page, 150000, 450000);
  await page.keyboard.press("4");
  // sgemm is from 200 to 350 µs; two pixels beside its edges.
  const px = 300000 / (await placeOf(page, stream)).width;
  const a = await pointAt(page, stream, 200000 + 2 * px), b = await pointAt(page, stream, 350000 - 2 * px);
  await page.mouse.move(a.x, a.y);
  await page.mouse.down();
  await page.mouse.move((a.x + b.x) / 2, a.y, {steps: 3});
  await page.mouse.move(b.x, b.y, {steps: 3});
  await page.mouse.up();
  await until(page, () => window.heddle.app.state.timing.value !== null, null, "there is a time");
  await until(page, () => { const t = window.heddle.app.state.timing.value; return t.from === 200000 && t.until === 350000; }, null,
    "both edges are those of the kernel");
  assert.match(await page.evaluate(() => document.body.innerText + JSON.stringify(window.heddle.drawList().texts ?? "")), /150([.,]0+)? ?[µu]s/);
});

test("m marks the selection, the mark has a duration and a name, and goes away", async page => {
  await open(page, "small.json");
  await setState(page, "area", {from: 500000, until: 800000, tracks: null});
  await page.keyboard.press("m");
  await until(page, () => window.heddle.app.state.marks.value.length === 1, null, "there is a mark");
  const [mark] = await state(page, "marks");
  assert.deepEqual([mark.from, mark.until], [500000, 800000]);
  await setState(page, "area", {from: 1500000, until: 1800000, tracks: null});
  await page.keyboard.press("m");
  await until(page, () => window.heddle.app.state.marks.value.length === 2, null, "there are two");
  await setState(page, "dialog", "marks");
  const input = page.locator("#dialogs input").first();
  await input.fill("first allreduce");
  await input.press("Enter");
  await until(page, () => window.heddle.app.state.marks.value.some(m => m.name === "first allreduce"), null, "it has a name");
  assert.match(await page.textContent("#dialogs"), /300[.,]?0* ?[µu]s/);
  await page.locator("#dialogs button", {hasText: /remove|delete|×|✕/i}).first().click();
  await until(page, () => window.heddle.app.state.marks.value.length === 1, null, "one is removed");
});

// ---- events ----

test(". and , go to the next and the previous event of the row", async page => {
  await open(page, "small.json");
  const stream = await trackOf(page, "stream 7"), starts = onTrack(small, 0, 7).map(s => s.start - small.start);
  await show(page, 0, 1000000);
  await clickEvent(page, stream, 275000);
  await until(page, () => window.heddle.app.state.selected.value.length === 1);
  for (let k = 1; k < starts.length; k++) {
    await page.keyboard.press(".");
    await until(page, start => window.heddle.app.state.selected.value.at(-1)?.start === start, starts[k], `. goes to ${starts[k]}`);
  }
  for (let k = starts.length - 2; k >= 0; k--) {
    await page.keyboard.press(",");
    await until(page, start => window.heddle.app.state.selected.value.at(-1)?.start === start, starts[k], `, goes to ${starts[k]}`);
  }
  await page.keyboard.press("Escape");
  await until(page, () => window.heddle.app.state.selected.value.length === 0, null, "Escape takes the selection away");
});

test("keys typed into a field are text", async page => {
  await open(page, "small.json");
  const before = await state(page, "range");
  await page.keyboard.press("/");
  await page.keyboard.type("wasd0fm?1234");
  assert.deepEqual(await state(page, "range"), before);
  assert.equal(await state(page, "tool"), "select");
  assert.equal(await state(page, "dialog"), null);
  await until(page, () => window.heddle.app.state.query.value.q === "wasd0fm?1234", null, "it is what is searched");
});

test("who wants less motion gets none: the view jumps", async page => {
  await page.emulateMedia({reducedMotion: "reduce"});
  await open(page, "small.json");
  await setState(page, "range", {from: 1000000, until: 1000100});
  await page.evaluate(() => {
    window.ranges = [];
    window.heddle.app.state.range.subscribe(r => window.ranges.push(r));
  });
  await page.keyboard.press("0");
  await still(page);
  assert.equal(await page.evaluate(() => window.ranges.length), 2, "what it was, and where it goes");
});
