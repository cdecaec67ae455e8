// Paper cannot unfold anything: short tables are shown, of long ones only what they are. Figures
// are as wide as the paper, so that their letters are neither cut nor made smaller.

const MOST_PRINTED = 60; // rows
const PAPER = 640; // pixels of a figure on A4, which are 96 to the inch, within margins and panel

let folded = [];

addEventListener("beforeprint", () => {
  folded = [...document.querySelectorAll("details:not([open])")].filter(
    (part) => part.querySelectorAll("tbody tr").length <= MOST_PRINTED,
  );
  for (const part of folded) part.open = true;
  fit(() => PAPER);
});
addEventListener("afterprint", () => {
  for (const part of folded) part.open = false;
  fit((place) => place.clientWidth);
});

// Vega redraws before the browser lays out the paper. Where a heat map needs more, CSS shrinks it.
function fit(width) {
  for (const { view, place, heat } of drawn) {
    view.width(width(place)).runAsync();
    heat?.view.width(Math.max(width(place), heat.least)).runAsync();
  }
}
