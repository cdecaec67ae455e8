// The answer in words: who wins, in a CUDA graph and called eagerly, and what was not measured.

const MOST_NAMED = 4; // kernels of a tie
const UNLIKE = 1.01; // times that differ by less are told as one

function listed(names, joint = ", ") {
  const more = names.length - MOST_NAMED;
  return names.slice(0, MOST_NAMED).join(joint) + (more > 0 ? ` and ${more} more` : "");
}
const WRONG = "‡"; // the mark of a kernel that is wrong on special values
const named = ({ variant, mark }) => variant + (mark.includes(WRONG) ? WRONG : "");
// The name of a kernel at these sizes, with its mark.
function marked(name, sizes) {
  const rows = sizes.flatMap((size) => size.rows).filter((row) => row.variant === name);
  return named(rows.find((row) => row.mark.includes(WRONG)) ?? rows[0]);
}

const unraced = (reason) =>
  reason.startsWith("no rival") ? "only torch as a rival"
    : reason.startsWith("nothing") ? "only torch timed" : "usual winner not timed";
function outcome(size) {
  if (isCheck(size.gpu)) return "checked";
  if (size.no_winner) return unraced(size.no_winner);
  return (size.best.length > 1 ? "tie: " : "") + listed(size.best.map((name) => marked(name, [size])));
}

// The kernels that no size which raced them rules out, or else those that win at each; `why` there
// was no race at any.
function winner(near) {
  const raced = near.filter((size) => !size.no_winner);
  if (!raced.length) {
    const why = near[0].no_winner;
    const text = `${unraced(why)[0].toUpperCase()}${unraced(why).slice(1)} here`;
    return { text, names: [near[0].variant], why };
  }
  const all = (names, joint) => listed(names.map((name) => marked(name, raced)), joint);
  const wins = (name) => (size) => size.best.includes(name);
  const loses = (name) => (size) => !wins(name)(size) && size.rows.some((row) => row.variant === name);
  const best = distinct(raced.flatMap((size) => size.best));
  const possible = best.filter((name) => !raced.some(loses(name)));
  if (possible.length && possible.every((name) => raced.every(wins(name))))
    return { text: all(possible), names: possible, tie: possible.length > 1 };
  const names = possible.length ? possible : distinct(raced.map((size) => size.best[0]));
  return { text: all(names, " or "), names, depends: true };
}

// The time in a graph, which leads to its rows, the speed over torch, and the share of the limit.
function graphFacts(row, tied) {
  const torch = PAGE.baselines.includes(row.variant);
  const { speedup_low: low, speedup_high: high } = row;
  const digits = [3, 4, 5, 6].find((count) => number(low, count) !== number(high, count)) ?? 6;
  const ends = [low, high].map((end) => number(end, digits));
  const interval = low === null ? "" : ` (95 % interval ${ends.join(" to ")})`;
  const shares = [
    torch ? "" : `, ${times(row.speedup)} as fast as torch${interval}`,
    row.of_limit === null ? "" : `, ${percent(row.of_limit)} of the limit`,
  ];
  const time = raw(row, microseconds(row.time_us) + row.mark);
  return [tied ? `${named(row)} in a CUDA graph: ` : "In a CUDA graph: ", time, ...shares, "."];
}

