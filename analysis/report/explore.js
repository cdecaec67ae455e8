// The chart: a quantity over N on log axes. The table of rows: searched, sorted, in parts.

const chooser = find("#chooser").elements;
const plot = find("#plot");
const [LEFT, TOP, BOTTOM, HEIGHT, LABEL] = [52, 10, 360, 405, 14]; // pixels
const NAMED = 5; // lines with a colour
const UNIT = {
  of_copy: percent, throughput_gbps: (value) => `${fourDigits(value)} GB/s`,
  time_us: (value) => `${fourDigits(value)} µs`, speedup: times,
};
let drawn; // {over, sizes, lines, x, pointer, width} of the chart

const value = (row) => row[chooser.value.value];
const text = (row) => UNIT[chooser.value.value](value(row)) + row.mark;
const scale = (low, high, from, to, of) => (at) =>
  from + ((to - from) * (of(at) - of(low))) / (of(high) - of(low));

function ticks(low, high) {
  if (!low) return [0, 0.2, 0.4, 0.6, 0.8, 1];
  const steps = high > 300 * low ? [1] : high > 8 * low ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9];
  const every = Array.from({ length: 24 }, (_, i) => steps.map((step) => Number(`${step}e${i - 8}`)));
  return every.flat().filter((at) => at >= low && at <= high);
}

function axes(x, y, n, range, right, name) {
  const middle = { "text-anchor": "middle" };
  const grid = ticks(...range).flatMap((at) => [
    h("line", { class: "grid", x1: LEFT, x2: right, y1: y(at), y2: y(at) }),
    h("text", { x: LEFT - 6, y: y(at) + 4, "text-anchor": "end" },
      chooser.value.value === "of_copy" ? percent(at) : String(at)),
  ]);
  const powers = Array.from({ length: 40 }, (_, k) => k).filter((k) => 2 ** k >= n[0] && 2 ** k <= n[1]);
  const step = Math.ceil(powers.length / Math.max(2, (right - LEFT) / 38));
  const labels = powers.filter((_, i) => (powers.length - 1 - i) % step === 0).map((k) =>
    h("text", { x: x(2 ** k), y: BOTTOM + 18, ...middle }, "2",
      h("tspan", { dy: -5, "font-size": 9 }, String(k))));
  return [...grid, ...labels, h("text", { x: (LEFT + right) / 2, y: BOTTOM + 38, ...middle }, name)];
}

// Names at the right ends of lines; names that meet move down, then up from the bottom.
function names(lines, x, y, right) {
  const ends = lines.map(({ variant, rows }) => {
    const at = y(value(rows.at(-1)));
    return { variant, x1: x(rows.at(-1)) + 5, at, place: at };
  }).sort(by((end) => end.at));
  let least = TOP;
  for (const end of ends) least = (end.place = Math.max(end.at, least)) + LABEL;
  let most = BOTTOM;
  for (const end of ends.toReversed()) most = (end.place = Math.min(end.place, most)) - LABEL;
  return ends.flatMap(({ variant, x1, at, place }) => [
    h("line", { class: "leader", x1, y1: at, x2: right + 6, y2: place }),
    h("text", { class: "name", x: right + 9, y: place + 4 }, variant),
  ]);
}

