"""Read a CUDA source together with the project's headers that it includes."""

import re
from pathlib import Path

INCLUDE = Path(__file__).parent / "include"
_INCLUDE_LINE = re.compile(r'\s*#\s*include\s*"(.+)"')


def expanded(source: Path) -> str:
    """Return the text of a CUDA source with its quoted headers inlined, each once.

    A header is looked for beside the file that includes it, beside ``source``, and in INCLUDE; if
    none has it, its #include stays. NVRTC then opens no file, so neither the folder's name nor the
    locale matters. #line directives keep file names and line numbers right in its messages.
    """
    return "\n".join(_lines(source, (source.parent, INCLUDE), set()))


def shown_name(path: Path) -> str:
    """Return a file's name as the compiler shall print it: in ASCII, whatever the locale."""
    return path.name.encode("ascii", "replace").decode().replace("\\", "?").replace('"', "?")


def _lines(path: Path, folders: tuple[Path, ...], inserted: set[Path]) -> list[str]:
    name = shown_name(path)
    lines = [f'#line 1 "{name}"']
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        quoted = _INCLUDE_LINE.match(line)
        candidates = (folder / quoted[1] for folder in (path.parent, *folders)) if quoted else ()
        header = next(filter(Path.is_file, candidates), None)
        if header is None:
            lines.append("" if line.strip() == "#pragma once" else line)
            continue
        if (header := header.resolve()) not in inserted:
            inserted.add(header)
            lines += _lines(header, folders, inserted)
        lines.append(f'#line {number + 1} "{name}"')
    return lines
