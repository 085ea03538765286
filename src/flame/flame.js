/* flame.js - interaction of a flame graph in a browser: zoom, search, tooltips, keyboard
 *
 * The picture is complete without this script, which reads the frames from the data block, redraws them at the width of
 * the window, and replaces the fixed picture. Weights are BigInt: exact to the nanosecond. Frames of one colour are one
 * path, so that tens of thousands of frames are a few dozen elements; the frame under the pointer is computed from the
 * coordinates.
 */
(function () {
"use strict";
const SVG = "http://www.w3.org/2000/svg", HTML = "http://www.w3.org/1999/xhtml";
const svg = document.currentScript.closest("svg");
const data = JSON.parse(svg.querySelector(".data").textContent);
const standalone = svg === document.documentElement;
const ROW = data.row, PAD = data.pad, TOP = data.top, BOX = ROW - 1;
const CHAR = 6.63, WIDE = 3, NARROWEST = 0.15; /* px: a character, frames with a border, frames not drawn */
const MATCH = "#e600e6";
const compared = data.compared;

/* ---- frames: a tree in preorder; 0 is all; name 0 stands for frames too narrow to be here ---- */

const parent = [], depth = [], name = [], self = [], count = [], shade = [];
const oldSelf = [], oldCount = [], rest = new Map();

(function parse() {
  const t = data.frames.split(" "), path = [];
  for (let i = 0, n = 0; i < t.length; n++) {
    path.length -= +t[i++];
    parent.push(path.length ? path[path.length - 1] : -1);
    depth.push(path.length);
    path.push(n);
    name.push(+t[i++]);
    self.push(BigInt(t[i++]));
    count.push(+t[i++]);
    if (compared) {
      oldSelf.push(BigInt(t[i++]));
      oldCount.push(+t[i++]);
      shade.push(data.colors[+t[i++]]);
    } else {
      shade.push(data.colors[data.classes[name[n]]]);
    }
    if (name[n] === 0) {
      const more = {frames: +t[i++], gone: 0n, goneStacks: 0};
      if (compared) { more.gone = BigInt(t[i++]); more.goneStacks = +t[i++]; }
      rest.set(n, more);
    }
  }
})();

const frames = parent.length;
const end = new Uint32Array(frames), start = new Float64Array(frames), size = new Float64Array(frames);
const total = self.slice(), works = count.slice(), oldTotal = oldSelf.slice(), oldWorks = oldCount.slice();
const gone = new Map(); /* by frame: the cell of omitted callees that includes removed old frames */

(function measure() {
  for (let i = frames - 1; i >= 0; i--) {
    if (!end[i]) end[i] = i + 1;
    const p = parent[i];
    if (p < 0) continue;
    if (!end[p]) end[p] = end[i];
    total[p] += total[i];
    works[p] += works[i];
    if (compared) { oldTotal[p] += oldTotal[i]; oldWorks[p] += oldWorks[i]; }
  }
  const next = new Float64Array(frames);
  for (let i = 0; i < frames; i++) {
    size[i] = Math.max(0, Number(total[i]));
    start[i] = next[i] = parent[i] < 0 ? 0 : next[parent[i]];
    if (parent[i] >= 0) next[parent[i]] += size[i];
  }
  for (const [i, more] of rest) if (more.gone > 0n) gone.set(parent[i], more);
})();

/* A frame's key: the same in every file in which its name and those of its callers are the same. */
const key = (function () {
  function hash(text, seed) {
    for (let i = 0; i < text.length; i++) seed = Math.imul(seed ^ text.charCodeAt(i), 0x01000193);
    return seed >>> 0;
  }
  const names = data.names.map(n => [hash(n, 0x811c9dc5), hash(n, 0x2f0b4c47)]), keys = [];
  for (let i = 0; i < frames; i++) {
    const up = parent[i] < 0 ? [1, 2] : keys[parent[i]], own = names[name[i]];
    keys.push([Math.imul(up[0] ^ own[0], 0x9e3779b1) >>> 0, Math.imul(up[1] + own[1], 0x85ebca6b) >>> 0]);
  }
  return i => keys[i][0].toString(36) + keys[i][1].toString(36);
})();

/* ---- words ---- */

function grouped(n) { return n.toString().replace(/\B(?=(\d{3})+$)/g, ","); }

function human(w, signed) {
  const sign = w < 0n ? "\u2212" : signed && w > 0n ? "+" : "";
  const v = Math.abs(Number(w));
  const steps = data.unit === "ns" ? [[1e9, "s"], [1e6, "ms"], [1e3, "\u00b5s"]]
    : data.unit === "bytes" ? [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"]] : [];
  for (const [step, unit] of steps) {
    if (v >= step) return sign + grouped((v / step).toFixed(v >= step * 1e3 ? 0 : 3)) + " " + unit;
  }
  return sign + exact(w < 0n ? -w : w);
}

function exact(w) { return grouped(w) + " " + data.unit; }

function both(w) {
  const short = human(w), long = exact(w);
  return short === long ? long : short + " (" + long + ")";
}

function percent(part, whole) {
  return whole > 0 ? (Number(part) / Number(whole) * 100).toFixed(2) + " %" : "0.00 %";
}

function title(i) {
  if (name[i] !== 0) return data.names[name[i]];
  return "[" + grouped(rest.get(i).frames) + " narrower frames]";
}

function change(old, now) {
  const delta = now - old;
  if (old === 0n) return human(delta, true) + (now === 0n ? "" : " (not in the old one)");
  const p = Number(delta) / Number(old) * 100;
  return human(delta, true) + " (" + (p < 0 ? "\u2212" : p > 0 ? "+" : "") + Math.abs(p).toFixed(2) + " %)";
}

/* Colours mark GPU activities, so labels omit "[GPU_Kernel]". */
function label(i) { return title(i).replace(/^\[GPU_[A-Za-z]+\](?=.)/, ""); }

/* The lines of the tooltip: [word, value]. */
function facts(i) {
  const rows = [];
  if (compared) {
    rows.push(["new", both(total[i])], ["old", both(oldTotal[i])], ["change", change(oldTotal[i], total[i])]);
  } else {
    rows.push([data.what, both(total[i])]);
  }
  let share = percent(total[i], total[0]) + " of all";
  if (zoom && i !== zoom && inside(i, zoom)) share += ", " + percent(total[i], total[zoom]) + " of the zoomed frame";
  rows.push(["share", share]);
  if (name[i] !== 0) {
    rows.push(["own", compared ? both(self[i]) + ", was " + both(oldSelf[i]) : both(self[i])]);
  }
  rows.push(["count", grouped(works[i]) + (compared ? ", were " + grouped(oldWorks[i]) : "")]);
  const lost = gone.get(i);
  if (lost) rows.push(["gone", grouped(lost.goneStacks) + " old stacks below it, " + both(lost.gone)]);
  if (rest.has(i)) rows.push(["", "frames too narrow to be drawn each: use --min-percent"]);
  return rows;
}

/* The part of a text that fits a width: East Asian characters are twice as wide. */
function fit(text, width) {
  const places = Math.floor(width / CHAR);
  if (places < 4) return "";
  let used = 0, cut = 0, at = 0;
  for (const c of text) {
    const p = c.codePointAt(0);
    used += p >= 0x1100 && (p <= 0x115f || p >= 0x2e80 && p <= 0xd7a3 || p >= 0xf900 && p <= 0xfaff ||
      p >= 0xfe30 && p <= 0xfe6f || p >= 0xff00 && p <= 0xff60 || p >= 0x1f000) ? 2 : 1;
    if (used <= places - 1) cut = at + c.length;
    if (used > places) return cut ? text.slice(0, cut) + "\u2026" : "";
    at += c.length;
  }
  return text;
}

/* ---- elements ---- */

function make(space, tag, attributes, into) {
  const e = document.createElementNS(space, tag);
  for (const a in attributes) e.setAttribute(a, attributes[a]);
  if (into) into.appendChild(e);
  return e;
}

const head = svg.querySelector(".head"), heading = head.querySelector(".title");
const chart = make(SVG, "g", {class: "chart", tabindex: 0, role: "tree", "aria-label": data.title});
const boxes = make(SVG, "g", {"aria-hidden": "true"}, chart);
const labels = make(SVG, "g", {class: "t", "aria-hidden": "true"}, chart);
const ring = make(SVG, "g", {class: "ring", role: "treeitem", visibility: "hidden"}, chart);
const halo = make(SVG, "rect", {class: "halo", height: BOX}, ring), line = make(SVG, "rect", {height: BOX}, ring);
const pointed = make(SVG, "rect", {class: "pointed", height: BOX, visibility: "hidden"}, chart);
svg.replaceChild(chart, svg.querySelector(".static"));
svg.appendChild(head); /* above the frames, which scroll below it */
svg.setAttribute("role", "group");

const toolsBox = make(SVG, "foreignObject", {class: "tools", y: 6, width: 450, height: 50}, head);
const tools = make(HTML, "div", {}, toolsBox);
const input = make(HTML, "input", {type: "text", placeholder: "Search: regex  (/)", "aria-label": "Search",
  spellcheck: "false", title: "Regular expression; case matters only with a capital letter. Ctrl+F or /"}, tools);
function button(text, tip, act) {
  const b = make(HTML, "button", {type: "button", title: tip}, tools);
  b.textContent = text;
  b.addEventListener("click", act);
  return b;
}
const clearButton = button("Clear search", "Escape in the search field", () => { search(""); input.value = ""; });
const resetButton = button("Reset zoom", "Escape", () => zoomTo(0));
const found = make(HTML, "div", {class: "found", role: "status"}, tools);

const tipBox = make(SVG, "foreignObject", {class: "tip", width: 10, height: 10, visibility: "hidden"}, svg);
const tip = make(HTML, "div", {role: "tooltip"}, tipBox);
const panelBox = make(SVG, "foreignObject", {class: "panel", x: PAD, width: 10, height: 10, visibility: "hidden"}, svg);
const panel = make(HTML, "div", {role: "dialog", "aria-label": "Frames that are gone"}, panelBox);

/* ---- drawing ---- */

const paper = matchMedia("print"), page = svg.querySelector(".page");
let width = data.width, height = data.height, zoom = 0, focus = 0, scale = 1, rows = [], matches = null;

function inside(i, ancestor) { return i >= ancestor && i < end[ancestor]; }
function left(i) { return inside(i, zoom) ? PAD + (start[i] - start[zoom]) * scale : PAD; }
function wide(i) { return inside(i, zoom) ? size[i] * scale : width - 2 * PAD; }
function top(i) { return TOP + (data.icicle ? depth[i] : data.rows - 1 - depth[i]) * ROW; }
function px(v) { return Math.round(v * 100) / 100; }

function draw() {
  const paths = new Map(), texts = document.createDocumentFragment(), marks = [];
  scale = size[zoom] ? (width - 2 * PAD) / size[zoom] : 0;
  rows = Array.from({length: data.rows}, () => []);
  function put(i, faded) {
    const x = left(i), y = top(i), w = wide(i), hit = matches && matches[name[i]];
    const style = (w < WIDE ? "n" : "") + (hit ? "h" : faded || matches ? "f" : "") + (hit ? MATCH : shade[i]);
    let path = paths.get(style);
    if (!path) paths.set(style, path = []);
    path.push("M" + px(x) + " " + y + "h" + px(w) + "v" + BOX + "h-" + px(w) + "z");
    rows[depth[i]].push(i);
    const text = fit(label(i), w - 6);
    if (text) make(SVG, "text", {x: px(x + 3), y: y + BOX - 5}, texts).textContent = text;
    if (gone.has(i) && w >= WIDE) marks.push(i);
  }
  for (let i = parent[zoom]; i >= 0; i = parent[i]) put(i, true);
  for (let i = zoom; i < end[zoom];) {
    if (wide(i) < NARROWEST && i !== zoom) { i = end[i]; continue; }
    if (size[i] > 0 || i === zoom) put(i, false);
    i++;
  }
  const drawn = document.createDocumentFragment();
  for (const [style, path] of paths) {
    const kind = style.slice(0, style.indexOf("#")).replace("h", ""), color = style.slice(style.indexOf("#"));
    make(SVG, "path", {class: ("b " + kind.split("").join(" ")).trim(), fill: color, d: path.join("")}, drawn);
  }
  for (const i of marks) goneMark(i, drawn);
  boxes.replaceChildren(drawn);
  labels.replaceChildren(texts);
}

/* A line on the edge of a frame from which old stacks were removed, as wide as they were. */
function goneMark(i, into) {
  const w = Math.min(wide(i), Math.max(3, Number(gone.get(i).gone) * scale));
  const y = data.icicle ? top(i) + BOX - 3 : top(i);
  make(SVG, "rect", {class: "gone", x: px(left(i) + wide(i) - w), y: y, width: px(w), height: 3}, into);
}

function place(rect, i) {
  rect.setAttribute("x", px(left(i)));
  rect.setAttribute("y", top(i));
  rect.setAttribute("width", px(Math.max(1, wide(i))));
}

/* As wide as the window, and as high, so that there is room for tooltips; on paper as wide as the fixed picture. */
function resize() {
  const free = standalone && !paper.matches;
  height = free ? Math.max(data.height, innerHeight) : data.height;
  width = free ? Math.max(640, innerWidth - (data.height > innerHeight ? 16 : 0)) : data.width;
  svg.setAttribute("height", height);
  page.setAttribute("height", height);
  svg.setAttribute("width", width);
  svg.setAttribute("viewBox", "0 0 " + width + " " + height);
  for (const e of svg.querySelectorAll(".page")) e.setAttribute("width", width);
  toolsBox.setAttribute("x", width - PAD - 450);
  for (const [row, chars] of [[heading, 8.6], [head.querySelector(".sub"), 6.4]]) {
    row.dataset.full = row.dataset.full || row.textContent;
    const places = Math.floor((width - 2 * PAD - 460) / chars), text = row.dataset.full;
    row.textContent = text.length > places ? text.slice(0, Math.max(0, places - 1)) + "\u2026" : text;
  }
  draw();
  showFocus();
}

/* ---- zoom, focus, tooltip ---- */

function zoomTo(i, keepHash) {
  zoom = i;
  if (!inside(focus, zoom)) focus = zoom;
  hideTip();
  draw();
  showFocus();
  showFound();
  resetButton.disabled = zoom === 0;
  if (!keepHash) saveHash();
}

function showFocus() {
  const active = document.activeElement === chart && keyboard;
  ring.setAttribute("visibility", active ? "visible" : "hidden");
  place(halo, focus);
  place(line, focus);
  ring.id = "frame-" + focus;
  chart.setAttribute("aria-activedescendant", ring.id);
  ring.setAttribute("aria-level", depth[focus] + 1);
  ring.setAttribute("aria-label", title(focus) + ", " + facts(focus).map(f => f.join(" ")).join(", "));
  if (active) showTip(focus, left(focus), top(focus) + ROW);
}

function showTip(i, x, y) {
  tip.replaceChildren();
  make(HTML, "bdi", {class: "name"}, tip).textContent = title(i);
  const kind = rest.has(i) ? "" : data.kinds[Math.floor(data.classes[name[i]] / data.shades)];
  if (kind) make(HTML, "div", {class: "kind"}, tip).textContent = kind;
  const table = make(HTML, "table", {}, tip);
  for (const [word, value] of facts(i)) {
    const row = make(HTML, "tr", {}, table);
    make(HTML, "th", {}, row).textContent = word;
    make(HTML, "td", {}, row).textContent = value;
  }
  const long = title(i).length > 500; /* wide, so that the numbers below it stay visible */
  tip.firstChild.classList.toggle("long", long);
  const room = Math.min(long ? width : 620, width - 2 * PAD);
  tipBox.setAttribute("width", room);
  const w = Math.ceil(tip.offsetWidth) + 8, h = Math.ceil(tip.offsetHeight) + 8;
  tipBox.setAttribute("width", w);
  tipBox.setAttribute("height", h);
  const view = standalone ? {top: scrollY, bottom: scrollY + innerHeight} : {top: 0, bottom: height};
  let above = y + 16;
  if (above + h > view.bottom) above = Math.max(view.top, y - h - ROW - 8);
  tipBox.setAttribute("x", Math.max(PAD, Math.min(x + 12, width - PAD - w)));
  tipBox.setAttribute("y", above);
  tipBox.setAttribute("visibility", "visible");
}

function hideTip() {
  tipBox.setAttribute("visibility", "hidden");
  pointed.setAttribute("visibility", "hidden");
}

/* ---- search ---- */

let pattern = "";

function matcher(text) {
  const flags = /\p{Lu}/u.test(text) ? "u" : "iu";
  try {
    const r = new RegExp(text, flags);
    return n => r.test(n);
  } catch (e) {
    const low = text.toLowerCase();
    return flags === "u" ? n => n.includes(text) : n => n.toLowerCase().includes(low);
  }
}

/* The weight under matching frames; nested matches count once. */
function covered(from) {
  let sum = 0n, hits = 0;
  for (let i = from, skip = from; i < end[from]; i++) {
    if (!matches[name[i]]) continue;
    hits++;
    if (i < skip) continue;
    sum += total[i];
    skip = end[i];
  }
  return {sum, hits};
}

function showFound() {
  clearButton.disabled = !matches;
  if (!matches) { found.textContent = ""; return; }
  const all = covered(0), more = rest.size && all.sum < total[0] ? "at least " : "";
  let text = "Matched: " + more + percent(all.sum, total[0]) + " (" + human(all.sum) + "), " + grouped(all.hits) +
    (all.hits === 1 ? " frame" : " frames");
  if (zoom) text += "; " + percent(covered(zoom).sum, total[zoom]) + " of the zoom";
  found.textContent = text;
}

function search(text, keepHash) {
  pattern = text;
  matches = null;
  if (text) {
    const test = matcher(text);
    matches = data.names.map((n, i) => i > 1 && test(n)); /* neither omitted frames nor "all" */
  }
  draw();
  showFound();
  if (!keepHash) saveHash();
}

function openSearch() { input.focus(); input.select(); }

/* ---- the address keeps zoom and search ---- */

function saveHash() {
  if (!standalone) return;
  const parts = [];
  if (zoom) parts.push("zoom=" + key(zoom));
  if (pattern) parts.push("search=" + encodeURIComponent(pattern));
  const hash = parts.length ? "#" + parts.join("&") : "";
  if (hash === location.hash) return;
  try {
    history.replaceState(null, "", hash || location.pathname + location.search);
  } catch (e) {
    location.hash = hash;
  }
}

function loadHash() {
  const parts = (standalone ? location.hash : "").slice(1).split("&");
  const wanted = new Map(parts.map(p => [p.split("=")[0], p.slice(p.indexOf("=") + 1)]));
  let text = "", at = 0;
  try { text = decodeURIComponent(wanted.get("search") || ""); } catch (e) { text = wanted.get("search"); }
  if (wanted.get("zoom")) for (let i = frames - 1; i > 0 && !at; i--) if (key(i) === wanted.get("zoom")) at = i;
  input.value = text;
  search(text, true);
  focus = at;
  zoomTo(at, true);
}

/* ---- the pointer ---- */

function frameAt(event) {
  const r = svg.getBoundingClientRect(), by = r.width ? width / r.width : 1;
  const x = (event.clientX - r.left) * by, y = (event.clientY - r.top) * by;
  const row = Math.floor((y - TOP) / ROW), level = data.icicle ? row : data.rows - 1 - row;
  const list = y >= TOP && rows[level] || [];
  let low = 0, high = list.length;
  while (low < high) {
    const middle = low + high >> 1;
    if (left(list[middle]) <= x) low = middle + 1; else high = middle;
  }
  const i = low ? list[low - 1] : -1;
  return i >= 0 && x <= left(i) + wide(i) ? {i, x, y} : null;
}

let keyboard = false;

chart.addEventListener("mousemove", event => {
  const at = frameAt(event);
  if (!at) return hideTip();
  place(pointed, at.i);
  pointed.setAttribute("visibility", "visible");
  showTip(at.i, at.x, at.y);
});
chart.addEventListener("mouseleave", hideTip);
chart.addEventListener("mousedown", () => { keyboard = false; });
chart.addEventListener("click", event => {
  const at = frameAt(event);
  if (!at || rest.has(at.i)) return;
  focus = at.i;
  zoomTo(at.i);
});
chart.addEventListener("focus", () => {
  if (keyboard) showFocus();
});
chart.addEventListener("blur", () => { ring.setAttribute("visibility", "hidden"); hideTip(); });

/* ---- the keyboard ---- */

function step(i, by) {
  const list = rows[depth[i]], at = list.indexOf(i);
  return list[at + by] === undefined ? i : list[at + by];
}

function widestChild(i) {
  let best = -1;
  for (let c = i + 1; c < end[i]; c = end[c]) {
    if (inside(zoom, c)) return c; /* from a caller of the zoomed frame toward that */
    if (best < 0 || size[c] > size[best]) best = c;
  }
  return best < 0 || wide(best) < NARROWEST ? i : best;
}

const [AWAY, BACK] = data.icicle ? ["ArrowDown", "ArrowUp"] : ["ArrowUp", "ArrowDown"];
const moves = {
  [AWAY]: () => widestChild(focus),
  [BACK]: () => parent[focus] < 0 ? focus : parent[focus],
  ArrowLeft: () => step(focus, -1),
  ArrowRight: () => step(focus, 1),
  Home: () => 0,
};

function escape() {
  if (panelBox.getAttribute("visibility") === "visible") return showPanel(false);
  if (document.activeElement === input || !zoom) { input.value = ""; search(""); } else { zoomTo(0); }
  keyboard = true;
  chart.focus({preventScroll: true});
}

function onKey(event) {
  const typing = document.activeElement === input;
  keyboard = true;
  if ((event.ctrlKey || event.metaKey) && event.key === "f" && !typing || event.key === "/" && !typing &&
      !event.ctrlKey && !event.metaKey) {
    openSearch();
  } else if (event.key === "Escape") {
    escape();
  } else if (typing && event.key === "Enter") {
    search(input.value);
    chart.focus({preventScroll: true});
  } else if (typing || event.ctrlKey || event.metaKey || event.altKey || event.target.localName === "button") {
    return;
  } else if (moves[event.key]) {
    focus = moves[event.key]();
    chart.focus({preventScroll: true});
    showFocus();
    keepInView(focus);
  } else if (event.key === "Enter" || event.key === " ") {
    if (!rest.has(focus)) zoomTo(focus);
  } else {
    return;
  }
  event.preventDefault();
}
(standalone ? document : svg).addEventListener("keydown", onKey);
input.addEventListener("input", () => search(input.value));

function keepInView(i) {
  if (!standalone) return;
  if (top(i) < scrollY + TOP) scrollTo(0, top(i) - TOP);
  else if (top(i) + ROW > scrollY + innerHeight) scrollTo(0, top(i) + ROW - innerHeight);
}

/* ---- what is gone ---- */

function showPanel(on) {
  panelBox.setAttribute("visibility", on ? "visible" : "hidden");
  if (!on) return;
  panelBox.setAttribute("width", width - 2 * PAD);
  panelBox.setAttribute("y", (standalone ? scrollY : 0) + TOP);
  panelBox.setAttribute("height", Math.min(panel.scrollHeight + 4, (standalone ? innerHeight : height) - TOP - 10));
}

function fillPanel() {
  const goneButton = button("Gone", "Stacks that only the old one has", () =>
    showPanel(panelBox.getAttribute("visibility") !== "visible"));
  tools.insertBefore(goneButton, found);
  make(HTML, "strong", {}, panel).textContent = data.gone.text;
  const list = make(HTML, "ol", {}, panel);
  for (const [text, stacks, weight, below] of data.gone.list) {
    const item = make(HTML, "li", {}, list);
    make(HTML, "bdi", {}, item).textContent = text;
    const many = grouped(stacks) + (stacks === 1 ? " stack" : " stacks");
    item.append(" \u2014 " + both(BigInt(weight)) + ", " + many + ", was called by ");
    const go = make(HTML, "button", {type: "button"}, item);
    go.textContent = title(below);
    go.addEventListener("click", () => { showPanel(false); focus = below; zoomTo(below); });
  }
}

/* ---- begin ---- */

function followScroll() { head.style.transform = "translateY(" + Math.max(0, scrollY) + "px)"; }

if (data.gone && data.gone.list.length) fillPanel();
resize();
loadHash();
if (standalone) {
  addEventListener("resize", resize);
  paper.addEventListener("change", resize);
  addEventListener("hashchange", loadHash);
  addEventListener("scroll", () => { followScroll(); hideTip(); });
  addEventListener("beforeprint", hideTip);
  if (!data.icicle && data.height > innerHeight) scrollTo(0, data.height);
  followScroll();
}
})();
