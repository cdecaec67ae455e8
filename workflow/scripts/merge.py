"""Merge the rows of one GPU; a script, because 10,000 paths do not fit on a command line."""

import sys
from pathlib import Path

sys.stderr = open(snakemake.log[0], "w", buffering=1)
sys.path.insert(0, str(Path(snakemake.scriptdir).parents[1]))

from analysis.__main__ import main

arguments = ["merge", "--sweep", snakemake.params.sweep]
arguments += ["--output", snakemake.output[0], *snakemake.input]
sys.exit(main(arguments))
