// The section Data: the rows of single sweeps, searched.

const filter = find("#filter").elements;
const MOST_ROWS = 200; // more are slow to draw
const COLUMNS = {
  "kernel": (row) => row.variant, "M × N": sizeName,
  "graph (µs)": (row) => number(row.time_us, 4) + row.mark,
  "eager (µs)": (row) => number(row.eager_us, 4),
  "× torch": (row) => number(row.speedup), "of the limit": (row) => percent(row.of_limit),
  "GB/s": (row) => number(row.throughput_gbps, 4),
};
for (const name of ["op", "dtype", "gpu", "sweep", "status", "flags", "message"])
  COLUMNS[name] = (row) => row[name];
for (const row of PAGE.rows) {
  const { variant, M, N, op, dtype, gpu, sweep, status, flags, message } = row;
  const words = [variant, `${M}x${N}`, M, N, op, dtype, gpu, sweep, status, flags, message];
  row.words = ` ${words.join(" ")} `.toLowerCase();
}

// A number, a size and these names must be whole words, so that 512 does not find 5120.
const WHOLE = new Set(PAGE.rows.flatMap(({ op, dtype, gpu, variant }) =>
  [op, dtype, gpu, variant.toLowerCase()]));

function list() {
  const words = filter.words.value.toLowerCase().split(/\s+/).map((word) =>
    /^\d[\dx]*$/.test(word) || WHOLE.has(word) ? ` ${word} ` : word);
  const own = (row) => !filter.own.checked || !asked || comparable(row, asked);
  const rows = PAGE.rows.filter((row) => own(row) && words.every((word) => row.words.includes(word)));
  say("#rows tbody", ...rows.slice(0, MOST_ROWS).map((row) => {
    const line = tableRow(...Object.values(COLUMNS).map((show) => cell(show(row))));
    line.firstChild.append(h("small", {}, `${sizeName(row)} ${row.dtype}`));
    return line;
  }));
  const shown = rows.length > MOST_ROWS ? `; the first ${MOST_ROWS} are below` : "";
  say("#count", `${rows.length} of ${PAGE.rows.length} rows${shown}`);
}

say("#rows thead", tableRow(...Object.keys(COLUMNS).map((name) => h("th", { scope: "col" }, name))));
find("#filter").addEventListener("input", list);
// A number of the page shows its rows.
document.addEventListener("click", (event) => {
  const number = event.target.closest("a.raw");
  if (!number) return;
  event.preventDefault();
  filter.words.value = number.dataset.words;
  filter.own.checked = false;
  list();
  find("#data").scrollIntoView();
  find("#filter [name=words]").focus({ preventScroll: true });
});
