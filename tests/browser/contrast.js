// How many texts there are, and those whose contrast is below WCAG 2.2 AA: 4.5, or 3 if large.
// Lines and points of the chart need 3.
() => {
  const parts = (colour) => {
    const [r, g, b, alpha = 1] = colour.match(/[\d.]+/g).map(Number);
    const scale = colour.startsWith("color(srgb") ? 1 : 255;
    return { rgb: [r, g, b].map((value) => value / scale), alpha };
  };
  const linear = (value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
  const luminance = ({ rgb: [r, g, b] }) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const ground = (e) => {
    const colour = e ? parts(getComputedStyle(e).backgroundColor) : parts("rgb(255, 255, 255)");
    return colour.alpha === 1 ? colour : ground(e.parentElement);
  };
  const contrast = (ink, e) => {
    const [low, high] = [luminance(parts(ink)), luminance(ground(e))].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const own = (e) => [...e.childNodes].filter((node) => node.nodeType === 3).map((node) => node.data).join("").trim();
  const texts = [...document.body.querySelectorAll(":not(script, style, title)")];
  const seen = texts.filter((e) => own(e) && e.checkVisibility());
  const faults = seen.filter((e) => {
    const { fontSize, fontWeight, fill, color } = getComputedStyle(e);
    const [size, svg] = [parseFloat(fontSize), e instanceof SVGElement];
    const large = size >= 24 || (size >= 18.66 && Number(fontWeight) >= 700);
    return contrast(svg ? fill : color, e) < (large ? 3 : 4.5);
  });
  const lines = [...document.querySelectorAll("#plot .line")];
  const pale = lines.filter((e) => contrast(getComputedStyle(e).stroke, e) < 3);
  return [seen.length, [...faults.map(own), ...pale.map((e) => e.dataset.label)]];
}
