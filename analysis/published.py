"""The tables of the literature, in the shape of measured rows."""

from pathlib import Path
from typing import NamedTuple

import pandas as pd
import yaml

from analysis import InputError, row_files, schema
from analysis.frame import from_rows, is_baseline

# Unit in sources.yaml -> column of the table, and µs from its values and the kB that a call moves.
UNITS = {
    "ms": ("time_ms", lambda ms, kb: 1000 * ms),
    "us": ("time_us", lambda us, kb: us),
    "GB/s": ("throughput_gbps", lambda gbps, kb: kb / gbps),  # a GB/s is a kB/µs
}


class Source(NamedTuple):
    """One entry of sources.yaml: the origin of a table. `versions` maps name to version."""

    id: str
    sweep: str
    gpu: str
    op: str
    baseline: str  # variant that is torch's own function
    dtype: str
    title: str
    author: str
    date: str
    hardware: str
    distribution: str
    unit: str
    url: str = ""
    beside_measured: bool = False
    versions: dict[str, str] | None = None
    title_english: str = ""
    memory_peak_gbps: float | None = None
    memory_peak_source: str = ""

    def cite(self) -> str:
        """Return one line: title, author, date, and the versions that the source states."""
        stated = "".join(f", {name} {version}" for name, version in (self.versions or {}).items())
        return f"{self.title_english or self.title} ({self.author}, {self.date}{stated})"


class Published(NamedTuple):
    """All published tables: `rows`, with the columns of measurements and `table`, and `sources`.

    Every row ranks and has the origin `published`. A value that the source does not give is NaN or
    "". `sources` are by the name of the table.
    """

    rows: pd.DataFrame
    sources: dict[str, Source]


def load(folder: Path) -> Published:
    """Read every table of `folder` and its sources.yaml.

    Times become µs. Time and throughput follow from each other, because their product is
    2·M·N·itemsize. `speedup` is torch's time over the variant's. Raises InputError for a file that
    is missing or broken.
    """
    sources = _sources(folder / "sources.yaml")
    present = {path.name for path in folder.glob("*.csv")}
    for name in sorted(present ^ set(sources)):
        lacks = "no entry in sources.yaml" if name in present else "an entry but no table"
        raise InputError(f"{folder / name}: {lacks}; a table and its source come in pairs")
    tables = [_table(folder / name, source) for name, source in sorted(sources.items())]
    rows = pd.concat(tables, ignore_index=True) if tables else from_rows([]).assign(table="")
    return Published(rows, {Path(name).stem: source for name, source in sources.items()})


def _sources(path: Path) -> dict[str, Source]:
    try:
        entries = yaml.safe_load(path.read_text(encoding="utf-8"))
        sources = {name: Source(**entry) for name, entry in (entries or {}).items()}
    except FileNotFoundError as error:
        fault = "no such file; give it to --published"
        raise InputError(f"{path}: {fault}") from error
    except (yaml.YAMLError, TypeError, AttributeError) as error:
        fault = " ".join(str(error).split())
        raise InputError(f"{path}: not a list of sources ({fault}); correct the entry") from error
    for name, source in sources.items():
        if source.unit not in UNITS:
            raise InputError(
                f"{path}: {name} has unit {source.unit!r}; allowed are {', '.join(UNITS)}"
            )
    return sources


def _table(path: Path, source: Source) -> pd.DataFrame:
    value, us_of = UNITS[source.unit]
    needed = ["gpu", "gpu_name", "dtype", "M", "N", "variant", value]
    try:
        table = pd.read_csv(path)
        if lacking := [name for name in needed if name not in table]:
            raise InputError(
                f"{path}: column {lacking[0]} is missing; a table in {source.unit} "
                f"has the columns {', '.join(needed)}"
            )
        table = table[needed].astype({"M": "int64", "N": "int64", value: "float64"})
        if not (table[["M", "N", value]] > 0).all(axis=None):
            raise ValueError(f"M, N and {value} must be above 0")
    except (ValueError, pd.errors.ParserError) as error:
        raise InputError(f"{path}: not a table of numbers ({error}); restore the file") from error
    moved_kb = 2 * table["M"] * table["N"] * table["dtype"].map(schema.ITEMSIZE) / 1000
    us = us_of(table[value], moved_kb)
    table = table.assign(op=source.op, baseline=source.baseline)
    torch = us.where(is_baseline(table)).groupby([table["M"], table["N"]])
    table = table.assign(
        sweep=source.sweep,
        origin="published",
        ranked="true",
        stale="false",
        distribution=source.distribution,
        status="ok",
        time_us=us,
        throughput_gbps=moved_kb / us,
        speedup=torch.transform("first") / us,
    ).astype("str")
    columns = [*schema.COLLECTED, *schema.COLUMNS]
    table = table.reindex(columns=columns, fill_value="").fillna("")
    checked = table.drop(columns=["origin", "distribution"])  # a source may have others than we
    for number, line in enumerate(checked.to_dict("records"), start=2):
        row_files.check_values(path, number, line)
    return from_rows(table).assign(table=path.stem)
