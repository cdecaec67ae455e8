// The chart: a metric over N, at one M or at an M that follows from N.

const chooser = find("#chooser").elements;
const plot = find("#plot");
const [LEFT, TOP, BOTTOM, HEIGHT] = [52, 22, 360, 405]; // pixels
const LEADER = 60; // pixels, at most, from the end of a line to its name
const NAMED = 6; // lines with a colour, torch among them
const SLOWEST = 0.5; // the speed over torch below which the axis does not follow an outlier
const LIMIT = { torch: "torch", limit: "the limit, such as a copy of the same bytes" };
let drawn; // {sizes, lines, x, pointer, width, index} of the chart

const chosen = () => METRICS[chooser.metric.value];
const value = (row) => row[chosen().column];
const text = (row) => chosen().write(value(row)) + row.mark;
const shortened = (name, length) => (name.length > length ? `${name.slice(0, length - 1)}…` : name);

function axes(x, y, sizes, range, right) {
  const middle = { "text-anchor": "middle" };
  const grid = ticks(...range).flatMap((tick) => [
    h("line", { class: "grid", x1: LEFT, x2: right, y1: y(tick), y2: y(tick) }),
    h("text", { x: LEFT - 6, y: y(tick) + 4, "text-anchor": "end" },
      chooser.metric.value === "limit" ? percent(tick) : String(tick)),
  ]);
  const powers = [...Array(40).keys()].filter((k) => 2 ** k >= sizes[0] && 2 ** k <= sizes[1]);
  const step = Math.ceil(powers.length / Math.max(2, (right - LEFT) / 38));
  const labels = powers.filter((_, i) => (powers.length - 1 - i) % step === 0).map((k) =>
    h("text", { x: x(2 ** k), y: BOTTOM + 18, ...middle }, "2",
      h("tspan", { dy: -5, "font-size": 9 }, String(k))));
  const unit = { graph: "µs", eager: "µs", limit: "of the limit", torch: "× torch" }[chooser.metric.value];
  return [...grid, ...labels, h("text", { x: 2, y: TOP - 8 }, unit),
    h("text", { x: (LEFT + right) / 2, y: BOTTOM + 38, ...middle }, "N (columns)")];
}

// The parts of a line: rows at sizes that follow each other, so that it joins measured neighbours.
function segments(rows, sizes) {
  const parts = [];
  for (const row of rows) {
    const last = parts.at(-1)?.at(-1);
    const follows = last && sizes.indexOf(row.N) === sizes.indexOf(last.N) + 1;
    if (follows) parts.at(-1).push(row);
    else parts.push([row]);
  }
  return parts.filter((part) => part.length > 1);
}

// The least and the largest value of the axis. What is further below torch is drawn at its edge.
function extent(lines, limit) {
  const values = [...lines.flatMap((line) => line.rows.map(value)), ...limit.map(([, limited]) => limited)];
  const [least, most] = [Math.min(...values), Math.max(...values)];
  if (chooser.metric.value === "limit") return [0, most * 1.05];
  return [(chooser.metric.value === "torch" ? Math.max(least, SLOWEST) : least) / 1.15, most * 1.1];
}

