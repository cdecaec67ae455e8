"""The page as a whole: its templates, styles and scripts, and its file."""

import base64
import hashlib
import json
import re
from pathlib import Path

import altair
import jinja2
import pandas as pd
import vl_convert
from markdown_it import MarkdownIt
from markupsafe import Markup

from analysis import rows
from analysis.errors import InputError
from analysis.frame import with_controls
from analysis.html import charts, data
from analysis.report import document as report
from analysis.report import markdown
from analysis.report.document import Inputs
from analysis.report.markdown import Block, Heading, Prose, Table

PAGE = Path(__file__).resolve().parent / "page"
STYLES = ("base.css", "parts.css", "print.css")
SCRIPTS = (
    *("data.js", "theme.js", "picker.js", "rows.js", "lines.js", "readout.js"),
    *("heat.js", "figures.js", "print.js"),
)
# The Vega-Lite that Altair writes for, e.g. 6.1.
VEGA_LITE = ".".join(altair.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
# Cells of more letters than this are set on several lines; a name or an interval never is.
WORDY = 48
# as the report writes one: with a unit, an interval, a remark, or as a span; or not applicable
NUMBER = re.compile(r"([-+.\de]+( %)?( \[[^]]*\])?( \(.*\))?( … \d+)?)?")
# Emphasis and code. What stands in prose comes from CSV files: links, images and HTML of Markdown
# are switched off, so that whatever looks like one stays text.
_INLINE = MarkdownIt("zero").enable(["emphasis", "backticks"])


def write(inputs: Inputs, output: Path) -> None:
    """Write the page to `output`; the same rows give the same bytes."""
    measurements, published = inputs.measurements, inputs.published
    names = dict(zip(measurements["gpu"], measurements["gpu_name"], strict=True))
    best = data.best_by_size(inputs.summary, names)
    drawn = with_controls(measurements)
    looks = data.looks({*drawn["variant"], *published.rows["variant"]})
    content = {
        "picks": best,
        "first": data.first(best),
        "rows": data.columns(data.with_rank(measurements, inputs.summary)),
        "controls": data.columns(drawn.iloc[len(measurements) :]),
        "published": data.columns(published.rows),
        "sets": data.sets(drawn, published),
        "looks": looks,
        "specs": charts.specs(looks),
    }
    plotting, own = drawing_library(), _parts(SCRIPTS)
    text = templates().get_template("page.html").render(
        title=report.title(measurements),
        gpus=_gpus(measurements),
        picks=best,
        sections=report.sections(inputs),
        cards=data.claims_view(inputs.claims),
        counts=data.counts(inputs.claims),
        sets=content["sets"],
        looks=looks,
        on_dark=data.ON_DARK,
        data=embedded(content),
        styles=Markup(_parts(STYLES)),
        plotting=Markup(plotting),
        script=Markup(own),
        credit=_credit(),
        policy=_policy(own, plotting),
        rows=len(measurements),
    )  # fmt: skip
    rows.write(output, text)


def embedded(content: object) -> Markup:
    """Return `content` as JSON that can stand inside a script element, whatever is in it."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)


def drawing_library() -> str:
    """Return JavaScript that defines `vegaEmbed`, of vl-convert's wheel, made without a network.

    Raises InputError when it would end the script element that it is to stand in.
    """
    text = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=VEGA_LITE)
    if "</script" in text.lower() or "<!--" in text:
        raise InputError(
            "vl-convert's script cannot stand inside a page; install the version that "
            "requirements.txt pins"
        )
    return text


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
    made.filters["parts"] = _parts_of_verdict
    made.filters["counted"] = markdown.counted
    made.filters["kind"] = lambda block: type(block).__name__
    return made


def inline(text: str) -> Markup:
    """Return the text of Prose or Heading as HTML, without a surrounding paragraph."""
    return Markup(_INLINE.renderInline(text))


def _numeric(block: Table) -> list[bool]:
    """Return for each column of a table whether its values are numbers, set flush right."""
    return [
        all(NUMBER.fullmatch(str(value)) for value in values)
        for values in zip(*block.rows, strict=True)
    ]


def _parts_of_verdict(blocks: list[Block]) -> list[list[Block]]:
    """Return the blocks of the verdict, cut behind every heading and table."""
    found: list[list[Block]] = []
    for block in blocks:
        last = found[-1][-1] if found else None
        if isinstance(block, Heading) or not isinstance(last, Prose):
            found.append([])
        found[-1].append(block)
    return found


def _gpus(measurements: pd.DataFrame) -> list[str]:
    """Return one line for every GPU with rows: its name, and measured or recorded."""
    found = measurements[["origin", "gpu_name"]].drop_duplicates().sort_values("origin")
    return [f"{name} ({origin})" for origin, name in found.itertuples(index=False, name=None)]


def _credit() -> str:
    return (
        f"Vega {vl_convert.get_vega_version()}, Vega-Lite {VEGA_LITE} and vega-embed "
        f"{vl_convert.get_vega_embed_version()} of the University of Washington's Interactive "
        "Data Lab (BSD 3-clause licence)"
    )


def _policy(*scripts: str) -> str:
    """Return a content security policy: load nothing, and run only the scripts of the page."""
    digests = (base64.b64encode(hashlib.sha256(text.encode()).digest()) for text in scripts)
    hashes = " ".join(f"'sha256-{digest.decode()}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _parts(names: tuple[str, ...]) -> str:
    return "\n".join((PAGE / name).read_text(encoding="utf-8") for name in names)
