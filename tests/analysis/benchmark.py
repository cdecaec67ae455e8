"""How long the analysis of 10,000 rows takes. By hand: python3 -m tests.analysis.benchmark

Writes 10,000 cells below a temporary folder, then runs every command on them as the workflow
does, and prints the seconds of each.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from analysis.merge import merge_cells
from tests.analysis import synthetic

REPOSITORY = Path(__file__).resolve().parents[2]
DTYPES = ("float32", "float16", "bfloat16")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        sizes = [128 * i for i in range(2, 114)]
        points = [
            {"dtype": dtype, "M": m, "N": n, "variant": variant}
            for dtype in DTYPES
            for m in (512, 1024, 4096)
            for n in sizes
            for variant in synthetic.VARIANTS
        ][:10_000]
        cells = [synthetic.write_cell(root, synthetic.row(**point)) for point in points]
        started = time.monotonic()
        merge_cells(cells, "big", root / "m" / "h200.csv")
        print(f"merge: {time.monotonic() - started:.1f} s")
        rows = ["--measurements", root / "all.csv"]
        tables = ["--published", REPOSITORY / "results/published"]
        recorded = ["--recorded", *sorted((REPOSITORY / "results/recorded").glob("*/*.csv"))]
        _run("collect", *recorded, "--output", root / "all.csv", root / "m" / "h200.csv")
        _run("summary", *rows, "--output", root / "summary.csv")
        _run("claims", *rows, *tables, "--output", root / "claims.csv")
        for dtype in DTYPES:
            set_ = ("--gpu", "h200", "--dtype", dtype, "--sweep", "big")
            _run("figures", *rows, *tables, *set_, "--output-dir", root / "figures")
        _run("overview", *rows, *tables, "--output-dir", root / "figures")
        inputs = ("--summary", root / "summary.csv", "--claims", root / "claims.csv")
        inputs += ("--command", "snakemake --cores 1")
        figures = ("--figures-dir", root / "figures")
        _run("report", *rows, *tables, *inputs, *figures, "--output", root / "report.md")
        _run("html", *rows, *tables, *inputs, "--output", root / "report.html")


def _run(*arguments) -> None:
    command = [sys.executable, "-m", "analysis", *map(str, arguments)]
    started = time.monotonic()
    subprocess.run(command, cwd=REPOSITORY, check=True, stderr=subprocess.DEVNULL)
    print(f"{arguments[0]}: {time.monotonic() - started:.1f} s")


if __name__ == "__main__":
    main()