// Says whether the host or the GPU bounds eager calls, and who is quickest when it is the host.
function eagerFacts(size, row) {
  const { eager_us: own, time_us: graph } = row;
  const isTorch = (rival) => PAGE.baselines.includes(rival.variant);
  const torch = withTorch(size).find(isTorch)?.eager_us ?? null;
  if (own === null) return "No eager call was timed here.";
  const speed = `${microseconds(own)} a call` + (torch === null ? "" : ` (torch ${number(torch)})`);
  if (own < UNLIKE * graph) return `Called eagerly: ${speed}, bound by the GPU, as in a graph.`;
  const timed = size.rows.filter((rival) => rival.eager_us !== null);
  const [quickest] = timed.toSorted(by((rival) => rival.eager_us));
  const torchWins = torch !== null && torch <= quickest.eager_us;
  const least = torchWins ? torch : quickest.eager_us;
  const name = torchWins ? "torch" : named(quickest);
  const time = torchWins ? "" : `: ${microseconds(least)}`;
  const high = torchWins ? row.eager_speedup_high : null; // null: no interval was recorded
  const isSlower = high === null ? least * UNLIKE < own : high < 1;
  const but = isSlower ? ` Without a graph, ${name} is faster${time}.` : "";
  return `Called eagerly: ${speed}, bound by the host, which takes longer to submit a call than ` +
    `the GPU takes to run it.${but}`;
}

// Who is next, or why the fastest that was timed has not won.
function lead(question, near, { names, why, depends }) {
  if (why) return `${marked(names[0], near)} was timed at ${sizeName(near[0])}, but ${why}.`;
  if (depends) return near.map((one) => `${outcome(one)} at ${sizeName(one)}`).join("; ") + ".";
  const raced = near.find((one) => !one.no_winner);
  const tie = names.length > 1 ? "None is significantly more than 1 % slower. " : "";
  const next = raced.rows.find((row) => !row.in_best_set);
  const where = alike(raced, question) ? "" : ` at ${sizeName(raced)}`;
  return next ? `${tie}Runner-up${where}: ${named(next)}, ${times(next.behind_best)} the time.` : tie;
}

const command = ({ op, dtype, M, N }) =>
  h("code", {}, `make shape M=${M} N=${N} DTYPE=${dtype} OP=${op}`);

// Says that nothing of the kind was measured on the GPU, where it was, and how to measure it.
function missing(question) {
  const rows = RANKED.filter((row) => alike(row, question, ["op", "dtype"]) && !isCheck(row.gpu));
  const gpus = distinct(rows.map((row) => row.gpu));
  const see = gpus.flatMap((gpu) => [" ", link({ ...question, gpu }, `See ${gpuName(gpu)}.`)]);
  return [
    `No ${question.op} in ${question.dtype} was measured on ${gpuName(question.gpu)}.`, ...see,
    " To measure exactly this on your GPU: ", command(question),
  ];
}

// The estimates of an unmeasured shape, of the kernels named and of torch.
function estimated(question, sizes, names) {
  const torch = RANKED.concat(PAGE.sizes).find(
    (row) => comparable(row, question) && PAGE.baselines.includes(row.variant))?.variant;
  const raced = sizes.map((size) => ({ rows: withTorch(size) }));
  const base = torch && estimate(raced, question, torch);
  const lines = distinct([...names.slice(0, MOST_NAMED), torch]).filter(Boolean).flatMap((name) => {
    const guess = estimate(raced, question, name);
    if (!guess) return [];
    const spread = guess.rows.length > 1 ? ` (${number(guess.low)} to ${number(guess.high)})` : "";
    return [tableRow(h("th", { scope: "row" }, dot(name), marked(name, [guess])),
      cell(microseconds(guess.us) + spread), cell(base ? times(base.us / guess.us) : ""),
      cell(guess.rows.map(sizeName).join(" and ")))];
  });
  const heads = ["kernel", "estimate", "× torch", "from bandwidth at"].map((name) => h("th", { scope: "col" }, name));
  return h("div", { class: "scroll", role: "group", "aria-label": "Estimates" },
    h("table", {}, h("thead", {}, tableRow(...heads)), h("tbody", {}, ...lines)));
}

// The winner in the words of a size that was measured, or likely so at another one.
function headline({ text, tie, why }, exact) {
  if (exact && tie) return `Tie: ${text}`;
  if (exact || why) return text;
  return tie ? `Likely a tie: ${text}` : `Likely ${text}`;
}

