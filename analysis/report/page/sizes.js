// The measured sizes, those nearest to a question, and an estimate from them.

const N_WEIGHT = 4; // N decides which kernel is the fastest: its factor counts as a fourth power
// Beyond these factors in N and in M no kernel is named, and no time estimated.
const FAR = 4, FAR_ROWS = 128;

// The measured sizes of a GPU, operation and element type: the fastest row, and all, by rank.
function measured(question) {
  const rows = RANKED.filter((row) => comparable(row, question));
  return [...Map.groupBy(rows, sizeName).values()].map((kernels) => {
    const best = kernels.filter((row) => row.in_best_set).map((row) => row.variant);
    return { ...kernels[0], rows: kernels, best };
  });
}

// The rows of a size, and torch's where it has none of its own: `with_controls` has made that one.
const withTorch = (size) =>
  [...size.rows, ...PAGE.sizes.filter((row) => row.rank === null && alike(row, size))];

const factor = (a, b) => Math.abs(Math.log2(a / b));
const distance = (size, { M, N }) => N_WEIGHT * factor(size.N, N) + factor(size.M, M);
const nearest = (sizes, question) => sizes.toSorted(by((size) => distance(size, question)));
const isNear = (size, { M, N }) =>
  factor(size.N, N) <= Math.log2(FAR) && factor(size.M, M) <= Math.log2(FAR_ROWS);

// The size itself, or the nearest on both sides: in M if this N was measured, else in N.
function neighbours(sizes, question) {
  const exact = sizes.find((size) => alike(size, question));
  if (exact) return [exact];
  const sameN = sizes.filter((size) => size.N === question.N);
  const [name, candidates] = sameN.length ? ["M", sameN] : ["N", sizes];
  const ordered = nearest(candidates, question).filter((size) => isNear(size, question));
  const sides = Map.groupBy(ordered, (size) => size[name] < question[name]).values();
  return nearest([...sides].map(([first]) => first), question);
}

// Estimates the time of a kernel at a size from its bandwidth at the neighbours with its time: `us`
// is the geometric mean, the nearer weighs more, and `low` and `high` are the spread. Null if none
// is near.
function estimate(sizes, question, variant) {
  const timed = sizes.flatMap(({ rows }) => rows.filter((row) => row.variant === variant));
  const rows = neighbours(timed, question);
  if (!rows.length) return null;
  // the bytes of an element are those of the measured row, which its time and bandwidth tell
  const guesses = rows.map((row) => (row.time_us / row.elements) * question.M * question.N);
  const weights = rows.map((row) => 1 / (distance(row, question) || 1e-9));
  const total = weights.reduce((sum, weight) => sum + weight);
  const us = guesses.reduce((product, guess, i) => product * guess ** (weights[i] / total), 1);
  return { us, low: Math.min(...guesses), high: Math.max(...guesses), rows };
}
