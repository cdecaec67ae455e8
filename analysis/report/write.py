"""Write the report: report.md, report.html, and the tables behind them in report/."""

import base64
import csv
import hashlib
import io
import os
from pathlib import Path

import jinja2
import pandas as pd
from markupsafe import Markup

from analysis import markdown, ranking, rows
from analysis.report import model, page
from analysis.report.trust import Table

HERE = Path(__file__).resolve().parent
SCRIPTS = ("answer.js", "explore.js")
MOST_SHOWN = 40  # lines of a table of the page; its CSV has all


def write(inputs: model.Inputs, figures: Path, folder: Path) -> list[Path]:
    """Write both reports to `folder`, and report/*.csv; equal inputs give equal bytes."""
    content = model.build(inputs, figures)
    files = {finding.file: _csv(finding.table) for finding in content["trust"]}
    files["profile.csv"] = _csv(profile(content["ranks"]))
    content["tables"] = list(files)
    content["links"] = [
        (text, Path(os.path.relpath(path, folder)).as_posix()) for text, path in content["figures"]
    ]
    for name, text in files.items():
        rows.write(folder / "report" / name, text)
    rows.write(folder / "report.md", _templates(False).get_template("report.md.j2").render(content))
    rows.write(folder / "report.html", _page(inputs, content))
    return [folder / "report.md", folder / "report.html"]


def profile(ranks: pd.DataFrame) -> Table:
    """Return a line for each variant of a sweep: at how many matrices it is near the fastest."""
    lines = []
    for key, part in ranks.groupby(["gpu", "op", "dtype", "sweep"], sort=True):
        for name, behind in ranking.profile(part).items():
            known = behind.dropna()
            near = [f"{ranking.within(known, percent):.3f}" for percent in (1, 4)]
            at = "x".join(map(str, known.idxmax()[-2:]))
            lines.append([*key, name, len(known), *near, f"{known.max():.4g}", at])
    heads = ["gpu", "op", "dtype", "sweep", "variant", "matrices"]
    return Table([*heads, "within_1_percent", "within_4_percent", "worst", "at"], lines)


def _csv(table: Table) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([table.columns, *table.rows])
    return text.getvalue()


def _page(inputs: model.Inputs, content: dict) -> str:
    script = "\n".join((HERE / name).read_text(encoding="utf-8") for name in SCRIPTS)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    # loads nothing, and runs only the script of the page
    policy = f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; "
    images = [base64.b64encode(path.read_bytes()).decode() for _, path in content["figures"][:1]]
    return _templates(True).get_template("report.html.j2").render(
        content,
        image=f"data:image/png;base64,{images[0]}" if images else "",
        data=page.embedded(page.payload(inputs.published, content)),
        styles=Markup((HERE / "page.css").read_text(encoding="utf-8")),
        script=Markup(script),
        policy=f"{policy}img-src data:; base-uri 'none'; form-action 'none'",
        most=MOST_SHOWN,
    )  # fmt: skip


def _templates(escape: bool) -> jinja2.Environment:
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE),
        autoescape=escape,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals["table"] = markdown.table
    return made
