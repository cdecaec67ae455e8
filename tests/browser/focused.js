// How many controls are visible, which one has the focus (-1: none), and whether that is seen.
() => {
  const kinds = "a[href], button, select, input, summary, [tabindex='0']";
  const controls = [...document.querySelectorAll(kinds)].filter((e) => e.checkVisibility());
  const e = document.activeElement;
  const { outlineStyle, outlineWidth } = getComputedStyle(e);
  const seen = outlineStyle !== "none" && parseFloat(outlineWidth) >= 2;
  return [controls.length, controls.indexOf(e), seen || e === document.body];
}
