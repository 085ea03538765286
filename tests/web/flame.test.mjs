// flame.test.mjs - flame graphs in a browser: what is drawn, zoom, search, keyboard, addresses, paper
//
// usage: node flame.test.mjs CHROMIUM DIR [NAME...]; run.py writes DIR and calls this
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import {runTests} from "./browser.mjs";

const [program, folder, ...only] = process.argv.slice(2);
const tests = [];
const test = (name, body) => tests.push({name, body});
const address = name => "file://" + path.join(folder, name);

// ---- a second reader of the data, so that the picture is not measured by the script that drew it ----

function readData(name) {
  const text = fs.readFileSync(path.join(folder, name), "utf8");
  const data = JSON.parse(text.match(/<script type="application\/json" class="data">\n(.*?)\n<\/script>/s)[1]);
  const numbers = data.frames.split(" ").map(Number), frames = [], open = [];
  for (let i = 0; i < numbers.length;) {
    open.length -= numbers[i++];
    const frame = {caller: open[open.length - 1], depth: open.length, used: 0};
    [frame.name, frame.total, frame.works] = [numbers[i++], numbers[i++], numbers[i++]];
    if (data.compared) { frame.old = numbers[i++]; i++; frame.color = data.colors[numbers[i++]]; }
    if (frame.name === 0) i += data.compared ? 3 : 1;
    frames.push(frame);
    open.push(frame);
  }
  for (const f of [...frames].reverse()) if (f.caller) { f.caller.total += f.total; f.caller.old += f.old; }
  for (const f of frames) {
    f.start = f.caller ? f.caller.start + f.caller.used : 0;
    if (f.caller) f.caller.used += f.total;
    f.text = f.name ? data.names[f.name] : "";
  }
  return {text, data, frames};
}

// "M12.3 40h5.2v17h-5.2z…" -> [{x, y, width}]
function boxesOf(d) {
  return [...d.matchAll(/M([\d.]+) (\d+)h([\d.]+)v17h-([\d.]+)z/g)].map(([, x, y, width, back]) => {
    assert.equal(width, back);
    return {x: +x, y: +y, width: +width};
  });
}

function assertDrawn({data, frames}, boxes, width, tolerance) {
  const scale = (width - 2 * data.pad) / frames[0].total, rows = new Map();
  for (const box of boxes) rows.set(box.y, [...(rows.get(box.y) || []), box]);
  for (const row of rows.values()) row.sort((a, b) => a.x - b.x);
  let seen = 0;
  for (let depth = 0; depth < data.rows; depth++) {
    const y = data.top + (data.icicle ? depth : data.rows - 1 - depth) * data.row;
    const wanted = frames.filter(f => f.depth === depth && f.total * scale >= 0.3);
    const row = (rows.get(y) || []).filter(box => box.width >= 0.3 - tolerance);
    assert.ok(row.length >= wanted.length, `row ${depth}: ${row.length} drawn, ${wanted.length} wanted`);
    let at = 0;
    for (const f of wanted) {
      while (row[at].x < data.pad + f.start * scale - tolerance) at++;
      const box = row[at++];
      assert.ok(Math.abs(box.x - data.pad - f.start * scale) <= tolerance, `${f.text} at ${box.x}`);
      assert.ok(Math.abs(box.width - f.total * scale) <= tolerance,
        `${f.text} is ${box.width} wide, not ${f.total * scale}`);
      seen++;
    }
  }
  assert.ok(seen > 0);
}

// ---- what is on the page ----

const drawnBoxes = async page =>
  (await page.$$eval(".chart path", list => list.map(e => e.getAttribute("d")))).flatMap(boxesOf);
const labels = page => page.$$eval(".chart text", list => list.map(e => e.textContent));
const found = page => page.textContent(".found");
const focused = page => page.$eval(".ring", e => e.getAttribute("aria-label"));
const isVisible = (page, what) => page.$eval(what, e => e.getAttribute("visibility") !== "hidden");
const width = page => page.$eval("svg", e => +e.getAttribute("width"));

