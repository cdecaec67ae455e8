"""Check the arguments of `make run`, and the files of its config, which Snakemake reads first.

Snakemake itself would print a traceback, or an error that does not name the file. `python -m
planning.arguments WORDS` prints one line, and exits with 2 if a word or a file is invalid.
"""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import yaml

FILE_OPTIONS = ("--configfile", "--configfiles")
KEY_OPTIONS = ("--config", "-C")
# The words of `make shape`, of which Snakemake refuses those of one letter.
SHAPE_WORDS = ("M", "N", "DTYPE", "OP", "KERNEL")
DEFAULTS = Path("config.yaml")
YAML = (".yaml", ".yml")


def fault_of(words: Sequence[str]) -> str | None:
    """Return None, or what is wrong with the arguments of Snakemake."""
    if fault := fault_of_config(DEFAULTS):
        return fault
    pairs = list(_with_options(words))
    if fault := _fault_of_shape([word for option, word in pairs if option in KEY_OPTIONS]):
        return fault
    for option, word in pairs:
        if option in FILE_OPTIONS:
            if fault := fault_of_config(Path(word)):
                return f"--configfile {fault}"
        elif word.endswith(YAML) and "=" not in word:
            return f"{word} is no target of Snakemake; a sweep is given by --configfile {word}"
    return None


def _with_options(words: Iterable[str]) -> Iterable[tuple[str, str]]:
    """Yield each word that is no option, after the last option before it."""
    option = ""
    for word in words:
        if word.startswith("-"):
            option, _, word = word.partition("=")
        if word:
            yield option, word


def _fault_of_shape(words: Iterable[str]) -> str | None:
    """Return None, or how Snakemake spells the arguments of `make shape`, such as `M=4 N=8`."""
    asked = dict(word.split("=", 1) for word in words if "=" in word)
    if not asked.keys() & set(SHAPE_WORDS):
        return None
    meant = {"shape": f"{asked.get('M', 'M')}x{asked.get('N', 'N')}"}
    meant |= {word.lower(): asked[word] for word in ("DTYPE", "OP") if word in asked}
    if "KERNEL" in asked:
        meant["kernel_files"] = f"[{asked['KERNEL']}]"
    text = " ".join(f"{key}={value}" for key, value in meant.items())
    return f"--config: Snakemake takes no key of one letter; a shape is given by --config {text}"


def fault_of_config(path: Path) -> str | None:
    """Return None, or why a file cannot be the config of a sweep."""
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        return f"{path}: {error.strerror}; the project's sweeps are in sweeps/"
    except UnicodeDecodeError:
        return f"{path}: it is not UTF-8 text"
    except yaml.YAMLError as error:
        return f"{path}: it is not valid YAML: {' '.join(str(error).split())}"
    if not isinstance(content, dict):
        return f"{path}: it must have keys and values, as config.yaml has"
    return None


if __name__ == "__main__":
    if fault := fault_of(sys.argv[1:]):
        print(f"error: {fault}", file=sys.stderr)
        sys.exit(2)
