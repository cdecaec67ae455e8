// The chart: a quantity over N for one GPU, sweep and dtype, on two log axes.

const chooser = find("#chooser");
const HEIGHT = 400; // pixels of the plot
const LABEL = 15; // pixels, the height of a label
const MOST_NAMED = 10; // lines with a name at their end; the leaders of more would cross
const [LEFT, TOP, BELOW] = [64, 12, 46];
const UNIT = { throughput_gbps: " GB/s", time_us: " µs", speedup: "×", of_copy: "" };
const hidden = new Set(); // labels that the legend switched off
let chart; // the drawn chart: {lines, sizes, x, picture, width, at}

const quantity = () => chooser.elements.value.value;
const short = (row) => number(row[quantity()]) + (row.mark || "") + UNIT[quantity()];

// The quantity with its interval: quantiles of the time, confidence interval of the speed-up.
function long(row) {
  if (quantity() === "time_us") return `${withInterval(row.time_us, row.time_us_q20, row.time_us_q80)} µs`;
  if (quantity() === "speedup") return `${withInterval(row.speedup, row.speedup_low, row.speedup_high)}×`;
  return short(row);
}

// One line for each variant and for its published times: {label, variant, published, rows}.
function linesOf(panel) {
  const rows = [...panel.own.map((i) => DRAWN[i]), ...panel.published.map((i) => PUBLISHED[i])];
  const found = new Map();
  for (const row of rows.filter((each) => each[quantity()] > 0)) {
    const published = row.origin === "published";
    const label = published && panel.own.length ? `${row.variant} (published)` : row.variant;
    if (!found.has(label)) found.set(label, { label, variant: row.variant, published, rows: [] });
    found.get(label).rows.push(row);
  }
  for (const line of found.values()) line.rows.sort((a, b) => a.N - b.N);
  const order = Object.keys(PAGE.looks);
  return [...found.values()].sort((a, b) => order.indexOf(a.variant) - order.indexOf(b.variant));
}

// The roofline as [N, value]: the copy timed beside the rows or, for published tables, the vendor's peak.
function limitOf(panel, lines) {
  const rows = lines.flatMap((line) => line.rows);
  const sizes = distinct(rows.map((row) => row.N)).sort((a, b) => a - b);
  if (quantity() === "of_copy" || quantity() === "speedup") return sizes.map((N) => [N, 1]);
  const rates = panel.peak ? sizes.map((N) => [N, panel.peak]) : panel.copy;
  if (quantity() !== "time_us") return rates;
  const kilobytes = new Map(rows.filter((row) => row.throughput_gbps).map((row) => [row.N, row.throughput_gbps * row.time_us]));
  return rates.filter(([N]) => kilobytes.has(N)).map(([N, rate]) => [N, kilobytes.get(N) / rate]);
}

function limitName(panel) {
  if (quantity() === "speedup") return "dashed: torch";
  if (quantity() === "of_copy" || !panel.peak) return "dashed: a copy of the same bytes";
  return "dashed: the vendor's memory peak";
}

// Ticks of a log axis: 1, 2 and 5 times powers of ten, or the powers alone over more than three decades.
function ticks(low, high) {
  const steps = high / low > 1000 ? [1] : [1, 2, 5];
  const found = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power += 1) {
    found.push(...steps.map((step) => step * 10 ** power));
  }
  return found.filter((value) => value >= low && value <= high);
}

const scale = (low, high, from, to) => (value) => from + ((to - from) * Math.log(value / low)) / Math.log(high / low);

function axes(x, y, [first, last], [low, high], right, bottom) {
  const found = ticks(low, high).map((value) =>
    svg("g", {}, svg("line", { class: "grid", x1: LEFT, x2: right, y1: y(value), y2: y(value) }),
      svg("text", { x: LEFT - 8, y: y(value) + 4, "text-anchor": "end" }, String(Number(value.toPrecision(1))))),
  );
  const powers = [];
  for (let k = Math.ceil(Math.log2(first)); k <= Math.log2(last); k += 1) powers.push(k);
  for (const k of evenly(powers, Math.max(2, Math.floor((right - LEFT) / 40)))) {
    const label = svg("text", { x: x(2 ** k), y: bottom + 20, "text-anchor": "middle" }, "2", svg("tspan", { dy: -5, "font-size": 9 }, String(k)));
    found.push(svg("g", {}, svg("line", { class: "tick", x1: x(2 ** k), x2: x(2 ** k), y1: bottom, y2: bottom + 5 }), label));
  }
  found.push(svg("text", { x: (LEFT + right) / 2, y: bottom + 40, "text-anchor": "middle" }, "N (columns)"));
  return found;
}