// The middle of a frame with this label.
async function place(page, label) {
  const at = await page.$$eval(".chart text", (list, label) => {
    const e = list.find(e => e.textContent === label);
    return e && {x: e.getBoundingClientRect().x + 5, y: e.getBoundingClientRect().y + 5};
  }, label);
  assert.ok(at, `no frame says ${JSON.stringify(label)}`);
  return at;
}
async function click(page, label) {
  const {x, y} = await place(page, label);
  await page.mouse.click(x, y);
}
async function hover(page, label) {
  const {x, y} = await place(page, label);
  await page.mouse.move(x, y);
  assert.ok(await isVisible(page, ".tip"));
  return {
    name: await page.textContent(".tip .name"),
    ...Object.fromEntries(await page.$$eval(".tip tr", rows =>
      rows.map(r => [r.children[0].textContent, r.children[1].textContent]))),
  };
}
// The box behind a label.
async function boxAt(page, label) {
  const {x, y} = await page.$$eval(".chart text", (list, label) => {
    const e = list.find(e => e.textContent === label);
    return {x: +e.getAttribute("x"), y: +e.getAttribute("y")};
  }, label);
  return (await drawnBoxes(page)).find(b => b.y < y && y < b.y + 17 && b.x <= x && x <= b.x + b.width);
}
async function colorAt(page, label) {
  const box = await boxAt(page, label);
  return page.$$eval(".chart path", (list, start) =>
    list.find(e => e.getAttribute("d").includes(start)).getAttribute("fill"), `M${box.x} ${box.y}h${box.width}v`);
}

// ---- drawing ----

for (const name of ["small.svg", "icicle.svg", "wide.svg", "narrow.svg", "deep.svg", "diff.svg", "hostile.svg"]) {
  test(`the fixed picture has the widths of the weights: ${name}`, async () => {
    const picture = readData(name);
    const fixed = picture.text.match(/<g class="static">(.*?)<g class="t">/s)[1];
    const boxes = [...fixed.matchAll(/ d="([^"]*)"/g)].flatMap(m => boxesOf(m[1]));
    assertDrawn(picture, boxes, picture.data.width, 0.1 + 1e-6);
  });
  test(`the browser draws the widths of the weights: ${name}`, async page => {
    await page.goto(address(name));
    assertDrawn(readData(name), await drawnBoxes(page), await width(page), 0.02);
  });
}

test("callees fit into their callers and do not overlap", async page => {
  await page.goto(address("wide.svg"));
  const rows = new Map();
  for (const box of await drawnBoxes(page)) rows.set(box.y, [...(rows.get(box.y) || []), box]);
  assert.equal(rows.size, 21);
  for (const row of rows.values()) {
    row.sort((a, b) => a.x - b.x);
    for (let i = 1; i < row.length; i++) assert.ok(row[i - 1].x + row[i - 1].width <= row[i].x + 0.02);
  }
});

test("without scripts the picture is there, with its words", async (page, {browser}) => {
  const context = await browser.newContext({javaScriptEnabled: false});
  const still = await context.newPage();
  await still.goto(address("small.svg"));
  const texts = await still.locator(".static text").allTextContents();
  assert.ok(texts.includes("train.py: main") && texts.includes("aten::linear"), texts.join());
  assert.equal(await still.textContent(".title"),
    "GPU time: 1.000 ms of kernels, copies and memsets, 5 of them; 1.0 % without a stack");
  assert.deepEqual(await still.locator(".legend text").allTextContents(),
    ["Python", "annotation", "framework op", "CUDA/HIP API", "GPU kernel", "GPU copy or set", "missing or left out"]);
  await context.close();
});

test("it is a picture for <img> and one of two inside of a page", async page => {
  const inline = fs.readFileSync(path.join(folder, "small.svg"), "utf8").replace(/^<\?xml.*\n/, "");
  const html = path.join(folder, "page.html");
  fs.writeFileSync(html, `<!DOCTYPE html><meta charset="utf-8"><img src="small.svg">${inline}${inline}`);
  await page.goto("file://" + html);
  assert.equal(await page.$eval("img", e => e.complete && e.naturalWidth), 1200);
  assert.equal(await page.locator("svg .chart").count(), 2);
  await page.locator("svg .chart text", {hasText: "model.py: forward"}).last().scrollIntoViewIfNeeded();
  const at = await page.locator("svg .chart text", {hasText: "model.py: forward"}).last().boundingBox();
  await page.mouse.click(at.x + 5, at.y + 5);
  const zoomed = await page.$$eval("svg", list => list.map(e => !e.querySelector("button[title=Escape]").disabled));
  assert.deepEqual(zoomed, [false, true]);
});

