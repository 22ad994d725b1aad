"""`kcli schema check`: drafts judged as Kafka's generator and reviewers would."""

from pathlib import Path

import click

from kcli.cli.options.inputs import quiet_option, text_format_option
from kcli.cli.terminal.lines import print_line, print_note
from kcli.jsontext import dumps


@click.command()
@click.argument("folder", metavar="DIR|FILE", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--against", metavar="RELEASE", help="Release whose versions must not change; the newest in the tables by default."
)
@text_format_option()
@quiet_option("Print nothing; the exit code has the answer.")
def check(folder: Path, against: str | None, form: str, quiet: bool) -> int:
    """Check the message definitions in DIR (*.json) or FILE.

    kcli finds everything that Kafka's generator refuses, and incompatible changes: the format of a released version may
    not change (types, nullability, tags, order, flexible versions). A finding names file, line, message and field. Exit
    code 1: there are findings.

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
    if not found and not quiet:
        print_note(f"no findings (beside the messages of Kafka {release})")
    return int(bool(found))
