// The first screen: which kernel to use for a size, answered from the nearest measured one.

const picker = find("#picker");
const FAR = 2; // times in M or N, from where on the answer is a guess
const [FEW, MOST_SIZES] = [4, 16];

function fill(select, values, wanted) {
  const chosen = values.includes(wanted) ? wanted : values[0];
  select.replaceChildren(...values.map((value) => element("option", { value }, value)));
  select.value = chosen;
}

// What can be chosen depends on what stands before it.
function offer() {
  const { place, op, dtype } = picker.elements;
  let left = PAGE.picks;
  for (const field of [place, op, dtype]) {
    fill(field, distinct(left.map((pick) => pick[field.name])), field.value);
    left = left.filter((pick) => pick[field.name] === field.value);
  }
  place.closest("label").hidden = place.options.length < 2; // the heading names the only one
  return left;
}

// How many times apart two sizes are, in powers of two; M and N weigh the same.
const apart = (pick, M, N) => Math.abs(Math.log2(pick.M / M)) + Math.abs(Math.log2(pick.N / N));

function nearest(picks, M, N) {
  return picks.reduce((best, pick) => (apart(pick, M, N) < apart(best, M, N) ? pick : best));
}

function whole(field) {
  const text = field.value.trim();
  const fine = /^[1-9]\d{0,11}$/.test(text);
  field.setAttribute("aria-invalid", String(!fine));
  return fine ? Number(text) : null;
}

// Among many sizes the powers of two, if there are some.
function offered(sizes) {
  const powers = sizes.filter((size) => Number.isInteger(Math.log2(size)));
  return evenly(sizes.length > MOST_SIZES && powers.length > FEW ? powers : sizes, MOST_SIZES);
}

function times(a, b) {
  const ratio = a > b ? a / b : b / a;
  return ratio > FAR ? number(ratio, 2) : "";
}

function howNear(pick, M, N) {
  const where = `sweep ${pick.sweep}, ${pick.distribution} input, ${pick.origin}`;
  if (pick.M === M && pick.N === N) return `Measured at exactly this size (${where}).`;
  const text = `${M} × ${N} was not measured; this is the nearest measured size, ${pick.M} × ${pick.N} (${where}).`;
  const far = ["M", "N"].filter((name) => times(pick[name], { M, N }[name]));
  if (!far.length) return text;
  const said = far.map((name) => `${times(pick[name], { M, N }[name])} times in ${name}`);
  return `${text} That is off by ${said.join(" and ")}: measure your own size before you rely on it.`;
}

function theLead(pick) {
  const flags = pick.flags ? ` Flags of its row: ${pick.flags}.` : "";
  if (!pick.runner_up) return `No other kernel is timed here.${flags}`;
  const sure = pick.sure
    ? "sure, its 95 % interval excludes 1"
    : "not sure, the interval does not exclude 1: the two are too close to call";
  return `The lead over the runner-up, ${pick.runner_up}, is ${pick.lead}: ${sure}.${flags}`;
}

function answer(pick, M, N) {
  const say = (id, text) => (find(`#${id}`).textContent = text);
  say("asked", `Fastest for ${pick.dtype} at ${pick.M} × ${pick.N}`);
  find("#winner").replaceChildren(marker(pick.variant), pick.variant);
  say("over-name", pick.is_torch ? "nothing is faster" : `as fast as torch's ${pick.op}`);
  say("over", pick.is_torch ? "torch itself" : `${pick.speedup}×`);
  say("over-interval", pick.interval && !pick.is_torch ? `95 % interval ${pick.interval}` : "");
  say("time", `${pick.time} µs`);
  say("of-copy", pick.of_copy || "no copy beside it");
  find("#meter").style.width = `${Math.min(100, 100 * Number(pick.of_copy))}%`;
  say("lead", theLead(pick));
  say("nearest", howNear(pick, M, N));
  rank(pick);
}

// Every kernel that is timed at the point, as a bar.
function rank(pick) {
  const rows = ROWS.filter((row) => row.rank !== null && POINT.every((name) => row[name] === pick[name]));
  rows.sort((a, b) => a.rank - b.rank);
  const share = (row) => (row.of_copy === null ? rows[0].time_us / row.time_us : row.of_copy);
  const most = Math.max(1, ...rows.map(share));
  find("#ranking").replaceChildren(
    ...rows.map((row) => {
      const bar = element("span", { class: "fill" });
      bar.style.width = `${(100 * share(row)) / most}%`;
      const value = row.of_copy === null ? `${number(row.time_us)} µs` : number(row.of_copy, 3);
      const name = element("span", { class: "who" }, marker(row.variant), row.variant);
      return element("li", {}, name, element("span", { class: "track" }, bar), element("span", { class: "number" }, value));
    }),
  );
}

function pick() {
  const left = offer();
  const sizes = offered(distinct(left.map((one) => one.N)).sort((a, b) => a - b));
  const { M, N } = picker.elements;
  const [m, n] = [whole(M), whole(N)];
  find("#sizes").replaceChildren(
    ...sizes.map((size) => element("button", { type: "button", "aria-pressed": size === n }, String(size))),
  );
  const pressed = find("#sizes [aria-pressed=true]");
  if (pressed) find("#sizes").scrollLeft = pressed.offsetLeft - find("#sizes").clientWidth / 2; // on a phone
  const fine = m !== null && n !== null;
  find("#fault").textContent = fine ? "" : "M and N are whole numbers from 1 up, such as 1024 and 8192.";
  if (fine) answer(nearest(left, m, n), m, n);
}

function start() {
  const { place, op, dtype, M, N } = picker.elements;
  const first = PAGE.first;
  for (const field of [place, op, dtype]) {
    fill(field, distinct(PAGE.picks.map((one) => one[field.name])), first[field.name]);
  }
  [M.value, N.value] = [first.M, first.N];
  picker.addEventListener("input", pick);
  picker.addEventListener("submit", (event) => event.preventDefault());
  find("#sizes").addEventListener("click", (event) => {
    if (event.target.tagName !== "BUTTON") return;
    N.value = event.target.textContent;
    pick();
    find("#sizes [aria-pressed=true]").focus(); // the buttons were made anew
  });
  pick();
}

if (picker) start();
