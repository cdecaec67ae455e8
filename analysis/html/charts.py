"""The charts of the page as Vega-Lite, written with Altair; the page adds their rows.

A figure is one panel: one GPU's rows of one set. The page hands it three named tables: `lines` (N,
value, low, high, variant, origin, label), `limits` (N, value, what: the copy or the memory peak)
and, for the heat map, `cells` (N, variant, log2, text).
"""

import altair as alt

HEIGHT = 300  # pixels of a panel; the page gives a heat map its own
AXIS = {"title": "N (columns)", "labelOverlap": "greedy", "labelSeparation": 8, "format": "~d"}
SIZES = alt.Scale(type="log", base=2, domain=[alt.expr("first"), alt.expr("last")], nice=False)
# Pixels around a panel. At the right, half of a size of six digits: on a narrow screen, where not
# all labels have room, Vega fits the axis into the width without regard to the last one.
PADDING = {"left": 5, "top": 5, "right": 22, "bottom": 5}
# what the page sets: the ends of both axes, the size and the variant that are pointed at
SIGNALS = {"first": 1, "last": 2, "least": 0, "most": 1, "pointed": 0, "front": ""}


def specs(looks: dict[str, dict[str, str]]) -> dict[str, dict]:
    """The specifications by name; `looks` of data.looks, for the variants that may occur."""
    return {
        "linear": _over_n(looks, "linear").to_dict(),
        "log": _over_n(looks, "log").to_dict(),
        "heat": _heat().to_dict(),
    }


def _over_n(looks: dict[str, dict[str, str]], kind: str) -> alt.LayerChart:
    names = list(looks)
    ends = [alt.expr("least"), alt.expr("most")]
    scale = alt.Scale(type=kind, domain=ends, nice=False)
    colour = alt.Scale(domain=names, range=[look["colour"] for look in looks.values()])
    shape = alt.Scale(domain=names, range=[look["path"] for look in looks.values()])
    base = alt.Chart(alt.NamedData("lines")).encode(
        x=alt.X("N:Q", scale=SIZES, axis=alt.Axis(**AXIS)),
        y=alt.Y("value:Q", scale=scale, axis=alt.Axis(title=None, tickCount=6)),
        color=alt.Color("variant:N", scale=colour, legend=None),
        detail="origin:N",
    )
    behind = "front && datum.variant != front"
    opacity = alt.condition(behind, alt.value(0.12), alt.value(1))
    published = "datum.origin == 'published'"
    lines = base.mark_line(strokeWidth=1.6, clip=True).encode(
        strokeDash=alt.condition(published, alt.value([5, 4]), alt.value([1, 0])), opacity=opacity
    )
    points = base.mark_point(size=44, strokeWidth=1.4, clip=True).encode(
        opacity=opacity,
        shape=alt.Shape("variant:N", scale=shape, legend=None),
        fillOpacity=alt.condition(published, alt.value(0), alt.value(1)),
        fill=alt.Fill("variant:N", scale=colour, legend=None),
        tooltip=[alt.Tooltip(name, title=name) for name in ("label:N", "N:Q", "measured:N")],
    )
    limits = (
        alt.Chart(alt.NamedData("limits"))
        .mark_line(strokeDash=[2, 3], strokeWidth=1.6, color="#555555", clip=True)
        .encode(x="N:Q", y="value:Q", detail="what:N")
    )
    pointer = (
        alt.Chart(alt.NamedData("pointer"))
        .transform_filter("datum.N == pointed")
        .mark_rule(color="#777777", strokeWidth=1)
        .encode(x="N:Q")
    )
    return _themed(alt.layer(pointer, limits, lines, points)).properties(padding=PADDING)


def _heat() -> alt.LayerChart:
    base = alt.Chart(alt.NamedData("cells")).encode(
        x=alt.X("N:O", axis=alt.Axis(title="N (columns)", labelAngle=-40)),
        y=alt.Y("variant:N", sort=None, axis=alt.Axis(title=None, labelLimit=170)),
    )
    # Blue is faster than torch, red slower, full at 2x and 1/2x, as in the figures of the report.
    colour = alt.Scale(scheme="redblue", domain=[-1, 0, 1], clamp=True)
    cells = base.mark_rect().encode(
        color=alt.Color("log2:Q", scale=colour, legend=None),
        tooltip=[alt.Tooltip(name, title=name) for name in ("variant:N", "N:O", "measured:N")],
    )
    dark = "abs(datum.log2) > 0.62"
    text = base.mark_text(fontSize=10).encode(
        text="text:N", color=alt.condition(dark, alt.value("#fffffe"), alt.value("#000001"))
    )
    return _themed(alt.layer(cells, text))


def _themed(chart: alt.LayerChart) -> alt.LayerChart:
    """Plain axes; the colours of text and lines are the page's, light or dark."""
    return (
        chart.add_params(*(alt.param(name=name, value=value) for name, value in SIGNALS.items()))
        .properties(width="container", height=HEIGHT)
        .configure(background="transparent", font="system-ui, sans-serif")
        .configure_view(stroke=None)
        .configure_axis(labelFontSize=11, titleFontSize=11, titleFontWeight="normal", domain=False)
        .configure_axisX(grid=False, tickSize=4)
        .configure_axisY(ticks=False, labelPadding=6)
    )
