// The grid of M and N: shows that of the question, and marks the cell that has its size.

const powerOfFour = (size) => 4 ** Math.floor(Math.log2(size) / 2);

function showGrid({ gpu, op, dtype, M, N }) {
  const key = `${gpu}/${op}/${dtype}`;
  const grids = [...document.querySelectorAll("#grid figure")];
  for (const figure of grids) figure.hidden = figure.dataset.key !== key;
  find("#no-grid").hidden = grids.some((figure) => !figure.hidden);
  for (const marked of document.querySelectorAll("#grid [aria-current]"))
    marked.removeAttribute("aria-current");
  for (const cell of document.querySelectorAll(`#grid figure[data-key="${key}"] a`)) {
    const [m, n] = cell.hash.match(/(\d+)x(\d+)$/).slice(1).map(Number);
    if (powerOfFour(m) === powerOfFour(M) && powerOfFour(n) === powerOfFour(N))
      cell.setAttribute("aria-current", "true");
  }
}
