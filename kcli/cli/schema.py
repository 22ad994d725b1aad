"""kcli schema: list, show, compare and import the message tables."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from kcli.cli.columns import print_json, print_rows
from kcli.cli.console import progress, warn
from kcli.cli.inputs import schema_option
from kcli.errors import UsageError
from kcli.schemas.catalog import Catalog, catalog, unknown
from kcli.schemas.model import Message

if TYPE_CHECKING:
    from kcli.schemas.diff import Change
    from kcli.schemas.jars import Definitions
    from kcli.schemas.tables import Imported

__all__ = ["diff", "import_", "list_", "show"]

Command = TypeVar("Command", bound=Callable[..., Any])


def format_option(command: Command) -> Command:
    return click.option(
        "--format",
        "form",
        type=click.Choice(["table", "json", "jsonl"]),
        default="table",
        show_default=True,
        help="A table, one JSON array, or one JSON object a line.",
    )(command)


@click.command(name="list")
@click.argument("words", metavar="[WORD]...", nargs=-1)
@click.option("--kind", "kinds", multiple=True, help="Only this kind: api, data, header, metadata, group-key, ...")
@click.option("--release", help="Only what this release of Kafka has, and in which versions.")
@click.option("--dialects", is_flag=True, help="The dialects that come with kcli, and their sources.")
@schema_option
@format_option
def list_(
    words: tuple[str, ...], kinds: tuple[str, ...], release: str | None, dialects: bool, dialect: str | None, form: str
) -> None:
    """Every API and message in the tables, or those with a WORD in their name.

    \b
    kcli schema list                    all of them
    kcli schema list fetch              those with "fetch" in their name
    kcli schema list --release 3.9      what a 3.9 node speaks
    """
    from kcli.cli.schema_views import LIST_HEADINGS, listed

    if dialects:
        list_dialects(form)
        return
    tables = catalog(dialect)
    wanted = tables.release(release) if release else None
    rows = [row for row in listed(tables, wanted) if is_wanted(row, words, kinds)]
    if not rows and kinds and not words:
        known = sorted({row["kind"] for row in listed(tables, wanted)})
        raise UsageError(f"--kind {', '.join(kinds)}: nothing is of that kind (there are {', '.join(known)})")
    if form == "table":
        print_rows(LIST_HEADINGS, [["" if cell is None else str(cell) for cell in row.values()] for row in rows])
    else:
        print_json(rows, form)
    say_findings(tables)


def is_wanted(row: dict[str, Any], words: tuple[str, ...], kinds: tuple[str, ...]) -> bool:
    named = not words or any(word.lower() in row["name"].lower() for word in words)
    return named and (not kinds or row["kind"] in kinds)


def list_dialects(form: str) -> None:
    from kcli.schemas.dialects import SHIPPED, read_dialect, shipped

    rows = [{"name": name, "source": read_dialect(SHIPPED / name).source} for name in shipped()]
    if form == "table":
        print_rows(("dialect", "source"), [list(row.values()) for row in rows])
    else:
        print_json(rows, form)


def say_findings(tables: Catalog) -> None:
    """What is wrong or odd in a dialect's definitions, on stderr."""
    for finding in tables.findings:
        warn(str(finding))


@click.command()
@click.argument("name")
@click.argument("version", type=int, required=False)
@click.option("--variants", is_flag=True, help="Also the other layouts that old releases had under the same version.")
@schema_option
@format_option
def show(name: str, version: int | None, variants: bool, dialect: str | None, form: str) -> None:
    """The fields of a message, or of both messages of an API; in one VERSION, or in all.

    \b
    kcli schema show Fetch 12                       request and response
    kcli schema show PartitionRecord --variants
    kcli schema show FetchRequest --format json     Kafka's own form: a start for a dialect of your own
    """
    from kcli.cli.schema_views import definition

    tables = catalog(dialect)
    messages = [tables.message(each) for each in named(tables, name)]
    for message in messages:
        known_version(message, version)
    shown = [("", message) for message in messages]
    if variants:
        shown += [(f" {each.name}", each.message) for message in messages for each in message.variants]
    if form == "table":
        for number, (label, message) in enumerate(shown):
            if number:
                sys.stdout.write("\n")
            show_message(tables, message, version, label)
    elif form == "json" and len(shown) == 1:
        sys.stdout.write(f"{indented(definition(messages[0], version))}\n")
    else:
        print_json([definition(message, version) for _, message in shown], form)
    say_findings(tables)


def indented(value: Any) -> str:
    """JSON for people to go on with: a field a line."""
    import json

    return json.dumps(value, indent=2, ensure_ascii=False)


def named(tables: Catalog, name: str) -> list[str]:
    """The messages that a name means: one by its own name, however written, or both of an API."""
    bare = name.lower().replace("_", "").replace("-", "")
    found = next((each for each in tables.names if each.lower() == bare), None) or tables.current_names.get(name)
    if found is not None:
        return [found]
    if bare not in tables.keys_by_name and not bare.isdigit():
        raise UsageError(unknown("message or API", name, [*(api.name for api in tables.apis.values()), *tables.names]))
    api = tables.known(tables.api_key(name))
    return [api.request, api.response]


