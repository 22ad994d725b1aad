"""kcli snapshot check: would another metadata.version hold this metadata?"""

from __future__ import annotations

import click

from kcli.cli.options.file_type import refuse_other_snapshots
from kcli.cli.options.inputs import dialect_option, format_option, quiet_option
from kcli.cli.terminal.error_summary import conclude
from kcli.cli.terminal.lines import print_line, print_note
from kcli.errors import InputError
from kcli.jsontext import dumps
from kcli.snapshots.reading.api import load_image, parse_wanted
from kcli.snapshots.rules.levels import level_name


@click.command()
@click.argument("source", metavar="FILE|DIR")
@click.option(
    "--against", required=True, metavar="VERSION", help="A release (3.9), a metadata.version (3.9-IV0), a level."
)
@format_option(("text", "jsonl"), "Lines to read, or one JSON object each.", default="text", name="form")
@quiet_option("No summary, no warnings.")
@dialect_option
def check(source: str, against: str, form: str, quiet: bool, dialect: str | None) -> int:
    """Say what in a cluster's metadata another metadata.version, older or newer, does not allow; exit 1 for a loss.

    FILE is a snapshot; of a directory it is the newest one and the log behind it, with `@OFFSET` or `@TIME` its state
    then. What would be lost, features and nodes without support, records that are written in another version; and
    whether Kafka would refuse the step.

    \b
    kcli snapshot check __cluster_metadata-0 --against 3.9
    """
    from kcli.snapshots.rules.compatibility import misfits, parse_level

    target = parse_level(against)
    wanted = parse_wanted(source)
    refuse_other_snapshots(str(wanted.path))
    loader = load_image(wanted, dialect=dialect).loader
    found = list(misfits(loader.image, target))
    for each in found:
        needs = None if each.needs is None else level_name(each.needs)
        if form == "jsonl":
            row = {"severity": each.severity, "what": each.what, "count": each.count, "example": each.example or None}
            print_line(dumps(row | {"needs": needs}))
        else:
            example = (
                f" ({each.count:,}: {each.example}{', ...' * (each.count > 1)})"
                if each.example
                else f" ({each.count:,})"
            )
            print_line(f"{each.severity:<5}  {each.what}{example}" + (f": from {needs} on" if needs else ""))
    if not quiet:
        print_note(summary(loader.image.level, target))
    conclude([InputError(text, file=source) for _, text in loader.problems], quiet)
    return 1 if any(each.severity == "error" for each in found) else 0


def summary(level: int | None, target: int) -> str:
    """From where to where, and what Kafka says to it."""
    from kcli.snapshots.rules.compatibility import refused_by_kafka

    if level is None:
        return f"no metadata.version here -> {level_name(target)}"
    step = f"metadata.version {level_name(level)} -> {level_name(target)}"
    if target > level:
        return f"{step}: an upgrade"
    if target == level:
        return f"{step}: no change"
    if refused_by_kafka(level, target):
        return f"{step}: a downgrade that Kafka refuses, whatever there is to lose"
    return f"{step}: a downgrade that Kafka allows"