function draw() {
  const chart = PAGE.charts[chooser.chart.value];
  const { over } = chart;
  const lines = chart.lines.map((places) => places.map((i) => PAGE.sizes[i]).filter(value))
    .filter((rows) => rows.length)
    .map((rows, i) => ({ variant: rows[0].variant, rows, grey: i >= NAMED && !chooser.all.checked }));
  const rows = lines.flatMap((line) => line.rows);
  const sizes = distinct(rows.map((row) => row[over])).sort(by(Number));
  const roof = chart.roof.filter(value);
  const what = chooser.value.selectedOptions[0].text;
  const sheet = chart.gpu.includes("published") ? "the data sheet's bandwidth" : "a copy of the same bytes";
  const grey = lines.some((line) => line.grey);
  say("#chart-note", !rows.length ? "No row has this quantity; choose another one."
    : `Dashed: ${chooser.value.value === "speedup" ? "torch" : sheet}. `
    + (grey ? "Coloured: torch, and the kernels that are best at the most sizes." : ""));
  drawn = null;
  say("#plot");
  say("#values");
  say("#numbers thead", tableRow(...["N", ...lines.map((line) => line.variant)].map((name) => h("th", { scope: "col" }, name))));
  say("#numbers tbody", ...sizes.map((n) => tableRow(h("th", { scope: "row" }, String(n)), ...lines.map((line) =>
    right(line.rows.filter((row) => row[over] === n).map(text).join(", "))))));
  if (!rows.length) return;
  const width = plot.clientWidth;
  const wide = width >= 620; // on a phone the values below name the lines
  const named = lines.filter((line) => !line.grey);
  const longest = Math.max(...named.map((line) => line.variant.length));
  const end = width - (wide ? 20 + 7.4 * longest : 10);
  const values = [...rows, ...roof].map(value);
  const share = chooser.value.value === "of_copy"; // from 0, and not on a log axis
  const n = [sizes[0] / 1.15, sizes.at(-1) * 1.15];
  const range = share ? [0, Math.max(...values) * 1.05] : [Math.min(...values) / 1.15, Math.max(...values) * 1.15];
  const x = scale(...n, LEFT, end, Math.log);
  const y = scale(...range, BOTTOM, TOP, share ? Number : Math.log);
  const at = (row) => [x(row[over]), y(value(row))];
  const pointer = h("line", { class: "pointer", y1: TOP, y2: BOTTOM });
  const title = `${what} over ${over}, ${chart.gpu}, ${chart.op}, ${chart.dtype}, ${chart.m}`;
  plot.append(h("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": title },
    ...axes(x, y, n, range, end, over === "N" ? "N (columns)" : "M·N (elements)"), pointer,
    h("polyline", { class: "roof", points: roof.map(at).join(" ") }),
    ...(wide ? names(named, (row) => x(row[over]), y, end) : []),
    ...lines.toReversed().map(({ variant, rows, grey }) => h("g",
      { class: grey ? "line grey" : "line", "data-label": variant, style: paint(variant) },
      h("polyline", { points: rows.map(at).join(" ") }),
      ...rows.map(at).map(([cx, cy]) => h("circle", { cx, cy, r: grey ? 1.5 : 3.5 }))))));
  drawn = { over, sizes, lines, x, pointer, width };
  show(Math.floor(sizes.length / 2));
}

// Lists the values at one size, the best first.
function show(index) {
  drawn.at = Math.max(0, Math.min(drawn.sizes.length - 1, index));
  const n = drawn.sizes[drawn.at];
  const order = chooser.value.value === "time_us" ? 1 : -1;
  const rows = drawn.lines.flatMap((line) => line.rows.filter((row) => row[drawn.over] === n));
  rows.sort(by((row) => order * value(row)));
  say("#values", h("b", {}, `${sizeName(rows[0])}:`), ...rows.map((row) =>
    h("span", {}, dot(row.variant), `${row.variant} `, h("b", {}, text(row)))));
  for (const end of ["x1", "x2"]) drawn.pointer.setAttribute(end, drawn.x(n));
}

// Chooses the chart with the size of the answer, or the one of its operation with the most rows.
function follow(asked) {
  const rows = (chart) => chart.lines.flat();
  const has = (chart) => rows(chart).some((i) => alike(PAGE.sizes[i], asked));
  const same = PAGE.charts.filter((chart) => comparable(chart, asked));
  const [best] = same.sort(by((chart) => -1e6 * has(chart) - rows(chart).length));
  if (best) chooser.chart.value = PAGE.charts.indexOf(best);
  draw();
  const at = drawn?.sizes.indexOf(drawn.over === "N" ? asked.N : asked.M * asked.N) ?? -1;
  if (at >= 0) show(at);
}

const filter = find("#filter").elements;
const STEP = 25;
const COLUMNS = [
  { name: "kernel", of: (row) => row.variant },
  { name: "M × N", of: (row) => row.N * 1e12 + row.M, show: sizeName, look: "wide" },
  { name: "time (µs)", of: (row) => row.time_us, show: (row) => fourDigits(row.time_us) + row.mark, look: "right" },
  { name: "× torch", of: (row) => row.speedup, show: (row) => number(row.speedup), look: "right" },
  { name: "of copy", of: (row) => row.of_copy, show: (row) => percent(row.of_copy), look: "right" },
  { name: "GB/s", of: (row) => row.throughput_gbps, show: (row) => fourDigits(row.throughput_gbps), look: "right wide" },
  ...["op", "dtype", "gpu", "sweep", "status", "flags", "message"].map((name) => ({ name, of: (row) => row[name], look: "wide" })),
];
const ALIAS = { bf16: "bfloat16", fp16: "float16", f16: "float16", half: "float16", fp32: "float32", f32: "float32" };
const SEARCHED = ["variant", "M", "N", "op", "dtype", "gpu", "sweep", "status", "flags", "message"];
let [shown, order, down, asked] = [STEP, null, false, null];
for (const row of PAGE.rows) {
  const failed = /^(ok|not ranked)/.test(row.status) ? "" : "failed";
  row.words = ` ${row.M}x${row.N} ${SEARCHED.map((name) => row[name]).join(" ")} ${failed} `.toLowerCase();
}

