// The table of all rows: searched by words, sorted by a column, drawn STEP rows at a time.

const STEP = 100;
const text = (name) => ({ name, value: (row) => row[name] });
const COLUMNS = [
  { ...text("variant"), head: true },
  { ...text("N"), right: true },
  { ...text("M"), right: true },
  text("dtype"),
  text("op"),
  { name: "time (µs)", value: (row) => row.time_us, show: (row) => number(row.time_us) + row.mark, right: true },
  {
    name: "speed-up over torch",
    value: (row) => row.speedup,
    show: (row) => withInterval(row.speedup, row.speedup_low, row.speedup_high),
    right: true,
  },
  { name: "of copy", value: (row) => row.of_copy, show: (row) => number(row.of_copy, 3), right: true },
  { name: "GB/s", value: (row) => row.throughput_gbps, show: (row) => number(row.throughput_gbps), right: true },
  { ...text("rank"), right: true },
  { name: "status", value: (row) => (row.unranked_by ? "not ranked" : row.status) },
  text("flags"),
  text("gpu"),
  text("origin"),
  text("sweep"),
  { name: "input", value: (row) => row.distribution },
  { ...text("message"), wordy: true },
];
for (const column of COLUMNS) column.show ??= (row) => String(column.value(row) ?? "");

const SEARCHED = ROWS.map((row) =>
  Object.entries(row)
    .filter(([name, value]) => typeof value === "string" || name === "M" || name === "N")
    .map(([, value]) => value)
    .join(" ")
    .toLowerCase(),
);
const order = { column: null, down: false };
let shown = STEP;

// Every word must occur. A number must be a whole word, so that 512 does not find 5120.
function matching() {
  const words = find("#search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (there, word) => (/^\d+$/.test(word) ? ` ${there} `.includes(` ${word} `) : there.includes(word));
  return ROWS.filter((_, i) => words.every((word) => fits(SEARCHED[i], word)));
}

function sorted(rows) {
  if (order.column === null) return rows;
  const { value } = order.column;
  const side = order.down ? -1 : 1;
  return rows.toSorted((a, b) => {
    const [x, y] = [value(a), value(b)];
    const [noX, noY] = [x === null || x === "", y === null || y === ""];
    if (noX || noY) return noX - noY; // empty values come last in both directions
    return side * (typeof x === "number" ? x - y : x < y ? -1 : x > y ? 1 : 0);
  });
}

const kind = ({ right, wordy }) => (right ? { class: "right" } : wordy ? { class: "wordy" } : {});

function list() {
  const rows = sorted(matching());
  const cell = (column, row) =>
    element(column.head ? "th" : "td", { ...(column.head && { scope: "row" }), ...kind(column), ...(column.wordy && { title: column.show(row) }) }, column.show(row));
  find("#table tbody").replaceChildren(
    ...rows.slice(0, shown).map((row) => element("tr", {}, ...COLUMNS.map((column) => cell(column, row)))),
  );
  find("#row-count").textContent = `${rows.length} of ${ROWS.length} rows`;
  find("#more").hidden = rows.length <= shown;
}

function sortBy(column) {
  order.down = order.column === column && !order.down;
  order.column = column;
  COLUMNS.forEach((each, i) => {
    const sort = each !== column ? "none" : order.down ? "descending" : "ascending";
    find("#table thead tr").children[i].setAttribute("aria-sort", sort);
  });
  list();
}

for (const column of COLUMNS) {
  const button = element("button", { type: "button" }, column.name);
  button.addEventListener("click", () => sortBy(column));
  find("#table thead tr").append(element("th", { scope: "col", "aria-sort": "none", ...kind(column) }, button));
}
find("#search").addEventListener("input", () => {
  shown = STEP;
  list();
});
find("#more").addEventListener("click", () => {
  shown += STEP;
  list();
});
// Drawn after the first paint, because the table is below the first screen.
requestAnimationFrame(() => setTimeout(list));
