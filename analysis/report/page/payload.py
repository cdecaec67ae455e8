"""The data of the page: what its script reads, as compressed JSON."""

import base64
import gzip
import json
import re

import pandas as pd

import kernels
from analysis import palette
from analysis.figures.panels import MIN_SIZES, rule_of_m, select, split_by_m
from analysis.frame import distinct, is_baseline, mark, outcomes, roofline_share
from analysis.published import Published
from analysis.schema import FLAGS, MARKS, SIZE
from analysis.stats import eager
from kernels.registry import source_scan
from measure.device.gpus import CPU

ABOUT_TORCH = "PyTorch's own function, which every other kernel is compared with."
POINT = ["gpu", "op", "dtype", "M", "N", "variant", "flags", "mark"]
TIMES = ["time_us", "eager_us", "speedup", "of_limit", "throughput_gbps"]
# The columns of a shape over all sweeps, and of the row of one process.
SHAPE = [*POINT, *TIMES, "elements", "speedup_low", "speedup_high", "rank", "in_best_set"]
SHAPE += ["behind_best", "no_winner", "eager_speedup_low", "eager_speedup_high"]
ROW = [*POINT, *TIMES, "speedup_low", "speedup_high", "replicate", "board", "sweep", "status"]
ROW += ["message"]
# Colours of the palette with a contrast below 3 on white or on dark -> their replacement on both.
CLEAR = {palette.BLACK: "var(--ink)", palette.ORANGE: "#70a000", palette.SKY: "#2f8fc4"}
CLEAR |= {palette.PURPLE: "#c565a0", palette.WINE: "#b04a76", palette.INDIGO: "var(--indigo)"}

# Kernels whose marker, the palette's, is that of one which looks alike to the colour-blind here.
MARKERS = {"triton_row": "h"}


def payload(published: Published, content: dict) -> str:
    """Return the data of the page, compressed JSON in base64; `content`: see `model.build`."""
    rows = eager.with_eager(content["rows"])
    rows = rows.assign(status=outcomes(rows), board=rows["gpu_uuid"].str[:12])
    sizes = content["sizes"].sort_values(["origin", "rank"]).assign(distribution="", sweep="")
    is_torch = is_baseline(sizes) & sizes["eager_us"].notna()
    sizes.loc[is_torch, eager.INTERVAL] = 1.0  # its ratio to itself
    drawn, _, styles = select(sizes, published)
    torch = distinct(drawn["baseline"])
    tables = drawn["origin"] == "published"
    drawn["gpu"] += tables.map({True: " (published)", False: ""})
    rows, drawn = (
        table.assign(mark=table["flags"].fillna("").map(mark), of_limit=roofline_share(table))
        for table in (rows, drawn)
    )
    values = {
        "baselines": torch,
        "gpus": content["gpu_names"],
        "cpu": CPU,
        "workloads": content["named"],
        "sizes": records(drawn.reindex(columns=SHAPE)),
        "absent": absent(content["sizes"]),
        "marks": MARKS,
        "rows": records(rows[ROW]),
        "charts": charts(drawn[drawn["gpu"] != CPU]),
        "styles": {
            name: [CLEAR.get(colour, colour), MARKERS.get(name, marker)]
            for name, (colour, marker) in styles.items()
        },
        "about": {name: ABOUT_TORCH if name in torch else about(name) for name in styles},
    }
    packed = gzip.compress(json.dumps(values, allow_nan=False).encode(), mtime=0)
    return base64.b64encode(packed).decode()


def records(rows: pd.DataFrame) -> list[dict[str, object]]:
    """Return rows of six significant digits, which the page rounds to three; None: unknown."""
    short = rows.map(lambda value: float(f"{value:.6g}") if isinstance(value, float) else value)
    return json.loads(short.to_json(orient="records"))


def absent(sizes: pd.DataFrame) -> dict[str, str]:
    """Return who does not rank at a shape and why: `h100/softmax/float32/1024x256` -> text.

    Where the reason is a flag, the text has its meaning.
    """
    firsts = sizes.drop_duplicates(SIZE)
    meanings = {name: flag.meaning.partition(":")[0] for name, flag in FLAGS.items()}
    flag = re.compile(rf"\b({'|'.join(meanings)})\b")
    return {
        f"{gpu}/{op}/{dtype}/{m}x{n}": flag.sub(lambda name: meanings[name[0]], names)
        for _, gpu, op, dtype, m, n, names in firsts[[*SIZE, "not_timed"]].itertuples(index=False)
        if names
    }


def charts(drawn: pd.DataFrame) -> list[dict[str, object]]:
    """Return a chart for each GPU, op, dtype and rule of M: its lines, and the limit.

    Of the sizes without a rule, those of the most frequent M have one, if they are enough. A line
    has the positions of its rows, sorted by N. torch comes first, then the kernels that are best at
    the most shapes. The limit is the time of the roofline at each N.
    """
    drawings = []
    for (gpu, op, dtype), part in drawn.groupby(["gpu", "op", "dtype"], sort=False):
        for rows in split_by_m(part):
            if not rule_of_m(rows):
                sizes_by_m = rows.groupby("M")["N"].transform("nunique")
                rows = rows[(sizes_by_m >= MIN_SIZES) & (sizes_by_m == sizes_by_m.max())]
            if not rule_of_m(rows):
                continue
            lines = [line for _, line in rows.sort_values("N").groupby("variant")]
            lines.sort(key=lambda line: (-line["in_best_set"].sum(), -len(line)))
            lines.sort(key=lambda line: not is_baseline(line).any())
            limit = (rows["time_us"] * rows["of_limit"]).groupby(rows["N"]).median().dropna()
            chart = {"gpu": gpu, "op": op, "dtype": dtype, "m": rule_of_m(rows)}
            chart["limit"] = [[int(x), float(f"{us:.4g}")] for x, us in limit.items()]
            drawings.append(chart | {"lines": [line.index.tolist() for line in lines]})
    return drawings


def about(variant: str) -> str:
    """Return the first sentence of a variant's file, and how to use it; "" if it is unknown."""
    stem, _ = kernels.split_config(variant)
    if stem not in kernels.names():
        return ""
    first, _, text = source_scan.docstring(kernels.variant_file(stem)).partition("\n")
    _, use, text = text.partition("\nUse: ")
    text = text if use else f'`import kernels; kernels.load("{variant}")` in a clone.'
    how = " ".join(text.replace("``", "`").split())
    return f"{first.replace('``', '')} Use: {how}".lstrip()
