"""`kcli schema doc`: messages as a document in Markdown: fields, what each version changed, the bytes."""

from collections.abc import Iterable, Iterator
from itertools import pairwise

import click

from kcli.cli.options.inputs import dialect_option, quiet_option
from kcli.cli.schema.choice import chosen
from kcli.cli.terminal.lines import print_line
from kcli.schemas.diff import SchemaChange, between_versions
from kcli.schemas.lookup import Catalog
from kcli.schemas.model import Field, Message
from kcli.schemas.vectors.notes import Notes

HEADINGS = ("field", "type", "versions", "", "about")


@click.command()
@click.argument("name", metavar="MESSAGE|DIR")
@click.argument("version", type=int, required=False)
@dialect_option
@quiet_option("No warnings.", used=False)
def doc(name: str, version: int | None, dialect: str | None) -> None:
    """Print a Markdown document about a message, both messages of an API, or all messages in DIR.

    For each message it has the fields with versions, defaults and (in a draft) descriptions, the changes of each
    version, and byte diagrams of the newest version, or of VERSION.

    \b
    kcli schema doc Fetch 12
    kcli schema doc my-kip/ > my-kip.md
    """
    from kcli.schemas.vectors.diagram import LEGEND

    _, tables, found = chosen(name, version, dialect)
    for number, message in enumerate(found):
        if number:
            print_line("")
        for line in document(tables, message, version):
            print_line(line)
    print_line("")
    print_line(LEGEND)


def document(tables: Catalog, message: Message, version: int | None) -> Iterator[str]:
    from kcli.cli.schema.views import headline

    api = None if message.api_key is None else tables.api(message.api_key)
    yield f"# {text_of(message.name)}"
    yield ""
    yield f"{text_of(headline(message, None, api, '').partition(': ')[2])}."
    yield ""
    yield from fields_table(tables, message)
    yield from changes(message)
    shown = message.versions.hi if version is None else version
    if message.versions:
        yield from bytes_of(message, shown)


def fields_table(tables: Catalog, message: Message) -> Iterator[str]:
    rows = list(field_rows(message.fields, tables.notes(message), ""))
    if not rows:
        yield "No fields."
        return
    # Kafka's own messages are known by facts alone; a draft says what its fields are for.
    headings = HEADINGS if any(row[-1] for row in rows) else HEADINGS[:-1]
    yield f"| {' | '.join(headings)} |".replace("|  |", "| |")
    yield f"| {' | '.join('---' for _ in headings)} |"
    for row in rows:
        yield f"| {' | '.join(row[: len(headings)])} |"


def field_rows(fields: Iterable[Field], notes: Notes, path: str) -> Iterator[list[str]]:
    from kcli.cli.schema.views import range_notes

    for field in fields:
        field_path = f"{path}{field.name}"
        notes_text = text_of(", ".join(range_notes(field)))
        about = text_of(str(notes.get(field_path, {}).get("about", "")))
        yield [f"`{code_of(field_path)}`", f"`{code_of(field.type)}`", str(field.versions), notes_text, about]
        yield from field_rows(field.fields, notes, f"{field_path}.")


def changes(message: Message) -> Iterator[str]:
    """Yield what each version changed, beside the one before it."""
    if message.versions.lo >= message.versions.hi:
        return
    yield ""
    yield "| version | what changed |"
    yield "| --- | --- |"
    for before, version in pairwise(message.versions):
        found = between_versions(message, before, version)
        texts = [f"`{code_of(each.path)}` {change_text(each)}" if each.path else each.after for each in found]
        yield f"| {version} | {'; '.join(texts) or 'nothing in its fields'} |"


def change_text(change: SchemaChange) -> str:
    return change.change if change.change == "removed" else f"{change.change}: {text_of(change.after)}"


def bytes_of(message: Message, version: int) -> Iterator[str]:
    from kcli.schemas.vectors.diagram import diagrams

    for title, lines in diagrams(message, version):
        yield ""
        yield f"{text_of(title)}:" if lines else f"{text_of(title)}: no bytes."
        if lines:
            yield ""
            yield "```"
            yield from lines
            yield "```"


def text_of(text: str) -> str:
    """Escape text for Markdown, in a table too: definitions have no markup."""
    for char in "\\`*_[]<>|":
        text = text.replace(char, f"\\{char}")
    return text


def code_of(text: str) -> str:
    """Return text between backquotes."""
    return text.replace("`", "'").replace("|", "/")
