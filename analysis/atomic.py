"""Outputs appear whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from analysis.errors import InputError


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """Yield a temporary path beside `target`; move it onto `target` when the block succeeds.

    The temporary file lies in the same folder because `os.replace` is atomic only within one
    file system. When the block raises, the temporary file is removed and `target` is untouched.
    Raises InputError when the folder cannot be made or written.
    """
    target = Path(target)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        os.replace(temporary, target)
    except OSError as error:
        with suppress(OSError):  # the folder may be what is missing
            temporary.unlink()
        raise InputError(f"cannot write {target}: {error.strerror}; give another output") from error
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_text(target: Path, text: str) -> None:
    """Write `text` (UTF-8, line ends as given) to `target`, whole or not at all."""
    with replacing(target) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="")
