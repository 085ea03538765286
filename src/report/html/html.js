/* Sortable and searchable tables, and charts (charts.js, which comes before this in one module). The raw numbers are in
 * data-v. */
(() => {
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
    if (table.tBodies[0].rows.length > 10) search(table);
  };

  /* ---- charts ---- */

  const chart = (table, width) => {
    const heads = [...table.tHead.rows[0].cells];
    const columns = (names) => (names || "").split(",").map((name) => heads.findIndex((head) => head.dataset.name === name))
      .filter((i) => i >= 0);
    return drawChart({chart: table.dataset.chart, title: table.dataset.title, rows: [...table.tBodies[0].rows], width,
      label: columns(table.dataset.label), values: columns(table.dataset.values), name: (i) => heads[i].textContent, value,
      text: (row, i) => row.cells[i].textContent});
  };

  // As wide as there is room, once it is seen: in a fold when that is opened.
  const drawAll = () => {
    for (const table of document.querySelectorAll("table[data-chart]")) {
      if (table.closest("details:not([open])")) continue;
      const width = Math.min(1000, table.closest("section").clientWidth);
      if (!width || Number(table.dataset.drawn) === width) continue;
      table.dataset.drawn = width;
      const before = table.parentNode.previousElementSibling, drawn = chart(table, Math.max(300, width));
      if (before && before.tagName === "FIGURE") before.remove();
      if (drawn) table.parentNode.before(drawn);
    }
  };

  for (const table of document.querySelectorAll("table")) prepare(table);
  drawAll();
  document.addEventListener("toggle", drawAll, true);
  addEventListener("resize", drawAll);
})();
