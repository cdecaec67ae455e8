// The chart: a quantity over N on log axes. The table of all rows: searched, sorted, a part at a time.

const chooser = find("#chooser");
const [LEFT, TOP, BOTTOM, HEIGHT, LABEL, NAMED] = [52, 10, 360, 405, 14, 5]; // pixels; NAMED lines have a colour
const UNIT = { of_copy: percent, throughput_gbps: (v) => `${number(v, 4)} GB/s`, time_us: (v) => `${number(v, 4)} µs`, speedup: times };
let drawn; // {sizes, lines, x, picture, at, width} of the chart

const quantity = () => chooser.elements.value.value;
const better = (row) => (quantity() === "time_us" ? -1 : 1) * row[quantity()];
const scale = (low, high, from, to, of = Math.log) => (value) => from + ((to - from) * (of(value) - of(low))) / (of(high) - of(low));

// Lines of the chart, with torch and the kernels that are best at the most sizes first; `over` gives a row's place on x.
function linesOf(chart, over) {
  const lines = new Map();
  for (const row of chart.rows.map((i) => SIZES[i]).filter((row) => row[quantity()] > 0)) {
    if (!lines.has(row.variant)) lines.set(row.variant, { variant: row.variant, rows: [], best: row.variant === PAGE.baseline ? Infinity : 0 });
    const line = lines.get(row.variant);
    line.rows.push(row);
    line.best += row.in_best_set;
  }
  const found = [...lines.values()].sort((a, b) => b.best - a.best || b.rows.length - a.rows.length);
  found.forEach((line, i) => {
    line.rows.sort(by(over));
    line.grey = i >= NAMED && !chooser.elements.all.checked;
  });
  return found;
}

// The roofline by place: a copy of the same bytes (published tables: the data sheet's peak); of a speed-up torch.
function roofOf(rows, over) {
  const value = { of_copy: () => 1, speedup: () => 1, throughput_gbps: (r) => r.throughput_gbps / r.of_copy, time_us: (r) => r.time_us * r.of_copy }[quantity()];
  const sizes = distinct(rows.map(over)).sort(by((n) => n));
  const median = (values) => values.sort(by((v) => v))[Math.floor(values.length / 2)];
  return sizes.map((n) => [n, median(rows.filter((r) => over(r) === n && r.of_copy).map(value))]).filter(([, v]) => v);
}

function ticks(low, high) {
  if (!low) return [0, 0.2, 0.4, 0.6, 0.8, 1];
  const steps = high / low > 300 ? [1] : high / low > 8 ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9];
  const powers = Array.from({ length: 24 }, (_, i) => 10 ** (i - 8));
  return powers.flatMap((power) => steps.map((step) => Number((step * power).toPrecision(2)))).filter((v) => v >= low && v <= high);
}

function axes(x, y, n, range, right, name) {
  const found = ticks(...range).map((v) => element("g", {}, element("line", { class: "grid", x1: LEFT, x2: right, y1: y(v), y2: y(v) }),
    element("text", { x: LEFT - 6, y: y(v) + 4, "text-anchor": "end" }, quantity() === "of_copy" ? `${Math.round(100 * v)}%` : String(v))));
  const powers = Array.from({ length: 40 }, (_, k) => k).filter((k) => 2 ** k >= n[0] && 2 ** k <= n[1]);
  const step = Math.ceil(powers.length / Math.max(2, (right - LEFT) / 38));
  for (const k of powers.filter((_, i) => (powers.length - 1 - i) % step === 0)) {
    found.push(element("text", { x: x(2 ** k), y: BOTTOM + 18, "text-anchor": "middle" }, "2", element("tspan", { dy: -5, "font-size": 9 }, String(k))));
  }
  found.push(element("text", { x: (LEFT + right) / 2, y: BOTTOM + 38, "text-anchor": "middle" }, name));
  return found;
}

// Names at the right ends of coloured lines; names that meet move down, then up from the bottom.
function names(lines, over, x, y, right) {
  const ends = lines.filter((line) => !line.grey).map((line) => ({ line, row: line.rows.at(-1), at: y(line.rows.at(-1)[quantity()]) })).sort(by((end) => end.at));
  ends.forEach((end, i) => (end.place = Math.max(end.at, i ? ends[i - 1].place + LABEL : TOP)));
  for (let i = ends.length - 1, most = BOTTOM; i >= 0; i -= 1, most -= LABEL) ends[i].place = Math.min(ends[i].place, most);
  return ends.map(({ line, row, at, place }) => element("g", {}, element("line", { class: "leader", x1: x(over(row)) + 5, y1: at, x2: right + 6, y2: place }),
    element("text", { class: "name", x: right + 9, y: place + 4 }, line.variant)));
}

