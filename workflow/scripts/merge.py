"""Merge the rows of one GPU; a script, because 10,000 paths do not fit on a command line."""

import sys
from pathlib import Path

sys.stderr = open(snakemake.log[0], "w", encoding="utf-8", buffering=1)

import kernels
from analysis import InputError
from analysis.merge import merge_rows

for path in snakemake.params.kernel_files:
    kernels.add_variant(path)
paths = map(Path, snakemake.input)
try:
    merge_rows(paths, snakemake.params.sweep, Path(snakemake.output[0]), only_current=True)
except InputError as error:
    sys.exit(f"error: {error}")
