"""The colours and markers of analysis.palette, as CSS and SVG draw them."""

from collections.abc import Iterable

from analysis import palette

# What has too little contrast to the dark page is lightened there; all else keeps its colour.
ON_DARK = {
    palette.BLACK: "#f4f4f4",
    palette.GREY: "#9a9a9a",
    palette.WINE: "#f0e442",  # Okabe and Ito's yellow: a lighter wine would be triton_row's purple
    palette.INDIGO: "#8f86e0",
}

# matplotlib's markers as SVG paths in a square from -1 to 1, which is how Vega wants them.
PATHS = {
    "o": "M-.8,0A.8,.8,0,1,1,.8,0A.8,.8,0,1,1,-.8,0Z",
    "s": "M-.72,-.72H.72V.72H-.72Z",
    "^": "M0,-.9L.9,.75H-.9Z",
    "v": "M0,.9L.9,-.75H-.9Z",
    "<": "M-.9,0L.75,-.9V.9Z",
    ">": "M.9,0L-.75,-.9V.9Z",
    "D": "M0,-1L1,0L0,1L-1,0Z",
    "d": "M0,-1L.6,0L0,1L-.6,0Z",
    "P": "M-.33,-.95H.33V-.33H.95V.33H.33V.95H-.33V.33H-.95V-.33H-.33Z",
    "X": "M-.9,-.5L-.5,-.9L0,-.4L.5,-.9L.9,-.5L.4,0L.9,.5L.5,.9L0,.4L-.5,.9L-.9,.5L-.4,0Z",
    "*": "M0,-1L.28,-.3L1,-.27L.42,.17L.62,.9L0,.45L-.62,.9L-.42,.17L-1,-.27L-.28,-.3Z",
    "h": "M0,-.95L.82,-.48V.48L0,.95L-.82,.48V-.48Z",
    "p": "M0,-.95L.9,-.29L.56,.77H-.56L-.9,-.29Z",
}


def looks(variants: Iterable[str]) -> dict[str, dict[str, str]]:
    """Variant -> its `colour` on white, its colour on `dark`, and the SVG `path` of its marker."""
    found = {}
    styles = palette.styles(variants)
    for variant in sorted(styles, key=palette.order):
        style = styles[variant]
        dark = ON_DARK.get(style.colour, style.colour)
        found[variant] = {"colour": style.colour, "dark": dark, "path": PATHS[style.marker]}
    return found
