"""Print the reference pages of the documents from the sources that they describe.

`python -m tools.reference commands` (or `config`, `kernels`, `sweeps`) prints one block, and
`make docs` puts it between the comments that name the command.
"""

import itertools
import re
from collections.abc import Iterable
from pathlib import Path

import yaml

import kernels
from analysis.__main__ import parser as analysis_parser
from kernels.__main__ import parser as kernels_parser
from kernels.registry import source_scan
from measure import ROOT
from measure.__main__ import parser as measure_parser
from measure.point import Point
from planning import points
from tools.inserts import bullets, print_block

PROGRAMS = {"measure": measure_parser, "analysis": analysis_parser, "kernels": kernels_parser}
# The pages leave these kernels out, so that handing one in changes no page.
CONTRIBUTED = "contributed"
# Commands of analysis that a person does not call.
CALLED_BY_RULES = {"merge", "collect", "summary", "claims", "figures", "report"}


def commands() -> str:
    """Return each target of make, and each command of the three programs with its arguments."""
    targets = re.findall(
        r"^([a-z-]+):.*  ## (.+)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE
    )
    named = (f"`{name}` ({text})" for name, text in targets)
    lines = [f"`make TARGET`, where TARGET is one of {', '.join(named)}"]
    for program, parser in PROGRAMS.items():
        subparsers = next(a for a in parser()._actions if isinstance(a.choices, dict))
        helps = {choice.dest: choice.help for choice in subparsers._choices_actions}
        for name, command in subparsers.choices.items():
            if name in CALLED_BY_RULES:
                continue
            words = [word for word in command.format_usage().split() if word != "[-h]"]
            text = " ".join(words[words.index(name) :])
            lines.append(f"`python -m {program} {text}`: {helps[name]}")
    return bullets(lines)


def config() -> str:
    """Return each key of config.yaml with its default and its comment."""
    text = (ROOT / "config.yaml").read_text(encoding="utf-8").split("\n\n", 1)[1]
    lines = []
    for part in text.split("\n\n"):
        comment = " ".join(re.findall(r"^# (.+)$", part, re.MULTILINE))
        key = re.search(r"^(\w+):", part, re.MULTILINE)[1]
        value = re.search(rf"^{key}: (.+)", part, re.MULTILINE)
        default = f" (`{value[1]}`)" if value else ""
        lines.append(f"`{key}`{default}: {comment}")
    return bullets(lines)


def kernel_list() -> str:
    """Return each variant by its folder, with its idea, its operations and its configs."""
    lines = []
    names = [name for name in kernels.names() if kernels.family(name) != CONTRIBUTED]
    files = {name: kernels.variant_file(name).relative_to(ROOT) for name in names}
    for folder, names in itertools.groupby(sorted(files, key=files.get), lambda n: files[n].parent):
        lines.append(f"- **[{folder}](../../{folder})**")
        for name in names:
            idea = source_scan.docstring(kernels.variant_file(name)).split("\n")[0]
            operations = ", ".join(sorted(kernels.ops(name)))
            configs = ", ".join(kernels.configs(name))
            more = f" Operations: {operations}." + f" Configs: {configs}." * bool(configs)
            lines.append(f"  - `{name}`: {idea.replace('``', '`')}{more}")
    return "\n".join(lines)


def documented(points_: Iterable[Point]) -> list[Point]:
    """Return the points without those of contributed kernels."""
    return [point for point in points_ if kernels.family(point.variant) != CONTRIBUTED]


def config_of(path: Path) -> dict:
    """Return the config of a file of sweeps/, with the defaults."""
    files = (ROOT / "config.yaml", path)
    default, own = (yaml.safe_load(file.read_text(encoding="utf-8")) for file in files)
    return default | own


def sweeps() -> str:
    """Return each file of sweeps/, the points that it measures on a GPU, and its first line."""
    lines = []
    for path in sorted((ROOT / "sweeps").glob("*.yaml")):
        about = path.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
        sweep_config = config_of(path)
        measures = sweep_config["gpus"] != ["recorded"]
        count = len(documented(points.expand(sweep_config, "h200"))) if measures else 0
        lines.append(f"[`{path.stem}`](../../sweeps/{path.name}), {count} points: {about}")
    return bullets(lines)


if __name__ == "__main__":
    print_block({"commands": commands, "config": config, "kernels": kernel_list, "sweeps": sweeps})
