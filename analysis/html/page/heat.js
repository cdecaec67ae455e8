// Speed-up over torch as a heat map, with as many sizes as there is room for.
// Gives its view and the pixels that its numbers need, or nothing where there is no heat map.

const HEAT_CELL = 34; // pixels that a number in the heat map needs
const HEAT_ROW = 22; // pixels that a row of it is high
const HEAT_NAMES = 180; // pixels of the names beside it

async function drawHeat(place, panel, set) {
  const own = ownRows(panel).filter((row) => row.speedup !== null);
  const rows = own.length ? own : publishedRows(panel).filter((row) => row.speedup !== null);
  if (quantity() !== "speedup" || !rows.length) return;
  const sizes = distinct(rows.map((row) => row.N)).sort((a, b) => a - b);
  const chosen = new Set(evenly(sizes, Math.max(2, Math.floor((place.clientWidth - HEAT_NAMES) / HEAT_CELL))));
  const names = Object.keys(PAGE.looks);
  const cells = rows
    .filter((row) => chosen.has(row.N))
    .sort((a, b) => names.indexOf(a.variant) - names.indexOf(b.variant) || a.N - b.N)
    .map((row) => ({ N: row.N, variant: row.variant, log2: Math.log2(row.speedup), text: row.speedup.toFixed(2), measured: LONG.speedup(row) }));
  const height = HEAT_ROW * distinct(cells.map((cell) => cell.variant)).length;
  const view = await embed(place, "heat", { cells }, `Heat map of speed-up over torch over N, ${set.label}, ${panel.name}`, { height });
  place.append(element("p", { class: "quiet" }, `Blue is faster than torch, red slower; ${chosen.size} of ${sizes.length} sizes.`));
  return { view, least: HEAT_NAMES + HEAT_CELL * chosen.size };
}
