"""Write the report: report.md, report.html with its data, and the tables behind them in report/."""

import base64
import hashlib
from collections.abc import Iterable
from pathlib import Path

import jinja2
import pandas as pd
from markupsafe import Markup

from analysis import frame, grid, markdown, merge, ranking, row_files
from analysis.published import Published
from analysis.recorded import read_command
from analysis.report import model
from analysis.report.claim_lines import document
from analysis.report.page.payload import payload
from measure import ROOT

HERE = Path(__file__).resolve().parent
PAGE = HERE / "page"
DOCUMENTS = {
    "repository": "",
    "docs": "docs",
    "why": "docs/explanation/why_kernels_differ.md",
    "method": "docs/explanation/method.md",
}
# One module of the page, in this order.
SCRIPTS = ("data.js", "sizes.js", "answer.js", "kernels.js", "grid.js", "marks.js", "chart.js")
SCRIPTS += ("rows.js", "question.js")


def write(
    measurements: pd.DataFrame,
    claims: pd.DataFrame,
    published: Published,
    folder: Path,
    command: str,
    recorded: Iterable[Path] = (),
    workloads: Iterable[Iterable] = (),
) -> list[Path]:
    """Write both reports to `folder`, and report/*.csv; equal inputs give equal bytes.

    `command` is the exact command that made the rows, `recorded` are the files
    data/recorded/{gpu}/{sweep}.yaml of recorded rows, `workloads` are the shapes with a name.
    The others are those of `model.build`.
    """
    recorded = list(recorded)
    content = model.build(measurements, claims, published, list(workloads))
    shown_tables = set(zip(measurements["gpu"], measurements["sweep"], strict=True))
    content["cautions"] += merge.left_out(
        [path.with_suffix(".csv") for path in recorded], shown_tables
    )
    tables = {control.file: control.table for control in content["trust"]}
    tables["profile.csv"] = profile(content["ranks"])
    for name, table in tables.items():
        frame.write(folder / "report" / name, table)
    script = "\n".join((PAGE / name).read_text(encoding="utf-8") for name in SCRIPTS)
    content |= {
        "command": command,
        "recorded": [(path.parent.name, path.stem, read_command(path)[0]) for path in recorded],
        "payload": payload(published, content),
        "styles": Markup((PAGE / "page.css").read_text(encoding="utf-8")),
        "script": Markup(script),
        "digest": base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        "documents": {name: document(path, folder, ROOT) for name, path in DOCUMENTS.items()},
    }
    content |= {"table": _markdown_table, "label": grid.label}
    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader([HERE, PAGE]),
        autoescape=jinja2.select_autoescape(["html.j2"]),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters["as_text"] = markdown.text
    paths = [folder / "report.md", folder / "report.html"]
    for path in paths:
        row_files.write(path, templates.get_template(f"{path.name}.j2").render(content))
    return paths


def _markdown_table(rows: pd.DataFrame) -> str:
    cells = [[markdown.text(value) for value in line] for line in rows.to_numpy().tolist()]
    return markdown.table(rows.columns, cells)


def profile(ranks: pd.DataFrame) -> pd.DataFrame:
    """Return a line for each variant of a sweep: at how many matrices it is near the fastest."""
    lines = []
    for key, part in ranks.groupby(["gpu", "op", "dtype", "sweep"], sort=True):
        for name, behind in ranking.profile(part).items():
            timed = behind.dropna()
            near = [f"{ranking.share_within(timed, percent):.3f}" for percent in (1, 4)]
            shape = "x".join(map(str, timed.idxmax()[-2:]))
            lines.append([*key, name, len(timed), *near, f"{timed.max():.4g}", shape])
    heads = ["gpu", "op", "dtype", "sweep", "variant", "matrices"]
    heads += ["within_1_percent", "within_4_percent", "worst", "at"]
    return pd.DataFrame(lines, columns=heads)
