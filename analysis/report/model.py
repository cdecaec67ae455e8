"""The content of the report: plain text and tables, which both templates show."""

import math
from collections.abc import Sequence
from statistics import geometric_mean

import pandas as pd

from analysis import grid, palette, ranking, schema
from analysis import markdown as md
from analysis.frame import days, distinct, legend, roofline_share
from analysis.published import Published
from analysis.report import claim_lines, trust, workloads
from measure.device.gpus import CPU

READING = (
    "Each line counts the shapes at which a rival besides torch was timed. “Fastest” means the "
    "fastest kernel, or a tie with it: not significantly more than 1 % slower. Over "
    "torch: the geometric mean of the fastest kernel at these shapes in a CUDA graph, and, if they "
    "were timed, in eager calls. Of the limit: its median share of the roofline, such as a copy of "
    "the same bytes. Worst loss: if one kernel must serve every shape, how far the safest choice "
    "falls behind the fastest at its worst shape."
)
FACTS = ["gpu_name", "gpu_uuid", *schema.VERSIONS, *schema.BASELINE_STATE, "python"]
FACTS += ["git_commit", "uncommitted_code", "date"]


def build(
    measurements: pd.DataFrame,
    claims: pd.DataFrame,
    published: Published,
    named: Sequence[Sequence] = (),
) -> dict[str, object]:
    """Return the values of both templates; `ranks` and `sizes` are the frames behind them.

    Answers and claims are about the GPUs that this run measured, or else about the recorded ones;
    on a CPU results are only checked. Trust and environment are about what the run measured, or
    else about all. `named`: the shapes with a name.
    """
    ranks = ranking.rank_variants(measurements)
    is_measured = ranks["origin"] == "measured"
    run_ranks = ranks[is_measured] if is_measured.any() else ranks
    gpu_ranks = ranks[ranks["gpu"] != CPU]
    run_gpu_ranks = gpu_ranks[gpu_ranks["gpu"].isin(run_ranks["gpu"])]
    answered_ranks = run_gpu_ranks if len(run_gpu_ranks) else gpu_ranks
    run_rows = measurements[measurements["gpu"].isin(run_ranks["gpu"])]
    sizes = ranking.over_sweeps(ranks)
    gpu_names = dict(zip(ranks["gpu"], ranks["gpu_name"], strict=True))
    answered_gpus = distinct(answered_ranks["gpu"])
    gpus = list(dict.fromkeys([*answered_gpus, *distinct(gpu_ranks["gpu"])]))
    shapes = workloads.shapes_by_op(named, sizes, gpus)
    articles, unjudged = claim_lines.articles(claims, answered_gpus, published)
    ops = distinct((run_ranks if is_measured.any() else answered_ranks)["op"])
    return {
        "title": f"Which {ops[0] if len(ops) == 1 else 'kernel'} is fastest for your shape?",
        "gpus": [gpu_line(*key, part) for key, part in ranks.groupby(["origin", "gpu"])],
        "notes": notes(run_ranks, gpu_ranks),
        "cautions": legend(answered_ranks["flags"]),
        "answers": answers(answered_ranks, sizes),
        "reading": READING,
        "grids": grid.grids(sizes[sizes["gpu"] != CPU]),
        "named": named,
        "workloads": shapes,
        "unmeasured_ops": [
            op for op, named_shapes in shapes.items() if not any(s.measured for s in named_shapes)
        ],
        "articles": articles,
        "unjudged": unjudged,
        "sources": [f"{s.id}: {s.cite()}" for s in published.sources.values()],
        "trust": trust.controls(run_rows),
        "environment": environment(run_rows),
        "rows": measurements,
        "ranks": ranks,
        "sizes": sizes,
        "gpu_names": {gpu: gpu_names[gpu] for gpu in gpus} | gpu_names,
    }


def gpu_line(origin: str, gpu: str, rows: pd.DataFrame) -> str:
    """Return the name of a GPU, and when and with what its rows were measured."""
    versions = {name: "/".join(distinct(rows[name])) for name in ("torch", "driver")}
    words = [f"{name} {version}" for name, version in versions.items() if version]
    shapes = len(rows.drop_duplicates(["op", "dtype", "M", "N"]))
    words = [f"{origin} {days(rows)}", md.counted(shapes, "shape"), *words]
    return f"{rows['gpu_name'].iloc[0]} ({gpu}): {', '.join(words)}"