function drawnLine({ label, variant, published, rows }, x, y) {
  const places = rows.map((row) => [x(row.N), y(row[quantity()])]);
  const kind = published ? "line published" : "line";
  const points = rows.map((row, i) =>
    svg("path", { class: "point", d: PAGE.looks[variant].path, transform: `translate(${places[i]}) scale(4)` },
      svg("title", {}, `${label}, N = ${row.N}, M = ${row.M}: ${long(row)}`)),
  );
  return coloured(svg("g", { class: kind, "data-label": label }, svg("polyline", { points: places.join(" ") }), ...points), variant);
}

// Names at the right ends of the best lines; the legend names all lines. Names that meet move down, then up from the bottom.
function labels(lines, x, y, right, bottom) {
  const ends = lines.map((line) => ({ line, row: line.rows.at(-1) })).map((end) => ({ ...end, at: y(end.row[quantity()]) }));
  ends.sort((a, b) => a.at - b.at);
  const places = [];
  for (const end of ends) places.push(Math.max(end.at, (places.at(-1) ?? -Infinity) + LABEL));
  for (let i = places.length - 1, most = bottom; i >= 0; i -= 1, most -= LABEL) places[i] = Math.min(places[i], most);
  return ends.map(({ line, row, at }, i) =>
    svg("g", {}, svg("line", { class: "leader", x1: x(row.N) + 6, y1: at, x2: right + 8, y2: places[i] }),
      svg("text", { class: "name", x: right + 11, y: places[i] + 4 }, line.label)),
  );
}

// The note of a chart, with the legend of the marks if a value has one.
const notes = (note, rows) => [note, rows.some((row) => row.mark) ? PAGE.legend : ""].filter(Boolean).join(" ");

function draw() {
  const panel = PAGE.charts[chooser.elements.chart.value];
  const every = linesOf(panel);
  const lines = every.filter((line) => !hidden.has(line.label));
  const front = lines.toSorted((a, b) => cost(a.rows.at(-1)) - cost(b.rows.at(-1))).slice(0, MOST_NAMED);
  const limit = limitOf(panel, every);
  const what = chooser.elements.value.selectedOptions[0].text;
  const width = find("#plot").clientWidth;
  const named = width >= 640; // on a phone the legend and the values below name the lines
  const right = width - (named ? 20 + 6.6 * Math.max(0, ...front.map((line) => line.label.length)) : 12);
  const bottom = TOP + HEIGHT;
  const rows = lines.flatMap((line) => line.rows);
  const values = [...rows.map((row) => row[quantity()]), ...limit.map(([, value]) => value)];
  const sizes = distinct(rows.map((row) => row.N)).sort((a, b) => a - b);
  legend(every);
  find("#chart-title").textContent = `${panel.place} · ${panel.label}`;
  find("#chart-kind").textContent = `${what} · ${limitName(panel)}`;
  find("#chart-note").textContent = rows.length ? notes(panel.note, rows) : every.length ? "All lines are switched off." : "No row of this set has this quantity.";
  find("#plot").replaceChildren();
  chart = null;
  table(lines, sizes);
  if (!rows.length) return find("#values").replaceChildren();
  const n = [sizes[0] / 1.2, sizes.at(-1) * 1.2];
  const range = [Math.min(...values) / 1.25, Math.max(...values) * 1.25];
  const [x, y] = [scale(...n, LEFT, right), scale(...range, bottom, TOP)];
  const picture = svg("svg", { viewBox: `0 0 ${width} ${bottom + BELOW}`, role: "img", "aria-label": `${what} over N, ${panel.place}, ${panel.label}` },
    ...axes(x, y, n, range, right, bottom),
    svg("line", { class: "pointer", y1: TOP, y2: bottom }),
    svg("polyline", { class: "limit", points: limit.filter(([N]) => N >= n[0] && N <= n[1]).map(([N, value]) => [x(N), y(value)]).join(" ") }),
    ...(named ? labels(front, x, y, right, bottom) : []),
    ...lines.map((line) => drawnLine(line, x, y)));
  find("#plot").append(picture);
  chart = { lines, sizes, x, picture, width };
  show(Math.floor(sizes.length / 2));
}

