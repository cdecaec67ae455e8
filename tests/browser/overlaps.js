// Parts that stand beside or below each other must not overlap, nor stick out of what holds them;
// nor must what is written in a figure, which its SVG would cut off.
() => {
  const groups = [
    ...["body > *", "main > section", "header > *", "nav > *", "#question > label", "#reply > *"],
    ...[".two > *", "#chooser > *", "#filter > *", "#values > *"],
  ];
  const faults = [];
  const shown = (e) => e.checkVisibility() && !e.matches("script, header, noscript");
  const name = (e) => `${e.tagName}#${e.id}.${e.className}`;
  const over = (p, q) =>
    p.left < q.right - 1 && q.left < p.right - 1 && p.top < q.bottom - 1 && q.top < p.bottom - 1;
  for (const group of groups) {
    const parts = [...document.querySelectorAll(group)].filter(shown);
    const boxes = parts.map((e) => e.getBoundingClientRect());
    boxes.forEach((box, i) => {
      const scrolled = getComputedStyle(parts[i].parentElement).overflowX === "auto";
      if (!scrolled && (box.left < -0.5 || box.right > innerWidth + 0.5)) faults.push(`${name(parts[i])} leaves the page`);
      boxes.forEach((other, j) => {
        if (i < j && over(box, other)) faults.push(`${name(parts[i])} over ${name(parts[j])}`);
      });
    });
  }
  for (const box of document.querySelectorAll("#question, #reply, #behind > *, #values > *, figure")) {
    const inline = getComputedStyle(box).display === "inline";
    if (!inline && box.scrollWidth > box.clientWidth + 1) faults.push(`${name(box)} is too narrow`);
  }
  for (const text of document.querySelectorAll("#plot svg text")) {
    const [box, drawing] = [text, text.ownerSVGElement].map((e) => e.getBoundingClientRect());
    if (box.left < drawing.left - 0.5 || box.right > drawing.right + 0.5) faults.push(`${text.textContent} is cut off`);
  }
  return faults;
}
