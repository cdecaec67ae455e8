"""Print what docs/results.md and docs/special_rows.md say of the recorded rows.

`python -m tools.results summary` prints one block, and `make docs` puts it between the comments
that name the command.
"""

import math
from collections.abc import Callable, Iterable

import pandas as pd
import yaml

from analysis import claims, frame, merge, palette, published, ranking, schema
from analysis.claims.reproduction import VERDICTS
from analysis.markdown import best_set, counted, counts, number, percent, span, table
from analysis.report import claim_lines, special_rows
from analysis.schema import MATRIX, OTHER_BOARD, SIZE
from analysis.stats import eager, spread
from measure import ROOT
from planning import points, single_shape
from tools import goals, record
from tools.goals import OURS, OURS_OF_LOGITS, goal_tables, order, size_name
from tools.inserts import print_block

CONTROLS = "processes where torch timed against itself differs significantly "
CONTROLS += "(5 % expected by chance)"
# How the quantities of claims begin that are judged by their distance from 1.
RATIOS = ("speed of", "time without", "smallest speed ratio")
MARKS = schema.MARKS | {"\\*": "timed on another board than most of its matrix"}
SHAPE_HEADS = ("shape", "torch", "fastest", "its time")
SHAPE_HEADS += (
    "speed-up over torch",
    "of the limit",
    "runner-up (its time relative to the winner's)",
)
Place = tuple[str, str, str, int, int]  # the name of a shape or "", op, dtype, M, N


def recorded() -> pd.DataFrame:
    """Return the recorded rows of all GPUs, collected as a report collects them."""
    tables = sorted((ROOT / "data/recorded").glob("*/*.csv"))
    return frame.from_rows(merge.collected_rows([], tables))