def notes(run: pd.DataFrame, races: pd.DataFrame) -> list[str]:
    """Return what a reader must know before the answers.

    `run`: the rows that this run measured, or all; `races`: those of GPUs.
    """
    if run.empty:
        return ["No row was measured or recorded. To measure this machine: `make run`."]
    checked = run[run["gpu"] == CPU]
    if checked.empty:
        return []
    right = checked["status"].isin(("ok", "interpreted"))
    text = f"This run checked {md.counted(int(right.sum()), 'result')} on a CPU, and ranked no "
    text += "kernel: a CPU's times say nothing about a GPU."
    if (~right).any():
        wrong = md.counts(checked.loc[~right, "status"])
        text += f" Not right there: {wrong}; see Trust."
    ops = distinct(run["op"])
    if races["op"].isin(ops).any():
        text += " The answers are those of the recorded GPUs."
    elif len(races):
        text += f" No GPU has a row of {', '.join(ops)}; the answers are about other operations."
    return [text]


def answers(ranks: pd.DataFrame, sizes: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each GPU, operation and element type: who wins, and by how much.

    `ranks` comes from `ranking.rank_variants`, and `sizes` from `ranking.over_sweeps`.
    """
    lines = []
    for key, part in ranks.groupby(schema.CONTEST, sort=False):
        contest_sizes = sizes[(sizes[schema.CONTEST] == list(key)).all(axis=1)]
        raced = contest_sizes[contest_sizes["no_winner"] == ""]
        first = raced[raced["rank"] == 1]
        cells = [ranking.NO_RIVAL, "", "", "", ""]
        if len(first):
            eager = first["eager_speedup"].dropna()
            over_torch = (
                f"{md.number(geometric_mean(s), 3)}x" if len(s) else ""
                for s in (first["speedup"], eager)
            )
            among = part.merge(first[["M", "N"]].drop_duplicates())
            cells = [
                leaders(raced, len(first)),
                *over_torch,
                md.percent(roofline_share(first).median()),
                regret(among),
            ]
        shapes = f"{len(first)} of {len(part.drop_duplicates(['M', 'N']))}"
        lines.append([", ".join(key[1:]), *cells, shapes])
    heads = ["GPU, operation, type", "fastest at", "over torch", "eager", "of the limit"]
    heads += ["worst loss with a single kernel", "shapes with a rival"]
    return pd.DataFrame(lines, columns=heads)


def leaders(raced: pd.DataFrame, total: int) -> str:
    """Return the two variants that are most often in the best set, and at how many shapes."""
    counts = ranking.wins(raced[raced["in_best_set"]])
    wrong = set(raced.loc[raced["flags"].str.contains(r"\bedge_cases\b"), "variant"])
    sign = schema.MARK_OF["edge_cases"]
    return ", ".join(
        f"{name}{sign if name in wrong else ''} {count}/{total}"
        for name, count in counts[:2].items()
    )


def regret(part: pd.DataFrame) -> str:
    """Return the variant whose largest time over the fastest is the least, and that time."""
    behind = ranking.profile(part)
    timed = behind.notna().sum()
    worst = behind.loc[:, 3 * timed >= 2 * timed.max()].max()  # not of few sizes
    worst = worst[worst < math.inf]
    if worst.empty:
        return "none runs at every size" if len(behind) else ""
    name = palette.most_first(-worst)[0]
    shapes = f" ({timed[name]} of {len(behind)} shapes)" if timed[name] < len(behind) else ""
    return f"{name}: {md.percent(worst[name] - 1, 1)}{shapes}"


def environment(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a line for each fact, a column for each GPU."""
    rows = rows.assign(date=rows["started_at"].str[:10], uncommitted_code=rows["git_dirty"])
    for name in ("gpu_uuid", "git_commit"):
        rows[name] = rows[name].str[:12]
    facts = {
        f"{gpu} ({origin})": [*(", ".join(distinct(part[name])) for name in FACTS), len(part)]
        for (origin, gpu), part in rows.groupby(["origin", "gpu"])
    }
    table = pd.DataFrame({"fact": [*FACTS, "rows"], **facts})
    table["fact"] = table["fact"].str.replace("_", " ")
    return table[table.iloc[:, 1:].ne("").any(axis=1)]
