// What is chosen above the figures, and the rows that it means, as lines over N.

const chooser = find("#chooser");
const hidden = () => new Set([...document.querySelectorAll("#kernels input:not(:checked)")].map((box) => box.value));
const quantity = () => chooser.elements.value.value;

// The quantity as text, and with all that is known of it.
const SHORT = {
  throughput_gbps: (row) => `${number(row.throughput_gbps)} GB/s`,
  time_us: (row) => `${number(row.time_us)} µs`,
  speedup: (row) => `${number(row.speedup)}×`,
  of_copy: (row) => number(row.of_copy, 3),
};
const LONG = {
  ...SHORT,
  time_us: (row) => `${withInterval(row.time_us, row.time_us_q20, row.time_us_q80)} µs`,
  speedup: (row) => withInterval(row.speedup, row.speedup_low, row.speedup_high),
};

// The rows of a panel that have the quantity, as a line needs them.
function linesOf(panel) {
  const { own, published } = chooser.elements;
  const rows = [
    ...(own.checked ? ownRows(panel) : []),
    ...(published.checked ? publishedRows(panel) : []),
  ];
  const both = distinct(rows.map((row) => row.origin === "published")).length > 1;
  return rows
    .filter((row) => row[quantity()] !== null)
    .map((row) => ({
      N: row.N,
      value: row[quantity()],
      variant: row.variant,
      origin: row.origin,
      label: both && row.origin === "published" ? `${row.variant} (published)` : row.variant,
      short: SHORT[quantity()](row),
      measured: LONG[quantity()](row),
    }));
}

// What memory allows: the measured copy or, for tables without one, the vendor's peak.
function limitsOf(panel, lines) {
  if (quantity() === "of_copy" || quantity() === "speedup") {
    return distinct(lines.map((line) => line.N)).map((N) => ({ N, value: 1, what: "1" }));
  }
  const what = panel.peak ? "peak" : "copy";
  const copied = chooser.elements.own.checked ? panel.copy : [];
  const rates = panel.peak ? distinct(lines.map((line) => line.N)).map((N) => [N, panel.peak]) : copied;
  if (quantity() !== "time_us") return rates.map(([N, value]) => ({ N, value, what }));
  const kilobytes = moved(panel);
  return rates.filter(([N]) => kilobytes.has(N)).map(([N, rate]) => ({ N, value: kilobytes.get(N) / rate, what }));
}

// Kilobytes that a call moves, by N: GB/s times µs. All kernels of a panel count the same bytes.
function moved(panel) {
  const known = allRows(panel).filter((row) => row.throughput_gbps !== null && row.time_us !== null);
  return new Map(known.map((row) => [row.N, row.throughput_gbps * row.time_us]));
}

function limitName(panel) {
  if (quantity() === "speedup") return "dotted: torch";
  if (quantity() === "of_copy") return "dotted: a copy";
  return panel.peak ? "dotted: the vendor's memory peak" : "dotted: a copy of the same bytes";
}

function ends(all) {
  const values = all.map((line) => line.value);
  const sizes = all.map((line) => line.N);
  const log = quantity() === "time_us";
  return {
    first: Math.min(...sizes) / 1.12,
    last: Math.max(...sizes) * 1.12,
    least: log ? Math.min(...values) / 1.3 : 0,
    most: Math.max(...values) * (log ? 1.3 : 1.06),
  };
}

function visible(lines) {
  const off = hidden();
  return lines.filter((line) => !off.has(line.variant)).map((line) => ({ ...line })); // Vega marks what it gets
}

// Best first: the shortest time, the most of anything else.
function valuesAt(lines, N) {
  const off = hidden();
  const side = quantity() === "time_us" ? 1 : -1;
  return lines
    .filter((line) => line.N === N && !off.has(line.variant))
    .sort((a, b) => side * (a.value - b.value))
    .map((line) => [line.label, line.variant, line.short]);
}
