// How many texts there are, and those whose contrast is below WCAG 2.2 AA: 4.5, or 3 if large.
// Lines and points of the chart need 3.
() => {
  const NOT_ASKED = "script, style, title, .hidden, .skip";
  const parts = (colour) => {
    const found = colour.match(/[\d.]+/g).map(Number);
    const scale = colour.startsWith("color(srgb") ? 255 : 1;
    return { rgb: found.slice(0, 3).map((value) => value * scale), alpha: found[3] ?? 1 };
  };
  const linear = (value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
  const luminance = ({ rgb }) => {
    const [r, g, b] = rgb.map((value) => linear(value / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (e) => {
    for (; e; e = e.parentElement) {
      const colour = parts(getComputedStyle(e).backgroundColor);
      if (colour.alpha === 1) return colour;
    }
    return { rgb: [255, 255, 255], alpha: 1 };
  };
  const faults = new Set();
  let seen = 0;
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const e = walk.currentNode.parentElement;
    const text = walk.currentNode.data.trim();
    if (!text || !e.checkVisibility() || e.closest(NOT_ASKED)) continue;
    const style = getComputedStyle(e);
    const ink = parts(e instanceof SVGElement ? style.fill : style.color);
    const [low, high] = [luminance(ink), luminance(ground(e))].sort((a, b) => a - b);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const ratio = (high + 0.05) / (low + 0.05);
    seen += 1;
    if (ratio < (large ? 3 : 4.5)) faults.add(`${e.tagName} ${ratio.toFixed(2)}: ${text.slice(0, 40)}`);
  }
  for (const e of document.querySelectorAll("#plot .line")) {
    const [low, high] = [luminance(parts(getComputedStyle(e).stroke)), luminance(ground(e))].sort((a, b) => a - b);
    if ((high + 0.05) / (low + 0.05) < 3) faults.add(`line ${e.dataset.label}`);
  }
  return [seen, [...faults]];
}
