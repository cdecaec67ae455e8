// The chart: a quantity over N on log axes. The table of rows, searched.

const chooser = find("#chooser").elements;
const plot = find("#plot");
const [LEFT, TOP, BOTTOM, HEIGHT] = [52, 10, 360, 405]; // pixels
const NAMED = 5; // lines with a colour
const UNIT = {
  of_copy: percent, throughput_gbps: (value) => `${fourDigits(value)} GB/s`,
  time_us: (value) => `${fourDigits(value)} µs`, speedup: times,
};
let drawn; // {over, sizes, lines, x, pointer, width} of the chart

const head = (scope, text) => h("th", { scope }, text);
const counted = (most) => [...Array(most).keys()];
const value = (row) => row[chooser.value.value];
const text = (row) => UNIT[chooser.value.value](value(row)) + row.mark;
const scale = (low, high, from, to, of) => (at) =>
  from + ((to - from) * (of(at) - of(low))) / (of(high) - of(low));

function ticks(low, high) {
  if (!low) return [0, 0.2, 0.4, 0.6, 0.8, 1];
  const steps = high > 300 * low ? [1] : high > 8 * low ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 5, 6, 7, 8];
  const every = counted(24).flatMap((k) => steps.map((step) => Number(`${step}e${k - 8}`)));
  return every.filter((at) => at >= low && at <= high);
}

function axes(x, y, n, range, right, name) {
  const middle = { "text-anchor": "middle" };
  const grid = ticks(...range).flatMap((at) => [
    h("line", { class: "grid", x1: LEFT, x2: right, y1: y(at), y2: y(at) }),
    h("text", { x: LEFT - 6, y: y(at) + 4, "text-anchor": "end" },
      chooser.value.value === "of_copy" ? percent(at) : String(at)),
  ]);
  const powers = counted(40).filter((k) => 2 ** k >= n[0] && 2 ** k <= n[1]);
  const step = Math.ceil(powers.length / Math.max(2, (right - LEFT) / 38));
  const labels = powers.filter((_, i) => (powers.length - 1 - i) % step === 0).map((k) =>
    h("text", { x: x(2 ** k), y: BOTTOM + 18, ...middle }, "2",
      h("tspan", { dy: -5, "font-size": 9 }, String(k))));
  return [...grid, ...labels, h("text", { x: (LEFT + right) / 2, y: BOTTOM + 38, ...middle }, name)];
}

function draw() {
  const { over, gpu, op, dtype, m, lines: places, ...roofs } = PAGE.charts[chooser.chart.value];
  const timed = places.map((line) => line.map((i) => PAGE.sizes[i]).filter(value));
  const lines = timed.filter((rows) => rows.length).map((rows, i) =>
    ({ variant: rows[0].variant, rows, grey: i >= NAMED && !chooser.all.checked }));
  const sizes = distinct(lines.flatMap(({ rows }) => rows.map((row) => row[over]))).sort(by(Number));
  for (const id of ["#plot", "#values", "#numbers thead", "#numbers tbody"]) say(id);
  drawn = null;
  if (!sizes.length) return say("#chart-note", "No row has this quantity; choose another one.");
  const quantity = chooser.value.value;
  const [roof, meet] = [roofs.roof, roofs.meet].map((rows) => rows.filter(value));
  const sheet = gpu.includes("published") ? "the data sheet's bandwidth" : "a copy of the same bytes";
  const grey = "Coloured: torch, and the kernels that are best at the most sizes.";
  say("#chart-note", `Dashed: ${quantity === "speedup" ? "torch" : sheet}. `,
    meet.length ? "Dash-dotted: reading a row, meeting, and only then writing it. " : "",
    lines.some((line) => line.grey) ? grey : "");
  say("#numbers thead", tableRow(...["N", ...lines.map((l) => l.variant)].map((l) => head("col", l))));
  say("#numbers tbody", ...sizes.map((n) => tableRow(head("row", String(n)), ...lines.map((line) =>
    right(line.rows.filter((row) => row[over] === n).map(text).join(", "))))));
  const width = plot.clientWidth;
  const end = width - 10;
  const values = [...lines.flatMap((line) => line.rows), ...roof, ...meet].map(value);
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const share = quantity === "of_copy"; // from 0, and not on a log axis
  const [n, range] = [[sizes[0] / 1.15, sizes.at(-1) * 1.15], [share ? 0 : least / 1.15, most * 1.1]];
  const x = scale(...n, LEFT, end, Math.log);
  const y = scale(...range, BOTTOM, TOP, share ? Number : Math.log);
  const at = (row) => [x(row[over]), y(value(row))];
  const pointer = h("line", { class: "pointer", y1: TOP, y2: BOTTOM });
  const what = `${chooser.value.selectedOptions[0].text} over ${over}, ${gpu}, ${op}, ${dtype}, ${m}`;
  plot.append(h("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": what },
    ...axes(x, y, n, range, end, over === "N" ? "N (columns)" : "M·N (elements)"), pointer,
    h("polyline", { class: "roof", points: roof.map(at).join(" ") }),
    h("polyline", { class: "roof meet", points: meet.map(at).join(" ") }),
    ...lines.toReversed().map(({ variant, rows, grey }) => h("g",
      { class: grey ? "line grey" : "line", "data-label": variant, style: grey ? "" : paint(variant) },
      h("polyline", { points: rows.map(at).join(" ") }),
      ...rows.map(at).map(([cx, cy]) => h("circle", { cx, cy, r: grey ? 1.5 : 3.5 }))))));
  drawn = { over, sizes, lines, x, pointer, width };
  show(Math.floor(sizes.length / 2));
}

