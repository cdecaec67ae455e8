"""The content of the report: plain text and tables, which both templates show."""

import math
from collections.abc import Collection

import pandas as pd

from analysis import markdown as md
from analysis import palette, ranking, schema, stats
from analysis.claims.claim import NO_DATA
from analysis.frame import days, distinct, legend, mark, outcomes
from analysis.published import Published
from analysis.report import grid, trust

MOST_LINES = 24  # of the table over N; more sizes are shown by powers of two
CLASSES = {"N up to 1024": (1, 1024), "up to 16384": (1025, 16384), "longer": (16385, math.inf)}
READING = (
    "A cell has the best set over all sweeps: “name k/n” is in it at k of n sizes. “no winner”: "
    "the fastest that was timed is named, but only torch was timed beside it, or the usual winner "
    "was not timed. Over torch: the geometric mean of the fastest at these sizes. Of copy: its "
    "median share of copy bandwidth, and the least. Last: the kernel that costs the least if one "
    "must serve every size, and how far it is behind the fastest at worst."
)
FACTS = ["gpu_name", "gpu_uuid", *schema.VERSIONS, *schema.BASELINE_STATE, "python"]
FACTS += ["git_commit", "uncommitted_code", "date"]


def build(
    measurements: pd.DataFrame,
    claims: pd.DataFrame,
    published: Published,
    unranked: Collection[str],
) -> dict[str, object]:
    """Return the values of both templates; `ranks` and `sizes` are the frames behind them.

    Answers, claims and trust are about the GPUs of this run if it measured any, else about all.
    `unranked`: the flags that excluded rows from the ranking when they were collected.
    """
    ranks = ranking.rank_variants(measurements)
    measured = ranks["origin"] == "measured"
    here = ranks[measured] if measured.any() else ranks
    rows = measurements[measurements["gpu"].isin(here["gpu"])]
    sizes, ops = ranking.over_sweeps(ranks), distinct(here["op"])
    names = dict(zip(ranks["gpu"], ranks["gpu_name"], strict=True))
    own = sizes[sizes["gpu"].isin(here["gpu"])].groupby("gpu")
    return {
        "title": f"Fastest {ops[0] if len(ops) == 1 else 'kernel'} for your shape",
        "gpus": [gpu_line(*key, part) for key, part in ranks.groupby(["origin", "gpu"])],
        "notes": notes(here),
        "cautions": [*trust.biased(rows), *legend(here["flags"])],
        "answers": answers(here),
        "reading": READING,
        "over_n": [(names[gpu], best_by_n(part)) for gpu, part in own],
        "grids": grid.grids(sizes),
        "claims": claim_lines(claims, here),
        "sources": [f"{s.id}: {s.cite()} {s.url}".strip() for s in published.sources.values()],
        "trust": trust.findings(rows, unranked),
        "environment": environment(rows),
        "ranks": ranks,
        "sizes": sizes,
        "gpu_names": names,
    }


def gpu_line(origin: str, gpu: str, rows: pd.DataFrame) -> str:
    """Return the name of a GPU, what its rows cover, and when and with what they were measured."""
    covers = [", ".join(distinct(rows["op"])), ", ".join(distinct(rows["dtype"]))]
    known = {name: "/".join(distinct(rows[name])) for name in ("torch", "driver")}
    versions = [f"{name} {version}" for name, version in known.items() if version]
    parts = [*covers, md.counted(len(rows), "point"), ", ".join(versions)]
    return f"{rows['gpu_name'].iloc[0]} ({gpu}), {origin} {days(rows)}: {'; '.join(parts)}"


def notes(rows: pd.DataFrame) -> list[str]:
    """Return what a reader must know before the answers."""
    if rows.empty:
        return ["No rows were measured or recorded: measure this machine with `make run`."]
    interpreted = rows.loc[rows["status"] == "interpreted", "variant"].nunique()
    if not interpreted:
        return []
    return [
        f"Only torch's variants are timed here: {md.counted(interpreted, 'Triton variant')} ran in "
        "Triton's interpreter, which checks results and gives no times. For times, run `make run` "
        "on a machine with a GPU."
    ]


def answers(ranks: pd.DataFrame) -> pd.DataFrame:
    """Return a line for each GPU, op, dtype and sweep: the best sets, how fast, and the regret."""
    lines, every = [], ranking.by_sweep(ranks)
    key_of = ["origin", "gpu", "op", "dtype", "sweep"]
    for key, part in ranks.groupby(key_of):
        known = every[(every[key_of] == list(key)).all(axis=1)]
        first = known[known["rank"] == 1]
        best = [leaders(known[known["N"].between(*ends)]) for ends in CLASSES.values()]
        best = best if len(first) else [f"no valid time: {md.counts(outcomes(part))}", "", ""]
        share = first["of_copy"]
        copy = f"{md.percent(share.median())} ({md.percent(share.min())})" if len(share) else ""
        sizes = len(part.drop_duplicates(["M", "N"]))
        lines.append([*key[1:], sizes, *best, over_torch(first), copy, regret(part)])
    heads = ["GPU", "op", "dtype", "sweep", "sizes", *CLASSES]
    heads += ["over torch", "of copy (least)", "one kernel for all: at most behind"]
    return pd.DataFrame(lines, columns=heads)


