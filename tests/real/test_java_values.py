"""`--as java` against Kafka's own classes: JSON in, the bytes that they write, or their refusal, out."""

import base64
import json
import random
from collections.abc import Iterator
from typing import Any

from kcli.errors import EncodeError
from kcli.grammar import messages
from kcli.grammar.java import java_value
from kcli.schemas.catalog import catalog
from kcli.schemas.model import Field, Message
from kcli.schemas.ranges import Range
from tests import messages as made
from tests.real.oracle import NEWEST, Case, ask

ROUNDS = 6  # values for each message and version
ZEROS = {"bool": False, "string": "", "bytes": b"", "float64": 0.0, "uuid": "A" * 22}


def values(fields: tuple[Field, ...], version: int, known: Range, chance: random.Random, path: str) -> dict[str, Any]:
    """A value for each field that the newest classes have; where the version lacks it mostly the default."""
    found: dict[str, Any] = {}
    for field in fields:
        if not field.versions & known:
            continue
        place = f"{path}.{field.name}"
        lacking = version not in field.versions
        if lacking and field.is_struct and not field.is_array:
            continue  # Kafka's converter does not read a struct that the version lacks
        if chance.random() < (0.93 if lacking else 0.4) or (lacking and field.is_struct):
            found[field.name] = default(field, version, known, chance, place)
        elif field.is_array:
            found[field.name] = [element(field, version, known, chance, f"{place}[{n}]") for n in range(2)]
        else:
            found[field.name] = element(field, version, known, chance, place)
    return found


def default(field: Field, version: int, known: Range, chance: random.Random, path: str) -> Any:
    if field.is_array:
        return None if field.default is None and version in field.nullable else []
    if field.is_struct:
        if field.default is None and (version in field.nullable or version not in field.versions):
            return None
        return {
            each.name: default(each, version, known, chance, path) for each in field.fields if each.versions & known
        }
    if field.default is None and version not in field.nullable and version in field.versions:
        return ZEROS.get(field.type, b"")
    return field.default


def element(field: Field, version: int, known: Range, chance: random.Random, path: str) -> Any:
    return values(field.fields, version, known, chance, path) if field.is_struct else made.scalar(field.element, path)


def cases(chance: random.Random) -> Iterator[tuple[Message, int, dict[str, Any]]]:
    tables = catalog()
    for message, version in made.every_message():
        newest = [said.versions for said in message.releases if tables.releases[-1] in said]
        if not newest or version not in newest[0] or message.kind not in ("request", "response", "header", "data"):
            continue
        for _ in range(ROUNDS):
            yield message, version, values(message.fields, version, newest[0], chance, message.name)


def text_of(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: text_of(item) for name, item in value.items()}
    if isinstance(value, list):
        return [text_of(item) for item in value]
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


def test_kafkas_classes_write_the_same_of_the_same_json() -> None:
    found = list(cases(random.Random(20)))
    asked = [
        Case((message.name, *message.aliases), version, json.dumps(text_of(value))) for message, version, value in found
    ]
    wrong, outcomes = [], {"ok": 0, "error": 0, "absent": 0}
    for (message, version, value), reply in zip(found, ask(NEWEST, asked), strict=True):
        outcomes[reply.outcome] += 1
        codec = messages.data(message.name, version)
        try:
            ours = codec.write(java_value(codec, value)).hex()
        except EncodeError as error:
            ours = f"error {error}"
        theirs = reply.data.hex() if reply.outcome == "ok" else reply.text
        if reply.outcome == "absent" or ours == theirs:
            continue
        if reply.outcome == "error" and "UnsupportedVersionException" in theirs and "UnsupportedVersion" in ours:
            continue
        wrong.append(f"{message.name} v{version}: kcli {ours}, Kafka {theirs}")
    assert not wrong, (len(wrong), wrong[:5])
    assert outcomes["ok"] > 2000 and outcomes["error"] > 80, outcomes
