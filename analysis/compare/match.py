"""Which points two runs share, and whether they were measured under the same conditions."""

from dataclasses import dataclass

import pandas as pd

from analysis import schema
from analysis.compare.runs import POINT, Run
from analysis.errors import InputError
from analysis.report.markdown import span

# What must not differ, or it is not the kernels that are compared; `seed` makes the input.
CONDITIONS = (
    *("gpu_name", "driver", "cuda", "torch", "triton", *schema.OPTIONAL),
    *("measure_sha256", "seed"),
)
# What the torch control depends on: where one of them differs it does not cancel drift.
OF_TORCH = {"gpu_name", "driver", "cuda", "torch", "seed"}
TOLD = ("gpu_uuid",)  # another board of the same model is told, not refused


@dataclass(frozen=True)
class Matched:
    """The points of two runs.

    `both` is the index of the points in both. `differs` maps each differing condition to the
    sorted (old, new) values; `told` likewise for what is worth knowing.
    """

    old: Run
    new: Run
    both: pd.MultiIndex
    differs: dict[str, list[tuple[str, str]]]
    told: dict[str, list[tuple[str, str]]]

    @property
    def only_old(self) -> int:
        """Number of points that only the old run has."""
        return len(self.old.rows) - len(self.both)

    @property
    def only_new(self) -> int:
        """Number of points that only the new run has."""
        return len(self.new.rows) - len(self.both)

    @property
    def paired(self) -> bool:
        """Whether torch is an unchanged control, so that speed-ups over it can be compared."""
        return not OF_TORCH & set(self.differs)


def match(old: Run, new: Run, allow: bool) -> Matched:
    """Pair the rows of two runs by point.

    Raises InputError when they share no point or, unless `allow`, a condition differs.
    """
    both = old.rows.index.intersection(new.rows.index).sort_values()
    if both.empty:
        raise InputError(
            f"no point in common: OLD has {_has(old.rows)}; NEW has {_has(new.rows)}; "
            "compare runs of one GPU and one sweep"
        )
    pair = old.rows.loc[both], new.rows.loc[both]
    differs, told = _differences(*pair, CONDITIONS), _differences(*pair, TOLD)
    if differs and not allow:
        raise InputError(
            f"OLD and NEW were not measured alike: {describe(differs)}; measure both alike, or "
            "give --allow to compare them all the same"
        )
    return Matched(old, new, both, differs, told)


def describe(differs: dict[str, list[tuple[str, str]]]) -> str:
    """`driver 570 in OLD, 580 in NEW` for every difference; hashes shortened."""
    return "; ".join(
        f"{name} {old[:24]} in OLD, {new[:24]} in NEW" + (" and others" if rest else "")
        for name, ((old, new), *rest) in differs.items()
    )


def _differences(old: pd.DataFrame, new: pd.DataFrame, names) -> dict[str, list[tuple[str, str]]]:
    found = {}
    for name in names:
        pairs = zip(_text(old[name]), _text(new[name]), strict=True)
        # Empty is unknown (a row that crashed, a package the kernel does not use), not different.
        unlike = sorted({(a, b) for a, b in pairs if a and b and a != b})
        if unlike:
            found[name] = unlike
    return found


def _text(values: pd.Series) -> list[str]:
    if values.dtype.kind == "f":
        return ["" if pd.isna(value) else f"{value:.0f}" for value in values]
    return values.to_list()


def _has(rows: pd.DataFrame) -> str:
    parts = [f"{name} {'/'.join(sorted(set(rows[name])))}" for name in POINT[:4]]
    return ", ".join([*parts, *(f"{name} {span(rows[name])}" for name in ("M", "N"))])