def leaders(part: pd.DataFrame) -> str:
    """Return the variants that are most often in the best set, and at how many sizes.

    Of one size it is the best set. Sizes with `no_winner` name the fastest that was timed.
    """
    raced = part[part["in_best_set"]].sort_values("rank")
    alone = part.loc[(part["rank"] == 1) & (part["no_winner"] != ""), "variant"]
    total = int((raced["rank"] == 1).sum())
    flags = raced.groupby("variant", sort=False)["flags"]
    if total > 1:
        counts = flags.size()
        names = sorted(counts.index, key=lambda name: (-counts[name], palette.order(name)))
        most = 1 if counts[names[0]] == total else 2
        text = ", ".join(f"{name} {counts[name]}/{total}" for name in names[:most])
    else:  # the fastest first
        names = [name + mark(" ".join(each)) for name, each in flags]
        text = "tie: " * (len(names) > 1) + ", ".join(names)
    if len(alone):
        fastest = "/".join(sorted(set(alone), key=palette.order))
        text += "; " * bool(text) + f"no winner{f' at {len(alone)}' * bool(text)} ({fastest})"
    return text


def over_torch(first: pd.DataFrame) -> str:
    """Return the geometric mean over torch of the fastest variants of some sizes; "" for none."""
    speeds = [stats.estimate(row) for row in first.to_dict("records")]
    return f"{md.number(stats.geometric_mean(speeds).value, 3)}x" if speeds else ""


def regret(part: pd.DataFrame) -> str:
    """Return the variant whose largest time over the fastest is the least, and that time."""
    behind = ranking.profile(part)
    timed = behind.notna().sum()
    worst = behind.loc[:, 3 * timed >= 2 * timed.max()].max()  # not of few sizes
    worst = worst[worst < math.inf]
    if worst.empty:
        return "none runs at every size" if len(behind) else ""
    name = min(worst.index, key=lambda each: (worst[each], palette.order(each)))
    many = f" ({timed[name]} of {len(behind)} sizes)" * int(timed[name] < len(behind))
    return f"{name}: {md.percent(worst[name] - 1, 1)}{many}"


def best_by_n(sizes: pd.DataFrame) -> pd.DataFrame:
    """Return a line for each N, or power of two, and a column for each op and dtype.

    `sizes`: the lines of one GPU of ranking.over_sweeps.
    """
    if sizes["N"].nunique() <= MOST_LINES:
        start, name = sizes["N"], "{0}"
    else:
        start, name = sizes["N"].map(lambda n: 1 << (int(n).bit_length() - 1)), "{0} to {1}"
    cells = {
        (n, f"{op}, {dtype}"): _best(part)
        for (n, op, dtype), part in sizes.groupby([start, "op", "dtype"])
    }
    table = pd.Series(cells).unstack(fill_value="")
    table.insert(0, "N", [name.format(n, 2 * n - 1) for n in table.index])
    return table


def _best(part: pd.DataFrame) -> str:
    first = part[part["rank"] == 1]
    facts = [leaders(part), over_torch(first), md.percent(first["of_copy"].median())]
    facts += [f"{md.number(us)} µs" for us in first["time_us"] if len(first) == 1]
    return ", ".join(facts)


def claim_lines(claims: pd.DataFrame, rows: pd.DataFrame) -> list[dict[str, str]]:
    """Return a line for each claim with a verdict on the GPUs of `rows`, and one for the others."""
    lines, others = [], []
    tables, by = claims["origin"] == "published", ["claim", "statement", "quantity"]
    for (claim, statement, quantity), part in claims.groupby(by, sort=False):
        own = part[
            part["gpu"].isin(rows["gpu"]) & (part["verdict"] != NO_DATA) & ~tables[part.index]
        ]
        table = part.loc[tables[part.index], "verdict"].iloc[0]
        if own.empty:
            others.append(f"{claim} ({quantity})")
            continue
        verdicts = [
            f"{verdict} on {gpu} {'/'.join(distinct(same['dtype']))}"
            for (verdict, gpu), same in own.groupby(["verdict", "gpu"], sort=True)
        ]
        verdicts += [f"{table} in its own table"] * (table != NO_DATA)
        row = own.iloc[-1]
        value = md.with_interval(row["value"], row["low"], row["high"])
        published = md.number(row["published_value"]) or "as a sentence"
        text = f"{claim}, “{statement}”: {quantity} (published {published}, "
        text += f"{value or row['why']} on {row['gpu']} {row['dtype']})"
        lines.append({"verdict": "; ".join(verdicts), "text": text})
    unknown = {"verdict": f"{NO_DATA} here", "text": "; ".join(others)}
    return [*lines, unknown] if others else lines


def environment(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a line for each fact, a column for each GPU."""
    rows = rows.assign(date=rows["started_at"].str[:10], uncommitted_code=rows["git_dirty"])
    for name in ("gpu_uuid", "git_commit"):
        rows[name] = rows[name].str[:12]
    facts = {
        f"{gpu} ({origin})": [*(", ".join(distinct(part[name])) for name in FACTS), len(part)]
        for (origin, gpu), part in rows.groupby(["origin", "gpu"])
    }
    table = pd.DataFrame({"fact": [*FACTS, "points"], **facts})
    return table[table.iloc[:, 1:].ne("").any(axis=1)]
