// The kernels at a size, in a table by the metric of the reader; and the sizes near it.

const SLOWER = [1.1, 1.5, 3]; // times the best from which a cell is one shade darker
const MOST_NEAR = 6; // sizes of the table
const metric = find("#metric");
const kernelTable = find("#kernels");

// A number that opens the rows behind it, one for each process.
const raw = (row, text) =>
  h("button", { class: "raw", type: "button", "data-point": `${place(row)}/${row.variant}` }, text);

// The rows with a value that are not significantly behind the best: by the ranking, or, of eager
// calls, by their intervals. Rows that were recorded without an interval differ from UNLIKE on.
function leaders(rows, column) {
  const timed = rows.filter((row) => row[column] !== null);
  if (timed.length < 2) return [];
  if (column !== "eager_us") return timed.filter((row) => row.in_best_set);
  const ordered = timed.toSorted(by((row) => row.eager_us));
  const [first] = ordered;
  const differs = ordered.findIndex((row) =>
    row.eager_speedup_high === null || first.eager_speedup_low === null
      ? row.eager_us >= UNLIKE * first.eager_us
      : row.eager_speedup_high < first.eager_speedup_low);
  return differs < 0 ? ordered : ordered.slice(0, differs); // none is better than one that differs
}

// The look of a value: the best, tied with it, or slower by how much.
function shade(row, best, { column, least }) {
  if (row[column] === null || !best.length) return "";
  if (best.includes(row)) return best.length > 1 ? "tied" : "best";
  const ratio = least ? row[column] / best[0][column] : best[0][column] / row[column];
  return `slower${SLOWER.filter((limit) => ratio >= limit).length}`;
}

function showKernels(sizes, exact) {
  const [size] = sizes;
  const raced = !size.no_winner && !isCheck(size.gpu);
  const { column, least } = METRICS[metric.value];
  const unknown = least ? Infinity : -Infinity;
  const rows = withTorch(size).toSorted(by((row) =>
    (least ? 1 : -1) * (row[column] ?? unknown) || 0));
  const where = sizeTitle(size);
  say("#h-kernels", isCheck(size.gpu) ? `Checked on this CPU at ${where}` : `Kernels at ${where}`);
  kernelTable.dataset.metric = metric.value;
  const looks = Object.entries(METRICS).map(([key, each]) =>
    ({ key, ...each, best: raced ? leaders(rows, each.column) : [] }));
  say("#kernels tbody", ...rows.map((row) => {
    const name = row.variant + (row.rank === null ? " (torch, from the other rows)" : "");
    const cells = looks.map(({ key, best, ...look }) => {
      const value = row[look.column];
      const text = look.write(value) + (key === "graph" ? row.mark : "");
      return h("td", { class: `right ${key} ${shade(row, best, look)}` }, value === null ? "" : raw(row, text));
    });
    return tableRow(h("th", { scope: "row" }, dot(row.variant), ...breakable(name)), ...cells);
  }));
  const marks = Object.keys(PAGE.marks).filter((mark) => rows.some((row) => row.mark.includes(mark)));
  say("#marks", marks.map((mark) => `${mark} ${PAGE.marks[mark]}.`).join(" "));
  say("#near tbody", ...sizes.slice(exact ? 1 : 0).slice(0, MOST_NEAR).map((near) => tableRow(
    cell(link(near, sizeTitle(near))), cell(outcome(near)),
    h("td", { class: "right" }, isCheck(near.gpu) ? "" : times(near.speedup)))));
}
