// The data of analysis/report/page/payload.py, and how elements, numbers and addresses are written.

const find = (selector) => document.querySelector(selector);
const distinct = (values) => [...new Set(values)];
const by = (key) => (a, b) => key(a) - key(b);

const packed = Uint8Array.from(atob(find("#payload").textContent), (byte) => byte.charCodeAt());
const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
const PAGE = await new Response(stream).json();

// An element with attributes and children; strings become text, never markup.
const SVG = ["svg", "g", "line", "polyline", "path", "text", "title", "tspan", "rect"];
function h(tag, attributes = {}, ...children) {
  const space = SVG.includes(tag) ? "http://www.w3.org/2000/svg" : "http://www.w3.org/1999/xhtml";
  const element = document.createElementNS(space, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}
const say = (selector, ...parts) => find(selector).replaceChildren(...parts);
const tableRow = (...cells) => h("tr", {}, ...cells);
const cell = (...parts) => h("td", {}, ...parts);
const paint = (variant) => `color: ${PAGE.styles[variant][0]}`;
// A name that may break after its underscores.
const breakable = (name) => name.split(/(?<=_)/).flatMap((part) => [part, h("wbr")]);
const dot = (variant) => h("span", { class: "dot", style: paint(variant) });

// Writes a number with three digits, or with `digits`; "" for none.
function number(value, digits = 3) {
  if (value === null) return "";
  // of the rounded number, which may have one digit more before the point
  const decimals = digits - 1 - Number(value.toExponential(digits - 1).split("e")[1]);
  return value.toFixed(Math.max(0, Math.min(9, decimals)));
}
const percent = (share) =>
  share === null ? "" : `${(100 * share).toFixed(share > 0 && share < 0.01 ? 1 : 0)} %`;
const times = (value) => (value === null ? "" : `${number(value)}×`);
const microseconds = (value) => (value === null ? "" : `${number(value)} µs`);

// The metrics that a reader can choose: the column of a row, how its value is written, and whether
// the least is the best.
const METRICS = {
  graph: { column: "time_us", write: microseconds, least: true },
  eager: { column: "eager_us", write: microseconds, least: true },
  limit: { column: "of_limit", write: percent },
  torch: { column: "speedup", write: times },
};

const FIELDS = ["gpu", "op", "dtype", "M", "N"];
const RANKED = PAGE.sizes.filter((row) => row.rank !== null);
const isCheck = (gpu) => gpu === PAGE.cpu; // a run on a CPU only checks results
const gpuName = (gpu) => (isCheck(gpu) ? "this CPU (a check, not a race)" : PAGE.gpus[gpu] ?? gpu);
const alike = (a, b, names = FIELDS) => names.every((name) => a[name] === b[name]);
const comparable = (a, b) => alike(a, b, ["gpu", "op", "dtype"]);
const place = ({ gpu, op, dtype, M, N }) => `${gpu}/${op}/${dtype}/${M}x${N}`;
const address = (size) => `#${place(size)}`;
const sizeName = ({ M, N }) => `${M}\u00a0×\u00a0${N}`;
const link = (size, text) => h("a", { href: address(size) }, text);

const WORKLOADS = PAGE.workloads.map(([name, op, dtype, M, N]) => ({ name, op, dtype, M, N }));
const isWorkload = (size) => (workload) => alike(workload, size, ["op", "dtype", "M", "N"]);
const workloadName = (size) => WORKLOADS.find(isWorkload(size))?.name;
const sizeTitle = (size) => sizeName(size) + (workloadName(size) ? ` (${workloadName(size)})` : "");