test("names are cut to what fits", async page => {
  await page.goto(address("hostile.svg"));
  for (const e of await page.$$(".chart text")) {
    const {text, x, y, length} = await e.evaluate(e =>
      ({text: e.textContent, x: +e.getAttribute("x"), y: +e.getAttribute("y"), length: e.getComputedTextLength()}));
    const box = (await drawnBoxes(page)).find(b => b.x < x && x < b.x + b.width && b.y < y && y < b.y + 17);
    if (/^[\x20-\x7e\u2026]*$/.test(text)) assert.ok(x + length <= box.x + box.width, text);
  }
  assert.ok((await labels(page)).some(t => t.startsWith("longest<xx") && t.endsWith("\u2026")));
});

// ---- zoom ----

test("a click zooms into a frame, the button goes back", async page => {
  await page.goto(address("small.svg"));
  const before = await drawnBoxes(page), full = await width(page) - 20;
  await click(page, "model.py: forward");
  const isAt = async (label, x, share) => {
    const box = await boxAt(page, label);
    assert.ok(Math.abs(box.x - 10 - x * full) < 0.02 && Math.abs(box.width - share * full) < 0.02, JSON.stringify(box));
  };
  await isAt("model.py: forward", 0, 1);
  await isAt("aten::linear", 0, 0.8);
  await isAt("aten::relu", 0.8, 0.2);
  assert.ok(Math.abs((await boxAt(page, "train.py: main")).width - full) < 0.02, "callers stay, full width");
  assert.equal(await page.locator(".chart path.f").count() > 0, true, "and are faded");
  assert.ok(!(await labels(page)).includes("loss.py: backward"));
  await page.click("button >> text=Reset zoom");
  const byPlace = (a, b) => a.y - b.y || a.x - b.x;
  assert.deepEqual((await drawnBoxes(page)).sort(byPlace), before.sort(byPlace));
  assert.ok(await page.isDisabled("button >> text=Reset zoom"));
});

test("zooming shows names that did not fit before", async page => {
  await page.goto(address("small.svg"));
  assert.ok(!(await labels(page)).includes("Memcpy HtoD (Pageable -> Device)"));
  const cut = (await labels(page)).find(t => t.startsWith("Memcpy"));
  assert.ok(cut.endsWith("\u2026"));
  await click(page, cut);
  assert.ok((await labels(page)).includes("Memcpy HtoD (Pageable -> Device)"));
});

test("Enter zooms, Escape goes back", async page => {
  await page.goto(address("small.svg"));
  await page.focus(".chart");
  for (const key of ["ArrowUp", "ArrowUp", "Enter"]) await page.keyboard.press(key);
  assert.ok(Math.abs((await boxAt(page, "model.py: forward")).width - (await width(page) - 20)) < 0.02);
  await page.keyboard.press("Escape");
  assert.ok(Math.abs((await boxAt(page, "model.py: forward")).width - (await width(page) - 20) * 0.75) < 0.02);
});

test("20,000 frames zoom with a few changes of each frame, and are measured a few times in all", async page => {
  await page.goto(address("wide.svg"));
  const counts = await page.evaluate(() => {
    const chart = document.querySelector(".chart"), r = chart.getBoundingClientRect(), seen = new MutationObserver(() => {});
    let measured = 0;
    for (const [type, names] of [[Element, ["getBoundingClientRect", "getClientRects"]], [SVGGraphicsElement, ["getBBox"]],
      [SVGTextContentElement, ["getComputedTextLength", "getSubStringLength", "getExtentOfChar"]]])
      for (const name of names) {
        const was = type.prototype[name];
        type.prototype[name] = function (...words) {
          measured++;
          return was.apply(this, words);
        };
      }
    seen.observe(document, {subtree: true, childList: true, attributes: true, characterData: true});
    const step = act => {
      measured = 0;
      act();
      return [seen.takeRecords().length, measured];
    };
    const counts = [];
    for (let i = 0; i < 6; i++) {
      const clientX = r.left + r.width * (i + 1) / 8;
      counts.push(step(() => chart.dispatchEvent(new MouseEvent("click", {clientX, clientY: r.bottom - 27, bubbles: true}))));
      counts.push(step(() => document.querySelector("button[title=Escape]").click()));
    }
    return counts;
  });
  console.log(`  changes and measures of each zoom: ${JSON.stringify(counts)}`);
  assert.ok(counts.every(([changes, measured]) => changes > 0 && changes < 8 * 20_000 && measured < 20), JSON.stringify(counts));
});