function notice(question, sizes, near, names) {
  const [closest] = nearest(sizes, question);
  if (!closest) return missing(question);
  const measure = ["To measure exactly this on your GPU: ", command(question)];
  if (alike(closest, question))
    return closest.no_winner && !isCheck(question.gpu)
      ? ["To time every rival here: ", command(question)] : [];
  if (isCheck(question.gpu))
    return [`${sizeName(question)} was not checked; the nearest is ${sizeName(closest)}.`];
  const fault = `${sizeName(question)} was not measured`;
  if (!near.length)
    return [`${fault}, and no measured size has an N within ${FAR} times of it and an M within ` +
      `${FAR_ROWS} times, so no kernel is named. The nearest is `, link(closest, sizeName(closest)), ". ", ...measure];
  const from = near.map(sizeName).join(" and ");
  return [`${fault}. The ranking is that at ${from}.`, estimated(question, sizes, names), ...measure];
}

// Warns of times of older code.
function stale(rows) {
  const old = rows.filter((row) => row.flags.split(" ").includes("stale"));
  if (!old.length) return "";
  if (old.length === rows.length) return "These times predate the current code (◊).";
  const verb = old.length === 1 ? "predates" : "predate";
  return `${old.length} of these ${rows.length} times ${verb} the current code (◊).`;
}

// What a kernel is and how to use it, with code between backticks.
function about(name) {
  const words = PAGE.about[name] ? `${name}: ${PAGE.about[name]}`.split("`") : [];
  return h("div", {}, ...words.map((text, i) => (i % 2 ? h("code", {}, text) : text)));
}

// Names who does not rank at a size, `where`, by the reason.
function untimed(size, where) {
  const entries = (PAGE.absent[place(size)] ?? "").split("; ").filter(Boolean);
  const parts = entries.map((entry) => entry.match(/^(\S+) \((.*)\)$/).slice(1));
  const reasons = Map.groupBy(parts, ([, reason]) => reason);
  const texts = [...reasons].map(([reason, group]) => {
    const names = group.map(([name]) => name).join(", ");
    return `${names} (${reason === "no row" ? "not timed" : reason})`;
  });
  return texts.length ? `Not ranked ${where}: ${texts.join("; ")}. ` : "";
}

function answer(question) {
  const sizes = measured(question);
  const near = neighbours(sizes, question);
  const result = near.length ? winner(near) : { names: [], text: "" };
  const [size] = near;
  const row = size?.rows.find(({ variant }) => variant === result.names[0]);
  const check = isCheck(question.gpu);
  const exact = size && alike(size, question);
  say("#marks-here");
  say("#asked", `${question.op}, ${question.dtype}, ${sizeTitle(question)}, ${gpuName(question.gpu)}`);
  say("#notice", ...notice(question, sizes, near, result.names));
  say("#winner", ...(check || result.why ? [] : result.names.slice(0, 1).map(dot)),
    check && near.length ? "This CPU, to show that all works" : near.length ? headline(result, exact) : "");
  say("#graph", ...(row && exact && !check ? graphFacts(row, result.names.length > 1) : []));
  say("#eager", row && exact && !check ? eagerFacts(size, row) : "");
  say("#lead", near.length && !check ? lead(question, near, result) : "");
  say("#untimed", ...(check ? [] : near.map((one) => untimed(one, exact ? "here" : `at ${sizeName(one)}`))));
  const known = near.length && !check ? result.names.slice(0, MOST_NAMED) : [];
  say("#about-kernel", known.length ? stale(size.rows) : "", ...known.map(about));
  const said = find("#reply").textContent; // ◊ is explained by `stale`
  const marks = Object.keys(PAGE.marks).filter((mark) => mark !== "◊" && said.includes(mark));
  say("#marks-here", marks.map((mark) => `${mark} ${PAGE.marks[mark]}.`).join(" "));
  find("#link").href = address(question);
  say("#linked");
  find("#behind").hidden = !near.length;
  if (near.length) showKernels(distinct([...near, ...nearest(sizes, question)]), exact);
}
