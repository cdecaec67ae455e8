"""The page as a whole: its templates, styles and scripts, and its file."""

import base64
import hashlib
import json
import re
from pathlib import Path

import jinja2
import pandas as pd
from markdown_it import MarkdownIt
from markupsafe import Markup

from analysis import markdown, ranking, rows
from analysis.figures.controls import with_controls
from analysis.frame import LEGEND
from analysis.html import data
from analysis.markdown import Block, Heading, Prose, Table
from analysis.report import document as report
from analysis.report.document import Inputs
from analysis.schema import BASELINE

PAGE = Path(__file__).resolve().parent / "page"
SCRIPTS = ("common.js", "picker.js", "chart.js", "rows.js")
WORDY = 48  # letters; a longer cell is text and may wrap, a name or an interval may not
# A number as the report writes it: with a unit, an interval, a remark, or as a span; or empty.
NUMBER = re.compile(r"([-+.\de]+( %)?( \[[^]]*\])?( \(.*\))?( … \d+)?)?")
# Only emphasis and code are Markdown. Prose quotes CSV files, so whatever looks like a link, an
# image or HTML stays text.
_INLINE = MarkdownIt("zero").enable(["emphasis", "backticks"])


def write(inputs: Inputs, figures: Path, output: Path) -> None:
    """Write the page to `output`, with hero.png of `figures`; equal inputs give equal bytes."""
    measurements, published = ranking.rank_variants(inputs.measurements), inputs.published
    drawn = with_controls(measurements)
    looks = data.variant_styles({*drawn["variant"], *published.rows["variant"]})
    charts = data.charts(drawn, published)
    content = {
        "baseline": BASELINE,
        "gpus": dict(zip(measurements["gpu"], measurements["gpu_name"], strict=True)),
        "winners": data.winners(measurements),
        "legend": "; ".join(LEGEND.values()),
        "rows": data.columns(measurements),
        "controls": data.columns(drawn.iloc[len(measurements) :]),
        "published": data.columns(published.rows),
        "charts": charts,
        "looks": looks,
    }
    script = "\n".join((PAGE / name).read_text(encoding="utf-8") for name in SCRIPTS)
    text = templates().get_template("page.html").render(
        title=report.title(measurements),
        gpus=_gpus(measurements),
        picker=bool((measurements["rank"] == 1).any()),
        sections=report.sections(inputs),
        cards=data.claims_view(inputs.claims),
        counts=data.counts(inputs.claims),
        charts=charts,
        overview=_image(Path(figures, "hero.png")),
        data=embedded(content),
        styles=Markup((PAGE / "page.css").read_text(encoding="utf-8")),
        script=Markup(script),
        policy=_policy(script),
        rows=len(measurements),
    )  # fmt: skip
    rows.write(output, text)


def _image(path: Path) -> str:
    """Return a PNG file as a data URL; "" where there is no such file."""
    return (
        f"data:image/png;base64,{base64.b64encode(path.read_bytes()).decode()}"
        if path.is_file()
        else ""
    )


def embedded(content: object) -> Markup:
    """Return `content` as JSON that is safe inside a script element, whatever it contains."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)


def templates() -> jinja2.Environment:
    """Return the templates of page/, which escape everything that is not Markup."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(PAGE),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.tests["long"] = lambda rows: len(rows) > markdown.LONG_TABLE
    made.tests["wordy"] = lambda value: len(str(value)) > WORDY
    made.filters["inline"] = inline
    made.filters["numeric"] = _numeric
    made.filters["parts"] = _parts_of_ranking
    made.filters["counted"] = markdown.counted
    made.filters["kind"] = lambda block: type(block).__name__
    return made


def inline(text: str) -> Markup:
    """Return the text of Prose or Heading as HTML, without a surrounding paragraph."""
    return Markup(_INLINE.renderInline(text))


def _numeric(block: Table) -> list[bool]:
    """Return for each column of a table whether its values are numbers, aligned at the right."""
    return [
        all(NUMBER.fullmatch(str(value)) for value in values)
        for values in zip(*block.rows, strict=True)
    ]


def _parts_of_ranking(blocks: list[Block]) -> list[list[Block]]:
    """Return the blocks of the ranking, split after every heading and table."""
    parts: list[list[Block]] = []
    for block in blocks:
        last = parts[-1][-1] if parts else None
        if isinstance(block, Heading) or not isinstance(last, Prose):
            parts.append([])
        parts[-1].append(block)
    return parts


def _gpus(measurements: pd.DataFrame) -> list[str]:
    """Return one line for every GPU with rows: its name, and `measured` or `recorded`."""
    gpus = measurements[["origin", "gpu_name"]].drop_duplicates().sort_values("origin")
    return [f"{name} ({origin})" for origin, name in gpus.itertuples(index=False, name=None)]


def _policy(script: str) -> str:
    """Return a content security policy: load nothing, and run only the script of the page."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
