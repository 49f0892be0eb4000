"use strict";
// Tables that are searched, sorted and unfolded, and the switch of dark and light.
(() => {
  const FEW = 15;

  function value(cell) {
    if (cell === undefined) return null;
    if (cell.dataset.v !== undefined) return Number(cell.dataset.v);
    return cell.textContent === "-" ? null : cell.textContent;
  }

  function compare(a, b) {
    if (a === null || b === null) return (a === null) - (b === null);
    if (typeof a === "number" && typeof b === "number") return a - b;
    return String(a).localeCompare(String(b));
  }

  function prepare(table) {
    const body = table.tBodies[0];
    const rows = [...body.rows];
    const tools = document.createElement("div");
    tools.className = "tools";
    const search = document.createElement("input");
    search.type = "search";
    search.placeholder = "Search";
    search.setAttribute("aria-label", "Search in " + table.caption.textContent);
    const more = document.createElement("button");
    more.type = "button";
    const count = document.createElement("span");
    count.setAttribute("role", "status");
    let all = rows.length <= FEW;

    function show() {
      const wanted = search.value.toLowerCase();
      let found = 0;
      let shown = 0;
      for (const row of body.rows) {
        const fits = !wanted || row.textContent.toLowerCase().includes(wanted);
        found += fits;
        row.hidden = !fits || (!all && shown >= FEW);
        shown += !row.hidden;
      }
      count.textContent = `${shown} of ${rows.length} rows`;
      more.hidden = all || found <= FEW;
      more.textContent = `Show all ${found}`;
    }

    [...table.tHead.rows[0].cells].forEach((head, place) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const number = head.classList.contains("n");
        const before = head.getAttribute("aria-sort");
        // Numbers are of interest from the largest down.
        const first = number ? "descending" : "ascending";
        const second = number ? "ascending" : "descending";
        const order = before === first ? second : first;
        for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", order);
        const sign = order === "ascending" ? 1 : -1;
        const sorted = rows.map((row, index) => [value(row.cells[place]), index, row]);
        sorted.sort((a, b) => {
          if (a[0] === null || b[0] === null) return compare(a[0], b[0]) || a[1] - b[1];
          return sign * compare(a[0], b[0]) || a[1] - b[1];
        });
        body.append(...sorted.map((entry) => entry[2]));
        show();
      });
    });
    for (const row of rows) {
      for (const cell of row.cells) {
        if (!cell.title && cell.textContent.length > 40) cell.title = cell.textContent;
      }
    }
    if (rows.length > 5) {
      search.addEventListener("input", show);
      more.addEventListener("click", () => { all = true; show(); });
      tools.append(search, count, more);
      table.parentElement.before(tools);
      show();
      addEventListener("beforeprint", () => { all = true; show(); });
    }
  }

  document.querySelectorAll("table.answer").forEach(prepare);

  const button = document.getElementById("theme");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;
  window.tracekitIsDark = () =>
    root.dataset.theme ? root.dataset.theme === "dark" : dark.matches;
  function changed() {
    document.dispatchEvent(new Event("tracekit-theme"));
  }
  button.hidden = false;
  button.addEventListener("click", () => {
    root.dataset.theme = window.tracekitIsDark() ? "light" : "dark";
    changed();
  });
  dark.addEventListener("change", changed);
})();
