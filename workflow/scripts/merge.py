"""Merge the rows of the files that standard input names; the arguments are those of merge.sh."""

import json
import sys
from pathlib import Path

import kernels
import operations
from analysis import InputError
from analysis.merge import merge_rows

output, sweep, kernel_files, operation_files = sys.argv[1:]
for path in json.loads(operation_files):
    operations.add(path)
for path in json.loads(kernel_files):
    kernels.add_variant(path)
paths = sorted(map(Path, sys.stdin.read().splitlines()))
try:
    merge_rows(paths, sweep, Path(output), only_current=True)
except InputError as error:
    sys.exit(f"error: {error}")
