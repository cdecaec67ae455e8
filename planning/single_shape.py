"""Turn a shape of the command line, `shape=4096x128256 dtype=bfloat16`, into a sweep's config.

`make shape` and `snakemake --config shape=…` both plan by it, so they produce the same row files.
Snakemake refuses M=4096: a key of --config has two letters at least.
"""

import re
from collections.abc import Collection, Iterable
from pathlib import Path

import yaml

from .points import sizes_of
from .validate import ConfigError, ops

SIZE = re.compile(r"([1-9]\d{0,17})x([1-9]\d{0,17})")
# Values of the config for a shape, unless the user's own config has these keys.
DEFAULTS = {"sweep": "shape", "variants": "rivals", "distribution": "normal"}


def expand_words(config: dict, user_keys: Collection[str]) -> None:
    """Replace the keys `shape` and `dtype` of `config` by `shapes` and `dtypes`, if it has them.

    A shape is text, as `4096x128256` for M = 4096 and N = 128256, or a list of such texts.
    `user_keys`: the keys that the user's own config has, of which DEFAULTS replaces none. Raises
    ConfigError for another text.
    """
    if "dtype" in config:
        config["dtypes"] = [config.pop("dtype")]
    if "shape" not in config:
        return
    words = config.pop("shape")
    texts = words if isinstance(words, list) else [words]
    sizes = [SIZE.fullmatch(str(text)) for text in texts]
    if not texts or not all(sizes):
        raise ConfigError(
            f"shape = {words!r}: M x N without blanks is needed, as shape=4096x128256, or a list, "
            "as 'shape=[1x50257, 64x50257]'"
        )
    config |= {key: value for key, value in DEFAULTS.items() if key not in user_keys}
    config["shapes"] = [{"M": int(size[1]), "N": int(size[2])} for size in sizes]


def workloads(config: dict, sweeps: Iterable[Path]) -> list[tuple]:
    """Return the shapes with a name, for the report.

    A shape is `("Llama 3 training", "log_softmax", "bfloat16", 4096, 128256)`. The shapes are those
    of the files `sweeps`, whose rows may be recorded, and of `config`.
    """
    configs = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in sweeps]
    named = dict.fromkeys(
        (entry["name"], op, dtype, m, n)
        for sweep in (*configs, config)
        for entry in sweep.get("shapes", ())
        if "name" in entry
        for op in ops({"op": "softmax"} | sweep)
        for dtype in entry.get("dtypes", sweep.get("dtypes", ["float32"]))
        for m, n in sizes_of(entry)
    )
    return list(named)
