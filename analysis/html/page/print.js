// Paper cannot unfold anything: short tables are shown, of long ones only what they are.

const MOST_PRINTED = 60; // rows

let folded = [];

addEventListener("beforeprint", () => {
  folded = [...document.querySelectorAll("details:not([open])")].filter(
    (part) => part.querySelectorAll("tbody tr").length <= MOST_PRINTED,
  );
  for (const part of folded) part.open = true;
});
addEventListener("afterprint", () => {
  for (const part of folded) part.open = false;
});
