// Tables of the class "sorts": a click on a heading sorts by that column, another one the other way round. Cells without a value stay last.
for (const table of document.querySelectorAll("table.sorts")) {
  const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0];
  const factors = {k: 1e3, M: 1e6, G: 1e9, T: 1e12, m: 1e-3, "µ": 1e-6, n: 1e-9, p: 1e-12};
  // Of "at least 8.82", "6.48 MB [5.2 MB, 7 MB]" and "34 %" the first number, with the prefix of its unit.
  const number = text => {
    const match = text.match(/^(?:at least )?(-?[\d.,]+(?:e[+-]?\d+)?)\s?([kMGTmµnp](?=[a-zA-Z]))?/);
    return match ? Number(match[1].replaceAll(",", "")) * (factors[match[2]] ?? 1) : undefined;
  };
  const key = (row, column) => {
    const cell = row.cells[column];
    if (!cell) return undefined;
    if (cell.dataset.v !== undefined) return Number(cell.dataset.v);
    if (table.classList.contains("marked")) return column === 0 ? cell.textContent : undefined;
    const text = cell.textContent.trim();
    if (column === 0 || cell.classList.contains("text")) return text;
    return text === "–" ? undefined : number(text) ?? text;
  };
  const rank = value => value === undefined ? 2 : typeof value === "string" ? 1 : 0;
  const sort = column => {
    const down = heads[column].getAttribute("aria-sort") === "ascending";
    heads.forEach(head => head.removeAttribute("aria-sort"));
    heads[column].setAttribute("aria-sort", down ? "descending" : "ascending");
    const rows = [...body.rows].map(row => [key(row, column), row]);
    rows.sort(([a], [b]) => rank(a) !== rank(b) || a === undefined
      ? rank(a) - rank(b)
      : (a < b ? -1 : a > b ? 1 : 0) * (down ? -1 : 1));
    body.append(...rows.map(([, row]) => row));
  };
  heads.forEach((head, column) => {
    if (table.classList.contains("marked") && column && !body.querySelector(`tr > td:nth-child(${column + 1})[data-v]`)) return;
    head.tabIndex = 0;
    head.classList.add("sortable");
    head.addEventListener("click", event => { if (event.target.tagName !== "A") sort(column); });
    head.addEventListener("keydown", event => {
      if (event.target !== head || (event.key !== "Enter" && event.key !== " ")) return;
      event.preventDefault();
      sort(column);
    });
  });
}
