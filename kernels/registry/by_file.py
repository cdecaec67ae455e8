"""Find the variant that a file of the project is, so that users may give a path for its name."""

from pathlib import Path

from .discover import names, variant_file


def variant_of_file(file: str | Path) -> str | None:
    """Return the variant of the project that this file is; None for a file from elsewhere.

    Raises KernelFileError if a file of the project has a name that no variant may have.
    """
    path = Path(file).resolve()
    own = path.stem in names() and variant_file(path.stem).resolve() == path
    return path.stem if own else None
