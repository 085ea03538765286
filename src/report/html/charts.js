/* Charts of a table: of a report as an HTML page (html.js), and in the web UI of `heddle view`.
 *
 * Functions give the content, so that its source does not matter: chart is "bars", "lanes", "series" or "scatter"; title is that
 * of the table; rows is a list of anything; width is that of the picture, in units of which a letter takes 7, 1000 by
 * default; label and values are lists of columns, which may be any values accepted by these functions: name(column) is
 * the display name, value(row, column) its number, null: unknown, and text(row, column) the displayed text; "" or "-":
 * unknown. */
const SVG = "http://www.w3.org/2000/svg";
const COLORS = 8, BARS = 20;

const element = (parent, name, attributes, text) => {
  const made = document.createElementNS(SVG, name);
  for (const [key, is] of Object.entries(attributes)) made.setAttribute(key, is);
  if (text !== undefined) made.textContent = text;
  parent.append(made);
  return made;
};
const color = (i) => "var(--c" + (i % COLORS) + ")";
/* A class of GPU time has its colour on every page that gives it one. */
const colorOf = (name, i) => {
  const found = /communication|compute|copy|copies|idle|wait/.exec(name);
  return found ? "var(--" + found[0].replace("copies", "copy") + ", " + color(i) + ")" : color(i);
};
const short = (text, size) => {
  const letters = [...text];
  return letters.length <= size ? text : letters.slice(0, size - 9).join("") + "\u2026" + letters.slice(-8).join("");
};
const widthOf = (of) => of.width || 1000;
const figure = (of, height) => {
  const made = document.createElement("figure");
  const svg = element(made, "svg", {viewBox: "0 0 " + widthOf(of) + " " + height, role: "img"});
  svg.setAttribute("aria-label", of.title);
  return svg;
};
const legend = (svg, names, colors = names.map((_, i) => color(i))) => {
  const caption = document.createElement("figcaption");
  names.forEach((name, i) => {
    const item = document.createElement("span"), mark = document.createElement("i");
    mark.style.background = colors[i];
    item.append(mark, name);
    caption.append(item);
  });
  svg.after(caption);
};
// The label columns that distinguish rows.
const labelsOf = (of) => {
  const telling = of.label.filter((i) => of.rows.some((row) => of.text(row, i) !== of.text(of.rows[0], i)));
  return telling.length ? telling : of.label;
};
// A number alone says nothing: "rank 1 \u00b7 GPU 1".
const labelOf = (of, row) => of.label.map((i) => [of.text(row, i), of.name(i)]).filter(([text]) => text && text !== "-")
  .map(([text, name]) => /^-?\d+$/.test(text) ? (name === "device" ? "GPU" : name) + " " + text : text)
  .join(" \u00b7 ");

/* A row's values: bars one after the other, which add up, or lanes one below the other, which overlap. The longest row
 * fills the room. If there is little room, its label is above. */
const NARROW = 600, LETTER = 8; // of 12 px, wide ones as well
const bars = (of) => {
  const rows = of.rows.slice(0, BARS), length = (row, i) => Math.max(0, of.value(row, i) || 0);
  const isLanes = of.chart === "lanes", lanes = isLanes ? of.values.length : 1, thick = isLanes ? 8 : 15;
  const add = (sum, more) => isLanes ? Math.max(sum, more) : sum + more;
  const most = Math.max(...rows.map((row) => of.values.reduce((sum, i) => add(sum, length(row, i)), 0)));
  if (!(most > 0) || !of.values.length) return null;
  const narrow = widthOf(of) < NARROW, high = (narrow ? 23 : 7) + Math.max(15, thick * lanes), left = narrow ? 0 : 0.33 * widthOf(of);
  const svg = figure(of, rows.length * high + 4), room = widthOf(of) - left - 90;
  rows.forEach((row, at) => {
    let x = left;
    const above = at * high + 2, y = at * high + (narrow ? 18 : 2), label = labelOf(of, row);
    element(element(svg, "text", narrow ? {x: 0, y: above + 13} : {x: left - 8, y: y + 14, "text-anchor": "end"},
      short(label, Math.floor((narrow ? widthOf(of) : left - 8) / LETTER))), "title", {}, label);
    of.values.forEach((i, n) => {
      const width = room * length(row, i) / most;
      const lane = isLanes ? {y: y + 2 + thick * n, height: thick - 1} : {y: y + 2, height: thick};
      element(element(svg, "rect", {x, width, fill: colorOf(of.name(i), n), ...lane}), "title", {}, of.name(i) + " " + of.text(row, i));
      if (!isLanes) x += width;
    });
    if (of.values.length === 1) element(svg, "text", {x: x + 6, y: y + 14, class: "soft"}, of.text(row, of.values[0]));
  });
  if (of.values.length > 1) legend(svg, of.values.map(of.name), of.values.map((i, n) => colorOf(of.name(i), n)));
  return svg.parentNode;
};

