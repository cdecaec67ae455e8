// The values at one size of one panel: what a mouse points at, or the arrow keys have reached.

class Readout {
  constructor(view, sizes, values, place) {
    Object.assign(this, { view, sizes, values, place });
    this.show(Math.floor(sizes.length / 2));
  }

  // `values(N)` gives [label, variant, text], best first.
  show(index) {
    this.at = Math.max(0, Math.min(this.sizes.length - 1, index));
    const N = this.sizes[this.at];
    const items = this.values(N).map(([label, variant, text]) =>
      element("li", {}, marker(variant), element("span", { class: "who" }, label), element("b", {}, text)),
    );
    this.place.replaceChildren(element("p", {}, `N = ${N}`), element("ol", {}, ...items));
    // as high as it ever was, so that nothing below it jumps
    this.place.style.minHeight = `${Math.max(this.place.offsetHeight, parseFloat(this.place.style.minHeight) || 0)}px`;
    this.view.signal("pointed", N).runAsync();
  }

  key(event) {
    const steps = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity };
    if (!(event.key in steps)) return;
    event.preventDefault();
    this.show(this.at + steps[event.key]);
  }

  point(event, drawing) {
    const across = event.clientX - drawing.getBoundingClientRect().left - this.view.origin()[0];
    const N = this.view.scale("x").invert(across);
    const off = (size) => Math.abs(Math.log(size / N));
    const best = this.sizes.reduce((a, b, i) => (off(b) < off(this.sizes[a]) ? i : a), 0);
    if (best !== this.at) this.show(best);
  }
}
