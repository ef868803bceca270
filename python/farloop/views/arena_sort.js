// Tables of the class "sorts": a click on a heading sorts by that column, another one the other way round. Cells without a value stay last.
for (const table of document.querySelectorAll("table.sorts")) {
  const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0];
  const key = (row, column) => {
    const cell = row.cells[column];
    if (column === 0) return cell.textContent;
    return cell && cell.dataset.v !== undefined ? Number(cell.dataset.v) : undefined;
  };
  const sort = column => {
    const down = heads[column].getAttribute("aria-sort") === "ascending";
    heads.forEach(head => head.removeAttribute("aria-sort"));
    heads[column].setAttribute("aria-sort", down ? "descending" : "ascending");
    const rows = [...body.rows].map(row => [key(row, column), row]);
    rows.sort(([a], [b]) => a === undefined || b === undefined
      ? (a === undefined) - (b === undefined)
      : (a < b ? -1 : a > b ? 1 : 0) * (down ? -1 : 1));
    body.append(...rows.map(([, row]) => row));
  };
  heads.forEach((head, column) => {
    if (column && !body.querySelector(`tr > td:nth-child(${column + 1})[data-v]`)) return;
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
