"""Check the words of `make run ARGS=…` that Snakemake answers with a traceback or without a name.

`python -m planning.arguments WORDS` prints one line, and exits with 2, if a word is invalid.
"""

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import yaml


def check(words: Sequence[str]) -> None:
    """Exit with 2 after one line if Snakemake cannot mean these words."""
    parser = argparse.ArgumentParser(
        prog="make run", usage=argparse.SUPPRESS, add_help=False, allow_abbrev=False
    )
    # argparse checks a default that is text like a word of the command line
    parser.add_argument("--defaults", type=_config_file, default="config.yaml")
    parser.add_argument("--configfile", "--configfiles", nargs="+", type=_config_file)
    parser.add_argument("--config", "-C", nargs="+", type=_key_and_value)
    for word in parser.parse_known_args(words)[1]:
        if word.endswith((".yaml", ".yml")):
            parser.error(f"{word} is no target; a sweep is given as --configfile {word}")


def _config_file(name: str) -> str:
    try:
        content = yaml.safe_load(Path(name).read_text(encoding="utf-8"))
    except OSError as error:
        fault = f"{error.strerror}; the project's sweeps are in sweeps/"
    except UnicodeDecodeError:
        fault = "it is not UTF-8 text"
    except yaml.YAMLError as error:
        fault = f"it is not valid YAML: {' '.join(str(error).split())}"
    else:
        if isinstance(content, dict):
            return name
        fault = "it must have keys and values, as config.yaml has"
    raise argparse.ArgumentTypeError(f"{name}: {fault}")


def _key_and_value(word: str) -> str:
    if re.match("([A-Z]+|.)=", word):  # such as the M=4096 of `make shape`
        raise argparse.ArgumentTypeError(
            f"no key {word.partition('=')[0]}; a shape is given as --config shape=4096x128256 "
            "dtype=bfloat16 op=log_softmax, a kernel as 'kernel_files=[my.py]'"
        )
    return word


if __name__ == "__main__":
    check(sys.argv[1:])