// ---- the keyboard ----

test("arrows go to callees, callers and neighbours", async page => {
  await page.goto(address("small.svg"));
  await page.keyboard.press("Tab");
  const onChart = () => page.evaluate(() => document.activeElement.classList.contains("chart"));
  for (let i = 0; i < 6 && !await onChart(); i++) await page.keyboard.press("Tab");
  assert.ok(await isVisible(page, ".ring"), "the focus is seen");
  const walk = [["ArrowUp", "train.py: main"], ["ArrowUp", "model.py: forward"], ["ArrowLeft", "loss.py: backward"],
    ["ArrowRight", "model.py: forward"], ["ArrowRight", "to device"], ["ArrowRight", "to device"],
    ["ArrowDown", "train.py: main"], ["ArrowLeft", "[no stack]"], ["Home", "all"], ["ArrowDown", "all"]];
  for (const [key, name] of walk) {
    await page.keyboard.press(key);
    assert.ok((await focused(page)).startsWith(name + ","), `${key}: ${await focused(page)}, not ${name}`);
    assert.equal(await page.textContent(".tip .name"), name);
    assert.equal(await page.getAttribute(".chart", "aria-activedescendant"), await page.getAttribute(".ring", "id"));
  }
});

test("above the zoomed frame arrows stay on its way", async page => {
  await page.goto(address("small.svg"));
  await click(page, "loss.py: backward");
  for (const [key, name] of [["ArrowDown", "train.py: main"], ["ArrowDown", "all"], ["ArrowUp", "train.py: main"],
    ["ArrowUp", "loss.py: backward"], ["ArrowUp", "aten::linear"]]) {
    await page.keyboard.press(key);
    assert.ok((await focused(page)).startsWith(name + ","), `${key}: ${await focused(page)}, not ${name}`);
  }
});

test("in an icicle arrows down go to callees", async page => {
  await page.goto(address("icicle.svg"));
  await page.focus(".chart");
  await page.keyboard.press("ArrowDown");
  assert.ok((await focused(page)).startsWith("train.py: main,"));
  assert.equal((await boxAt(page, "all")).y, 88);
});

test("the mouse does not leave a focus ring", async page => {
  await page.goto(address("small.svg"));
  await click(page, "model.py: forward");
  assert.ok(!await isVisible(page, ".ring"));
  await page.keyboard.press("ArrowUp");
  assert.ok(await isVisible(page, ".ring"));
});

test("names and roles for those who cannot see it", async page => {
  await page.goto(address("small.svg"));
  assert.equal(await page.getAttribute(".chart", "role"), "tree");
  assert.match(await page.getAttribute(".chart", "aria-label"), /^GPU time: 1\.000 ms/);
  assert.equal(await page.title(), await page.getAttribute("svg", "aria-label"));
  await page.focus(".chart");
  await page.keyboard.press("ArrowUp");
  assert.equal(await focused(page),
    "train.py: main, GPU time 990.000 \u00b5s (990,000 ns), share 99.00 % of all, own 0 ns, count 4");
  assert.equal(await page.getAttribute(".ring", "aria-level"), "2");
});

// ---- search ----

test("a search says how much it matched, nested frames once", async page => {
  await page.goto(address("small.svg"));
  await page.keyboard.press("/");
  await page.keyboard.type("sgemm");
  assert.equal(await found(page), "Matched: 80.00 % (800.000 \u00b5s), 2 frames");
  const marked = await page.$$eval(".chart path[fill='#e600e6']", list => list.map(e => e.getAttribute("d")));
  assert.equal(marked.flatMap(boxesOf).length, 2);
  await page.fill("input", "forward|linear");
  assert.equal(await found(page), "Matched: 95.00 % (950.000 \u00b5s), 3 frames");
  await page.fill("input", "^all$");
  assert.match(await found(page), /^Matched: 0\.00 %/, "the root is not a frame");
  await page.fill("input", "no such frame");
  assert.equal(await found(page), "Matched: 0.00 % (0 ns), 0 frames");
});