function draw() {
  for (const id of ["#plot", "#values", "#numbers thead", "#numbers tbody"]) say(id);
  drawn = null;
  const chart = PAGE.charts[chooser.chart.value];
  if (!chart) return say("#chart-note", "No line joins the measured sizes of this question, because " +
    "their M follows no rule: see the grid and Data, or choose another series.");
  const { gpu, op, dtype, m, lines: places, limit: roof } = chart;
  const timed = places.map((line) => line.map((i) => PAGE.sizes[i]).filter(value));
  const lines = timed.filter((rows) => rows.length).map((rows, i) => {
    const grey = i >= NAMED && !chooser.all.checked;
    return { variant: rows[0].variant, rows, dash: DASHES[i % DASHES.length], grey };
  });
  const sizes = distinct(lines.flatMap(({ rows }) => rows.map((row) => row.N))).sort(by(Number));
  if (!sizes.length && chooser.metric.value === "limit") return (chooser.metric.value = "torch"), draw();
  if (!sizes.length) return say("#chart-note", "No row here has this metric; choose another one.");
  const limit = { graph: roof, eager: [], limit: roof.map(([n]) => [n, 1]),
    torch: sizes.map((n) => [n, 1]) }[chooser.metric.value];
  const grey = lines.some((line) => line.grey);
  const isAsked = asked && comparable(asked, { gpu, op, dtype });
  const hasM = isAsked && (m.includes("N") || lines[0].rows[0].M === asked.M);
  say("#chart-note", asked && !isAsked
    ? `This chart is not of the question, but of ${gpuName(gpu)}, ${op}, ${dtype}. `
    : asked && !hasM ? `The chart nearest to the question has ${m}, not ${asked.M}. ` : "",
    limit.length ? `Dashed: ${LIMIT[chooser.metric.value] ?? LIMIT.limit}. ` : "",
    grey ? "Coloured: torch, and the kernels that are best at the most sizes. " : "",
    "Lines connect adjacent N. Shapes whose M follows no rule are in the grid and in Data.");
  tabulate(lines, sizes);
  const width = plot.clientWidth;
  const letters = width < 500 ? 12 : 22;
  const end = width - 26 - 6.5 * Math.max(...lines.filter((line) => !line.grey).map(({ variant }) =>
    Math.min(letters, variant.length)));
  const [range, n] = [extent(lines, limit), [sizes[0] / 1.15, sizes.at(-1) * 1.15]];
  const x = scale(...n, LEFT, end, Math.log);
  const y = scale(...range, BOTTOM, TOP, range[0] ? Math.log : Number);
  const point = (row) => [x(row.N), y(Math.max(value(row), range[0]))];
  const pointer = h("line", { class: "pointer", y1: TOP, y2: BOTTOM });
  const label = `${chooser.metric.selectedOptions[0].text} over N, ${gpu}, ${op}, ${dtype}, ${m}`;
  plot.append(h("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": label },
    ...axes(x, y, n, range, end), pointer,
    h("polyline", { class: "roof", points: limit.map(([size, limited]) => [x(size), y(limited)]).join(" ") }),
    ...lines.toReversed().map(({ variant, rows, grey, dash }) => h("g",
      { class: grey ? "line grey" : "line", "data-label": variant, style: grey ? "" : paint(variant) },
      ...segments(rows, sizes).map((part) =>
        h("polyline", { points: part.map(point).join(" "), "stroke-dasharray": grey ? "" : dash })),
      ...rows.map((row) => marker(variant, point(row), grey ? 1.5 : 4)))),
    ...names(lines, point, end, letters), ...askedMark(x, y, range, n, hasM, { gpu, op, dtype })));
  drawn = { sizes, lines, x, pointer, width };
  const [nearestN] = isAsked ? sizes.toSorted(by((n) => factor(n, asked.N))) : [];
  show(isAsked ? sizes.indexOf(nearestN) : Math.floor(sizes.length / 2));
}

// The names of the coloured lines, at their ends. One that ends early is told by its marker alone.
function names(lines, point, end, letters) {
  const named = lines.filter((line) => !line.grey);
  const ends = named.map(({ rows }) => point(rows.at(-1)));
  const heights = spread(ends.map(([, y]) => y), TOP, BOTTOM);
  return named.flatMap(({ variant }, i) => [
    ...(end - ends[i][0] > LEADER ? [] : [
      h("line", { class: "grid", x1: ends[i][0] + 5, y1: ends[i][1], x2: end + 6, y2: heights[i] })]),
    h("g", { style: paint(variant), fill: "currentColor" }, marker(variant, [end + 12, heights[i]], 4)),
    h("text", { class: "name", x: end + 20, y: heights[i] + 4 }, shortened(variant, letters)),
  ]);
}

