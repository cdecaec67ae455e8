// The first screen: the fastest kernel for a size, from the nearest measured size.

const picker = find("#picker");
const PICKS = PAGE.winners.map((i) => ({ ...ROWS[i], place: PAGE.gpus[ROWS[i].gpu] + (ROWS[i].origin === "recorded" ? " (recorded)" : "") }));
const START = [1024, 8192]; // M and N of a call that is neither short nor long
const FAR = 2; // beyond this factor in M or N the answer is a guess
const [FEW, MOST_SIZES] = [4, 16];
let beside; // the last valid M; sizes near it are offered

function fill(select, values, wanted) {
  const chosen = values.includes(wanted) ? wanted : values[0];
  select.replaceChildren(...values.map((value) => element("option", { value }, value)));
  select.value = chosen;
}

// Fills each field with the choices that the fields before it leave.
function offer() {
  const { place, op, dtype } = picker.elements;
  let left = PICKS;
  for (const field of [place, op, dtype]) {
    fill(field, distinct(left.map((pick) => pick[field.name])), field.value);
    left = left.filter((pick) => pick[field.name] === field.value);
  }
  place.closest("label").hidden = place.options.length < 2; // the heading names the only one
  return left;
}

// The distance of two sizes in powers of two, over M and N.
const distance = (pick, M, N) => Math.abs(Math.log2(pick.M / M)) + Math.abs(Math.log2(pick.N / N));

function nearest(picks, M, N) {
  return picks.reduce((best, pick) => (distance(pick, M, N) < distance(best, M, N) ? pick : best));
}

function whole(field) {
  const text = field.value.trim();
  const fine = /^[1-9]\d{0,11}$/.test(text);
  field.setAttribute("aria-invalid", String(!fine));
  return fine ? Number(text) : null;
}

// Sizes to offer for M, one for each N: those at the nearest measured M. If these are few, or if M is
// far from every measured M, every N is offered at its own nearest M.
function offered(picks, M) {
  const off = (pick) => Math.abs(Math.log2(pick.M / M));
  const sorted = picks.toSorted((a, b) => off(a) - off(b));
  const near = !times(sorted[0].M, M) ? sorted[0].M : null;
  const there = sorted.filter((pick) => pick.M === near);
  const enough = distinct(there.map((pick) => pick.N)).length > FEW;
  const found = new Map((enough ? there : sorted).toReversed().map((pick) => [pick.N, pick])); // the last one stays
  const sizes = [...found.values()].sort((a, b) => a.N - b.N);
  // of many sizes, the powers of two if there are enough
  const powers = sizes.filter((pick) => Number.isInteger(Math.log2(pick.N)));
  return { near, sizes: evenly(sizes.length > MOST_SIZES && powers.length > FEW ? powers : sizes, MOST_SIZES) };
}

// A button for each size. It shows and sets N if all have the M `near`, else M and N.
function chips({ near, sizes }, M, N) {
  const alone = sizes.every((pick) => pick.M === near);
  const buttons = sizes.map((pick) => {
    const pressed = pick.N === N && (alone || pick.M === M);
    const text = alone ? String(pick.N) : `${pick.M} × ${pick.N}`;
    const button = element("button", { type: "button", "aria-pressed": pressed }, text);
    button.addEventListener("click", () => {
      if (!alone) picker.elements.M.value = pick.M;
      picker.elements.N.value = pick.N;
      choose();
      find("#sizes [aria-pressed=true]")?.focus(); // the buttons were made anew
    });
    return button;
  });
  find("#h-sizes").textContent = alone ? `Measured N at M = ${near}` : "Measured sizes, M × N";
  find("#sizes").replaceChildren(...buttons);
  const pressed = find("#sizes [aria-pressed=true]");
  if (pressed) find("#sizes").scrollLeft = pressed.offsetLeft - find("#sizes").clientWidth / 2; // on a phone
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
  const factors = far.map((name) => `${times(pick[name], { M, N }[name])} times in ${name}`);
  return `${text} That is off by ${factors.join(" and ")}: measure your own size before you rely on it.`;
}

