"""`make lock`: write the lock and the conda environments from the installed packages.

pyproject.toml names the direct dependencies. This module pins them, and all that they need, at the
installed versions: in requirements.txt, and for the jobs in environment.yml and
workflow/envs/analysis.yml. Conda takes pip's pins from the file itself: `-r` inside it would break,
because Snakemake copies the file elsewhere.
"""

import importlib.metadata
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from kernels.terminal import replace_missing_characters
from measure import ROOT

CONDA_PYTHON = "3.12"
# Groups that a run does not need: pinned in pyproject.toml, not in the lock.
OPTIONAL = {"peers", "flaggems", "trl", "flashinfer"}

# Group -> file of its conda environment, and who runs in it
CONDA = {
    "measure": ("environment.yml", "jobs that measure."),
    "analysis": ("workflow/envs/analysis.yml", "jobs that merge, rank, draw and write: no torch."),
}

LOCK_HEAD = """\
# Every package of the project, pinned; made by `make lock` from pyproject.toml.
# torch brings its CUDA packages itself, each pinned by torch: on Linux with pip, the CUDA build.
"""
CONDA_HEAD = """\
# The environment of the {purpose}
# Made by `make lock`: the same pins as requirements.txt.
channels:
  - conda-forge
  - nodefaults
dependencies:
  - python={python}
  - pip
  - pip:
"""


def groups() -> dict[str, list[Requirement]]:
    """Return the dependency groups of pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    lists = project["dependency-groups"]
    return {name: [Requirement(line) for line in lines] for name, lines in lists.items()}


def closure(roots: list[Requirement]) -> dict[str, str]:
    """Return name -> installed version of all that `roots` need here.

    Raises PackageNotFoundError for a package that is not installed.
    """
    seen, todo, versions = set(), [(r.name, frozenset(r.extras)) for r in roots], {}
    while todo:
        name, extras = todo.pop()
        name = canonicalize_name(name)
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        package = importlib.metadata.distribution(name)
        # without a local part: 2.13.0+cpu here is 2.13.0 on a machine with a GPU
        versions[name] = package.version.split("+")[0]
        needed = map(Requirement, package.requires or [])
        todo += [
            (r.name, frozenset(r.extras))
            for r in needed
            if not r.marker or any(r.marker.evaluate({"extra": e}) for e in extras or {""})
        ]
    return dict(sorted(versions.items()))


def files() -> dict[Path, str]:
    """Return the content of each generated file."""
    group = groups()
    everything = closure([r for name in group.keys() - OPTIONAL for r in group[name]])
    texts = {ROOT / "requirements.txt": LOCK_HEAD + _lines(everything)}
    for name, (path, purpose) in CONDA.items():
        head = CONDA_HEAD.format(purpose=purpose, python=CONDA_PYTHON)
        texts[ROOT / path] = head + _lines(closure(group[name]), indent="      - ")
    return texts


def _lines(versions: dict[str, str], indent: str = "") -> str:
    return "".join(f"{indent}{name}=={version}\n" for name, version in versions.items())


if __name__ == "__main__":
    replace_missing_characters()
    for path, text in files().items():
        path.write_text(text, encoding="utf-8")
        print(f"wrote {path.relative_to(ROOT)}")