test("Ctrl+F opens, Enter keeps, Escape clears", async page => {
  await page.goto(address("small.svg"));
  await page.keyboard.press("Control+f");
  assert.equal(await page.evaluate(() => document.activeElement.localName), "input");
  await page.keyboard.type("relu");
  await page.keyboard.press("Enter");
  assert.ok(await page.evaluate(() => document.activeElement.classList.contains("chart")));
  assert.equal(await found(page), "Matched: 15.00 % (150.000 \u00b5s), 2 frames");
  await page.keyboard.press("Control+f");
  await page.keyboard.press("Escape");
  assert.equal(await found(page), "");
  assert.equal(await page.$eval("input", e => e.value), "");
  assert.equal(await page.locator(".chart path[fill='#e600e6']").count(), 0);
});

test("what is not a regular expression is searched as it is; case matters with a capital", async page => {
  await page.goto(address("small.svg"));
  await page.fill("input", "(Pageable");
  assert.match(await found(page), /^Matched: 4\.00 %/);
  await page.fill("input", "SGEMM");
  assert.match(await found(page), /^Matched: 0\.00 %/);
  await page.fill("input", "memcpy");
  assert.equal(await found(page), "Matched: 4.00 % (40.000 \u00b5s), 2 frames");
  await page.click("button >> text=Clear search");
  assert.equal(await found(page), "");
});

test("a search in a zoomed frame says its share of that, too", async page => {
  await page.goto(address("small.svg"));
  await click(page, "model.py: forward");
  await page.fill("input", "relu");
  assert.equal(await found(page), "Matched: 15.00 % (150.000 \u00b5s), 2 frames; 20.00 % of the zoom");
});

// ---- tooltips ----

test("a tooltip has the name, the exact weight, shares, own weight and count", async page => {
  await page.goto(address("small.svg"));
  assert.deepEqual(await hover(page, "model.py: forward"), {name: "model.py: forward",
    "GPU time": "750.000 \u00b5s (750,000 ns)", share: "75.00 % of all", own: "0 ns", count: "2"});
  assert.equal(await page.textContent(".tip .kind"), "Python");
  await click(page, "model.py: forward");
  assert.equal((await hover(page, "relu_kernel")).share, "15.00 % of all, 20.00 % of the zoomed frame");
  assert.equal((await hover(page, "relu_kernel")).name, "[GPU_Kernel]relu_kernel");
  await page.mouse.move(5, 5);
  assert.ok(!await isVisible(page, ".tip"));
});

test("hostile names are text and nothing else", async page => {
  await page.goto(address("hostile.svg"));
  const names = new Set();
  for (const label of await labels(page)) names.add((await hover(page, label)).name);
  for (const name of ["a<b> & \"c\" 'd'", "]]></script><script>window.hacked = 1</script>",
    "back\\slash and        controls", "broken \ufffd\ufffd\ufffd utf-8 \ufffd",
    "\u05e9\u05dc\u05d5\u05dd \ufffd right to left", "nonchar \ufffd\ufffd", "\u6f22\u5b57\u6f22\u5b57 \ud83d\udd25",
    "${1}$& </svg> <!-- -->", "[unknown]", "longest<" + "x".repeat(3992), "nul nul"]) {
    assert.ok(names.has(name), `${JSON.stringify(name)} is not among ${JSON.stringify([...names])}`);
  }
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  await page.setViewportSize({width: 900, height: 500});
  await page.waitForFunction(() => document.documentElement.clientWidth <= 900 &&
    document.querySelector("svg").getBoundingClientRect().width <= 900);
  await hover(page, (await labels(page)).find(text => text.startsWith("longest")));
  const tip = await page.$eval(".tip div", e => e.getBoundingClientRect().toJSON());
  assert.ok(tip.left >= 0 && tip.right <= 900 && tip.top >= 0 && tip.bottom <= 500, JSON.stringify(tip));
});

