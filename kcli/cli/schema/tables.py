"""kcli schema list, show and diff: what is in the message tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from kcli.cli.options.inputs import dialect_option, format_option, quiet_option
from kcli.cli.schema.choice import bare, named, with_versions
from kcli.cli.terminal.cells import broken
from kcli.cli.terminal.columns import print_json, print_rows
from kcli.cli.terminal.console import terminal_room, warn
from kcli.cli.terminal.lines import print_line
from kcli.errors import UsageError
from kcli.jsontext import dumps
from kcli.schemas.catalog import catalog
from kcli.schemas.lookup import Catalog, unknown
from kcli.schemas.model import Message

if TYPE_CHECKING:
    from kcli.schemas.diff import SchemaChange


FORMAT = format_option(
    ("table", "json", "jsonl"), "A table, a JSON array, or one JSON object per line.", default="table", name="form"
)

QUIET = quiet_option("No warnings about a dialect's definitions.")


@click.command(name="list")
@click.argument("words", metavar="[WORD]...", nargs=-1)
@click.option("--kind", "kinds", multiple=True, help="Only this kind: api, data, header, metadata, group-key, ...")
@click.option("--release", help="Only messages of this release of Kafka, with their versions in it.")
@click.option("--dialects", is_flag=True, help="List the dialects that come with kcli, and their sources.")
@click.option("--errors", is_flag=True, help="List the error codes, their names, and which are retriable.")
@dialect_option
@FORMAT
@QUIET
def list_(  # noqa: PLR0913  the command's options
    words: tuple[str, ...],
    kinds: tuple[str, ...],
    release: str | None,
    dialects: bool,
    errors: bool,
    dialect: str | None,
    form: str,
    quiet: bool,
) -> int:
    """List every API and message in the tables, or those with a WORD in their name.

    \b kcli schema list all of them kcli schema list fetch those with "fetch" in their name kcli schema list --release
    3.9 messages of release 3.9 kcli schema list --errors 74 name and meaning of error 74
    """
    from kcli.cli.schema.views import LIST_HEADINGS, listed

    if dialects:
        list_dialects(form)
        return 0
    tables = catalog(dialect)
    if errors:
        return list_errors(tables, words, form, quiet)
    wanted = tables.release(release) if release else None
    rows = [row for row in listed(tables, wanted) if is_wanted(row, words, kinds)]
    known = sorted({row["kind"] for row in listed(tables, wanted)}) if kinds and not rows else []
    if known and not set(kinds).intersection(known):
        raise UsageError(f"--kind {', '.join(kinds)}: nothing is of that kind (there are {', '.join(known)})")
    if form == "table":
        print_rows(LIST_HEADINGS, [["" if cell is None else str(cell) for cell in row.values()] for row in rows])
    else:
        print_json(rows, form)
    say_findings(tables, quiet)
    return answer(rows, words, "message", quiet)


def answer(rows: Sequence[object], words: tuple[str, ...], subject: str, quiet: bool) -> int:
    """Return the exit code of a list; print a note if the list is empty."""
    if rows:
        return 0
    which = f"named like {' or '.join(words)}" if words else "of that kind"
    warn(f"no {subject} is {which}", quiet)
    return 1


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


def list_errors(tables: Catalog, words: tuple[str, ...], form: str, quiet: bool) -> int:
    """List all error codes, or those of these numbers, or with one of the words in their name."""
    from kcli.schemas.errors import is_retriable

    rows = [
        {"code": code, "name": name, "retriable": is_retriable(code)}
        for code, name in tables.errors.items()
        if not words or any(word == str(code) or word.lower() in name.lower() for word in words)
    ]
    if form == "table":
        marks = {True: "retriable", False: ""}
        print_rows(("code", "name", ""), [[str(r["code"]), str(r["name"]), marks[bool(r["retriable"])]] for r in rows])
    else:
        print_json(rows, form)
    return answer(rows, words, "error", quiet)


def say_findings(tables: Catalog, quiet: bool) -> None:
    """Print the faults and oddities of a dialect's definitions on stderr."""
    for finding in tables.findings:
        warn(str(finding), quiet)


