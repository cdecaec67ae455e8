"""Print the commands of the project for docs/reference/cli.md."""

import re

from analysis.__main__ import parser as analysis_parser
from kernels.__main__ import parser as kernels_parser
from measure import ROOT
from measure.__main__ import parser as measure_parser
from tools.inserts import bullets, print_block

PROGRAMS = {"measure": measure_parser, "analysis": analysis_parser, "kernels": kernels_parser}
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


if __name__ == "__main__":
    print_block({"commands": commands})
