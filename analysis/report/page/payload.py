"""The data of the page: what its script reads, as compressed JSON."""

import base64
import gzip
import json

import pandas as pd

import kernels
from analysis import palette
from analysis.frame import distinct, is_baseline, mark, outcomes
from analysis.panels import describe_m, rule_of_m, select, split_by_m
from analysis.published import Published
from kernels.registry import source_scan

ABOUT = {
    "frontier": "This project's kernel. “from softmax_bench import softmax” calls it in place of "
    "torch.softmax; docs/explanation/frontier.md says how it works.",
}
ABOUT_TORCH = "PyTorch's own function, which every other kernel is compared with."
QUANTITIES = ["time_us", "speedup", "of_copy", "throughput_gbps"]
BOTH = ["gpu", "op", "dtype", "M", "N", "variant", "flags", "mark", *QUANTITIES]
# The columns of a size over all sweeps, and of a row of one sweep.
OF_SIZES = [*BOTH, "elements", "speedup_low", "speedup_high", "rank", "in_best_set", "behind_best"]
OF_SIZES += ["of_meet", "no_winner"]
OF_ROWS = [*BOTH, "sweep", "status", "message"]
# Colours of the palette with a contrast below 3 on white or on dark -> their replacement on both.
CLEAR = {palette.BLACK: "var(--ink)", palette.ORANGE: "#b07d12", palette.SKY: "#2f8fc4"}
CLEAR |= {palette.PURPLE: "#c565a0", palette.WINE: "#b04a76", palette.INDIGO: "#7468d4"}


def payload(published: Published, content: dict) -> str:
    """Return the data of the page, compressed JSON in base64; `content`: as of model.build."""
    ranks = content["ranks"].assign(status=outcomes(content["ranks"]))
    sizes = content["sizes"].sort_values(["origin", "rank"]).assign(distribution="", sweep="")
    drawn, _, styles = select(sizes, published)
    torch = distinct(drawn["baseline"])
    tables = drawn["origin"] == "published"
    drawn["rank"] = drawn["rank"].mask(tables)
    drawn["gpu"] += tables.map({True: " (published)", False: ""})
    ranks["mark"], drawn["mark"] = (rows["flags"].fillna("").map(mark) for rows in (ranks, drawn))
    found = {
        "baselines": torch,
        "gpus": content["gpu_names"],
        "names": content["names"],
        "sizes": records(drawn.reindex(columns=OF_SIZES)),
        "rows": records(ranks[OF_ROWS]),
        "charts": charts(drawn),
        "colours": {name: CLEAR.get(colour, colour) for name, (colour, _) in styles.items()},
        "about": {name: ABOUT_TORCH if name in torch else about(name) for name in styles},
    }
    packed = gzip.compress(json.dumps(found, allow_nan=False).encode(), mtime=0)
    return base64.b64encode(packed).decode()


def records(rows: pd.DataFrame) -> list[dict[str, object]]:
    """Return rows of four significant digits, None for unknown numbers."""
    short = rows.map(lambda value: float(f"{value:.4g}") if isinstance(value, float) else value)
    return json.loads(short.to_json(orient="records"))


def charts(drawn: pd.DataFrame) -> list[dict[str, object]]:
    """Return a chart for each GPU, op, dtype and rule of M: its lines, and the rooflines.

    A line has the positions of its rows, sorted by the quantity `over`. torch comes first, then the
    kernels that are best at the most sizes. The rooflines are the copy of the same bytes,
    with the speed-up of torch, and `meet` of few long rows.
    """
    found = []
    for (gpu, op, dtype), part in drawn.groupby(["gpu", "op", "dtype"], sort=False):
        for rows in split_by_m(part):
            over = "N" if rule_of_m(rows) else "elements"
            lines = [line for _, line in rows.sort_values(over).groupby("variant")]
            lines.sort(key=lambda of: (-of["in_best_set"].sum(), -len(of)))
            lines.sort(key=lambda line: not is_baseline(line).any())
            key = {"gpu": gpu, "op": op, "dtype": dtype, "m": describe_m(rows), "over": over}
            key["roof"] = records(roofline(rows.assign(speedup=rows["of_copy"]), "of_copy", over))
            key["meet"] = records(roofline(rows, "of_meet", over))
            key |= {"lines": [line.index.tolist() for line in lines]}
            found.append(key)
    return found


def roofline(rows: pd.DataFrame, share: str, over: str) -> pd.DataFrame:
    """Return the quantities of the control of the ratio `share`: medians for each `over`."""
    known = rows[rows[share].notna()].copy()
    known["time_us"] *= known[share]
    known[QUANTITIES[1:]] = known[QUANTITIES[1:]].div(known[share], axis=0)
    return known.groupby(over)[QUANTITIES].median().reset_index()


def about(variant: str) -> str:
    """Return a sentence on a variant: of ABOUT, or the first one of its file; "" if unknown."""
    stem, _ = kernels.split_config(variant)
    if variant in ABOUT or stem not in kernels.names():
        return ABOUT.get(variant, "")
    return source_scan.docstring(kernels.variant_file(stem)).split("\n")[0].replace("``", "")