// Every word must occur. A number or a size must be a whole word: 512 does not find 5120.
function list() {
  const words = filter.words.value.toLowerCase().split(/\s+/).filter(Boolean).map((word) => ALIAS[word] ?? word)
    .map((word) => (/^\d[\dx]*$|^(b?float|softmax)/.test(word) ? ` ${word} ` : word));
  const own = filter.own.checked && asked;
  const rows = PAGE.rows.filter((row) => (!own || comparable(row, asked)) && words.every((word) => row.words.includes(word)));
  if (order) rows.sort((a, b) => {
    const [p, q] = [order.of(a), order.of(b)];
    if (p === null || q === null) return (p === null) - (q === null); // unknown values come last
    return (down ? -1 : 1) * (p < q ? -1 : p > q ? 1 : 0);
  });
  say("#rows tbody", ...rows.slice(0, shown).map((row) => {
    const made = tableRow(...COLUMNS.map(({ of, show = of, look = "" }) => h("td", { class: look }, show(row))));
    made.firstChild.append(h("small", {}, `${sizeName(row)} ${row.dtype}`));
    return made;
  }));
  say("#count", `${rows.length} of ${PAGE.rows.length} rows`);
  find("#more-rows").hidden = rows.length <= shown;
}

function sortBy(column, heads) {
  down = order === column && !down;
  order = column;
  for (const head of heads) head.ariaSort = "none";
  heads[COLUMNS.indexOf(column)].ariaSort = down ? "descending" : "ascending";
  list();
}

chooser.chart.append(...Map.groupBy(PAGE.charts, (chart) => chart.gpu).entries().map(([gpu, charts]) =>
  h("optgroup", { label: gpuName(gpu) }, ...charts.map((chart) =>
    h("option", { value: PAGE.charts.indexOf(chart) }, `${chart.op}, ${chart.dtype}, ${chart.m}`)))));
const heads = COLUMNS.map(({ name, look = "" }) =>
  h("th", { scope: "col", "aria-sort": "none", class: look }, h("button", { type: "button" }, name)));
say("#rows thead", tableRow(...heads));
find("#rows thead").addEventListener("click", ({ target }) =>
  target.matches("button") && sortBy(COLUMNS[target.parentElement.cellIndex], heads));
let frame;
addEventListener("asked", ({ detail }) => {
  asked = detail;
  const before = location.hash;
  cancelAnimationFrame(frame); // while a number is typed, only the last question counts
  frame = requestAnimationFrame(() => {
    // unless a link was followed meanwhile
    if (location.hash === before) history.replaceState(null, "", address(detail));
    follow(detail);
    list();
  });
});
find("#chooser").addEventListener("change", draw);
plot.addEventListener("keydown", (event) => {
  const steps = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity };
  if (!drawn || !(event.key in steps)) return;
  event.preventDefault();
  show(drawn.at + steps[event.key]);
});
plot.addEventListener("pointermove", (event) => {
  if (!drawn) return;
  const across = event.clientX - plot.getBoundingClientRect().left;
  const [closest] = drawn.sizes.toSorted(by((n) => Math.abs(drawn.x(n) - across)));
  show(drawn.sizes.indexOf(closest));
});
addEventListener("resize", () => drawn && drawn.width !== plot.clientWidth && draw());
find("#filter").addEventListener("input", () => {
  shown = STEP;
  list();
});
find("#more-rows").addEventListener("click", () => {
  shown *= 4;
  list();
});
addEventListener("submit", (event) => event.preventDefault());
if (RANKED.length) ask();
else list(), PAGE.charts.length && draw();
if (innerWidth < 700) find("#best details").open = false;
// Last, because a browser may refuse to store.
find("#theme").addEventListener("change", ({ target }) => localStorage.setItem("theme", target.value));
find("#theme").value = localStorage.getItem("theme") ?? "";
