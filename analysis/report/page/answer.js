// The answer: the fastest kernel for a question, from the measured sizes nearest to it.

const find = (selector) => document.querySelector(selector);
const distinct = (values) => [...new Set(values)];
const by = (of) => (a, b) => of(a) - of(b);

// The data of analysis/report/write.py.
const packed = Uint8Array.from(atob(find("#payload").textContent), (byte) => byte.charCodeAt());
const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
const PAGE = await new Response(stream).json();

// An element with attributes and children; strings become text, never markup.
const SVG = ["svg", "g", "line", "polyline", "circle", "text", "title", "tspan"];
function h(tag, attributes = {}, ...children) {
  const space = SVG.includes(tag) ? "http://www.w3.org/2000/svg" : "http://www.w3.org/1999/xhtml";
  const made = document.createElementNS(space, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}
const say = (selector, ...parts) => find(selector).replaceChildren(...parts);
const tableRow = (...cells) => h("tr", {}, ...cells);
const cell = (...parts) => h("td", {}, ...parts);
const right = (...parts) => h("td", { class: "right" }, ...parts);
const link = (size, text) => h("a", { href: address(size) }, text);
const paint = (variant) => `color: ${PAGE.colours[variant]}`;
const dot = (variant) => h("span", { class: "dot", style: paint(variant) });

// Writes a number with three digits, or with `digits`; "" for none.
function number(value, digits = 3) {
  if (value === null) return "";
  const decimals = value ? digits - 1 - Math.floor(Math.log10(Math.abs(value))) : 0;
  return value.toFixed(Math.max(0, Math.min(9, decimals)));
}
const fourDigits = (value) => number(value, 4);
const percent = (share) =>
  share === null ? "" : `${(100 * share).toFixed(share > 0 && share < 0.01 ? 1 : 0)} %`;
const times = (value) => (value === null ? "" : `${number(value)}×`);

const FIELDS = ["gpu", "op", "dtype", "M", "N"];
const RANKED = PAGE.sizes.filter((row) => row.rank !== null);
const question = find("#question");
let asked, frame; // the last valid question
let addressFault = ""; // what the address asks for in vain
const N_WEIGHT = 4; // N decides which kernel is the fastest: its factor counts as a fourth power
const FAR = 4; // beyond this factor in N no kernel is named
const [NEAREST, MOST_NAMED] = [6, 4]; // sizes of the table; kernels of a tie
const gpuName = (gpu) => PAGE.gpus[gpu] ?? gpu;
const address = ({ gpu, op, dtype, M, N }) => `#${gpu}/${op}/${dtype}/${M}x${N}`;
const sizeName = ({ M, N }) => `${M}\u00a0×\u00a0${N}`;
// The size with the name of its model, if it has one.
const known = ({ M, N }) => PAGE.names[`${M}x${N}`];
const sizeTitle = (size) => sizeName(size) + (known(size) ? ` (${known(size)})` : "");
const alike = (a, b, names = FIELDS) => names.every((name) => a[name] === b[name]);
const comparable = (a, b) => alike(a, b, ["gpu", "op", "dtype"]);

// The measured sizes of a GPU, operation and element type: the fastest row, and all, by rank.
function measured(asked) {
  const sizes = Map.groupBy(RANKED.filter((row) => comparable(row, asked)), sizeName);
  return [...sizes.values()].map((rows) => {
    const best = rows.filter((row) => row.in_best_set).map((row) => row.variant);
    return { ...rows[0], rows, best };
  });
}

const factor = (a, b) => Math.abs(Math.log2(a / b));
const distance = (size, { M, N }) => N_WEIGHT * factor(size.N, N) + factor(size.M, M);
const nearest = (sizes, asked) => sizes.toSorted(by((size) => distance(size, asked)));

// The size itself, or the nearest on both sides: in M if this N was measured, else in N.
function neighbours(sizes, asked) {
  const exact = sizes.find((size) => alike(size, asked));
  if (exact) return [exact];
  const same = sizes.filter((size) => size.N === asked.N);
  const [name, among] = same.length ? ["M", same] : ["N", sizes];
  const sides = Map.groupBy(nearest(among, asked), (size) => size[name] < asked[name]).values();
  const found = nearest([...sides].map((side) => side[0]), asked);
  return found.filter((size) => factor(size.N, asked.N) <= Math.log2(FAR));
}

function listed(names, joint = ", ") {
  const more = names.length - MOST_NAMED;
  return names.slice(0, MOST_NAMED).join(joint) + (more > 0 ? ` and ${more} more` : "");
}
const named = ({ no_winner, variant, best }) =>
  no_winner ? `no winner (${variant})` : (best.length > 1 ? "tie: " : "") + listed(best);

// Names the kernels that all neighbours agree on, or those of each.
function winner(near) {
  const raced = near.filter((size) => !size.no_winner);
  if (!raced.length) return { text: "No winner", names: [near[0].variant], why: near[0].no_winner };
  const common = raced[0].best.filter((name) => raced.every((size) => size.best.includes(name)));
  if (common.length > 1) return { text: `Tie: ${listed(common)}`, names: common };
  if (common.length) return { text: common[0], names: common };
  const names = distinct(raced.map((size) => size.best[0]));
  return { text: listed(names, " or "), names, depends: true };
}

// The speed-up, the share of copy bandwidth and the times of a kernel, as ranges over its rows.
function facts(rows, name) {
  const span = (column, show, text) => {
    const values = rows.map((row) => row[column]).filter((value) => value !== null);
    const ends = [Math.min(...values), Math.max(...values)].map((each) => show(each));
    return values.length ? text(distinct(ends).join(" to ")) : "";
  };
  const [{ speedup_low: low, speedup_high: high }] = rows;
  const exact = rows.length === 1 && low !== null;
  const interval = exact ? ` (95 % interval ${number(low)} to ${number(high)})` : "";
  const rate = span("throughput_gbps", fourDigits, (ends) => ` (${ends} GB/s)`);
  return [
    !PAGE.baselines.includes(name) && span("speedup", number, (ends) => `${ends}× torch${interval}`),
    span("of_copy", percent, (ends) => `${ends} of copy bandwidth${rate}`),
    span("of_meet", percent, (ends) => `${ends} of reading, meeting and writing`),
    ...rows.map((row) => `${fourDigits(row.time_us)}${row.mark} µs at ${sizeName(row)}`),
  ].filter(Boolean).join(" · ");
}

function lead(near, { names, why, depends }) {
  const torch = PAGE.baselines.includes(names[0]);
  if (why) return `${names[0]} is the fastest of those timed at ${sizeName(near[0])}, but ${why}.`;
  if (depends) return near.map((size) => `${named(size)} at ${sizeName(size)}`).join("; ") + ".";
  const size = near.find((each) => !each.no_winner);
  const others = size.rows.length - 1;
  if (torch && names.length === 1) return `None of the ${others} other kernels here beats torch.`;
  const tie = names.length > 1 ? "They differ by less than 1 %, or not significantly. " : "";
  const next = size.rows.find((row) => !row.in_best_set);
  return !next ? tie : `${tie}${next.variant} is next, ${times(next.behind_best)} the time at ${sizeName(size)}.`;
}

// Warns of times of older code.
function stale(rows) {
  const old = rows.filter((row) => row.flags.split(" ").includes("stale"));
  if (!old.length) return "";
  const what = old.length < rows.length ? `${old.length} of these ${rows.length} times` : "this";
  return `Stale: other code than the current one measured ${what}. `;
}

function about(names) {
  const said = names.slice(0, MOST_NAMED).filter((name) => PAGE.about[name]);
  return said.map((name) => `${name}: ${PAGE.about[name]}`).join(" ");
}

// Says that the combination was not measured, where it was, and how to measure it.
function missing(asked) {
  const { gpu, op, dtype, M, N } = asked;
  const there = RANKED.filter((row) => alike(row, asked, ["op", "dtype"])).map((row) => row.gpu);
  const see = distinct(there).flatMap((gpu) => [link({ ...asked, gpu }, `see ${gpuName(gpu)}`), " "]);
  const config = `'gpus=[${gpu}]' op=${op} dtype=${dtype} shape=${M}x${N}`;
  return [
    `${op} in ${dtype} was not measured on ${gpuName(gpu)}: `, ...see,
    see.length ? "or measure it: " : "measure it: ",
    h("code", {}, `snakemake --cores all --config ${config}`),
  ];
}

// Says whether the size was measured, and where the answer is from.
function notice(asked, sizes, near) {
  const [closest] = nearest(sizes, asked);
  if (!closest) return missing(asked);
  if (alike(closest, asked)) return [];
  const fault = `${sizeName(asked)} was not measured`;
  if (near.length) return [`${fault}. The answer is that of ${near.map(sizeName).join(" and ")}.`];
  const off = `${fault}, and no kernel is named: the nearest measured N is off by more than ${FAR} times`;
  return [`${off}. Nearest: `, link(closest, sizeName(closest))];
}

function answer(asked) {
  const sizes = measured(asked);
  const near = neighbours(sizes, asked);
  const found = near.length ? winner(near) : { names: [], text: "" };
  const rows = near.flatMap((size) => size.rows.filter((row) => row.variant === found.names[0]));
  say("#asked", `${asked.op}, ${asked.dtype}, ${sizeTitle(asked)}, on ${gpuName(asked.gpu)}`);
  say("#notice", ...notice(asked, sizes, near));
  say("#winner", ...(found.why ? [] : found.names.slice(0, 1).map(dot)), found.text);
  say("#facts", near.length ? facts(rows, found.names[0]) : "");
  say("#lead", near.length ? stale(near.flatMap((size) => size.rows)) + lead(near, found) : "");
  say("#about", about(found.names));
  find("#link").href = address(asked);
  find("#behind").hidden = !near.length;
  if (near.length) tables(distinct([...near, ...nearest(sizes, asked).slice(0, NEAREST)]));
}

// Names the rivals that have rows on this page, and no time at a size, with what their rows say.
function untimed(size) {
  const rival = ({ variant }) => variant === "frontier" || variant.startsWith("peer_");
  const alikeRows = PAGE.rows.filter((row) => alike(row, size, ["gpu", "op"]) && rival(row));
  const timed = size.rows.map((row) => row.variant);
  const absent = distinct(alikeRows.map((row) => row.variant)).filter((name) => !timed.includes(name));
  const why = (name) =>
    PAGE.rows.find((row) => alike(row, size) && row.variant === name)?.status ?? "not measured";
  return absent.length ? `Not timed here: ${absent.map((name) => `${name} (${why(name)})`).join(", ")}.` : "";
}

// Lists sizes, and all kernels at the first of them.
function tables(sizes) {
  const numbers = (row) => [right(times(row.speedup)), right(percent(row.of_copy))];
  say("#near tbody", ...sizes.map((size) =>
    tableRow(cell(link(size, sizeTitle(size))), cell(named(size)), ...numbers(size))));
  const control = PAGE.sizes.filter((row) => row.rank === null && alike(row, sizes[0]));
  const rows = [...sizes[0].rows, ...control];
  const least = Math.min(...rows.map((row) => row.time_us));
  say("#untimed", untimed(sizes[0]));
  say("#h-bars", `Kernels at ${sizeTitle(sizes[0])}, by speed-up over torch`);
  say("#bars tbody", ...rows.map((row) => {
    const name = row.variant + (row.rank === null ? " (baseline)" : "");
    const time = right(`${fourDigits(row.time_us)}${row.mark} µs`);
    const made = tableRow(cell(dot(row.variant), name), time, ...numbers(row));
    made.classList.toggle("torch", PAGE.baselines.includes(row.variant));
    made.style.setProperty("--share", `${(100 * least) / row.time_us}%`);
    return made;
  }));
}

// Answers the form, and writes the question into the address. No field changes another one.
function ask() {
  const given = Object.fromEntries(new FormData(question));
  for (const name of ["M", "N"]) {
    const whole = /^[1-9]\d{0,11}$/.test(given[name].trim());
    question.elements[name].setAttribute("aria-invalid", String(!whole));
    given[name] = Number(given[name]);
  }
  const valid = !question.querySelector("[aria-invalid=true]");
  say("#fault", valid ? addressFault : "M and N are whole numbers from 1 up, such as 1024 and 8192.");
  if (!valid) return; // the reply is still that to the last valid question
  asked = given;
  models.value = known(asked) ? `${asked.M}x${asked.N}` : "";
  answer(asked);
  showGrid(asked);
  const before = location.hash; // a link may be followed meanwhile
  cancelAnimationFrame(frame); // while a number is typed, only the last question counts
  frame = requestAnimationFrame(() => {
    if (location.hash === before) history.replaceState(null, "", address(asked));
    follow(asked);
    list();
  });
}

// The picker of named shapes; it fills M and N, and has no name, so it is no part of the question.
const models = find("#named select");
models.append(...Object.entries(PAGE.names).map(([value, name]) =>
  h("option", { value }, `${name}: ${value.replace("x", "\u00a0×\u00a0")}`)));
find("#named").hidden = !Object.keys(PAGE.names).length;
models.addEventListener("input", () => {
  const size = models.value.split("x");
  if (size.length === 2) ["M", "N"].forEach((name, i) => (question.elements[name].value = size[i]));
});

const fill = (values) => FIELDS.forEach((name, i) => (question.elements[name].value = values[i]));

// Fills the form from the address, or says which parts of it name nothing on this page. Returns
// whether the address is a question; else it is a section of the page.
function read() {
  const words = location.hash.slice(1).split("/");
  if (words.length < 2 && (!words[0] || document.getElementById(words[0]))) return false;
  const [gpu, op, dtype, ...rest] = words;
  const size = rest.join("/").match(/^([1-9]\d{0,11})x([1-9]\d{0,11})$/);
  const faults = Object.entries({ gpu, op, dtype }).flatMap(([name, value]) => {
    const here = [...question.elements[name].options].map((option) => option.value);
    return here.includes(value) ? [] : `${name} “${value ?? ""}”, where this page has ${here.join(", ")}`;
  });
  if (!size) faults.push(`the size “${rest.join("/")}”, which is M x N, such as 1024x8192`);
  addressFault = faults.length
    ? `The address asks for ${faults.join("; and for ")}. The answer is that to another question.` : "";
  if (!addressFault) fill([gpu, op, dtype, size[1], size[2]]);
  return true;
}

document.documentElement.classList.add("js");
if (RANKED.length) {
  const choices = {
    gpu: distinct(RANKED.map((row) => row.gpu)), op: distinct(RANKED.map((row) => row.op)).sort(),
    dtype: ["float32", "float16", "bfloat16"],
  };
  for (const [name, values] of Object.entries(choices))
    question.elements[name].append(...values.map((value) => h("option", { value }, gpuName(value))));
  const [first] = nearest(RANKED.filter((row) => row.gpu === RANKED[0].gpu), { M: 1024, N: 8192 });
  fill(FIELDS.map((name) => first[name]));
  question.addEventListener("input", () => {
    addressFault = "";
    ask();
  });
  addEventListener("hashchange", () => read() && ask());
  read();
} else for (const part of document.querySelectorAll("#answer .script")) part.remove();
