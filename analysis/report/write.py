"""Write the report: report.md, report.html, and the tables behind them in report/."""

import base64
import hashlib
import os
from pathlib import Path

import jinja2
import pandas as pd
from markupsafe import Markup

from analysis import markdown, ranking, row_files
from analysis.report import model, page

HERE = Path(__file__).resolve().parent
MOST_SHOWN = 40  # lines of a table of the page; its CSV has all


def write(inputs: model.Inputs, figures: Path, folder: Path) -> list[Path]:
    """Write both reports to `folder`, and report/*.csv; equal inputs give equal bytes."""
    content = model.build(inputs, figures)
    tables = {finding.file: finding.table for finding in content["trust"]}
    tables["profile.csv"] = profile(content["ranks"])
    for name, table in tables.items():
        row_files.write(folder / "report" / name, table.to_csv(index=False, lineterminator="\n"))
    script = "\n".join((HERE / name).read_text() for name in ("answer.js", "explore.js"))
    content |= {
        "links": [
            (text, Path(os.path.relpath(path, folder)).as_posix())
            for text, path in content["figures"]
        ],
        "images": [base64.b64encode(p.read_bytes()).decode() for _, p in content["figures"][:1]],
        "payload": page.payload(inputs.published, content),
        "styles": Markup((HERE / "page.css").read_text()),
        "script": Markup(script),
        "digest": base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        "most": MOST_SHOWN,
    }
    content["table"] = lambda frame: markdown.table(frame.columns, frame.to_numpy().tolist())
    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE),
        autoescape=jinja2.select_autoescape(["html.j2"]),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    paths = [folder / "report.md", folder / "report.html"]
    for path in paths:
        row_files.write(path, templates.get_template(f"{path.name}.j2").render(content))
    return paths


def profile(ranks: pd.DataFrame) -> pd.DataFrame:
    """Return a line for each variant of a sweep: at how many matrices it is near the fastest."""
    lines = []
    for key, part in ranks.groupby(["gpu", "op", "dtype", "sweep"], sort=True):
        for name, behind in ranking.profile(part).items():
            known = behind.dropna()
            near = [f"{ranking.within(known, percent):.3f}" for percent in (1, 4)]
            at = "x".join(map(str, known.idxmax()[-2:]))
            lines.append([*key, name, len(known), *near, f"{known.max():.4g}", at])
    heads = ["gpu", "op", "dtype", "sweep", "variant", "matrices"]
    heads += ["within_1_percent", "within_4_percent", "worst", "at"]
    return pd.DataFrame(lines, columns=heads)