test("a tooltip stays inside of the window", async page => {
  await page.setViewportSize({width: 900, height: 300});
  await page.goto(address("deep.svg"));
  await page.evaluate(() => new Promise(done => {
    addEventListener("scroll", () => requestAnimationFrame(done), {once: true});
    scrollTo(0, 1000);
  }));
  for (const [x, y] of [[30, 120], [60, 290], [150, 290], [100, 100]]) {
    await page.mouse.move(x, y);
    assert.ok(await isVisible(page, ".tip"), `${x} ${y}`);
    const r = await page.$eval(".tip div", e => e.getBoundingClientRect().toJSON());
    assert.ok(r.left >= 0 && r.right <= 900 && r.top >= 0 && r.bottom <= 300, JSON.stringify(r));
  }
});

// ---- what is left out ----

test("what is left out stands in the picture and in the words", async page => {
  await page.goto(address("narrow.svg"));
  assert.match((await page.locator(".sub").allTextContents()).join(),
    /1,000 of 1,003 frames below 0\.05 % are not drawn \(use --min-percent\)/);
  const label = (await labels(page)).find(t => t.startsWith("[1,000"));
  const tip = await hover(page, label);
  assert.equal(tip.name, "[1,000 narrower frames]");
  assert.equal(tip.weight, "1,000 samples");
  await page.fill("input", "busy");
  assert.equal(await found(page), "Matched: at least 90.00 % (9,000 samples), 1 frame");
});

// ---- the address ----

