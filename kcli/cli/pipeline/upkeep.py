"""`kcli pipeline history`, `forget`, `compact` and `vacuum`: the runs that tables are of, and the folder's upkeep."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from kcli.cli.options.inputs import quiet_option
from kcli.cli.pipeline.report import cell
from kcli.cli.pipeline.run import check_engine, engine_of, master_option, print_summary
from kcli.cli.terminal.columns import print_rows
from kcli.cli.terminal.console import warn
from kcli.cli.terminal.lines import print_note
from kcli.counting import counted
from kcli.errors import UsageError
from kcli.extras import require

HEADINGS = ("run", "ended", "captures", "exchanges", "waiting", "in place of", "forgotten")


@contextmanager
def held(folder: str) -> Iterator[None]:
    """Hold an output folder. Raises InputError if it has no tables. Raises HeldError if a run writes to it."""
    require("kcli pipeline", "parquet")
    from kcli.pipeline.output_lock import holding
    from kcli.pipeline.report import opened

    opened(folder)
    with holding(folder, notify=warn):
        yield


@click.command()
@click.argument("folder", metavar="DIR")
@quiet_option("No warnings.", used=False)
def history(folder: str) -> None:
    """List the runs of `kcli pipeline run` that made the tables in DIR.

    A run replaces earlier runs if it has read their captures again. `waiting` are those of its exchanges that wait for
    a response at the end of its captures; the next run counts them again.

    \b
    kcli pipeline history tables/
    """
    require("kcli pipeline", "parquet")
    from kcli.pipeline.report import opened

    journal = opened(folder)
    live = {entry.run for entry in journal.entries}
    rows = [
        (
            f"{entry.run}{'' if entry.run in live else ' (replaced)'}", entry.stats.get("ended", "")[:19],
            cell("captures", len(entry.inputs)), cell("exchanges", entry.stats.get("exchanges")),
            cell("exchanges", entry.stats.get("waiting")),
            ", ".join(map(str, entry.redone)), ", ".join(each["uri"] for each in entry.forgotten),
        )
        for entry in journal.history
    ]  # fmt: skip
    print_rows(HEADINGS, rows)


@click.command()
@click.argument("folder", metavar="DIR")
@click.option("--run", "runs", type=int, multiple=True, metavar="N", help="All captures of run N.")
@click.option("--file", "files", multiple=True, metavar="FILE", help="A capture, by the path given to the run.")
@click.option(
    "--engine", type=click.Choice(["spark", "local"]), default="spark", show_default=True,
    help="The engine, as for `kcli pipeline run`.",
)  # fmt: skip
@master_option
@quiet_option("No summary.")
def forget(folder: str, runs: tuple[int, ...], files: tuple[str, ...], **options: Any) -> None:
    """Remove captures from the tables in DIR, as if they had never been read; later runs skip them.

    kcli reads the captures that were read since again, so these must still exist.

    \b
    kcli pipeline forget tables/ --file captures/wrong.pcap
    kcli pipeline forget tables/ --run 3
    """
    if not runs and not files:
        raise UsageError("nothing to forget: --run or --file says what")
    check_engine(folder, options)
    with held(folder):
        from kcli.pipeline import upkeep

        count, made = upkeep.forget(engine_of(folder, options, brief=True), folder, runs, files)
    if not options["quiet"]:
        print_note(f"forgotten: {counted(count, 'capture')}")
        if made.files:
            print_summary(made, folder, True)


@click.command()
@click.argument("folder", metavar="DIR")
@quiet_option("No summary.")
def compact(folder: str, quiet: bool) -> None:
    """Merge the files of each table in DIR and each day into one: many runs leave many small files.

    It counts as a run that replaces all earlier runs.

    \b
    kcli pipeline compact tables/
    """
    with held(folder):
        from kcli.pipeline import upkeep

        made = upkeep.compact(folder)
    if not quiet:
        print_note(f"{counted(made.before, 'file')} before, {made.after:,} now")


@click.command()
@click.argument("folder", metavar="DIR")
@click.option(
    "--retain", type=click.IntRange(0), default=168, show_default=True, metavar="HOURS",
    help="For Delta tables: keep files that were replaced in the last HOURS, for readers that have them open.",
)  # fmt: skip
@quiet_option("No summary.")
def vacuum(folder: str, retain: int, quiet: bool) -> None:
    """Delete the files in DIR's tables that no run uses, and those that crashed runs have left.

    \b
    kcli pipeline vacuum tables/
    kcli pipeline vacuum tables/ --retain 24
    """
    with held(folder):
        from kcli.pipeline import upkeep

        made = upkeep.vacuum(folder, retain)
    if not quiet:
        print_note(f"removed: {counted(len(made), 'file')}")
