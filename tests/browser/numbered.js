// Numbers everything that can be worked with, and returns how many of it are visible.
() => {
  const kinds = "a[href], button, select, input, summary, [tabindex='0']";
  const shown = [...document.querySelectorAll(kinds)].filter((e) => e.checkVisibility());
  shown.forEach((e, i) => (e.dataset.number = i));
  return shown.length;
}
