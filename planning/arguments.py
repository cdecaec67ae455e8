"""Check the arguments of `make run`, which Snakemake would answer with a traceback or not at all.

`python -m planning.arguments WORDS` prints one line and exits with 2 where a word cannot be meant.
"""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import yaml

CONFIG_OPTIONS = ("--configfile", "--configfiles")
YAML = (".yaml", ".yml")


def fault_of(words: Sequence[str]) -> str | None:
    """Return None, or what is wrong with the arguments of Snakemake."""
    targets = next((words[:i] for i, word in enumerate(words) if word.startswith("-")), words)
    for word in targets:
        if word.endswith(YAML):
            return f"{word} is no target of Snakemake; a sweep is given by --configfile {word}"
    return next(filter(None, map(_fault_of_config, _config_files(words))), None)


def _config_files(words: Iterable[str]) -> Iterable[Path]:
    option = ""
    for word in words:
        if word.startswith("-"):
            option, _, value = word.partition("=")
            word = value
        if word and option in CONFIG_OPTIONS:
            yield Path(word)


def _fault_of_config(path: Path) -> str | None:
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        return f"--configfile {path}: {error.strerror}; the project's sweeps are in sweeps/"
    except UnicodeDecodeError:
        return f"--configfile {path}: it is not UTF-8 text"
    except yaml.YAMLError as error:
        return f"--configfile {path}: it is no YAML: {' '.join(str(error).split())}"
    if not isinstance(content, dict):
        return f"--configfile {path}: it must have keys and values, as config.yaml has"
    return None


if __name__ == "__main__":
    if fault := fault_of(sys.argv[1:]):
        print(f"error: {fault}", file=sys.stderr)
        sys.exit(2)
