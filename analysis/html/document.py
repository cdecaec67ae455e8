"""The page as a whole: what it is made of, and its file."""

import base64
import hashlib
import json
from collections.abc import Collection, Iterable
from pathlib import Path

import pandas as pd
from markupsafe import Markup

from analysis import atomic, flags
from analysis.figures import controls
from analysis.html import bundle, cards, figures, picks, sets, style, table, templates
from analysis.published import Published
from analysis.report import document as report

STYLES = ("base.css", "parts.css", "print.css")
SCRIPTS = (
    "data.js",
    "theme.js",
    "picker.js",
    "rows.js",
    "lines.js",
    "readout.js",
    "heat.js",
    "figures.js",
    "print.js",
)


def write(
    measurements: pd.DataFrame,
    summary: pd.DataFrame,
    claims: pd.DataFrame,
    published: Published,
    command: str,
    output: Path,
    recorded: Iterable[Path] = (),
    unranked: Collection[str] = flags.UNRANKED,
) -> None:
    """Write the page to `output`; the arguments are those of analysis.report.write.

    The same rows give the same bytes. Raises InputError as atomic.replacing does.
    """
    names = dict(zip(measurements["gpu"], measurements["gpu_name"], strict=True))
    found = picks.picks(summary, names)
    drawn = controls.added(measurements)
    looks = style.looks({*drawn["variant"], *published.rows["variant"]})
    data = {
        "picks": found,
        "first": picks.first(found) if found else None,
        "rows": table.columns(table.ranked(measurements, summary)),
        "controls": table.columns(_unranked(drawn.iloc[len(measurements) :])),
        "published": table.columns(_unranked(published.rows)),
        "sets": sets.sets(drawn, published),
        "looks": looks,
        "specs": figures.specs(looks),
    }
    plotting = bundle.script()
    own = "\n".join(_part(name) for name in SCRIPTS)
    sections = report.sections(measurements, summary, published, command, recorded, unranked)
    text = templates.environment().get_template("page.html").render(
        title=report.title(measurements),
        gpus=_gpus(measurements),
        picks=found,
        sections=sections,
        cards=cards.cards(claims),
        counts=cards.counts(claims),
        sets=data["sets"],
        looks=looks,
        on_dark=style.ON_DARK,
        data=embedded(data),
        styles=Markup("\n".join(_part(name) for name in STYLES)),
        plotting=Markup(plotting),
        script=Markup(own),
        credit=bundle.credit(),
        policy=_policy(own, plotting),
        rows=len(measurements),
    )  # fmt: skip
    atomic.write_text(output, text)


def embedded(data: object) -> Markup:
    """`data` as JSON that can stand inside a script element, whatever words are in it."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)


def _unranked(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.assign(rank=float("nan"))


def _gpus(measurements: pd.DataFrame) -> list[str]:
    """One line for every GPU with rows: its name, and whether it was measured in this run."""
    found = measurements[["origin", "gpu_name"]].drop_duplicates().sort_values("origin")
    return [f"{name} ({origin})" for origin, name in found.itertuples(index=False, name=None)]


def _policy(*scripts: str) -> str:
    """A content security policy: nothing is loaded, and no script runs but the page's own."""
    hashes = " ".join(f"'sha256-{_digest(text)}'" for text in scripts)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _part(name: str) -> str:
    return (templates.PAGE / name).read_text(encoding="utf-8")