def checked_claims(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the claims as checked on rows in float32, the dtype of the articles."""
    checked = claims.check(rows, published.load(ROOT / "data/published"))
    return checked[(checked["dtype"] == "float32") & (checked["origin"] != "published")]


def for_each_gpu(block: Callable[[pd.DataFrame], str]) -> Callable[[pd.DataFrame], str]:
    """Return a block of the rows of several GPUs: that of each, which begins with its name.

    A block begins with a sentence that says what to conclude.
    """

    def blocks(rows: pd.DataFrame) -> str:
        texts = (f"{gpu.upper()}: {block(rows[rows['gpu'] == gpu])}" for gpu in order(rows))
        return "\n\n".join(texts)

    return blocks


def by_gpu(rows: pd.DataFrame, facts: Callable[[pd.DataFrame], dict[str, str]]) -> str:
    """Return a table with a column for each GPU, and a line for each of the `facts` of its rows."""
    columns = {gpu.upper(): facts(rows[rows["gpu"] == gpu]) for gpu in order(rows)}
    lines = pd.DataFrame(columns).itertuples(name=None)
    return table(["", *columns], [*lines])


def gpus(rows: pd.DataFrame) -> str:
    """Return what each GPU has recorded, and how quiet it was."""

    def facts(part: pd.DataFrame) -> dict[str, str]:
        ok = part[part["status"] == "ok"]
        replicates = ok.groupby("sweep")["replicate"].max().astype(int)
        fewer = replicates[replicates < replicates.max()].items()
        fewest = (f"`{sweep}` {count}" for sweep, count in fewer)
        aa = spread.aa_controls(ok).groupby("op")["excludes"].agg(["mean", "size"])
        shares = (f"`{op}` {percent(share, 1)} of {size}" for op, share, size in aa.itertuples())
        differs = ", ".join(shares)
        older = "`" + part.loc[part["stale"] == "true", "variant"] + "`"
        restless = ok["flags"].str.contains("throttled|_drift")
        return {
            "rows": f"{len(part)} ({counts(part['status'])})",
            "boards": ok["gpu_uuid"].nunique(),
            "days": frame.days(ok),
            "torch": ", ".join(frame.distinct(ok["torch"].str.split("+").str[0])),
            "replicates": ", ".join([str(replicates.max()), *fewest]),
            "incomplete sweeps": ", ".join(incomplete(part)) or "none",
            "rows of older code": counts(older) or "none",
            "rows with throttling or clock drift": percent(restless.mean(), 1),
            CONTROLS: differs,
        }

    return by_gpu(rows, facts)


def incomplete(part: pd.DataFrame) -> Iterable[str]:
    """Yield the standard sweeps of which a GPU lacks matrices, with how many it has."""
    recorded = {
        sweep: set(own[[*MATRIX]].itertuples(index=False, name=None))
        for sweep, own in part.groupby("sweep")
    }
    for sweep in record.SWEEPS:
        expanded = points.expand(_config_of(sweep), part["gpu"].iloc[0])
        planned = {points.matrix(point) for point in expanded}
        measured = planned & recorded.get(sweep, set())
        if measured < planned:
            yield f"`{sweep}` {len(measured)} of {counted(len(planned), 'matrix')}"


def _config_of(sweep: str) -> dict:
    """Return the config of a file of sweeps/, with the defaults."""
    files = ROOT / "config.yaml", ROOT / f"sweeps/{sweep}.yaml"
    default, own = (yaml.safe_load(file.read_text(encoding="utf-8")) for file in files)
    return default | own


def summary(rows: pd.DataFrame) -> str:
    """Return what `frontier` wins and loses over all recorded sizes, and the claims' count."""
    ranks = ranking.rank_variants(rows)
    verdicts = checked_claims(rows)
    ops = " and ".join(sorted(rows.loc[rows["variant"] == OURS, "op"].unique(), reverse=True))

    def facts(part: pd.DataFrame) -> dict[str, str]:
        gpu = part["gpu"].iloc[0]
        own = ranks[ranks["gpu"] == gpu]
        met = goals.judged_sizes(own)["level"]["met"]
        means = {
            dtype: mean
            for dtype, sizes in ranking.over_sweeps(own).groupby("dtype")
            if (mean := eager.over_torch(sizes, OURS))
        }
        speed = (
            f"{dtype} {number(mean.graph, 3)} at {mean.sizes}" for dtype, mean in means.items()
        )
        called = (
            f"{dtype} {number(mean.eager, 3)}, less than 1 at {mean.slower}"
            for dtype, mean in means.items()
        )
        wrong = "`" + part.loc[part["status"] == "incorrect", "variant"] + "`"
        return {
            f"`{OURS}`, {ops}: times as fast as torch in a CUDA graph, geometric mean of sizes": (
                "; ".join(speed) or "not recorded"
            ),
            "the same in eager calls, where the slower of GPU and host counts": (
                "; ".join(called) or "not recorded"
            ),
            f"sizes where `{OURS}` is more than 1 % behind the fastest kernel": (
                f"{(~met).sum()} of {len(met)}"
            ),
            "rows that failed the correctness check, which never rank": counts(wrong) or "none",
            "published claims in float32": counts(
                verdicts.loc[verdicts["gpu"] == gpu, "verdict"], VERDICTS
            ),
        }

    return by_gpu(rows, facts)


def claim_table(rows: pd.DataFrame) -> str:
    """Return each claim with its published and its measured number on a GPU, and the verdict."""
    checked, lines = checked_claims(rows), []
    for claim in checked.itertuples():
        stated = _as_judged(claim.quantity, claim.published_value) or "in words"
        measured = _as_judged(claim.quantity, claim.value)
        reason = claim.why.partition("; ")[0].partition(": measured")[0]
        why = f"[{reason}](explanation/why_kernels_differ.md#{claim.explained})"
        about = f"{claim.claim}: “{claim.statement}”", claim.quantity
        lines.append([*about, stated, measured, f"{claim.verdict}: {why}"])
    text = table(("claim", "what is compared", "published", "measured", "verdict"), lines)
    verdicts = counts(checked["verdict"], VERDICTS)
    return f"verdicts on {len(lines)} claimed numbers: {verdicts}.\n\n{text}"


def _as_judged(quantity: str, value: float) -> str:
    """Return the value of a claim's quantity; of a ratio its effect, which is what is judged."""
    if quantity.startswith(RATIOS) and not math.isnan(value):
        return f"{100 * (value - 1):+.3g} %"
    return claim_lines.shown(quantity, value)


def peers(rows: pd.DataFrame) -> str:
    """Return the speed of every variant over torch at the points of the sweep."""
    ranks = ranking.rank_variants(rows[rows["sweep"] == "peers"])
    if ranks.empty:
        return "no row is of this sweep."
    key = ["M", "N", "dtype"]
    cells = ranks.assign(cell=[_cell(row) for _, row in ranks.iterrows()])
    cells = cells[~frame.is_baseline(cells)].drop_duplicates([*key, "variant"])
    wide = cells.pivot(index=key, columns="variant", values="cell").fillna("").sort_index()
    wide = wide[sorted(wide, key=palette.order)]
    lines = [[f"{m}x{n}", dtype, *own] for (m, n, dtype), *own in wide.itertuples(name=None)]
    heads = ["M x N", "dtype", *(f"`{variant}`" for variant in wide)]
    first = ranks.loc[ranks["rank"] == 1, "variant"]
    text = table(heads, lines, "points")
    wins = goals.tally(ranking.wins(first.to_frame()), "is the fastest")
    return f"of {counted(len(first), 'point')}, {wins}.\n\n{text}\n\n{_legend(text)}"


def _cell(row: pd.Series) -> str:
    """Return the speed over torch with its marks, or the status that is not ok."""
    if row["status"] != "ok":
        return row["status"]
    board = "\\*" if row["unranked_by"] == OTHER_BOARD else ""
    flags = row["flags"].split()
    doubts = frame.in_words(", ".join(flag for flag in flags if flag in schema.UNRANKED))
    marks = board + frame.mark(" ".join(flag for flag in flags if flag not in schema.UNRANKED))
    return f"{number(row['speedup'], 3)}{marks}{f' ({doubts})' * bool(doubts)}"


def backward(rows: pd.DataFrame) -> str:
    """Return the share of the roofline of each gradient kernel at 100 million elements, by N."""
    sizes = ranking.over_sweeps(ranking.rank_variants(rows))
    sizes = sizes[sizes["op"].str.endswith("_backward") & (sizes["M"] * sizes["N"] > 10**8)]
    if sizes.empty:
        return "no row is of these operations."
    wide = sizes.pivot_table("of_copy", ["op", "dtype", "variant"], "N", "min")
    least = sizes.groupby("variant")["of_copy"].min().sort_values(ascending=False)
    (first, share), *others = least.items()
    shares = [f"`{first}` reaches at least {percent(share)} of the roofline"]
    shares += [f"`{name}` {percent(share)}" for name, share in others]
    lines = [
        [f"`{op}`, {dtype}", f"`{variant}`", *cells]
        for (op, dtype, variant), *cells in (
            wide.map(percent, na_action="ignore").fillna("").itertuples(name=None)
        )
    ]
    text = table(["operation", "kernel", *(f"N = {n}" for n in wide)], lines)
    return f"{', '.join(shares)}.\n\n{text}"


def workloads(rows: pd.DataFrame) -> str:
    """Return a line for each named shape of sweeps/ that has rows."""
    named = single_shape.workloads({}, sorted((ROOT / "sweeps").glob("workloads*.yaml")))
    text = shape_table(rows, sorted(named, key=lambda place: (place[1], place[0])))
    shapes = pd.DataFrame([place[1:] for place in named], columns=SIZE[-4:]).drop_duplicates()
    sizes = ranking.over_sweeps(ranking.rank_variants(rows)).merge(shapes)
    first = sizes.loc[sizes["rank"] == 1, "speedup"]
    wins = goals.tally(ranking.wins(sizes[sizes["in_best_set"]]), "is the fastest or tied")
    if not wins:
        return f"no shape had a race.\n\n{text}"
    speeds = span(first, lambda speed: number(speed, 3), " to ")
    return (
        f"of {counted(len(first), 'shape')}, {wins}; torch takes {speeds} times as long as the "
        f"fastest.\n\n{text}"
    )


def shape_table(rows: pd.DataFrame, shapes: Iterable[Place]) -> str:
    """Return a line for each shape that a GPU has, with the fastest kernel and the next one.

    A kernel that does not rank is named if it is faster than the next one.
    """
    ranks = ranking.rank_variants(rows)
    unranked = ranks[ranks["rank"].isna() & ranks["time_us"].notna() & ~frame.is_baseline(ranks)]
    sizes = pd.concat([ranking.over_sweeps(ranks), unranked], ignore_index=True)
    parts, lines = dict(iter(sizes.groupby(SIZE[-4:]))), []
    for name, *place in shapes:
        part = parts.get(tuple(place))
        if part is not None:
            lines.append([f"{name}{', ' * bool(name)}{size_name(*place)}", *_first_and_next(part)])
    text = table(SHAPE_HEADS, lines, "shapes")
    return f"{text}\n\n{_legend(text)}"


def _legend(text: str) -> str:
    """Return what the marks in a table mean."""
    lines = [f"{sign} {words}" for sign, words in MARKS.items() if sign in text]
    return "; ".join(lines) + "." * bool(lines)


def _first_and_next(part: pd.DataFrame) -> list[str]:
    """Return torch's time, the fastest kernel with its time, and the next one, of one size.

    The next one is not in a tie with the fastest.
    """
    part = part.sort_values("rank").drop_duplicates("variant")
    first, rivals = part.iloc[0], part.iloc[1:].sort_values("speedup", ascending=False)
    named = "`" + part["variant"] + "`" + part["flags"].map(frame.mark).str.replace("¶", "")
    best = named[part["in_best_set"].eq(True)].tolist()  # NaN: has no rank
    rivals = rivals[~frame.is_baseline(rivals)]
    behind = named + ", " + (first["speedup"] / part["speedup"]).map(lambda x: number(x, 3))
    ranks = rivals["rank"].notna()
    following = rivals[ranks & ~rivals["in_best_set"].eq(True)]
    unranked = rivals[~ranks & ~(rivals["speedup"] <= following["speedup"].max())]
    runner_up = behind[following.index[0]] if len(following) else "none"
    if len(unranked):
        doubts = unranked["unranked_by"].str.replace(" ", ", ").map(frame.in_words)
        runner_up += f" (not ranked: {'; '.join(behind[unranked.index] + ', ' + doubts)})"
    return [
        f"{number(first['torch_us'], 3)} µs",
        best_set(best or [named.iloc[0]]),
        f"{number(first['time_us'], 3)} µs",
        number(first["speedup"], 3),
        percent(frame.roofline_share(part).iloc[0]),
        runner_up,
    ]


BLOCKS = {
    "gpus": gpus,
    "summary": summary,
    "goals": for_each_gpu(goal_tables),
    "logits": for_each_gpu(lambda rows: goal_tables(rows, OURS_OF_LOGITS)),
    "rivals": for_each_gpu(goals.rivals),
    "claims": for_each_gpu(claim_table),
    "peers": for_each_gpu(peers),
    "workloads": for_each_gpu(workloads),
    "backward": for_each_gpu(backward),
    "special_rows": special_rows.tables,
}

if __name__ == "__main__":
    print_block(BLOCKS, recorded)
