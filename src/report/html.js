"use strict";
/* Tables that are sorted and searched, and charts of those that name one. The numbers are in data-v, as they are. */
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const COLORS = 8, BARS = 20;

  const value = (row, column) => {
    const cell = row.cells[column];
    if (cell.dataset.v !== undefined) return Number(cell.dataset.v);
    return cell.className === "null" || cell.classList.contains("null") ? null : cell.textContent;
  };

  /* ---- sorting, searching ---- */

  const sortBy = (table, head, column) => {
    const body = table.tBodies[0], up = head.getAttribute("aria-sort") === "descending";
    const rows = [...body.rows].map((row) => [value(row, column), row]);
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    rows.sort(([a], [b]) => {
      if (a === null || b === null) return (a === null) - (b === null);
      const order = a < b ? -1 : a > b ? 1 : 0;
      return up ? order : -order;
    });
    body.append(...rows.map(([, row]) => row));
  };

  const search = (table) => {
    const box = document.createElement("input");
    box.type = "search";
    box.className = "find";
    box.placeholder = "search " + table.tBodies[0].rows.length + " rows";
    box.setAttribute("aria-label", box.placeholder);
    box.addEventListener("input", () => {
      const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
      for (const row of table.tBodies[0].rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
      }
    });
    table.parentNode.before(box);
  };

  const prepare = (table) => {
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = document.createElement("button");
      button.append(...head.childNodes);
      button.addEventListener("click", () => sortBy(table, head, column));
      head.append(button);
    });
    if (table.tBodies[0].rows.length > 5) search(table);
  };

  /* ---- charts ---- */

  const element = (parent, name, attributes, text) => {
    const made = document.createElementNS(SVG, name);
    for (const [key, is] of Object.entries(attributes)) made.setAttribute(key, is);
    if (text !== undefined) made.textContent = text;
    parent.append(made);
    return made;
  };
  const color = (i) => "var(--c" + (i % COLORS) + ")";
  const short = (text, size) => {
    const letters = [...text];
    return letters.length <= size ? text : letters.slice(0, size - 9).join("") + "\u2026" + letters.slice(-8).join("");
  };
  const figure = (table, height) => {
    const made = document.createElement("figure");
    const svg = element(made, "svg", {viewBox: "0 0 1000 " + height, role: "img"});
    svg.setAttribute("aria-label", table.dataset.title);
    table.parentNode.before(made);
    return svg;
  };
  const legend = (svg, names) => {
    const caption = document.createElement("figcaption");
    names.forEach((name, i) => {
      const item = document.createElement("span"), mark = document.createElement("i");
      mark.style.background = color(i);
      item.append(mark, name);
      caption.append(item);
    });
    svg.after(caption);
  };
  const columns = (table) => {
    const heads = [...table.tHead.rows[0].cells].map((head) => head.dataset.name);
    const at = (name) => heads.indexOf(name);
    return {
      label: (table.dataset.label || "").split(",").map(at).filter((i) => i >= 0),
      values: table.dataset.values.split(",").map(at).filter((i) => i >= 0),
      name: (i) => table.tHead.rows[0].cells[i].textContent,
    };
  };
  const labelOf = (row, of) => of.label.map((i) => row.cells[i].textContent).filter((text) => text && text !== "-").join(" ");

  /* A row's values beside one another: its share of the longest row. */
  const bars = (table) => {
    const of = columns(table), rows = [...table.tBodies[0].rows].slice(0, BARS);
    const sums = rows.map((row) => of.values.reduce((sum, i) => sum + Math.max(0, value(row, i) || 0), 0));
    const most = Math.max(...sums);
    if (!(most > 0) || !of.values.length) return;
    const svg = figure(table, rows.length * 22 + 4);
    rows.forEach((row, at) => {
      let x = 330;
      const y = at * 22 + 2, label = labelOf(row, of);
      element(element(svg, "text", {x: 322, y: y + 14, "text-anchor": "end"}, short(label, 46)), "title", {}, label);
      of.values.forEach((i, n) => {
        const width = 560 * Math.max(0, value(row, i) || 0) / most;
        const bar = element(svg, "rect", {x, y: y + 2, width, height: 15, fill: color(n)});
        element(bar, "title", {}, of.name(i) + " " + row.cells[i].textContent);
        x += width;
      });
      if (of.values.length === 1)
        element(svg, "text", {x: x + 6, y: y + 14, class: "soft"}, row.cells[of.values[0]].textContent);
    });
    if (of.values.length > 1) legend(svg, of.values.map(of.name));
  };

  const scale = (all, from, to, log) => {
    const low = Math.min(...all), high = Math.max(...all);
    const place = (v) => log ? Math.log(v) : v;
    const span = place(high) - place(low) || 1;
    return (v) => from + (to - from) * (place(v) - place(low)) / span;
  };

  /* A line through the third column over the first, for each value of the fourth: it rises as the first does, then is flat.
     Where it turns between two points is where the one meets the other. */
  const roofs = (svg, rows, of, x, y) => {
    const [xAt, , roofAt, groupAt] = of.values, groups = new Map();
    for (const row of rows.filter((r) => value(r, roofAt) > 0)) {
      const key = value(row, groupAt);
      groups.set(key, [...groups.get(key) || [], [value(row, xAt), value(row, roofAt)]]);
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
  const points = (table, isLine) => {
    const of = columns(table), [xAt, yAt, roofAt] = of.values, log = !isLine;
    if (yAt === undefined) return; /* the trace tells neither, or one of them */
    const rows = [...table.tBodies[0].rows].filter((row) => value(row, xAt) !== null && value(row, yAt) !== null &&
      (!log || (value(row, xAt) > 0 && value(row, yAt) > 0)));
    if (!rows.length) return;
    const ys = rows.map((row) => value(row, yAt)), xs = rows.map((row) => value(row, xAt));
    const tops = roofAt === undefined ? [] : rows.map((row) => value(row, roofAt) || 0);
    const svg = figure(table, 260), x = scale(xs, 70, 985, log);
    const y = scale(isLine ? [0, ...ys] : [...ys, ...tops.filter((v) => v > 0)], 225, 15, log), groups = new Map();
    element(svg, "path", {class: "axis", d: "M70 10V230H990", fill: "none"});
    if (tops.length) roofs(svg, rows, of, x, y);
    rows.forEach((row) => {
      const group = isLine ? labelOf(row, of) : "";
      if (!groups.has(group)) groups.set(group, []);
      groups.get(group).push(row);
    });
    [...groups.values()].forEach((members, n) => {
      if (isLine) {
        const path = members.map((row, i) => {
          const a = x(value(row, xAt)).toFixed(1), b = y(value(row, yAt)).toFixed(1);
          return i ? "H" + a + "V" + b : "M" + a + " " + b;
        });
        element(svg, "path", {d: path.join(""), fill: "none", stroke: color(n), "stroke-width": 1.5});
        return;
      }
      for (const row of members) {
        const dot = element(svg, "circle", {cx: x(value(row, xAt)), cy: y(value(row, yAt)), r: 4, fill: color(n),
          "fill-opacity": 0.7});
        element(dot, "title", {}, labelOf(row, of) + " " + row.cells[xAt].textContent + " " + row.cells[yAt].textContent);
      }
    });
    const least = (all, i) => rows[all.indexOf(Math.min(...all))].cells[i].textContent;
    const most = (all, i) => rows[all.indexOf(Math.max(...all))].cells[i].textContent;
    element(svg, "text", {x: 64, y: 20, "text-anchor": "end", class: "soft"},
      Math.max(...tops) > Math.max(...ys) ? most(tops, roofAt) : most(ys, yAt));
    if (!isLine) element(svg, "text", {x: 64, y: 228, "text-anchor": "end", class: "soft"}, least(ys, yAt));
    element(svg, "text", {x: 70, y: 248, class: "soft"}, least(xs, xAt));
    element(svg, "text", {x: 990, y: 248, "text-anchor": "end", class: "soft"}, most(xs, xAt));
    element(svg, "text", {x: 530, y: 248, "text-anchor": "middle"}, of.name(xAt) + (log ? ", log" : ""));
    element(svg, "text", {x: 78, y: 20}, of.name(yAt) + (log ? ", log" : ""));
    if (groups.size > 1) legend(svg, [...groups.keys()]);
  };

  const charts = {bars, series: (table) => points(table, true), scatter: (table) => points(table, false)};
  for (const table of document.querySelectorAll("table")) {
    if (table.dataset.chart) charts[table.dataset.chart](table);
    prepare(table);
  }
})();