// A sort key that puts the best first: the shortest time, or the largest of another quantity.
const cost = (row) => (quantity() === "time_us" ? 1 : -1) * row[quantity()];

function show(index) {
  chart.at = Math.max(0, Math.min(chart.sizes.length - 1, index));
  const N = chart.sizes[chart.at];
  const found = chart.lines.flatMap((line) => line.rows.filter((row) => row.N === N).map((row) => ({ line, row })));
  found.sort((a, b) => cost(a.row) - cost(b.row));
  const items = found.map(({ line, row }) =>
    element("li", {}, marker(line.variant), element("span", { class: "who" }, line.label), element("b", {}, short(row))),
  );
  find("#values").replaceChildren(element("p", {}, `N = ${N}`), element("ol", {}, ...items));
  const pointer = find(".pointer", chart.picture);
  for (const end of ["x1", "x2"]) pointer.setAttribute(end, chart.x(N));
}

// The numbers of the chart as a table: a row for each N, a column for each line.
function table(lines, sizes) {
  const text = (line, N) => line.rows.filter((row) => row.N === N).map(short).join(", ");
  const head = lines.map((line) => element("th", { scope: "col", class: "right" }, line.label));
  const body = sizes.map((N) =>
    element("tr", {}, element("th", { scope: "row", class: "right" }, String(N)), ...lines.map((line) => element("td", { class: "right" }, text(line, N)))),
  );
  find("#numbers thead").replaceChildren(element("tr", {}, element("th", { scope: "col", class: "right" }, "N"), ...head));
  find("#numbers tbody").replaceChildren(...body);
}

function legend(lines) {
  const labels = lines.map((line) => line.label);
  const there = [...document.querySelectorAll("#kernels input")];
  for (const box of there) box.checked = !hidden.has(box.value);
  if (there.map((box) => box.value).join() === labels.join()) return; // a box keeps the focus
  find("#kernels").replaceChildren(
    ...lines.map(({ label, variant }) => {
      const box = element("input", { type: "checkbox", value: label });
      box.checked = !hidden.has(label);
      return element("label", { "data-label": label }, box, marker(variant), label);
    }),
  );
}

// Mutes all lines but the one whose name the pointer is on.
function emphasize(event) {
  const name = /leave|out/.test(event.type) ? undefined : event.target.closest("label")?.dataset.label;
  for (const line of document.querySelectorAll("#plot .line")) line.classList.toggle("behind", name !== undefined && line.dataset.label !== name);
}

if (chooser) {
  const plot = find("#plot");
  chooser.addEventListener("change", draw);
  find("#kernels").addEventListener("change", ({ target }) => {
    if (target.checked) hidden.delete(target.value);
    else hidden.add(target.value);
    draw();
  });
  for (const kind of ["mouseover", "mouseleave", "focusin", "focusout"]) find("#kernels").addEventListener(kind, emphasize);
  for (const button of document.querySelectorAll("[data-all]")) {
    button.addEventListener("click", () => {
      for (const { value } of document.querySelectorAll("#kernels input")) hidden[button.dataset.all ? "delete" : "add"](value);
      draw();
    });
  }
  plot.addEventListener("keydown", (event) => {
    const steps = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity };
    if (!chart || !(event.key in steps)) return;
    event.preventDefault();
    show(chart.at + steps[event.key]);
  });
  plot.addEventListener("pointermove", (event) => {
    if (!chart) return;
    const across = event.clientX - chart.picture.getBoundingClientRect().left;
    const off = chart.sizes.map((N) => Math.abs(chart.x(N) - across));
    const best = off.indexOf(Math.min(...off));
    if (best !== chart.at) show(best);
  });
  addEventListener("resize", () => chart && chart.width !== plot.clientWidth && draw());
  draw();
}
