const $ = (selector, root = document) => root.querySelector(selector);
const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const make = (tag, text) => {
  const element = document.createElement(tag);
  element.textContent = text;
  return element;
};

// Sections that draw something: by name the function that draws it.
const sections = {};

// Tables sort by a click on a heading, or Enter on it.
const keyOf = (row, column) => {
  const cell = row.cells[column];
  const value = cell.dataset.sort ?? cell.textContent.trim();
  const number = Number(value);
  return value !== "" && Number.isFinite(number) ? number : value;
};
const compare = (a, b) => {
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (typeof a === "number") return 1;
  if (typeof b === "number") return -1;
  return a.localeCompare(b, undefined, { numeric: true });
};
for (const table of all("table[data-sortable]")) {
  const headings = all("thead th", table);
  headings.forEach((heading, column) => {
    const button = make("button", heading.textContent);
    button.type = "button";
    heading.replaceChildren(button);
    button.addEventListener("click", () => {
      const before = heading.getAttribute("aria-sort");
      const first = heading.classList.contains("num") ? "descending" : "ascending";
      const other = first === "ascending" ? "descending" : "ascending";
      const now = before === first ? other : first;
      headings.forEach((one) => one.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", now);
      const sign = now === "ascending" ? 1 : -1;
      const rows = [...table.tBodies[0].rows];
      const keys = new Map(rows.map((row) => [row, keyOf(row, column)]));
      rows.sort((a, b) => sign * compare(keys.get(a), keys.get(b)));
      table.tBodies[0].append(...rows);
    });
  });
}

// A link to a folded region unfolds it; paper has no folds.
const unfold = () => {
  const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
  if (target && target.tagName === "DETAILS") {
    target.open = true;
    target.scrollIntoView();
  }
};
addEventListener("hashchange", unfold);
unfold();
let folded = [];
addEventListener("beforeprint", () => {
  folded = all("details:not([open])");
  folded.forEach((one) => { one.open = true; });
});
addEventListener("afterprint", () => folded.forEach((one) => { one.open = false; }));

// A number: with three digits, or at a tick of an axis, with as many as its steps need.
const digits = (value, step) => {
  if (!step) return Number(value.toPrecision(3));
  return Number(value.toFixed(Math.min(20, Math.max(0, -Math.floor(Math.log10(step) + 1e-9)))));
};
const duration = (ns, step) => {
  for (const [scale, unit] of [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]]) {
    if (Math.abs(ns) >= scale) return `${digits(ns / scale, step && step / scale)} ${unit}`;
  }
  return ns === 0 ? "0" : `${digits(ns, step ?? 1)} ns`;
};
const roundStep = (rough) => {
  const power = 10 ** Math.floor(Math.log10(rough));
  return power * ([1, 2, 5].find((factor) => power * factor >= rough) ?? 10);
};
