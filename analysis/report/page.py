"""What the script of the page reads: sizes, rows, charts, and colours."""

import itertools
import json
import math

import pandas as pd
from markupsafe import Markup

import kernels
from analysis import palette
from analysis.figures.controls import with_controls
from analysis.frame import MARKS
from analysis.panels import describe_m, rule_of_m, split_by_m
from analysis.published import Published
from analysis.report.trust import FLAGS
from analysis.schema import BASELINE, ITEMSIZE
from kernels.registry import source_scan

ABOUT = {
    "frontier": "This project's kernel. `from kernels import softmax` calls it in place of "
    "torch.softmax; docs/explanation/frontier.md says how it works.",
    BASELINE: "PyTorch's own function, which every other kernel is compared with.",
}
POINT = ["gpu", "op", "dtype", "M", "N", "variant", "flags"]
VALUES = ["time_us", "speedup", "of_copy"]
# The columns of a size over all sweeps, and of a row of one sweep.
OF_SIZES = [*POINT, *VALUES, "speedup_low", "speedup_high", "rank", "in_best_set", "behind_best"]
OF_ROWS = [*POINT, *VALUES, "sweep", "status", "unranked_by", "message"]
# Colours of the palette with a contrast below 3 -> their replacement, on white and on dark.
ON_WHITE = {palette.ORANGE: "#9c7218", palette.SKY: "#2f8fc4", palette.PURPLE: "#b8608e"}
ON_DARK = {palette.BLACK: "#f4f4f4", palette.GREY: "#9a9a9a", palette.WINE: "#f0e442"}
ON_DARK |= {palette.INDIGO: "#8f86e0"}


def payload(published: Published, content: dict) -> dict[str, object]:
    """Return the data of the page; `content`: as of model.build."""
    sizes = (
        content["sizes"]
        .sort_values("origin", kind="stable")
        .assign(distribution="")
        .rename(columns={"sweep": "sweeps"})
    )
    sizes = with_controls(sizes.assign(sweep="")).rename(columns={"sweep": "", "sweeps": "sweep"})
    peaks = {name.removesuffix(".csv"): s.memory_peak_gbps for name, s in published.sources.items()}
    share = published.rows["throughput_gbps"] / published.rows["table"].map(peaks).astype(float)
    tables = published.rows.assign(of_copy=share, gpu=published.rows["gpu"] + " (published)")
    drawn = pd.concat([sizes, tables], ignore_index=True)
    names = sorted({*drawn["variant"], *content["ranks"]["variant"]}, key=palette.order)
    colours = {name: style.colour for name, style in palette.styles(names).items()}
    return {
        "baseline": BASELINE,
        "gpus": content["gpu_names"],
        "sizes": columns(drawn, OF_SIZES),
        "rows": columns(content["ranks"], OF_ROWS),
        "charts": charts(drawn),
        "colours": {n: [ON_WHITE.get(c, c), ON_DARK.get(c, c)] for n, c in colours.items()},
        "about": {name: about(name) for name in names},
        "flags": FLAGS,
        "marks": MARKS,
        "itemsize": ITEMSIZE,
    }


def columns(rows: pd.DataFrame, names: list[str]) -> dict[str, object]:
    """Return column -> values of four digits, None where empty; text as `words` and `codes`.

    Codes that hardly change are `runs` of (code, count).
    """
    if "in_best_set" in rows:
        rows["in_best_set"] = (rows["in_best_set"] == True).astype(int)  # noqa: E712, None of tables
    return {name: _column(rows[name]) for name in names}


def _column(values: pd.Series) -> object:
    if not pd.api.types.is_numeric_dtype(values):
        codes, words = pd.factorize(values.fillna(""))
        runs = [(int(code), len(list(run))) for code, run in itertools.groupby(codes)]
        packed = {"runs": runs} if 4 * len(runs) < len(codes) else {"codes": codes.tolist()}
        return {"words": words.tolist(), **packed}
    if pd.api.types.is_integer_dtype(values):
        return values.tolist()
    return [None if math.isnan(value) else float(f"{value:.4g}") for value in values]


def charts(drawn: pd.DataFrame) -> list[dict[str, object]]:
    """Return a chart for each GPU, op, dtype and rule of M: the positions of its rows."""
    found = []
    for (gpu, op, dtype), part in drawn.groupby(["gpu", "op", "dtype"], sort=False):
        part = part.assign(elements=part["M"] * part["N"])
        for rows in split_by_m(part):
            over = "N" if rule_of_m(rows) else "elements"
            key = {"gpu": gpu, "op": op, "dtype": dtype, "m": describe_m(rows), "over": over}
            found.append(key | {"rows": rows.index.tolist()})
    return found


def about(variant: str) -> str:
    """Return a sentence on a variant: of ABOUT, or the first one of its file; "" if unknown."""
    stem, _ = kernels.split_config(variant)
    if variant in ABOUT or stem not in kernels.names():
        return ABOUT.get(variant, "")
    return source_scan.docstring(kernels.variant_file(stem)).split("\n")[0].replace("``", "`")


def embedded(content: object) -> Markup:
    """Return `content` as JSON that is safe inside a script element, whatever it contains."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)