function theLead(pick, elsewhere) {
  const flags = pick.flags ? ` Flags of its row: ${pick.flags}.` : "";
  const apart = elsewhere.map((row) => `${row.variant} ${number(row.time_us)} µs`);
  const board = apart.length ? ` Timed on another board, so not compared: ${apart.join(", ")}.` : "";
  const others = competitors(pick).slice(1);
  if (!others.length) return `No other ranked kernel is timed here.${board}${flags}`;
  const same = others.filter((row) => row.in_best_set).map((row) => row.variant);
  const next = others.find((row) => !row.in_best_set);
  const best = same.length ? `Not significantly slower, or by less than 1 %: ${same.join(", ")}.` : "All others are significantly slower.";
  const rest = next ? ` ${next.variant} takes ${withInterval(next.behind_best, next.behind_low, next.behind_high)} times as long.` : "";
  return best + rest + board + flags;
}

function answer(pick, M, N) {
  const say = (id, text) => (find(`#${id}`).textContent = text);
  const elsewhere = onOtherBoards(pick);
  const among = elsewhere.length ? " of the kernels timed on one board" : "";
  say("asked", `Fastest ${pick.op}${among} on ${pick.place}, ${pick.dtype} at ${pick.M} × ${pick.N}`);
  find("#winner").replaceChildren(marker(pick.variant), pick.variant);
  const torch = pick.variant === PAGE.baseline;
  say("over-name", torch ? "nothing is faster" : `as fast as torch's ${pick.op}`);
  say("over", torch ? "torch itself" : `${number(pick.speedup)}×`);
  say("over-interval", torch || pick.speedup_low === null ? "" : `95 % interval ${number(pick.speedup_low)} to ${number(pick.speedup_high)}`);
  say("time", `${number(pick.time_us)}${pick.mark} µs`);
  say("of-copy", number(pick.of_copy, 3) || "no copy beside it");
  find("#meter").style.width = `${Math.min(100, 100 * pick.of_copy)}%`;
  say("lead", theLead(pick, elsewhere));
  say("nearest", howNear(pick, M, N));
  rank(pick);
}

const atPoint = (pick, which) => ROWS.filter((row) => which(row) && POINT.every((name) => row[name] === pick[name]));
const onOtherBoards = (pick) => atPoint(pick, (row) => row.unranked_by === "other_board").sort((a, b) => a.time_us - b.time_us);
const competitors = (pick) => atPoint(pick, (row) => row.rank !== null).sort((a, b) => a.rank - b.rank);

// Every kernel that is timed at the point, as a bar.
function rank(pick) {
  const rows = competitors(pick);
  const share = (row) => (row.of_copy === null ? rows[0].time_us / row.time_us : row.of_copy);
  const most = Math.max(1, ...rows.map(share));
  find("#ranking").replaceChildren(
    ...rows.map((row) => {
      const bar = element("span", { class: "fill" });
      bar.style.width = `${(100 * share(row)) / most}%`;
      const value = row.of_copy === null ? `${number(row.time_us)} µs` : number(row.of_copy, 3);
      const name = element("span", { class: "who" }, marker(row.variant), row.variant);
      return element("li", {}, name, element("span", { class: "track" }, bar), element("span", { class: "right" }, value));
    }),
  );
}

function choose() {
  const left = offer();
  const { M, N } = picker.elements;
  const [m, n] = [whole(M), whole(N)];
  beside = m ?? beside;
  chips(offered(left, beside), m, n);
  const fine = m !== null && n !== null;
  find("#fault").textContent = fine ? "" : "M and N are whole numbers from 1 up, such as 1024 and 8192.";
  for (const panel of [find("#answer"), find(".ranking")]) {
    panel.classList.toggle("old", !fine); // the panel still answers the last valid size
    panel.setAttribute("aria-hidden", String(!fine));
  }
  if (fine) answer(nearest(left, m, n), m, n);
}

function start() {
  const { place, op, dtype, M, N } = picker.elements;
  const off = (pick) => 1e6 * (pick.op !== "softmax") + 1e3 * (pick.dtype !== "float32") + distance(pick, ...START);
  const there = PICKS.filter((pick) => pick.place === PICKS[0].place);
  const first = there.reduce((best, pick) => (off(pick) < off(best) ? pick : best));
  for (const field of [place, op, dtype]) fill(field, distinct(PICKS.map((pick) => pick[field.name])), first[field.name]);
  [M.value, N.value] = [first.M, first.N];
  picker.addEventListener("input", choose);
  picker.addEventListener("submit", (event) => event.preventDefault());
  choose();
}

if (picker) start();
