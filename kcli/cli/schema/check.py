"""`kcli schema check`: drafts judged as Kafka's generator and reviewers would."""

from __future__ import annotations

from pathlib import Path

import click

from kcli.cli.options.inputs import quiet_option, text_format_option
from kcli.cli.terminal.lines import print_line
from kcli.jsontext import dumps


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--against", metavar="RELEASE", help="Release that keeps its versions; the newest in the tables by default."
)
@text_format_option()
@quiet_option("Print nothing: the exit code is the answer.")
def check(folder: Path, against: str | None, form: str, quiet: bool) -> int:
    """Check the message definitions (*.json) in DIR: all that Kafka's generator refuses, and the rules of evolution.

    A finding names file, line, message and field. The format that a release has spoken may not change: types,
    nullability, tags, order and flexible versions of its versions. Exit 1: something was found.

    \b
    kcli schema check my-kip/
    kcli schema check my-kip/ --against 3.9
    """
    from kcli.schemas.catalog import catalog
    from kcli.schemas.checks.draft_check import check_folder

    tables = catalog()
    release = tables.release(against or tables.releases[-1])
    found = check_folder(folder, tables, release)
    for each in found if not quiet else ():
        print_line(dumps(each._asdict()) if form == "jsonl" else str(each))
    return int(bool(found))
