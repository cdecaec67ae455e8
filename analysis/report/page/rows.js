// The section Data: the rows, one for each process, searched; and those behind a number.

const filter = find("#filter").elements;
const MOST_ROWS = 50;
const COLUMNS = {
  "kernel": (row) => row.variant, "M × N": sizeName,
  "graph (µs)": (row) => number(row.time_us, 4) + row.mark,
  "eager (µs)": (row) => number(row.eager_us, 4),
  "× torch": (row) => number(row.speedup), "of the limit": (row) => percent(row.of_limit),
  "GB/s": (row) => number(row.throughput_gbps, 4),
  "95 % of × torch": (row) => interval(row),
  "process": (row) => String(row.replicate),
};
for (const name of ["board", "op", "dtype", "gpu", "sweep", "status", "flags", "message"])
  COLUMNS[name] = (row) => row[name];
for (const row of PAGE.rows) {
  const { variant, M, N, op, dtype, gpu, sweep, status, flags, message } = row;
  const words = [variant, `${M}x${N}`, M, N, op, dtype, gpu, sweep, status, flags, message];
  row.words = ` ${words.join(" ")} `.toLowerCase();
}

// A number, a size and these names must be whole words, so that 512 does not find 5120.
const WHOLE = new Set(PAGE.rows.flatMap(({ op, dtype, gpu, variant }) =>
  [op, dtype, gpu, variant.toLowerCase()]));

const interval = ({ speedup_low: low, speedup_high: high }) =>
  (low === null ? "" : `${number(low, 4)} to ${number(high, 4)}`);
function timed(row) {
  const eager = row.eager_us === null ? "" : `${number(row.eager_us, 4)} µs eager, `;
  const ends = interval(row) && ` (95 %: ${interval(row)})`;
  return `${number(row.time_us, 4)}${row.mark} µs in a graph, ${eager}${number(row.speedup, 4)} × torch${ends}`;
}

function list() {
  const words = filter.words.value.toLowerCase().split(/\s+/).map((word) =>
    /^\d[\dx]*$/.test(word) || WHOLE.has(word) ? ` ${word} ` : word);
  const own = (row) => !filter.own.checked || !asked || comparable(row, asked);
  const rows = PAGE.rows.filter((row) => own(row) && words.every((word) => row.words.includes(word)));
  say("#rows tbody", ...rows.slice(0, MOST_ROWS).map((row) => {
    const line = tableRow(...Object.values(COLUMNS).map((show) => cell(show(row))));
    line.firstChild.replaceChildren(...breakable(row.variant), h("small", {}, `${sizeName(row)} ${row.dtype}`));
    return line;
  }));
  const shown = rows.length > MOST_ROWS ? `; the first ${MOST_ROWS} are below` : "";
  say("#count", `${rows.length} of ${PAGE.rows.length} rows${shown}`);
}

say("#rows thead", tableRow(...Object.keys(COLUMNS).map((name) => h("th", { scope: "col" }, name))));
find("#filter").addEventListener("input", list);

// A number of the page opens its rows below it, and closes them.
document.addEventListener("click", (event) => {
  const number = event.target.closest(".raw");
  if (!number) return;
  const open = find(".processes");
  const { point } = number.dataset;
  open?.remove();
  if (open?.dataset.point === point) return;
  const lines = PAGE.rows.filter((row) => `${place(row)}/${row.variant}` === point).map((row) =>
    h("div", {}, `Process ${row.replicate}: ${row.time_us === null ? row.status : timed(row)}, ` +
      `board ${row.board}, sweep ${row.sweep}`));
  if (!lines.length) lines.push("Timed beside each other kernel, in its process.");
  const line = number.closest("tr");
  const look = { class: "processes", "data-point": point };
  if (line) line.after(h("tr", look, h("td", { colspan: line.children.length }, ...lines)));
  else number.closest("div").append(h("div", look, ...lines));
});
