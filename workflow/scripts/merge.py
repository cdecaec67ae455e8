"""Merge the rows of the files that standard input names; the arguments are those of merge.sh."""

import sys
from pathlib import Path

from analysis import InputError
from analysis.merge import merge_rows

output, sweep = sys.argv[1:]
try:
    merge_rows(sorted(map(Path, sys.stdin.read().splitlines())), sweep, Path(output))
except InputError as error:
    sys.exit(f"error: {error}")
