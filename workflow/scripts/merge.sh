#!/usr/bin/env bash
# Merge the rows of one GPU; a script, because 10,000 paths do not fit on a command line. It is in
# bash, because Snakemake starts a Python script by the path of its interpreter, without quotes.
set -euo pipefail
eval "${snakemake_params[setup]}"
printf '%s\n' "${snakemake_input[@]}" |
  python3 -m analysis merge --sweep "${snakemake_params[sweep]}" \
    --output "${snakemake_output[0]}" > "${snakemake_log[0]}" 2>&1
