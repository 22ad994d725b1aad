"""kcli schema import: the definitions in Kafka's jars, merged into tables."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kcli.cli.console import progress, warn
from kcli.cli.inputs import quiet_option
from kcli.cli.output import open_output
from kcli.counting import counted

if TYPE_CHECKING:
    from kcli.schemas.jars import Definitions
    from kcli.schemas.tables import Imported

__all__ = ["import_"]


@click.command(name="import")
@click.argument("jars", metavar="JAR...", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option(
    "-o",
    "output",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="The directory to write the tables to.",
)
@click.option("--anew", is_flag=True, help="Start from empty tables: the JARs hold every release that is wanted.")
@quiet_option("No progress and no summary.")
def import_(jars: tuple[Path, ...], output: Path | None, anew: bool, quiet: bool) -> None:
    """Read message definitions out of Kafka's JARs (or directories of them) and merge them into the tables.

    The definitions are in kafka-clients, kafka-metadata, kafka-raft, kafka-group-coordinator,
    kafka-transaction-coordinator and kafka-share-coordinator; before 3.9 also in kafka_2.13. Releases are merged onto
    the tables in DIR, or onto kcli's own; without DIR kcli's own are replaced. `--dialect DIR` uses tables of your own.

    \b
    kcli schema import kafka-clients-4.4.0.jar kafka-metadata-4.4.0.jar -o tables/
    """
    from kcli.schemas.lookup import STOCK
    from kcli.schemas.tables import Imported, import_releases, load_tables

    target = output or STOCK
    base = target if has_tables(target) else STOCK
    known = Imported() if anew else load_tables(base)
    merged = import_releases(known, read_all(jars, quiet))
    write_tables(target, merged, jars)
    if not quiet:
        say_imported(target, known, merged)


def has_tables(folder: Path) -> bool:
    from kcli.schemas.tables import INDEX

    return (folder / INDEX).is_file()


def read_all(jars: tuple[Path, ...], quiet: bool) -> dict[str, Definitions]:
    from kcli.errors import InputError
    from kcli.schemas.jars import read_jars

    paths = [path for jar in jars for path in (sorted(jar.glob("*.jar")) if jar.is_dir() else [jar])]
    size = sum(path.stat().st_size for path in paths)
    with progress(size, "reading jars", quiet) as done:
        found = read_jars(paths, done)
    if not found:
        names = ", ".join(str(jar) for jar in jars)
        raise InputError(f"no message definitions in {names} (common/message/*.json expected, as in kafka-clients)")
    return found


def write_tables(folder: Path, merged: Imported, jars: Iterable[Path]) -> None:
    from kcli.schemas.tables import to_files

    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as files:  # nothing is replaced before all is written
        for name, text in to_files(merged).items():
            out = files.enter_context(open_output(folder / name, jars))
            out.write(text.encode())
            out.flush()


def say_imported(folder: Path, known: Imported, merged: Imported) -> None:
    """What is new, by release, on stderr."""
    fresh = [release for release in merged.releases if release not in known.releases]
    what = f"new: {', '.join(fresh)}" if fresh else "none of them new"
    warn(f"{folder}: {counted(len(merged.tables), 'message')} of {counted(len(merged.releases), 'release')} ({what})")
    for identity, message in merged.tables.items():
        before = known.tables.get(identity)
        if known.tables and (before is None or before.versions != message.versions):
            warn(f"{message.name}: versions {before.versions if before else 'none'} -> {message.versions}")