test("the address keeps zoom and search", async page => {
  await page.goto(address("small.svg"));
  await click(page, "model.py: forward");
  await page.fill("input", "relu|&x=%");
  assert.match(await page.evaluate(() => location.href), /#zoom=[0-9a-z]+&search=relu%7C%26x%3D%25$/);
  const before = await drawnBoxes(page), words = await found(page);
  await page.reload();
  assert.deepEqual(await drawnBoxes(page), before);
  assert.equal(await found(page), words);
  assert.equal(await page.$eval("input", e => e.value), "relu|&x=%");
  await page.click("button >> text=Reset zoom");
  await page.click("button >> text=Clear search");
  assert.ok(!(await page.evaluate(() => location.href)).includes("#"));
  await page.goto(address("small.svg") + "#zoom=nonsense&search=%E0%A4%A");
  assert.ok((await labels(page)).includes("all"));
});

// ---- windows and paper ----

test("the picture is as wide as the window", async page => {
  await page.setViewportSize({width: 1700, height: 800});
  await page.goto(address("small.svg"));
  assert.equal(await width(page), 1700);
  await page.setViewportSize({width: 800, height: 800});
  await page.waitForFunction(() => document.documentElement.getAttribute("width") === "800");
  assertDrawn(readData("small.svg"), await drawnBoxes(page), 800, 0.02);
});

test("a high picture begins at its root, and the head stays in sight", async page => {
  await page.setViewportSize({width: 1000, height: 500});
  await page.goto(address("deep.svg"));
  const root = await place(page, "all");
  assert.ok(root.y > 300 && root.y < 500);
  assert.ok((await page.locator(".title").boundingBox()).y >= 0);
  await page.evaluate(() => scrollTo(0, 700));
  await page.waitForFunction(() => document.querySelector(".title").getBoundingClientRect().y >= 0);
});

test("on paper there are no controls, and the text is black on white", async page => {
  await page.goto(address("small.svg"));
  await click(page, "model.py: forward");
  await page.emulateMedia({media: "print"});
  await page.waitForFunction(() => document.documentElement.viewBox.baseVal.width === 1200);
  for (const part of [".tools", ".tip", ".ring", ".pointed"]) {
    assert.equal(await page.$eval(part, e => getComputedStyle(e).display), "none", part);
  }
  assert.equal(await page.$eval(".sub", e => getComputedStyle(e).fill), "rgb(0, 0, 0)");
  assert.equal(await page.$eval(".page", e => e.getAttribute("fill")), "#fff");
  await page.emulateMedia({media: "screen"});
  await page.click("button >> text=Reset zoom");
  await page.emulateMedia({media: "print"});
  await page.waitForFunction(() => document.documentElement.viewBox.baseVal.width === 1200);
  assertDrawn(readData("small.svg"), await drawnBoxes(page), 1200, 0.02);
  assert.ok((await page.pdf({printBackground: false})).length > 5000);
});

// ---- two flames ----

test("compared: red is more, blue is less, grey the same", async page => {
  await page.goto(address("diff.svg"));
  const channels = async label => (await colorAt(page, label)).match(/[0-9a-f]{2}/g).map(c => parseInt(c, 16));
  const signs = {slower: 1, a: 1, appeared: 1, faster: -1, b: -1, tuned: -1, main: -1, same: 0, c: 0};
  for (const [label, sign] of Object.entries(signs)) {
    const [red, , blue] = await channels(label);
    assert.equal(Math.sign(red - blue), sign, `${label}: ${red} ${blue}`);
  }
  const strength = async label => {
    const [red, , blue] = await channels(label);
    return Math.abs(red - blue);
  };
  assert.ok(await strength("appeared") > await strength("slower"));
  assert.ok(await strength("faster") > await strength("tuned"));
});

test("compared: tooltips have both weights and the change", async page => {
  await page.goto(address("diff.svg"));
  assert.deepEqual(await hover(page, "faster"), {name: "faster", new: "100.000 \u00b5s (100,000 ns)",
    old: "300.000 \u00b5s (300,000 ns)", change: "\u2212200.000 \u00b5s (\u221266.67 %)", share: "22.22 % of all",
    own: "0 ns, was 0 ns", count: "1, were 1"});
  assert.equal((await hover(page, "appeared")).change, "+40.000 \u00b5s (not in the old one)");
  assert.equal((await hover(page, "same")).change, "0 ns (0.00 %)");
  assert.equal((await hover(page, "main")).gone, "2 old stacks below it, 66.000 \u00b5s (66,000 ns)");
  const all = await hover(page, "all");
  assert.equal(all.new, "450.000 \u00b5s (450,000 ns)");
  assert.equal(all.old, "596.000 \u00b5s (596,000 ns)");
});

test("compared: kernels with other template arguments are one", async page => {
  await page.goto(address("diff.svg"));
  const tip = await hover(page, (await labels(page)).find(t => t.startsWith("void gemm")));
  assert.equal(tip.name, "[GPU_Kernel]void gemm<128, 64>(float*)");
  assert.equal(tip.old, "80.000 \u00b5s (80,000 ns)");
});

test("compared: what is gone is counted, marked and listed", async page => {
  await page.goto(address("diff.svg"));
  assert.match((await page.locator(".sub").allTextContents()).join(), /gone: 2 stacks, 66\.000 \u00b5s/);
  const fixed = readData("diff.svg").text
    .match(/<rect class="gone" x="([\d.]+)" y="\d+" width="([\d.]+)" height="3"\/>\n<g class="t">/);
  assert.ok(Math.abs(fixed[2] - 1180 * 66 / 450) <= 0.1 && Math.abs(+fixed[1] + +fixed[2] - 1190) <= 0.1, fixed[0]);
  const marks = await page.$$eval(".chart .gone", l => l.map(e => +e.getAttribute("width")));
  assert.equal(marks.length, 1);
  assert.ok(Math.abs(marks[0] - (await width(page) - 20) * 66 / 450) < 0.02);
  assert.ok(!await isVisible(page, ".panel"));
  await page.click("button >> text=Gone");
  assert.ok(await isVisible(page, ".panel"));
  assert.deepEqual(await page.locator(".panel li").allTextContents(),
    ["went \u2014 66.000 \u00b5s (66,000 ns), 2 stacks, was called by main"]);
  await page.click(".panel li button");
  assert.ok(!await isVisible(page, ".panel"));
  assert.ok(!await page.isDisabled("button >> text=Reset zoom"));
});

// ---- run them ----

fs.writeFileSync(path.join(folder, "blank.html"), "<!DOCTYPE html><title>blank</title>");
const allGood = await runTests(tests, {program, only, allowed: url => url.startsWith("file://" + folder + "/"),
  rest: () => address("blank.html"), options: {viewport: {width: 1400, height: 800}}});
process.exit(allGood ? 0 : 1);
