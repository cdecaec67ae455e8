"use strict";
// The answer: the fastest kernel for a question, from the measured sizes nearest to it.

const PAGE = JSON.parse(document.getElementById("payload").textContent);
const find = (selector, inside = document) => inside.querySelector(selector);
const distinct = (values) => [...new Set(values)];
const by = (of) => (a, b) => of(a) - of(b);
document.documentElement.classList.add("js");

// Turns columns (analysis/report/page.py) into one object per row, with its throughput and the marks of its flags.
function unpacked(columns) {
  const names = Object.keys(columns);
  const values = names.map((name) => {
    const { words, codes, runs } = columns[name];
    return !words ? columns[name] : codes ? codes.map((code) => words[code]) : runs.flatMap(([code, count]) => Array(count).fill(words[code]));
  });
  return values[0].map((_, i) => {
    const row = Object.fromEntries(names.map((name, j) => [name, values[j][i]]));
    const moved = (row.op.endsWith("_backward") ? 3 : 2) * row.M * row.N * PAGE.itemsize[row.dtype];
    const marks = row.flags.split(" ").map((flag) => PAGE.marks[flag] ?? "");
    return { ...row, mark: distinct(marks).sort().join(""), throughput_gbps: row.time_us && moved / row.time_us / 1000 };
  });
}

