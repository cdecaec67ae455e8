"""Print a sweep without the kernels whose files a folder lacks: the base of a pull request.

`python -m planning.base_sweep SWEEP FOLDER`. A pull request may add a kernel file, which its sweep
names. The base, in FOLDER, is measured by the same sweep without it.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import yaml

from kernels import split_config

from .arguments import fault_of_config


def main(words: Sequence[str]) -> int:
    """Print the sweep; return the exit code, 2 after one line that says what is wrong."""
    fault = "a sweep and a folder are needed: python -m planning.base_sweep sweep.yaml old"
    if len(words) == 2 and not (fault := fault_of_config(Path(words[0]))):
        sweep = yaml.safe_load(Path(words[0]).read_text(encoding="utf-8"))
        sweep = without_missing(sweep, Path(words[1]))
        if [] in (sweep.get("variants"), sweep.get("shapes")):
            fault = f"{words[0]}: {words[1]} has no kernel of it; add torch_softmax to 'variants'"
    if fault:
        print(f"error: {fault}", file=sys.stderr)
        return 2
    print(yaml.safe_dump(sweep, sort_keys=False), end="")
    return 0


def without_missing(sweep: dict, folder: Path) -> dict:
    """Return a sweep without the kernel files that a folder lacks, and without their variants.

    An entry of `shapes` with no other variant is left out. Values of a wrong type stay as they are:
    Snakemake says what is wrong with them.
    """
    files, shapes = sweep.get("kernel_files"), sweep.get("shapes")
    if not isinstance(files, list):
        return sweep
    present = [file for file in files if (folder / str(file)).exists()]
    missing = {Path(str(file)).stem for file in files if file not in present}

    def variants_of(entry: object) -> object:
        return entry.get("variants") if isinstance(entry, dict) else None

    def reduced(entry: object) -> object:
        names = variants_of(entry)
        if not isinstance(names, list):
            return entry
        return entry | {"variants": [n for n in names if split_config(str(n))[0] not in missing]}

    if isinstance(shapes, list):
        shapes = [shape for shape in map(reduced, shapes) if variants_of(shape) != []]
        sweep = sweep | {"shapes": shapes}
    return reduced(sweep) | {"kernel_files": present}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
