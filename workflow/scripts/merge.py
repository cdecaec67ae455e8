"""Merge the rows of one GPU; a script, because 10,000 paths do not fit on a command line."""

import sys

sys.stderr = open(snakemake.log[0], "w", buffering=1)

from analysis import InputError
from analysis.merge import merge_rows

try:
    merge_rows(
        snakemake.input.rows,
        snakemake.params.sweep,
        snakemake.output[0],
        snakemake.input.expected,
    )
except InputError as error:
    sys.exit(f"analysis merge: error: {error}")