// Lists the values at one size, the best first, with the colours of the lines.
function show(index) {
  drawn.at = Math.max(0, Math.min(drawn.sizes.length - 1, index));
  const n = drawn.sizes[drawn.at];
  const order = chooser.value.value === "time_us" ? 1 : -1;
  const rows = drawn.lines.flatMap(({ rows, grey }) =>
    rows.filter((row) => row[drawn.over] === n).map((row) => ({ ...row, grey })));
  rows.sort(by((row) => order * value(row)));
  say("#values", h("b", {}, `${sizeName(rows[0])}:`), ...rows.map((row) =>
    h("span", {}, row.grey ? "" : dot(row.variant), `${row.variant} `, h("b", {}, text(row)))));
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
const MOST_ROWS = 200; // more are slow to draw
const COLUMNS = {
  "kernel": (row) => row.variant, "M × N": sizeName,
  "time (µs)": (row) => fourDigits(row.time_us) + row.mark,
  "× torch": (row) => number(row.speedup), "of copy": (row) => percent(row.of_copy),
  "GB/s": (row) => fourDigits(row.throughput_gbps),
};
for (const name of ["op", "dtype", "gpu", "sweep", "status", "flags", "message"])
  COLUMNS[name] = (row) => row[name];
for (const row of PAGE.rows) {
  const { variant, M, N, op, dtype, gpu, sweep, status, flags, message } = row;
  const words = [variant, `${M}x${N}`, M, N, op, dtype, gpu, sweep, status, flags, message];
  row.words = ` ${words.join(" ")} `.toLowerCase();
}

const OPS_AND_DTYPES = new Set(PAGE.rows.flatMap(({ op, dtype }) => [op, dtype]));

function list() {
  // A number, a size, an operation or a dtype must be a whole word, so that 512 does not find 5120.
  const words = filter.words.value.toLowerCase().split(/\s+/).map((word) =>
    /^\d[\dx]*$/.test(word) || OPS_AND_DTYPES.has(word) ? ` ${word} ` : word);
  const own = (row) => !filter.own.checked || !asked || comparable(row, asked);
  const rows = PAGE.rows.filter((row) => own(row) && words.every((word) => row.words.includes(word)));
  say("#rows tbody", ...rows.slice(0, MOST_ROWS).map((row) => {
    const made = tableRow(...Object.values(COLUMNS).map((show) => cell(show(row))));
    made.firstChild.append(h("small", {}, `${sizeName(row)} ${row.dtype}`));
    return made;
  }));
  const shown = rows.length > MOST_ROWS ? `; the first ${MOST_ROWS} are below` : "";
  say("#count", `${rows.length} of ${PAGE.rows.length} rows${shown}`);
}

chooser.chart.append(...PAGE.charts.map(({ gpu, op, dtype, m }, value) =>
  h("option", { value }, `${gpuName(gpu)}, ${op}, ${dtype}, ${m}`)));
say("#rows thead", tableRow(...Object.keys(COLUMNS).map((name) => head("col", name))));
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
find("#filter").addEventListener("input", list);
addEventListener("submit", (event) => event.preventDefault());
if (RANKED.length) ask();
else list(), PAGE.charts.length && draw();
if (innerWidth < 700) find("#best details").open = false;
