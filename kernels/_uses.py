"""Which files a kernel's file uses: its part of the way to all that decides how fast it is."""

from pathlib import Path

from . import _outside, _sources


def used_by(path: Path, folder: Path, outside: _outside.Outside | None) -> list[Path]:
    """Files that one of a variant's files uses, directly.

    ``folder``: kernels/, whose modules, CUDA sources and tables every kernel may use. ``outside``:
    where the variant is, if it is not there.
    """
    if path.suffix != ".py":
        names = _sources.includes(path)
        found = [place / name for place in (path.parent, folder / "cuda") for name in names]
        return [file for file in found if file.is_file()]
    found = [folder / f"{stem}.py" for stem in _modules(path, path.parent == folder)]
    for name in _sources.named_files(path):
        found += (folder / ("cuda" if name.endswith(".cu") else "tuning")).glob(name)
    if path.parent != folder:
        found += _outside.own_modules(path, outside)
        found += [path.parent / name for name in _sources.named_files(path)]
    return [file for file in found if file.is_file()]


def _modules(path: Path, within: bool) -> set[str]:
    """Modules of kernels/ that a file imports; ``within``: the file is one of them."""
    found = set()
    for dots, name in _sources.imports(path):
        if within and dots == 1:
            found.add(name.partition(".")[0])
        elif not dots and name.startswith(f"{__package__}."):
            found.add(name.split(".")[1])
    return found
