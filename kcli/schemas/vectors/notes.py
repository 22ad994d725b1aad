"""Notes of definitions on fields that do not affect bytes: their purpose, and how Kafka's code treats them.

The tables keep notes in a separate file, which only `kcli schema show --format json` and `schema doc` read. It has the
facts, but not the sentences of Kafka's sources. A draft's sentences are shown as in its definition.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from kcli.jsontext import dumps, loads
from kcli.schemas.definition import MOST_NESTED, camel
from kcli.schemas.model import Field, Message

NOTES = "notes.jsonl"
FACTS = ("ignorable", "mapKey", "entityType", "zeroCopy")
KEYS = (*FACTS, "about")
Notes = dict[str, dict[str, Any]]  # path of a field -> its note


def notes_of(raw: Mapping[str, Any]) -> Notes:
    """Return the notes in a definition that `build` accepts."""
    structs = {struct["name"]: struct.get("fields", ()) for struct in raw.get("commonStructs", ())}
    return dict(walk(raw.get("fields", ()), structs, "", 0))


def walk(
    fields: Iterable[Mapping[str, Any]], structs: dict[str, Any], path: str, depth: int
) -> Iterator[tuple[str, dict[str, Any]]]:
    for field in fields if depth < MOST_NESTED else ():
        field_path = f"{path}{camel(field['name'])}"
        facts = {key: field[key] for key in KEYS if key in field and field[key] not in (False, "")}
        if facts:
            yield field_path, facts
        element = field["type"].removeprefix("[]")
        inner = structs.setdefault(element, field["fields"]) if "fields" in field else structs.get(element, ())
        yield from walk(field.get("fields", inner), structs, f"{field_path}.", depth + 1)


def notes_text(messages: Iterable[Message], notes: Mapping[str, Notes]) -> str:
    """Return one line for each message: its name, and the facts about its fields."""
    lines = []
    for message in messages:
        known = set(paths(message.fields, ""))
        facts = {path: facts_of(note) for path, note in notes.get(message.name, {}).items() if path in known}
        kept = {path: note for path, note in facts.items() if note}
        if kept:
            lines.append(dumps({"name": message.name, "notes": dict(sorted(kept.items()))}) + "\n")
    return "".join(lines)


def facts_of(note: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts in a note, without sentences."""
    return {key: value for key, value in note.items() if key in FACTS}


def paths(fields: Iterable[Field], path: str) -> Iterator[str]:
    for field in fields:
        yield f"{path}{field.name}"
        yield from paths(field.fields, f"{path}{field.name}.")


def read_notes(folder: Path) -> dict[str, Notes]:
    """Return the notes beside the tables, by message; {} if the file is missing."""
    file = folder / NOTES
    rows = [loads(line) for line in file.read_text("utf-8").splitlines()] if file.is_file() else []
    return {row["name"]: row["notes"] for row in rows}
