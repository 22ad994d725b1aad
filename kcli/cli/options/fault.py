"""Fault rules of commands that stand where a broker does: given one by one, or in a file."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from kcli.broker.faults import read_rules
from kcli.cli.options import Command


def fault_options(text: str) -> Callable[[Command], Command]:
    """Add --fault, --fault-file and --seed; text: the help of the first."""

    def add(command: Command) -> Command:
        command = click.option("--seed", type=int, help="Seed for the random choices of fault rules.")(command)
        command = click.option(
            "--fault-file",
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            help="File of fault rules, one per line.",
        )(command)
        return click.option("--fault", "faults", multiple=True, metavar="RULE", help=text)(command)

    return add


def take_faults(options: dict[str, Any]) -> dict[str, Any]:
    """Replace these options by `faults`, with the rules of the file, and `seed`. Raises OSError."""
    faults, file = options.pop("faults"), options.pop("fault_file")
    return {"faults": [*faults, *(read_rules(file) if file else ())], "seed": options.pop("seed")}