// The question: a line at its N, and the estimate of its time if it has the M of the chart but was
// not measured.
function askedMark(x, y, range, sizes, hasM, chart) {
  if (!asked || !comparable(asked, chart)) return [];
  const size = asked.N;
  if (size < sizes[0] || size > sizes[1]) return [];
  const marks = [
    h("line", { class: "asked", x1: x(size), x2: x(size), y1: TOP, y2: BOTTOM }),
    h("text", { x: x(size), y: TOP - 6, "text-anchor": "middle" }, hasM ? sizeName(asked) : `N = ${asked.N}`),
  ];
  const all = measured(asked);
  const near = neighbours(all, asked);
  if (!hasM || chooser.metric.value !== "graph" || !near.length || alike(near[0], asked)) return marks;
  const { us, low, high } = estimate(all, asked, winner(near).names[0]);
  if (us < range[0] || us > range[1]) return marks;
  return [...marks, h("line", { class: "asked guess", x1: x(size), x2: x(size), y1: y(low), y2: y(high) }),
    h("path", { class: "asked guess", d: MARKERS.D, transform: `translate(${x(size)} ${y(us)}) scale(5)` })];
}

function tabulate(lines, sizes) {
  const head = (scope, name) => h("th", { scope }, name);
  say("#numbers thead", tableRow(...["N", ...lines.map((line) => line.variant)]
    .map((name) => head("col", name))));
  say("#numbers tbody", ...sizes.map((n) => tableRow(head("row", String(n)), ...lines.map((line) =>
    h("td", { class: "right" }, line.rows.filter((row) => row.N === n).map(text).join(", "))))));
}

// Lists the values at one size, the best first, with the colours of the lines.
function show(index) {
  drawn.index = Math.max(0, Math.min(drawn.sizes.length - 1, index));
  const n = drawn.sizes[drawn.index];
  const order = chosen().least ? 1 : -1;
  const rows = drawn.lines.flatMap(({ rows, grey }) =>
    rows.filter((row) => row.N === n).map((row) => ({ ...row, grey })));
  rows.sort(by((row) => order * value(row)));
  say("#values", h("b", {}, `${sizeName(rows[0])}:`), ...rows.map((row) =>
    h("span", {}, row.grey ? "" : dot(row.variant), `${row.variant} `,
      h("b", {}, row.rank === null ? text(row) : raw(row, text(row))))));
  for (const end of ["x1", "x2"]) drawn.pointer.setAttribute(end, drawn.x(n));
}

// Chooses the chart with the size nearest to the question; of several, the one with the most rows.
function follow(question) {
  const rows = (chart) => chart.lines.flat().map((i) => PAGE.sizes[i]);
  const near = (chart) => Math.min(...rows(chart).map((row) => distance(row, question)));
  const charts = PAGE.charts.filter((chart) => comparable(chart, question));
  const [best] = charts.sort(by((chart) => 1e6 * near(chart) - rows(chart).length));
  chooser.chart.value = PAGE.charts.indexOf(best);
  if (PAGE.charts.length) draw();
}

chooser.chart.append(...PAGE.charts.map(({ gpu, op, dtype, m }, index) =>
  h("option", { value: index }, `${gpuName(gpu)}, ${op}, ${dtype}, ${m}`)));
find("#chooser").addEventListener("change", draw);
plot.addEventListener("keydown", (event) => {
  const steps = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity };
  if (!drawn || !(event.key in steps)) return;
  event.preventDefault();
  show(drawn.index + steps[event.key]);
});
plot.addEventListener("pointermove", (event) => {
  if (!drawn) return;
  const across = event.clientX - plot.getBoundingClientRect().left;
  const [closest] = drawn.sizes.toSorted(by((n) => Math.abs(drawn.x(n) - across)));
  show(drawn.sizes.indexOf(closest));
});
addEventListener("resize", () => drawn && drawn.width !== plot.clientWidth && draw());
