"""The changes between two metadata images, object by object."""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any

from kcli.core.snapshots.snapshot import same_partition
from kcli.snapshots.image.image import Image
from kcli.snapshots.image.image_tables import TABLES, ImageTable

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Change:
    """The change of one object.

    kind: "created", "deleted" or "changed"; table: a name in `image_tables.TABLES`; key: values that name the object
    before, after: its rows; None on the side without one; columns: names of the columns that differ
    """

    kind: str
    table: str
    key: tuple[Hashable, ...]
    before: Row | None
    after: Row | None
    columns: tuple[str, ...] = ()

    @property
    def fields(self) -> dict[str, tuple[Any, Any]]:
        """{column: (old, new)} of the different columns; {} for an object that was created or deleted."""
        if self.before is None or self.after is None:
            return {}
        return {name: (self.before[name], self.after[name]) for name in self.columns}


def diff_images(before: Image, after: Image, *, secrets: bool = False) -> Iterator[Change]:
    """Yield every change, table by table, by key. Secrets are compared even without `secrets`, but then only their
    sizes are shown.
    """
    for table in TABLES.values():
        if table.name == "partitions":
            yield from diff_partitions(table, before, after)
        else:
            yield from diff_rows(table, before, after, secrets)


def keyed(table: ImageTable, image: Image, secrets: bool) -> dict[tuple[Hashable, ...], Row]:
    return {tuple(row[column] for column in table.key): row for row in table.rows(image, secrets)}


def diff_rows(table: ImageTable, before: Image, after: Image, secrets: bool) -> Iterator[Change]:
    old, new = keyed(table, before, True), keyed(table, after, True)
    if old == new:
        return
    shown = (old, new) if secrets else (keyed(table, before, False), keyed(table, after, False))
    for key in sorted(old.keys() | new.keys(), key=repr):
        mine, yours = old.get(key), new.get(key)
        if mine == yours:
            continue
        yield row_change(table.name, mine, yours, *(rows.get(key) for rows in shown))


def row_change(
    table: str, before: Row | None, after: Row | None, shown: Row | None = None, seen: Row | None = None
) -> Change:
    """Return the change from one row of an object to another; the rows differ, and None stands for no object. shown,
    seen: the rows to show in their place, without secrets.
    """
    kind = "created" if before is None else "deleted" if after is None else "changed"
    row = after if before is None else before
    assert row is not None
    return Change(kind, table, row_key(table, row), shown or before, seen or after, differing(before, after))


def row_key(table: str, row: Row) -> tuple[Hashable, ...]:
    """Return the key of a row's object: the values of the table's key columns; of a partition the topic's name and its
    number.
    """
    if table == "partitions":
        return row["topic"], row["partition"]
    return tuple(row[column] for column in TABLES[table].key) if table in TABLES else (row["name"],)


def differing(before: Row | None, after: Row | None) -> tuple[str, ...]:
    if before is None or after is None:
        return ()
    return tuple(name for name in after if before[name] != after[name])


def diff_partitions(table: ImageTable, before: Image, after: Image) -> Iterator[Change]:
    """Yield the changes of partitions. Partitions with equal bytes in both images are not decoded."""
    for identity in sorted(before.topics.keys() | after.topics.keys(), key=lambda each: name_of(each, before, after)):
        old, new = before.topics.get(identity), after.topics.get(identity)
        mine, yours = old.partitions if old else {}, new.partitions if new else {}
        if mine is yours or mine == yours:
            continue
        for number in sorted(mine.keys() | yours.keys()):
            one, two = mine.get(number), yours.get(number)
            if one is not None and two is not None and (one == two or same_partition(one, two)):
                continue
            row = row_of(before, identity, number)
            other = row_of(after, identity, number)
            if row != other:
                yield row_change(table.name, row, other)


def name_of(identity: bytes, *images: Image) -> str:
    return next(image.topics[identity].name for image in images if identity in image.topics)


def row_of(image: Image, identity: bytes, number: int) -> Row | None:
    topic = image.topics.get(identity)
    if topic is None or number not in topic.partitions:
        return None
    partition = image.partition(topic, number)
    return {"topicId": topic.id_text, "topic": topic.name, "partition": number, **partition}
