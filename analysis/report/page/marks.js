// The marks of a chart: markers and dashes that tell kernels apart without colour, names, ticks.

// Paths of matplotlib's markers, in a square of 2 around the point.
const MARKERS = {
  o: "M-1 0A1 1 0 1 1 1 0A1 1 0 1 1-1 0Z", s: "M-.9-.9H.9V.9H-.9Z", D: "M0-1.2 1.2 0 0 1.2-1.2 0Z",
  d: "M0-1.3 .8 0 0 1.3-.8 0Z", "^": "M0-1.1 1.1 .9H-1.1Z", v: "M0 1.1 1.1-.9H-1.1Z",
  "<": "M-1.1 0 .9-1.1V1.1Z", ">": "M1.1 0-.9-1.1V1.1Z",
  P: "M-.4-1.1H.4V-.4H1.1V.4H.4V1.1H-.4V.4H-1.1V-.4H-.4Z",
  X: "M-1.1-.6-.6-1.1 0-.5 .6-1.1 1.1-.6 .5 0 1.1 .6 .6 1.1 0 .5-.6 1.1-1.1 .6-.5 0Z",
  p: "M0-1.1 1.05-.34 .65 .9H-.65L-1.05-.34Z", h: "M0-1.1 .95-.55V.55L0 1.1-.95 .55V-.55Z",
  "*": "M0-1.3 .35-.4 1.25-.4 .55 .2 .8 1.1 0 .55-.8 1.1-.55 .2-1.25-.4-.35-.4Z",
};
const DASHES = ["", "", "6 3", "2 3", "8 3 2 3", "12 4"]; // dashes of the coloured lines, torch first
const LABEL = 14; // pixels from one name to the next

function marker(variant, [x, y], radius) {
  const path = MARKERS[PAGE.styles[variant][1]] ?? MARKERS.o;
  return h("path", { d: path, transform: `translate(${x} ${y}) scale(${radius})`, class: "mark" });
}

// Places names at heights as near to their lines as possible, without overlap.
function spread(heights, top, bottom) {
  const labels = heights.map((height, i) => ({ height, i })).sort(by((label) => label.height));
  labels.forEach((label, i) =>
    (label.y = Math.max(label.height, i ? labels[i - 1].y + LABEL : top)));
  let limit = bottom;
  for (const label of labels.toReversed()) {
    label.y = Math.min(label.y, limit);
    limit = label.y - LABEL;
  }
  return labels.toSorted(by((label) => label.i)).map((label) => label.y);
}

function ticks(low, high) {
  if (!low) return [0, 0.2, 0.4, 0.6, 0.8, 1];
  const steps = high > 300 * low ? [1] : high > 8 * low ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 5, 6, 7, 8];
  const every = [...Array(24).keys()].flatMap((k) => steps.map((step) => Number(`${step}e${k - 8}`)));
  return every.filter((value) => value >= low && value <= high);
}

const scale = (low, high, from, to, by) => (value) =>
  from + ((to - from) * (by(value) - by(low))) / (by(high) - by(low));