// An element with attributes and children; strings become text, never markup.
function element(tag, attributes = {}, ...children) {
  const svg = ["svg", "g", "line", "polyline", "circle", "text", "title", "tspan"].includes(tag);
  const made = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

// Gives an element the colours of a variant, on white and on dark.
function coloured(made, variant) {
  const [light, dark] = PAGE.colours[variant];
  made.style.setProperty("--light", light);
  made.style.setProperty("--dark", dark);
  return made;
}
const dot = (variant) => coloured(element("span", { class: "dot" }), variant);

// Writes a number with three digits, or with `digits`; "" for none.
function number(value, digits = 3) {
  if (value === null) return "";
  const decimals = value ? digits - 1 - Math.floor(Math.log10(Math.abs(value))) : 0;
  return value.toFixed(Math.max(0, Math.min(9, decimals)));
}
const percent = (share) => (share === null ? "" : `${(100 * share).toFixed(share < 0.01 ? 1 : 0)} %`);
const times = (value) => (value === null ? "" : `${number(value)}×`);
const range = (values, show) => distinct([Math.min(...values), Math.max(...values)].map(show)).join(" to ");

const SIZES = unpacked(PAGE.sizes);
const RANKED = SIZES.filter((row) => row.rank !== null);
const question = find("#question");
const N_WEIGHT = 4; // a factor in N counts as its fourth power in M: N decides which kernel is the fastest
const FAR = 4; // beyond this factor in N no kernel is named
const [NEAREST, MOST_NAMED] = [6, 4]; // sizes of the table; kernels of a tie
const gpuName = (gpu) => PAGE.gpus[gpu] ?? gpu;
const address = ({ gpu, op, dtype, M, N }) => `#${gpu}/${op}/${dtype}/${M}x${N}`;
const sizeName = ({ M, N }) => `${M}\u00a0×\u00a0${N}`;

// The measured sizes of a GPU, operation and element type: {M, N, rows}, the fastest row first.
function measured({ gpu, op, dtype }) {
  const found = new Map();
  for (const row of RANKED.filter((row) => row.gpu === gpu && row.op === op && row.dtype === dtype)) {
    if (!found.has(sizeName(row))) found.set(sizeName(row), { gpu, op, dtype, M: row.M, N: row.N, rows: [] });
    found.get(sizeName(row)).rows.push(row);
  }
  for (const size of found.values()) {
    size.rows.sort(by((row) => row.rank));
    size.alone = size.rows.length === 1;
    size.best = size.rows.filter((row) => row.in_best_set).map((row) => row.variant);
  }
  return [...found.values()];
}

const factor = (a, b) => Math.abs(Math.log2(a / b));
const distance = (size, { M, N }) => N_WEIGHT * factor(size.N, N) + factor(size.M, M);
const nearest = (sizes, asked) => sizes.toSorted(by((size) => distance(size, asked)));

// The size itself if it was measured; else the nearest on both sides, in M if this N was measured, else in N.
function neighbours(sizes, asked) {
  const exact = sizes.find((size) => size.M === asked.M && size.N === asked.N);
  if (exact) return [exact];
  const same = sizes.filter((size) => size.N === asked.N);
  const [name, among] = same.length ? ["M", same] : ["N", sizes];
  const sides = [among.filter((size) => size[name] < asked[name]), among.filter((size) => size[name] > asked[name])];
  const found = sides.flatMap((side) => nearest(side, asked).slice(0, 1));
  return nearest(found, asked).filter((size) => factor(size.N, asked.N) <= Math.log2(FAR));
}

const listed = (names, joint = ", ") => names.slice(0, MOST_NAMED).join(joint) + (names.length > MOST_NAMED ? ` and ${names.length - MOST_NAMED} more` : "");
const named = ({ alone, best }) => (alone ? "only " : best.length > 1 ? "tie: " : "") + listed(best);

// Names the kernels that all neighbours agree on, or those of each.
function winner(near) {
  const raced = near.filter((size) => !size.alone);
  if (!raced.length) return { text: "No winner", names: near[0].best, alone: true };
  const common = raced[0].best.filter((name) => raced.every((size) => size.best.includes(name)));
  const names = common.length ? common : distinct(raced.map((size) => size.best[0]));
  return { text: (common.length > 1 ? "Tie: " : "") + listed(names, common.length ? ", " : " or "), names, depends: !common.length };
}

// The speed-up, the share of copy bandwidth and the times of a kernel, as a range over the neighbours.
function facts(near, name) {
  const rows = near.flatMap((size) => size.rows.filter((row) => row.variant === name));
  const span = (column, show) => range(rows.map((row) => row[column]).filter((value) => value !== null), show);
  const [{ speedup, speedup_low: low, speedup_high: high, of_copy: share }] = rows;
  const exact = rows.length === 1 && low !== null ? ` (95 % interval ${number(low)} to ${number(high)})` : "";
  return [
    ...(name !== PAGE.baseline && speedup !== null ? [`${span("speedup", (v) => number(v))}× torch${exact}`] : []),
    ...(share !== null ? [`${span("of_copy", percent)} of copy bandwidth (${span("throughput_gbps", (v) => number(v, 4))} GB/s)`] : []),
    ...rows.map((row) => `${number(row.time_us, 4)}${row.mark} µs at ${sizeName(row)}`),
  ].join(" · ");
}

function lead(near, { names, alone, depends }) {
  if (alone) return `Only ${names[0]} was timed here${names[0] === PAGE.baseline ? "" : ", beside torch as the baseline"}: nothing competed with it.`;
  if (depends) return near.map((size) => `${named(size)} at ${sizeName(size)}`).join("; ") + ".";
  const [size] = near.filter((each) => !each.alone);
  const next = size.rows.find((row) => !row.in_best_set);
  const tie = names.length > 1 ? "They differ by less than 1 %, or not significantly. " : "";
  if (names[0] === PAGE.baseline && names.length === 1) return `None of the ${size.rows.length - 1} other kernels measured here beats torch.`;
  return tie + (next ? `${next.variant} is next, ${times(next.behind_best)} the time at ${sizeName(size)}.` : "");
}

function about(names, near) {
  const said = names.slice(0, MOST_NAMED).filter((name) => PAGE.about[name]).map((name) => `${name}: ${PAGE.about[name]}`);
  const flags = near.flatMap((size) => size.rows.filter((row) => row.variant === names[0]).flatMap((row) => row.flags.split(" ")));
  return [...said, ...distinct(flags).filter((flag) => PAGE.flags[flag]).map((flag) => `Flag ${flag}: ${PAGE.flags[flag]}.`)].join(" ");
}

// Says that the combination was not measured, where it was, and how to measure it.
function missing(asked) {
  const places = distinct(RANKED.filter((row) => row.op === asked.op && row.dtype === asked.dtype).map((row) => row.gpu));
  const links = places.flatMap((gpu) => [element("a", { href: address({ ...asked, gpu }) }, `see ${gpuName(gpu)}`), " "]);
  const command = `snakemake --cores all --config op=${asked.op} 'dtypes=[${asked.dtype}]' sweep=${asked.op}_${asked.dtype}`;
  return [`${asked.op} in ${asked.dtype} was not measured on ${gpuName(asked.gpu)}: `, ...links, places.length ? "or measure it: " : "measure it: ", element("code", {}, command)];
}

function answer(asked) {
  const sizes = measured(asked);
  const near = neighbours(sizes, asked);
  const say = (id, ...parts) => find(`#${id}`).replaceChildren(...parts);
  const found = near.length ? winner(near) : null;
  const exact = near.length === 1 && distance(near[0], asked) === 0;
  const closest = nearest(sizes, asked)[0];
  say("asked", `${asked.op}, ${asked.dtype}, ${sizeName(asked)}, on ${gpuName(asked.gpu)}`);
  if (!sizes.length) say("notice", ...missing(asked));
  else if (!found) say("notice", `${sizeName(asked)} was not measured, and no kernel is named: the nearest measured N is off by more than ${FAR} times. Nearest: `, element("a", { href: address(closest) }, sizeName(closest)));
  else say("notice", exact ? "" : `${sizeName(asked)} was not measured. The answer is that of ${near.map(sizeName).join(" and ")}.`);
  say("winner", ...(found ? [...(found.alone ? [] : found.names.slice(0, 1).map(dot)), found.text] : []));
  say("facts", found ? facts(near, found.names[0]) : "");
  say("lead", found ? lead(near, found) : "");
  say("about", found ? about(found.names, near) : "");
  find("#link").href = address(asked);
  find("#behind").hidden = !found;
  if (found) tables(sizes, near, asked);
}

function tables(sizes, near, asked) {
  const shown = distinct([...near, ...nearest(sizes, asked).slice(0, NEAREST)]);
  const right = (text) => element("td", { class: "right" }, text);
  find("#near tbody").replaceChildren(...shown.map((size) =>
    element("tr", {}, element("td", {}, element("a", { href: address(size) }, sizeName(size))), element("td", {}, named(size)), right(times(size.rows[0].speedup)), right(percent(size.rows[0].of_copy)))));
  const control = SIZES.filter((row) => row.rank === null && row.gpu === near[0].gpu && row.op === near[0].op && row.dtype === near[0].dtype && row.M === near[0].M && row.N === near[0].N);
  const rows = [...near[0].rows, ...control];
  const most = Math.max(...rows.map((row) => 1 / row.time_us));
  find("#h-bars").textContent = `Kernels at ${sizeName(near[0])}, by speed-up over torch`;
  find("#bars tbody").replaceChildren(...rows.map((row) => {
    const made = element("tr", row.variant === PAGE.baseline ? { class: "torch" } : {}, element("td", {}, dot(row.variant), row.variant + (row.rank === null ? " (baseline)" : "")), right(`${number(row.time_us, 4)}${row.mark} µs`), right(times(row.speedup)), right(percent(row.of_copy)));
    made.style.setProperty("--share", `${100 / row.time_us / most}%`);
    return made;
  }));
}

const fields = () => Object.fromEntries(["gpu", "op", "dtype", "M", "N"].map((name) => [name, question.elements[name].value.trim()]));

// Answers the form, and writes the question into the address. No field changes another one.
function ask() {
  const asked = fields();
  const fine = ["M", "N"].map((name) => {
    const whole = /^[1-9]\d{0,11}$/.test(asked[name]);
    question.elements[name].setAttribute("aria-invalid", String(!whole));
    return whole;
  });
  const valid = fine.every(Boolean);
  find("#fault").textContent = valid ? "" : "M and N are whole numbers from 1 up, such as 1024 and 8192.";
  find("#reply").classList.toggle("old", !valid); // it still answers the last valid question
  if (!valid) return;
  [asked.M, asked.N] = [Number(asked.M), Number(asked.N)];
  for (const name of ["M", "N"]) {
    const values = distinct(measured(asked).map((size) => size[name])).sort(by((value) => value));
    find(`#list-${name}`).replaceChildren(...values.map((value) => element("option", { value })));
  }
  answer(asked);
  dispatchEvent(new CustomEvent("asked", { detail: asked }));
}

// Fills the form from the address, or from a call that is neither short nor long; false if the address asks nothing.
function read() {
  const match = location.hash.match(/^#([^/]+)\/(\w+)\/(\w+)\/(\d+)x(\d+)$/);
  if (match) ["gpu", "op", "dtype", "M", "N"].forEach((name, i) => (question.elements[name].value = decodeURIComponent(match[i + 1])));
  return Boolean(match);
}

const theme = find("#theme");
theme.addEventListener("change", () => {
  document.documentElement.dataset.theme = theme.value;
  try { localStorage.setItem("theme", theme.value); } catch { /* a page of a file may not store */ }
});
try { theme.value = localStorage.getItem("theme") ?? ""; } catch { theme.value = ""; }
document.documentElement.dataset.theme = theme.value;

if (RANKED.length) {
  const choices = { gpu: distinct(RANKED.map((row) => row.gpu)), op: ["softmax", "log_softmax", "softmax_backward", "log_softmax_backward"], dtype: ["float32", "float16", "bfloat16"] };
  for (const [name, values] of Object.entries(choices)) question.elements[name].append(...values.map((value) => element("option", { value }, name === "gpu" ? gpuName(value) : value)));
  const first = nearest(RANKED.filter((row) => row.gpu === RANKED[0].gpu), { M: 1024, N: 8192 })[0];
  for (const name of ["gpu", "op", "dtype", "M", "N"]) question.elements[name].value = first[name];
  question.addEventListener("input", ask);
  question.addEventListener("submit", (event) => event.preventDefault());
  addEventListener("hashchange", () => read() && ask());
  read();
} else for (const part of document.querySelectorAll("#answer .script")) part.classList.remove("script"), (part.hidden = true);
