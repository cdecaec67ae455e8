// What has the focus: its number, -1 for something without, and whether the focus can be seen.
() => {
  const e = document.activeElement;
  const style = getComputedStyle(e);
  const seen = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
  return [Number(e.dataset.number ?? -1), seen || e === document.body];
}
