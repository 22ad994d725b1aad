"""The files of a set of tables: `messages.jsonl`, a definition a line, and `index.json`, made from all of them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kcli.errors import SchemaError
from kcli.jsontext import dumps, loads
from kcli.schemas.definition import build
from kcli.schemas.merge import Tables, add_release, identity
from kcli.schemas.model import Message, release_order
from kcli.schemas.store import ordered, to_line

__all__ = ["INDEX", "MESSAGES", "Imported", "api_row", "import_releases", "load_tables", "log_name", "to_files"]

INDEX = "index.json"
MESSAGES = "messages.jsonl"


@dataclass(frozen=True, slots=True)
class Imported:
    """Merged tables, and the releases they were merged from, oldest first."""

    releases: tuple[str, ...]
    tables: Tables


def import_releases(known: Imported | None, arriving: dict[str, list[Message]]) -> Imported:
    """The known tables with more releases, none of them older than those known (SchemaError)."""
    releases = list(known.releases) if known else []
    tables: Tables = dict(known.tables) if known else {}
    for release in sorted(arriving, key=release_order):
        if releases and release_order(release) < release_order(releases[-1]):
            newest = releases[-1]
            raise SchemaError(
                f"release {release} is older than {newest}, the newest in the tables: import all of them anew"
            )
        if release in releases:
            releases.remove(release)
        tables = add_release(tables, arriving[release], releases[-1] if releases else None)
        releases.append(release)
    return Imported(tuple(releases), tables)


def to_files(imported: Imported) -> dict[str, str]:
    """File name -> text."""
    messages = ordered(imported.tables.values())
    return {
        MESSAGES: "".join(f"{to_line(message)}\n" for message in messages),
        INDEX: index_text(imported.releases, messages),
    }


def load_tables(folder: Path) -> Imported:
    """Tables that `to_files` wrote, to import more onto."""
    index = loads((folder / INDEX).read_bytes(), what=str(folder / INDEX))
    lines = (folder / MESSAGES).read_text("utf-8").splitlines()
    messages = [build(loads(line)) for line in lines]
    return Imported(tuple(index["releases"]), {identity(message): message for message in messages})


def index_text(releases: tuple[str, ...], messages: list[Message]) -> str:
    """Lines of JSON objects' members: releases, APIs, records by kind."""
    rows = ",\n".join(dumps(row) for row in api_rows(messages))
    records = ",\n".join(f"{dumps(kind)}:{dumps(found)}" for kind, found in record_names(messages).items())
    return f'{{"releases":{dumps(list(releases))},\n"apis":[\n{rows}\n],\n"records":{{\n{records}\n}}}}\n'


def api_rows(messages: Iterable[Message]) -> list[list[Any]]:
    found = {(message.kind, message.api_key): message for message in messages}
    keys = sorted(key for kind, key in found if kind == "request" and key is not None and ("response", key) in found)
    return [api_row(found["request", key], found["response", key]) for key in keys]


def api_row(request: Message, response: Message) -> list[Any]:
    """[key, name, log name, request, response, versions, flexible versions, other names]"""
    name = request.name.removesuffix("Request")
    others = [alias.removesuffix("Request") for alias in request.aliases]
    pair = [request.name, response.name, str(request.versions), str(request.flexible)]
    return [request.api_key, name, log_name(name), *pair, others]


def record_names(messages: Iterable[Message]) -> dict[str, dict[str, str]]:
    """Kind of record ("metadata", "group-key", ...) -> its type's number -> message."""
    found: dict[str, dict[str, str]] = {}
    for message in messages:
        if message.kind.startswith("coordinator-") or message.kind == "metadata":
            _, _, part = message.kind.partition("-")
            kind = f"{message.component}-{part}" if part else message.kind
            found.setdefault(kind, {})[str(message.api_key)] = message.name
    return found


def log_name(name: str) -> str:
    """A name as Kafka's logs have it: "OffsetForLeaderEpoch" -> "OFFSET_FOR_LEADER_EPOCH"."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).upper()
