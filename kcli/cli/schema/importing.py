"""kcli schema import: the definitions in Kafka's jars, merged into tables; those of a source tree, as a dialect."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kcli.cli.options.inputs import quiet_option
from kcli.cli.terminal.console import progress, warn
from kcli.cli.terminal.error_summary import conclude
from kcli.cli.terminal.output import open_output
from kcli.counting import counted
from kcli.errors import InputError, UsageError
from kcli.jsontext import dumps

if TYPE_CHECKING:
    from kcli.schemas.importing.jars import Definitions
    from kcli.schemas.table_files import Imported


@click.command(name="import")
@click.argument("jars", metavar="JAR...|TREE", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option(
    "-o",
    "output",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="The directory to write the tables, or the dialect, to.",
)
@click.option(
    "--anew", is_flag=True, help="Start from empty tables, so that only the releases of the JARs are in them."
)
@quiet_option("No progress and no summary.")
def import_(jars: tuple[Path, ...], output: Path | None, anew: bool, quiet: bool) -> int:
    """Read message definitions from Kafka's JARs (or directories of them) and merge them into the tables.

    The definitions are in kafka-clients, kafka-metadata, kafka-raft, kafka-group-coordinator,
    kafka-transaction-coordinator and kafka-share-coordinator; before 3.9 also in kafka_2.13. Releases are merged into
    the tables in DIR, or into kcli's own; without DIR kcli's own tables are replaced. `--dialect DIR` uses your own
    tables.

    TREE is a source tree of Kafka (or a part of one), such as a branch for a KIP. Definitions that are new or differ
    from the tables become a dialect in DIR, which must be empty. Exit code 1: there are none.

    \b
    kcli schema import kafka-clients-4.4.0.jar kafka-metadata-4.4.0.jar -o tables/
    kcli schema import ~/kafka -o my-kip/
    """
    from kcli.schemas.lookup import STOCK
    from kcli.schemas.table_files import Imported, import_releases, load_tables

    if len(jars) == 1 and jars[0].is_dir() and not any(jars[0].glob("*.jar")):
        return import_tree(jars[0], output, quiet)
    target = output or STOCK
    base = target if has_tables(target) else STOCK
    known = Imported() if anew else load_tables(base)
    merged = import_releases(known, read_all(jars, quiet))
    write_tables(target, merged, jars)
    if not quiet:
        print_imported(target, known, merged)
    return 0


def import_tree(tree: Path, output: Path | None, quiet: bool) -> int:
    """Write what a source tree has besides the tables. Returns 1 where that is nothing. Raises UsageError."""
    from kcli.schemas.catalog import catalog
    from kcli.schemas.dialect_settings import SETTINGS
    from kcli.schemas.importing.source_tree import read_tree, release_of_tree

    found = read_tree(tree, catalog())
    left_out = f"left out: {counted(len(found.known), 'definition')} as the tables have them"
    left_out += f", {found.tests} of tests" if found.tests else ""
    if output is None:
        raise UsageError(f"{tree}: a source tree becomes a dialect of its own: -o DIR expected")
    if output.is_dir() and any(output.iterdir()):
        raise UsageError(f"-o {output}: an empty directory expected: all definitions in it are the dialect")
    if not found.new:
        conclude(found.problems, quiet)
        warn(f"{tree}: nothing that the tables don't have; {left_out}", quiet)
        return 1
    output.mkdir(parents=True, exist_ok=True)
    for name, text in found.new.items():
        (output / f"{name}.json").write_text(text)
    source = " ".join(["Apache Kafka's sources", release_of_tree(tree)]).strip()
    (output / SETTINGS).write_text(dumps({"source": source}) + "\n")
    warn(f"{output}: {counted(len(found.new), 'definition')} ({', '.join(sorted(found.new))}); {left_out}", quiet)
    try:
        catalog(str(output))
    except InputError as error:
        found.problems.append(error.within(str(output)))
    conclude(found.problems, quiet)
    return 0


def has_tables(folder: Path) -> bool:
    from kcli.schemas.table_files import INDEX

    return (folder / INDEX).is_file()


def read_all(jars: tuple[Path, ...], quiet: bool) -> dict[str, Definitions]:
    from kcli.schemas.importing.jars import read_jars

    paths = [path for jar in jars for path in (sorted(jar.glob("*.jar")) if jar.is_dir() else [jar])]
    size = sum(path.stat().st_size for path in paths)
    with progress(size, "reading jars", quiet) as done:
        found = read_jars(paths, done)
    if not found:
        names = ", ".join(str(jar) for jar in jars)
        raise InputError(f"no message definitions in {names} (common/message/*.json expected, as in kafka-clients)")
    return found


def write_tables(folder: Path, merged: Imported, jars: Iterable[Path]) -> None:
    from kcli.schemas.table_files import to_files

    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as files:  # nothing is replaced before all is written
        for name, text in to_files(merged).items():
            out = files.enter_context(open_output(folder / name, jars))
            out.write(text.encode())
            out.flush()


def print_imported(folder: Path, known: Imported, merged: Imported) -> None:
    """Print what is new, by release, on stderr."""
    fresh = [release for release in merged.releases if release not in known.releases]
    news = f"new: {', '.join(fresh)}" if fresh else "none of them new"
    warn(f"{folder}: {counted(len(merged.tables), 'message')} of {counted(len(merged.releases), 'release')} ({news})")
    for identity, message in merged.tables.items():
        before = known.tables.get(identity)
        if known.tables and (before is None or before.versions != message.versions):
            warn(f"{message.name}: versions {before.versions if before else 'none'} -> {message.versions}")