def known_version(message: Message, version: int | None) -> None:
    if version is not None and version not in message.versions:
        raise UsageError(f"{message.name} has no version {version} (versions {message.versions})")


def show_message(tables: Catalog, message: Message, version: int | None, label: str) -> None:
    from kcli.cli.schema_views import FIELD_HEADINGS, field_rows, headline, provenance

    api = None if message.api_key is None else tables.api(message.api_key)
    rows = list(field_rows(message.fields, version))
    title = headline(message, version, api, label)
    if rows:
        print_rows(FIELD_HEADINGS, rows, title=title)
    else:
        sys.stdout.write(f"{title}: no fields\n")
    if version is None:
        sys.stdout.writelines(f"{line}\n" for line in provenance(message))


@click.command()
@click.argument("name", required=False)
@click.argument("one", metavar="[V1]", type=int, required=False)
@click.argument("other", metavar="[V2]", type=int, required=False)
@click.option("--release", "releases", nargs=2, metavar="A B", help="Compare two releases of Kafka.")
@schema_option
@format_option
def diff(
    name: str | None,
    one: int | None,
    other: int | None,
    releases: tuple[str, str] | None,
    dialect: str | None,
    form: str,
) -> None:
    """What changed between two versions of a message or API, or between two releases.

    \b
    kcli schema diff Fetch 11 12
    kcli schema diff --release 3.9 4.0
    """
    tables = catalog(dialect)
    if releases and name:
        raise UsageError("NAME V1 V2 or --release A B: one of them")
    if releases:
        from kcli.schemas.diff import between_releases

        changes = between_releases(tables, tables.release(releases[0]), tables.release(releases[1]))
    elif name is None or one is None or other is None:
        raise UsageError("NAME V1 V2 or --release A B expected")
    else:
        changes = version_changes(tables, name, one, other)
    print_changes(changes, form)


def version_changes(tables: Catalog, name: str, one: int, other: int) -> list[Change]:
    from kcli.schemas.diff import between_versions

    messages = [tables.message(each) for each in named(tables, name)]
    for message in messages:
        known_version(message, one)
        known_version(message, other)
    return [change for message in messages for change in between_versions(message, one, other)]


def print_changes(changes: list[Change], form: str) -> None:
    from dataclasses import asdict

    if form != "table":
        print_json(map(asdict, changes), form)
    elif not changes:
        sys.stdout.write("no difference\n")
    else:
        rows = [list(asdict(change).values()) for change in changes]
        print_rows(("message", "field", "change", "before", "after"), without_blank(rows))


def without_blank(rows: list[list[str]]) -> list[list[str]]:
    return [[cell or "-" for cell in row] for row in rows]


@click.command(name="import")
@click.argument("jars", metavar="JAR...", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option(
    "-o", "output", metavar="DIR", type=click.Path(file_okay=False, path_type=Path), help="Where the tables go."
)
@click.option("--anew", is_flag=True, help="Start from no tables: the JARs hold every release that is wanted.")
@click.option("--quiet", "-q", is_flag=True, help="No progress and no summary.")
def import_(jars: tuple[Path, ...], output: Path | None, anew: bool, quiet: bool) -> None:
    """Read message definitions out of Kafka's JARs (or directories of them) and merge them into the tables.

    The definitions are in kafka-clients, kafka-metadata, kafka-raft, kafka-group-coordinator,
    kafka-transaction-coordinator and kafka-share-coordinator; before 3.9 also in kafka_2.13. Releases are merged onto
    the tables in DIR, or onto kcli's own; without DIR kcli's own are replaced. `--schema DIR` uses tables of your own.
    """
    from kcli.schemas.catalog import STOCK
    from kcli.schemas.tables import Imported, import_releases, load_tables

    target = output or STOCK
    base = target if has_tables(target) else STOCK
    known = Imported() if anew else load_tables(base)
    merged = import_releases(known, read_all(jars, quiet))
    write_tables(target, merged)
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


def write_tables(folder: Path, merged: Imported) -> None:
    from kcli.schemas.tables import to_files

    folder.mkdir(parents=True, exist_ok=True)
    texts = to_files(merged)
    for name, text in texts.items():
        (folder / f"{name}.new").write_text(text, "utf-8")
    # Nothing is replaced before all is written.
    for name in texts:
        (folder / f"{name}.new").replace(folder / name)


def say_imported(folder: Path, known: Imported, merged: Imported) -> None:
    """What is new, by release, on stderr."""
    fresh = [release for release in merged.releases if release not in known.releases]
    what = f"new: {', '.join(fresh)}" if fresh else "none of them new"
    warn(f"{folder}: {len(merged.tables)} messages of {len(merged.releases)} releases ({what})")
    for identity, message in merged.tables.items():
        before = known.tables.get(identity)
        if known.tables and (before is None or before.versions != message.versions):
            warn(f"{message.name}: versions {before.versions if before else 'none'} -> {message.versions}")