function draw() {
  const chart = PAGE.charts[chooser.elements.chart.value];
  const plot = find("#plot");
  const over = chart.over === "N" ? (row) => row.N : (row) => row.M * row.N;
  const lines = linesOf(chart, over);
  const rows = lines.flatMap((line) => line.rows);
  const roof = roofOf(rows, over);
  const sheet = chart.gpu.includes("published") ? "the data sheet's bandwidth" : "a copy of the same bytes";
  drawn = null;
  find("#chart-note").textContent = rows.length ? `Dashed: ${quantity() === "speedup" ? "torch" : sheet}. ${lines.some((line) => line.grey) ? "Coloured: torch, and the kernels that are best at the most sizes." : ""}` : "No row has this quantity; choose another one.";
  plot.replaceChildren();
  find("#values").replaceChildren();
  const sizes = distinct(rows.map(over)).sort(by((n) => n));
  numbers(lines, sizes, over);
  if (!rows.length) return;
  const width = plot.clientWidth;
  const wide = width >= 620; // on a phone the values below name the lines
  const right = width - (wide ? 20 + 7.4 * Math.max(...lines.filter((line) => !line.grey).map((line) => line.variant.length)) : 10);
  const values = [...rows.map((row) => row[quantity()]), ...roof.map(([, v]) => v)];
  const share = quantity() === "of_copy"; // from 0, and not on a log axis
  const n = [sizes[0] / 1.15, sizes.at(-1) * 1.15];
  const range = share ? [0, Math.max(...values) * 1.05] : [Math.min(...values) / 1.15, Math.max(...values) * 1.15];
  const [x, y] = [scale(...n, LEFT, right), scale(...range, BOTTOM, TOP, share ? (v) => v : Math.log)];
  const what = chooser.elements.value.selectedOptions[0].text;
  const picture = element("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": `${what} over ${chart.over}, ${chart.gpu}, ${chart.op}, ${chart.dtype}, ${chart.m}` },
    ...axes(x, y, n, range, right, chart.over === "N" ? "N (columns)" : "M·N (elements)"),
    element("line", { class: "pointer", y1: TOP, y2: BOTTOM }),
    element("polyline", { class: "roof", points: roof.map(([at, v]) => [x(at), y(v)]).join(" ") }),
    ...(wide ? names(lines, over, x, y, right) : []),
    ...lines.toReversed().map((line) => {
      const places = line.rows.map((row) => [x(over(row)), y(row[quantity()])]);
      return coloured(element("g", { class: line.grey ? "line grey" : "line", "data-label": line.variant }, element("polyline", { points: places.join(" ") }),
        ...places.map(([cx, cy]) => element("circle", { cx, cy, r: line.grey ? 1.5 : 3.5 }))), line.variant);
    }));
  plot.append(picture);
  drawn = { sizes, lines, over, x, picture, width };
  show(Math.floor(sizes.length / 2));
}

// Lists the values at one size, the best first.
function show(index) {
  drawn.at = Math.max(0, Math.min(drawn.sizes.length - 1, index));
  const n = drawn.sizes[drawn.at];
  const rows = drawn.lines.flatMap((line) => line.rows.filter((row) => drawn.over(row) === n)).sort(by((row) => -better(row)));
  const items = rows.map((row) => element("span", {}, dot(row.variant), `${row.variant} `, element("b", {}, UNIT[quantity()](row[quantity()]) + row.mark)));
  find("#values").replaceChildren(element("b", {}, `${sizeName(rows[0])}:`), ...items);
  for (const end of ["x1", "x2"]) find(".pointer", drawn.picture).setAttribute(end, drawn.x(n));
}

function numbers(lines, sizes, over) {
  const cell = (line, n) => line.rows.filter((row) => over(row) === n).map((row) => UNIT[quantity()](row[quantity()]) + row.mark).join(", ");
  find("#numbers thead").replaceChildren(element("tr", {}, ...["N", ...lines.map((line) => line.variant)].map((name) => element("th", { scope: "col" }, name))));
  find("#numbers tbody").replaceChildren(...sizes.map((n) => element("tr", {}, element("th", { scope: "row" }, String(n)), ...lines.map((line) => element("td", { class: "right" }, cell(line, n))))));
}

// Chooses the chart with the size of the answer, or the one of its operation with the most rows.
function follow({ gpu, op, dtype, M, N }) {
  const same = PAGE.charts.map((chart, i) => ({ chart, i })).filter(({ chart }) => chart.gpu === gpu && chart.op === op && chart.dtype === dtype);
  const has = ({ chart }) => chart.rows.some((i) => SIZES[i].M === M && SIZES[i].N === N);
  const best = same.sort(by((each) => -1e6 * has(each) - each.chart.rows.length))[0];
  if (best) chooser.elements.chart.value = best.i;
  draw();
  const at = drawn?.sizes.indexOf(drawn.over({ M, N })) ?? -1;
  if (at >= 0) show(at);
}