@click.command()
@click.argument("name")
@click.argument("version", type=int, required=False)
@click.option("--variants", is_flag=True, help="Also show other layouts that old releases had under the same version.")
@dialect_option
@FORMAT
@QUIET
def show(name: str, version: int | None, variants: bool, dialect: str | None, form: str, quiet: bool) -> None:
    """Show the fields of the message NAME, or of both messages of the API NAME; in one VERSION, or in all.

    \b
    kcli schema show Fetch 12                       request and response
    kcli schema show PartitionRecord --variants
    kcli schema show FetchRequest --format json     Kafka's own form: a start for a dialect of your own
    """
    from kcli.cli.schema.views import definition

    tables = catalog(dialect)
    messages = with_versions([tables.message(each) for each in named(tables, name)], version, quiet=quiet)
    shown = [("", message) for message in messages]
    if variants:
        shown += [(f" {each.name}", each.message) for message in messages for each in message.variants]
    if form == "table":
        for number, (label, message) in enumerate(shown):
            if number:
                print_line()
            show_message(tables, message, version, label)
    elif form == "json" and len(shown) == 1:
        for line in dumps(definition(tables, messages[0], version), indent=2).split("\n"):
            print_line(line)
    else:
        print_json([definition(tables, message, version) for _, message in shown], form)
    say_findings(tables, quiet)


def show_message(tables: Catalog, message: Message, version: int | None, label: str) -> None:
    from kcli.cli.schema.views import FIELD_HEADINGS, field_rows, headline, provenance

    api = None if message.api_key is None else tables.api(message.api_key)
    rows = list(field_rows(message.fields, version))
    title = headline(message, version, api, label)
    if rows:
        print_rows(FIELD_HEADINGS, rows, title=title)
    else:
        print_line(f"{title}: no fields")
    if version is None:
        for text in provenance(message):
            for line in broken(text, terminal_room()):
                print_line(line)


@click.command()
@click.argument("words", metavar="[NAME V1 V2|A B]...", nargs=-1)
@click.option("--release", "releases", nargs=2, metavar="A B", help="Compare the message versions of two releases.")
@dialect_option
@FORMAT
@QUIET
def diff(words: tuple[str, ...], releases: tuple[str, str] | None, dialect: str | None, form: str, quiet: bool) -> None:
    """Show what changed in a message or API: NAME V1 V2 compares two of its versions, A B [NAME]... two sides.

    A and B are releases of Kafka, dialects, or folders of definitions. kcli compares them field by field in every
    version; with NAMEs only these messages and APIs. Of a dialect or folder it compares only the messages that it
    defines.

    \b
    kcli schema diff Fetch 11 12
    kcli schema diff 3.9 4.0
    kcli schema diff 4.4 my-kip/
    kcli schema diff --release 3.9 4.0
    """
    tables = catalog(dialect)
    if releases and words:
        raise UsageError("NAME V1 V2, A B or --release A B: one of them expected")
    if releases:
        from kcli.schemas.diff import between_releases

        changes = between_releases(tables, tables.release(releases[0]), tables.release(releases[1]))
    elif len(words) == 3 and is_number(words[1]) and is_number(words[2]):
        changes = version_changes(tables, words[0], int(words[1]), int(words[2]))
    elif len(words) < 2 or is_number(words[1]):
        raise UsageError("NAME V1 V2 or --release A B expected, or A B: releases, dialects, folders")
    else:
        changes = side_changes(tables, words[0], words[1], words[2:])
    print_changes(changes, form)
    say_findings(tables, quiet)


def is_number(word: str) -> bool:
    return word.isascii() and word.isdigit()


def side_changes(tables: Catalog, first: str, second: str, names: tuple[str, ...]) -> list[SchemaChange]:
    from kcli.schemas.set_diff import between_sides, side_of

    sides = side_of(first, tables), side_of(second, tables)
    wanted = {bare(name) for name in names}
    known = {bare(name): name for side in sides for name in side.messages}
    for name in names:
        if not any(is_wanted_by(each, bare(name)) for each in known):
            raise UsageError(unknown("message or API", name, sorted(known.values())))
    changes = between_sides(*sides)
    return [each for each in changes if not wanted or any(is_wanted_by(bare(each.message), name) for name in wanted)]


def is_wanted_by(message: str, name: str) -> bool:
    """Return whether a name means this message or its API. Both are in the form of `bare`."""
    return name in (message, message.removesuffix("request"), message.removesuffix("response"))


def version_changes(tables: Catalog, name: str, first: int, second: int) -> list[SchemaChange]:
    from kcli.schemas.diff import between_versions

    messages = with_versions([tables.message(each) for each in named(tables, name)], first, second)
    return [change for message in messages for change in between_versions(message, first, second)]


def print_changes(changes: list[SchemaChange], form: str) -> None:
    if form != "table":
        rows = (change._asdict() for change in changes)
        print_json([{key: row[key] for key in row if key != "versions" or row[key]} for row in rows], form)
    elif not changes:
        print_line("no difference")
    else:
        rare = [name for name in ("versions", "path") if not any(getattr(change, name) for change in changes)]
        shown = [name for name in ("message", "versions", "path", "change", "before", "after") if name not in rare]
        print_rows(shown, [[getattr(change, name) or "-" for name in shown] for change in changes])
