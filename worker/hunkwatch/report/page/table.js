"use strict";
// The table of traces, from the numbers in #data: sorted, filtered, in pages. What comes from data is set as text, never as markup.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);

  const SIZE = 50;
  const { columns, rows } = data.traces;
  const at = Object.fromEntries(columns.map((column, index) => [column.id, index]));
  const table = byId("table");
  let order = rows.map((_, index) => index);
  let page = 0;
  let sorted = { column: -1, up: false };

  const element = (name, text, more = {}) => Object.assign(document.createElement(name), { textContent: text }, more);
  const read = columns.filter((column) => column.title || column.about).map((column) => at[column.id]);
  const shownColumns = columns.filter((column) => column.title);
  for (const column of shownColumns) {
    const head = element("th", "", { scope: "col", className: column.text ? "text" : "" });
    const sort = element("button", column.title, { type: "button" });
    sort.addEventListener("click", () => sortBy(at[column.id], column));
    head.append(sort);
    table.tHead.rows[0].append(head);
  }

  const compare = (left, right) => (left < right ? -1 : left > right ? 1 : 0);
  const sortBy = (column, { text }) => {
    sorted = { column, up: sorted.column === column ? !sorted.up : Boolean(text) };
    shownColumns.forEach((shown, index) => {
      const head = table.tHead.rows[0].cells[index];
      if (at[shown.id] === column) head.setAttribute("aria-sort", sorted.up ? "ascending" : "descending");
      else head.removeAttribute("aria-sort");
    });
    select();
  };
  const select = () => {
    const wanted = byId("filter").value.trim().toLowerCase();
    order = rows.map((_, index) => index);
    if (wanted) order = order.filter((index) => read.some((place) => String(rows[index][place]).toLowerCase().includes(wanted)));
    if (sorted.column >= 0) {
      const sign = sorted.up ? 1 : -1;
      order.sort((left, right) => sign * compare(rows[left][sorted.column], rows[right][sorted.column]) || left - right);
    }
    page = 0;
    show();
  };
  const detail = (row) => {
    const cell = element("td", "", { colSpan: shownColumns.length, className: "detail" });
    for (const column of columns) {
      if (!column.about || row[at[column.id]] === "") continue;
      cell.append(element("p", `${column.about}: ${row[at[column.id]]}`, { className: "sentence" }));
    }
    const patches = document.querySelector(`#patches-${row[at.worth]} > div`);
    if (patches) cell.append(patches.cloneNode(true));
    const line = element("tr", "");
    line.append(cell);
    return line;
  };
  const expand = (open, line, row) => {
    const opened = open.getAttribute("aria-expanded") === "true";
    if (opened) line.nextSibling.remove();
    else line.after(detail(row));
    open.setAttribute("aria-expanded", String(!opened));
    open.textContent = opened ? "+" : "\u2212";
  };
  const show = () => {
    const body = table.tBodies[0];
    body.replaceChildren();
    for (const index of order.slice(page * SIZE, (page + 1) * SIZE)) {
      const row = rows[index];
      const line = element("tr", "");
      shownColumns.forEach((column, place) => {
        const cell = element(place ? "td" : "th", "", { className: column.text ? "text" : "" });
        const value = row[at[column.id]];
        if (place) {
          cell.textContent = value;
        } else {
          cell.scope = "row";
          const open = element("button", "+", { type: "button" });
          open.setAttribute("aria-expanded", "false");
          open.setAttribute("aria-label", `Details of ${value}`);
          open.addEventListener("click", () => expand(open, line, row));
          const link = row[at.link];
          cell.append(open, " ", link ? element("a", value, { href: link, rel: "noreferrer" }) : value);
        }
        line.append(cell);
      });
      body.append(line);
    }
    const first = order.length ? page * SIZE + 1 : 0;
    const last = Math.min((page + 1) * SIZE, order.length);
    byId("where").textContent = `${first} to ${last} of ${order.length}`;
    byId("before").disabled = page === 0;
    byId("after").disabled = last >= order.length;
  };
  byId("before").addEventListener("click", () => { page -= 1; show(); });
  byId("after").addEventListener("click", () => { page += 1; show(); });
  byId("filter").addEventListener("input", select);

  // On paper there are no plots and nothing can be opened: their numbers are unfolded for it, and folded again.
  let unfolded = [];
  addEventListener("beforeprint", () => {
    unfolded = [...document.querySelectorAll("figure details:not([open])")];
    for (const numbers of unfolded) numbers.open = true;
  });
  addEventListener("afterprint", () => {
    for (const numbers of unfolded) numbers.open = false;
  });
  show();
})();