const least = (all) => all.reduce((a, b) => Math.min(a, b), Infinity); /* as arguments, many would be too many */
const greatest = (all) => all.reduce((a, b) => Math.max(a, b), -Infinity);
const scale = (all, from, to, log) => {
  const place = (v) => log ? Math.log(v) : v, low = place(least(all));
  const span = place(greatest(all)) - low || 1;
  return (v) => from + (to - from) * (place(v) - low) / span;
};

/* A line through the third column over the first, for each value of the fourth: it rises proportionally to the first,
 * then is flat. The turn between two points is at the intersection. */
const roofs = (svg, of, rows, x, y) => {
  const [xAt, , roofAt, groupAt] = of.values, groups = new Map();
  for (const row of rows.filter((r) => of.value(r, roofAt) > 0)) {
    const key = groupAt === undefined ? null : of.value(row, groupAt);
    groups.set(key, [...groups.get(key) || [], [of.value(row, xAt), of.value(row, roofAt)]]);
  }
  for (const points of groups.values()) {
    points.sort(([a], [b]) => a - b);
    const path = points.flatMap(([at, high], i) => {
      const [before, low] = points[i - 1] || [at, high], turn = before * high / low;
      return turn > before && turn < at ? [[turn, high], [at, high]] : [[at, high]];
    });
    element(svg, "path", {d: "M" + path.map(([a, b]) => x(a).toFixed(1) + " " + y(b).toFixed(1)).join("L"), class: "roof",
      fill: "none"});
  }
};

/* Points of two columns; lines hold their value until the next point. */
const points = (of, isLine) => {
  const [xAt, yAt, roofAt] = of.values, log = !isLine;
  if (yAt === undefined) return null; /* the trace has neither, or only one of them */
  const rows = of.rows.filter((row) => of.value(row, xAt) !== null && of.value(row, yAt) !== null &&
    (!log || (of.value(row, xAt) > 0 && of.value(row, yAt) > 0)));
  if (!rows.length) return null;
  const ys = rows.map((row) => of.value(row, yAt)), xs = rows.map((row) => of.value(row, xAt));
  const tops = roofAt === undefined || isLine ? [] : rows.map((row) => of.value(row, roofAt) || 0);
  const svg = figure(of, 260), right = widthOf(of) - 10, x = scale(xs, 70, right - 5, log);
  const y = scale(isLine ? [0, ...ys] : [...ys, ...tops.filter((v) => v > 0)], 225, 15, log), groups = new Map();
  element(svg, "path", {class: "axis", d: "M70 10V230H" + right, fill: "none"});
  if (tops.length) roofs(svg, of, rows, x, y);
  rows.forEach((row) => {
    const group = isLine ? labelOf(of, row) : "";
    if (!groups.has(group)) groups.set(group, []);
    groups.get(group).push(row);
  });
  [...groups.values()].forEach((members, n) => {
    if (isLine) {
      const path = members.map((row, i) => {
        const a = x(of.value(row, xAt)).toFixed(1), b = y(of.value(row, yAt)).toFixed(1);
        return i ? "H" + a + "V" + b : "M" + a + " " + b;
      });
      element(svg, "path", {d: path.join(""), fill: "none", stroke: color(n), "stroke-width": 1.5});
      return;
    }
    for (const row of members) {
      const dot = element(svg, "circle", {cx: x(of.value(row, xAt)), cy: y(of.value(row, yAt)), r: 4, fill: color(n),
        "fill-opacity": 0.7});
      element(dot, "title", {}, labelOf(of, row) + " " + of.text(row, xAt) + " " + of.text(row, yAt));
    }
  });
  const text = (all, value, i) => of.text(rows[all.indexOf(value)], i);
  element(svg, "text", {x: 64, y: 20, "text-anchor": "end", class: "soft"},
    greatest(tops) > greatest(ys) ? text(tops, greatest(tops), roofAt) : text(ys, greatest(ys), yAt));
  if (!isLine) element(svg, "text", {x: 64, y: 228, "text-anchor": "end", class: "soft"}, text(ys, least(ys), yAt));
  element(svg, "text", {x: 70, y: 248, class: "soft"}, text(xs, least(xs), xAt));
  element(svg, "text", {x: right, y: 248, "text-anchor": "end", class: "soft"}, text(xs, greatest(xs), xAt));
  element(svg, "text", {x: (70 + right) / 2, y: 248, "text-anchor": "middle"}, of.name(xAt) + (log ? ", log" : ""));
  element(svg, "text", {x: 78, y: 20}, of.name(yAt) + (log ? ", log" : ""));
  if (groups.size > 1) legend(svg, [...groups.keys()]);
  return svg.parentNode;
};

/* The figure, null where there is nothing to draw. */
export const drawChart = (given) => {
  const of = {...given, label: labelsOf(given)};
  return of.chart === "bars" || of.chart === "lanes" ? bars(of) : points(of, of.chart === "series");
};
