"""What changed between two metadata images, object by object."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any

from kcli.snapshots.image import Image
from kcli.snapshots.tables import TABLES, Table

__all__ = ["Change", "diff_images"]

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Change:
    """kind: "created", "deleted" or "changed"; table: one of `tables.TABLES`; key: what names the object

    before, after: the rows; None for what is not there. fields: {column: (old, new)} of what differs, "changed" only.
    """

    kind: str
    table: str
    key: tuple[Hashable, ...]
    before: Row | None
    after: Row | None

    @property
    def fields(self) -> dict[str, tuple[Any, Any]]:
        if self.before is None or self.after is None:
            return {}
        pairs = ((name, (self.before[name], self.after[name])) for name in self.after)
        return {name: pair for name, pair in pairs if pair[0] != pair[1]}


def diff_images(before: Image, after: Image, *, secrets: bool = False) -> Iterator[Change]:
    """Every change, table by table, by key. Secrets are compared too; they are shown only with `secrets`."""
    for table in TABLES.values():
        if table.name == "partitions":
            yield from diff_partitions(table, before, after)
        else:
            yield from diff_rows(table, keyed(table, before), keyed(table, after), secrets)


def keyed(table: Table, image: Image) -> dict[tuple[Hashable, ...], Row]:
    return {tuple(row[column] for column in table.key): row for row in table.rows(image, True)}


def diff_rows(
    table: Table, old: dict[tuple[Hashable, ...], Row], new: dict[tuple[Hashable, ...], Row], secrets: bool
) -> Iterator[Change]:
    shown = (lambda row: row) if secrets else hide
    for key in sorted(old.keys() | new.keys(), key=repr):
        before, after = old.get(key), new.get(key)
        if before == after:
            continue
        kind = "created" if before is None else "deleted" if after is None else "changed"
        yield Change(kind, table.name, key, before and shown(before), after and shown(after))


def hide(row: Row) -> Row:
    """Secrets replaced by a mark that still tells two of them apart."""
    from hashlib import sha256

    from kcli.snapshots.texts import is_secret_config

    def mark(value: Any) -> str:
        return f"[hidden {sha256(str(value).encode()).hexdigest()[:8]}]"

    if "storedKey" in row:
        return row | {name: mark(row[name]) for name in ("salt", "storedKey", "serverKey")}
    if "resourceName" in row and "value" in row and is_secret_config(str(row["name"])):
        return row | {"value": mark(row["value"])}
    return row


def diff_partitions(table: Table, before: Image, after: Image) -> Iterator[Change]:
    """Partitions stay as bytes where both images have the same."""
    for identity in sorted(before.topics.keys() | after.topics.keys(), key=lambda each: name_of(each, before, after)):
        old, new = before.topics.get(identity), after.topics.get(identity)
        mine, yours = old.partitions if old else {}, new.partitions if new else {}
        for number in sorted(mine.keys() | yours.keys()):
            if number in mine and number in yours and mine[number] == yours[number]:
                continue
            row = row_of(before, identity, number)
            other = row_of(after, identity, number)
            if row != other:
                kind = "created" if row is None else "deleted" if other is None else "changed"
                yield Change(kind, table.name, (name_of(identity, before, after), number), row, other)


def name_of(identity: bytes, *images: Image) -> str:
    return next(image.topics[identity].name for image in images if identity in image.topics)


def row_of(image: Image, identity: bytes, number: int) -> Row | None:
    topic = image.topics.get(identity)
    if topic is None or number not in topic.partitions:
        return None
    partition = image.partition(topic, number)
    return {"topicId": topic.id_text, "topic": topic.name, "partition": number, **partition}
