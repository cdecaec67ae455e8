"""Match the points of two runs, and check that the conditions of measuring were the same."""

from dataclasses import dataclass

import pandas as pd

from analysis import schema
from analysis.compare.runs import Run
from analysis.errors import InputError
from analysis.report.markdown import span

# What must be equal for kernels to be compared; `seed` makes the input.
CONDITIONS = (
    *("gpu_name", "driver", "cuda", "torch", "triton", *schema.OPTIONAL),
    *("measure_sha256", "seed"),
)
# What the torch control depends on: where one of them differs, torch does not cancel drift.
OF_TORCH = {"gpu_name", "driver", "cuda", "torch", "seed"}
NOTED = ("gpu_uuid",)  # another board of the same model is noted, not refused


@dataclass(frozen=True)
class Matched:
    """The points of two runs.

    `both` is the index of the points in both. `differs` maps each differing condition to the
    sorted (old, new) values; `noted` likewise for what is noted only.
    """

    old: Run
    new: Run
    both: pd.MultiIndex
    differs: dict[str, list[tuple[str, str]]]
    noted: dict[str, list[tuple[str, str]]]

    @property
    def paired(self) -> bool:
        """Return whether torch is an unchanged control, for speed-ups over it to be comparable."""
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
    differs, noted = _differences(*pair, CONDITIONS), _differences(*pair, NOTED)
    if differs and not allow:
        raise InputError(
            f"OLD and NEW were not measured alike: {describe(differs)}; measure both alike, or "
            "give --allow to compare them all the same"
        )
    return Matched(old, new, both, differs, noted)


def describe(differs: dict[str, list[tuple[str, str]]]) -> str:
    """Return `driver 570 in OLD, 580 in NEW` for every difference; hashes shortened."""
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
    parts = [f"{name} {'/'.join(sorted(set(rows[name])))}" for name in schema.POINT[:4]]
    return ", ".join([*parts, *(f"{name} {span(rows[name])}" for name in ("M", "N"))])
