// The kernels at a size, in a table that follows the metric of the reader; and the sizes near it.

const SLOWER = [1.1, 1.5, 3]; // times the best from which a cell is one shade darker
const MOST_NEAR = 6; // sizes of the table
const metric = find("#metric");
const kernelTable = find("#kernels");

// A number that leads to the rows behind it, in the section Data.
function raw(row, text) {
  const words = [row.variant, `${row.M}x${row.N}`, row.op, row.dtype, row.gpu].join(" ");
  return h("a", { class: "raw", href: "#data", "data-words": words }, text);
}

// How the value of a row compares with the best: best, tied (not significant), or slower by how much.
function shade(row, rows, { column, least }, raced) {
  const values = rows.map((rival) => rival[column]).filter((value) => value !== null);
  if (!raced || row[column] === null || values.length < 2) return "";
  const best = least ? Math.min(...values) : Math.max(...values);
  const ratio = least ? row[column] / best : best / row[column];
  if (tied(row, rows, column, ratio)) return ratio === 1 && !shared(rows, column, best, least) ? "best" : "tied";
  return ratio === 1 ? "best" : `slower${SLOWER.filter((limit) => ratio >= limit).length}`;
}

// Whether a row is not significantly behind the best, by the ranking or by the intervals of eager calls.
function tied(row, rows, column, ratio) {
  if (column !== "eager_us") return row.in_best_set;
  const [first] = rows.filter((rival) => rival.eager_us !== null).toSorted(by((rival) => rival.eager_us));
  if (row.eager_speedup_high === null || first.eager_speedup_low === null) return ratio < UNLIKE;
  return row.eager_speedup_high >= first.eager_speedup_low;
}
const shared = (rows, column, best, least) => rows.filter((row) => row[column] !== null &&
  tied(row, rows, column, least ? row[column] / best : best / row[column])).length > 1;

function showKernels(sizes, result) {
  const [size] = sizes;
  const control = PAGE.sizes.filter((row) => row.rank === null && alike(row, size));
  const raced = !size.no_winner && !isCheck(size.gpu);
  const { column, least } = METRICS[metric.value];
  const unknown = least ? Infinity : -Infinity;
  const rows = [...size.rows, ...control].toSorted(by((row) =>
    (least ? 1 : -1) * (row[column] ?? unknown) || 0));
  say("#h-kernels", isCheck(size.gpu) ? `Checked on this CPU at ${sizeTitle(size)}` : `Kernels at ${sizeTitle(size)}`);
  kernelTable.dataset.metric = metric.value;
  say("#kernels tbody", ...rows.map((row) => {
    const name = row.variant + (row.rank === null ? " (torch, from the other rows)" : "");
    const cells = Object.entries(METRICS).map(([key, each]) =>
      h("td", { class: `right ${key} ${shade(row, rows, each, raced)}` },
        row[each.column] === null ? "" : raw(row, each.write(row[each.column]) + (key === "graph" ? row.mark : ""))));
    return tableRow(h("th", { scope: "row" }, dot(row.variant), name), ...cells);
  }));
  const marks = Object.keys(PAGE.marks).filter((mark) => rows.some((row) => row.mark.includes(mark)));
  say("#marks", marks.map((mark) => `${mark} ${PAGE.marks[mark]}.`).join(" "));
  say("#near tbody", ...sizes.slice(0, MOST_NEAR).map((near) => tableRow(
    cell(link(near, sizeTitle(near))), cell(outcome(near)),
    h("td", { class: "right" }, isCheck(near.gpu) ? "" : times(near.speedup)))));
}