const filter = find("#filter");
const ROWS = unpacked(PAGE.rows);
const STEP = 25;
const COLUMNS = [
  ["kernel", (row) => row.variant], ["M × N", (row) => row.N * 1e12 + row.M, sizeName], ["time (µs)", (row) => row.time_us, (row) => number(row.time_us, 4) + row.mark, "right"],
  ["× torch", (row) => row.speedup, (row) => number(row.speedup), "right"], ["of copy", (row) => row.of_copy, (row) => percent(row.of_copy), "right"], ["GB/s", (row) => row.throughput_gbps, (row) => number(row.throughput_gbps, 4), "right wide"],
  ["op", (row) => row.op], ["dtype", (row) => row.dtype], ["gpu", (row) => row.gpu], ["sweep", (row) => row.sweep],
  ["status", (row) => (row.unranked_by ? `not ranked: ${row.unranked_by}` : row.status)], ["flags", (row) => row.flags], ["message", (row) => row.message],
].map(([name, value, show = value, look = ["kernel"].includes(name) ? "" : "wide"]) => ({ name, value, show, look }));
const ALIAS = { bf16: "bfloat16", fp16: "float16", f16: "float16", half: "float16", fp32: "float32", f32: "float32" };
const TEXTS = ROWS.map((row) => ` ${row.variant} ${row.M}x${row.N} ${row.M} ${row.N} ${row.op} ${row.dtype} ${row.gpu} ${row.sweep} ${row.status} ${row.unranked_by} ${row.flags} ${row.message} ${row.status === "ok" ? "" : "failed"} `.toLowerCase());
let [shown, order, asked] = [STEP, null, null];

// Every word must occur. A number or a size must be a whole word, so that 512 does not find 5120.
function matching() {
  const words = filter.elements.words.value.toLowerCase().split(/\s+/).filter(Boolean).map((word) => ALIAS[word] ?? word);
  const own = filter.elements.own.checked && asked;
  const fits = (row) => !own || ["gpu", "op", "dtype"].every((name) => row[name] === own[name]);
  return ROWS.filter((row, i) => fits(row) && words.every((word) => TEXTS[i].includes(/^\d[\dx]*$|^(b?float|softmax)/.test(word) ? ` ${word} ` : word)));
}

function list() {
  const rows = matching();
  if (order) {
    rows.sort((a, b) => {
      const [p, q] = [order.value(a), order.value(b)];
      if (p === null || q === null) return (p === null) - (q === null); // unknown values come last in both directions
      return (order.down ? -1 : 1) * (p < q ? -1 : p > q ? 1 : 0);
    });
  }
  find("#rows tbody").replaceChildren(...rows.slice(0, shown).map((row) => element("tr", {}, ...COLUMNS.map((column) =>
    element("td", { class: column.look }, String(column.show(row) ?? ""), ...(column.name === "kernel" ? [element("small", {}, `${sizeName(row)} ${row.dtype}`)] : []))))));
  find("#count").textContent = `${rows.length} of ${ROWS.length} rows`;
  find("#more-rows").hidden = rows.length <= shown;
}

function sortBy(column) {
  order = { ...column, down: order?.name === column.name && !order.down };
  COLUMNS.forEach(({ name }, i) => find("#rows thead tr").children[i].setAttribute("aria-sort", name !== order.name ? "none" : order.down ? "descending" : "ascending"));
  list();
}

chooser.elements.chart.append(...distinct(PAGE.charts.map((chart) => chart.gpu)).map((gpu) => element("optgroup", { label: gpuName(gpu) },
  ...PAGE.charts.flatMap((chart, i) => (chart.gpu === gpu ? [element("option", { value: i }, `${chart.op}, ${chart.dtype}, ${chart.m}`)] : [])))));
find("#rows thead").replaceChildren(element("tr", {}, ...COLUMNS.map((column) => {
  const button = element("button", { type: "button" }, column.name);
  button.addEventListener("click", () => sortBy(column));
  return element("th", { scope: "col", "aria-sort": "none", class: column.look }, button);
})));
let frame;
addEventListener("asked", ({ detail }) => {
  asked = detail;
  const before = location.hash;
  cancelAnimationFrame(frame); // while a number is typed, only the last question counts
  frame = requestAnimationFrame(() => {
    if (location.hash === before) history.replaceState(null, "", address(detail)); // else a link was followed meanwhile
    follow(detail);
    list();
  });
});
chooser.addEventListener("change", draw);
find("#plot").addEventListener("keydown", (event) => {
  const steps = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity };
  if (!drawn || !(event.key in steps)) return;
  event.preventDefault();
  show(drawn.at + steps[event.key]);
});
find("#plot").addEventListener("pointermove", (event) => {
  if (!drawn) return;
  const across = event.clientX - drawn.picture.getBoundingClientRect().left;
  show(drawn.sizes.indexOf(drawn.sizes.toSorted(by((n) => Math.abs(drawn.x(n) - across)))[0]));
});
addEventListener("resize", () => drawn && drawn.width !== find("#plot").clientWidth && draw());
filter.addEventListener("input", () => ((shown = STEP), list()));
filter.addEventListener("submit", (event) => event.preventDefault());
find("#more-rows").addEventListener("click", () => ((shown *= 4), list()));
if (RANKED.length) ask();
else list(), PAGE.charts.length && draw();
if (innerWidth < 700) find("#best").open = false;
