// The figures: one panel per GPU of the chosen set, drawn once the text is on the screen.

let drawn = []; // the panels on the screen: {view, lines, reader, place, heat}
let turn = 0; // of the last redrawing, so that an older one that is still waiting gives up

async function embed(place, name, datasets, description, { signals = {}, height }) {
  const spec = structuredClone(PAGE.specs[name]);
  spec.datasets = { ...spec.datasets, ...datasets };
  spec.description = description;
  if (height) spec.height = height;
  for (const param of spec.params) if (param.name in signals) param.value = signals[param.name];
  const options = { actions: false, renderer: "svg", ast: true };
  return (await vegaEmbed(place, spec, options)).view;
}

function frame(panel, set) {
  const view = element("div", { class: "view", tabindex: "0" });
  const readout = element("div", { class: "readout", role: "status" });
  const heat = element("div", { class: "view heat" });
  const title = `${panel.name} · ${panel.origin}, ${panel.input} input`;
  const note = element("p", { class: "quiet" }, [chooser.elements.value.selectedOptions[0].text, limitName(panel)].filter(Boolean).join(" · "));
  const label = element("p", { class: "print-only" }, set.label); // on a screen it stands in the form above
  const caption = element("figcaption", {}, element("h3", {}, title), label, note);
  const card = element("figure", { class: "panel chart" }, caption, view, readout, heat);
  return { card, view, readout, heat };
}

async function draw() {
  const mine = (turn += 1);
  const set = PAGE.sets[chooser.elements.set.value];
  const panels = set.panels.map((panel) => ({ panel, lines: linesOf(panel) })).filter(({ lines }) => lines.length);
  const used = new Set(set.panels.flatMap(allRows).map((row) => row.variant));
  for (const label of document.querySelectorAll("#kernels label")) label.hidden = !used.has(label.dataset.variant);
  for (const { view, heat } of drawn) {
    view.finalize();
    heat?.view.finalize();
  }
  drawn = [];
  find("#panels").replaceChildren();
  find("#figure-note").textContent = panels.length ? set.note : "No row of this set has this quantity.";
  if (!panels.length) return done(mine);
  const limits = panels.map(({ panel, lines }) => limitsOf(panel, lines));
  const signals = ends([...panels.flatMap(({ lines }) => lines), ...limits.flat()]);
  const described = (panel) => `${chooser.elements.value.selectedOptions[0].text} over N, ${set.label}, ${panel.name}, ${panel.origin}; the arrow keys read the values size by size`;
  const frames = panels.map(({ panel }) => frame(panel, set));
  find("#panels").append(...frames.map(({ card }) => card)); // all, for each to get its width
  for (const [i, { panel, lines }] of panels.entries()) {
    const { view: place, readout, heat } = frames[i];
    const sizes = distinct(lines.map((line) => line.N)).sort((a, b) => a - b);
    const datasets = { lines: visible(lines), limits: limits[i], pointer: sizes.map((N) => ({ N })) };
    const kind = quantity() === "time_us" ? "log" : "linear";
    const view = await embed(place, kind, datasets, described(panel), { signals });
    if (mine !== turn) return view.finalize();
    const reader = new Readout(view, sizes, (N) => valuesAt(lines, N), readout);
    place.addEventListener("keydown", (event) => reader.key(event));
    place.addEventListener("pointermove", (event) => reader.point(event, find("svg", place)));
    const one = { view, lines, reader, place };
    drawn.push(one);
    one.heat = await drawHeat(heat, panel, set);
  }
  done(mine);
}

// How often it was drawn, for whoever waits for it.
function done(mine) {
  document.documentElement.dataset.drawn = String(mine);
}

function filter() {
  for (const { view, lines, reader } of drawn) {
    view.data("lines", visible(lines));
    reader.show(reader.at);
  }
}

// The kernel whose name is pointed at stands out.
function front(event) {
  const label = event.target.closest("#kernels label");
  const name = label && event.type !== "mouseleave" && event.type !== "focusout" ? label.dataset.variant : "";
  for (const { view } of drawn) view.signal("front", name).runAsync();
}

function startDrawing() {
  const script = document.createElement("script");
  script.textContent = find("#plotting").textContent;
  document.head.append(script);
  chooser.addEventListener("change", draw);
  find("#kernels").addEventListener("change", filter);
  for (const kind of ["mouseover", "mouseleave", "focusin", "focusout"]) find("#kernels").addEventListener(kind, front);
  for (const button of document.querySelectorAll("[data-all]")) {
    button.addEventListener("click", () => {
      for (const box of document.querySelectorAll("#kernels input")) box.checked = Boolean(button.dataset.all);
      filter();
    });
  }
  let width = innerWidth;
  addEventListener("resize", () => {
    if (width !== innerWidth && quantity() === "speedup") draw(); // how many columns fit has changed
    width = innerWidth;
  });
  draw();
}

if (chooser) {
  addEventListener("load", () => ("requestIdleCallback" in window ? requestIdleCallback(startDrawing, { timeout: 1000 }) : setTimeout(startDrawing)));
}
