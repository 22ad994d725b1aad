"""Changes of metadata as text, and as JSON."""

from collections.abc import Hashable
from typing import Any

from kcli.snapshots.image.diff import Change
from kcli.snapshots.image.image_tables import TABLES
from kcli.snapshots.image.texts import HIDDEN

Key = tuple[Hashable, ...]
MARKS = {"created": "+", "deleted": "-", "changed": "~"}
OTHER_NAMES = {"topics": ("name",), "partitions": ("topic",)}  # columns that name an object besides its key
NOUNS = {
    "features": "feature",
    "migration": "migration from",
    "voters": "voter",
    "brokers": "broker",
    "controllers": "controller",
    "topics": "topic",
    "partitions": "partition",
    "configs": "config",
    "clientQuotas": "quota",
    "scramCredentials": "SCRAM credential",
    "acls": "ACL",
    "delegationTokens": "delegation token",
    "producerIds": "producer ids of the",
}


def change_json(change: Change) -> dict[str, Any]:
    """Return a change as one JSON object: its kind, the table and key, and the row or the fields that differ."""
    row: dict[str, Any] = {"change": change.kind, "table": change.table, "key": list(change.key)}
    if change.kind == "changed":
        row["fields"] = {name: {"from": old, "to": new} for name, (old, new) in change.fields.items()}
    else:
        row["row"] = change.after if change.before is None else change.before
    return row


def change_text(change: Change, *, brief: bool = False) -> str:
    """Format a change as one line, "~ partition orders-3: leader 1 -> 2". brief: leave out a created or deleted row's
    empty values.
    """
    label = f"{MARKS[change.kind]} {object_name(change)}"
    if change.kind == "changed":
        fields = change.fields.items()
        return f"{label}: " + ", ".join(f"{name} {value_text(old)} -> {value_text(new)}" for name, (old, new) in fields)
    row = change.after if change.before is None else change.before
    if brief and row is not None:
        row = {name: value for name, value in row.items() if value}
    text = row_text(change.table, row)
    return f"{label}: {text}" if text else label


def contrast(change: Change, before: str, after: str) -> str:
    """Format two states of an object side by side: "config TOPIC t retention.ms: value 1000 here, none there"."""
    if change.kind == "changed":
        fields = change.fields.items()
        return f"{object_name(change)}: " + ", ".join(
            f"{name} {value_text(new)} {after}, {value_text(old)} {before}" for name, (old, new) in fields
        )
    was, now = row_text(change.table, change.before), row_text(change.table, change.after)
    return f"{object_name(change)}: {now} {after}, {was} {before}"


def object_name(change: Change) -> str:
    """Return the name of the changed object, "partition orders-3"."""
    return noun_and_key(change.table, change.key, change.after or change.before)


def noun_and_key(table: str, key: Key, row: dict[str, Any] | None) -> str:
    """Return an object's name. row: one of its rows; a topic's name is there, because topics have their id as key."""
    if table == "partitions":
        text = f"{key[0]}-{key[1]}"
    elif table == "topics" and row:
        text = str(row["name"])
    else:
        text = " ".join(str(part) for part in key if part != "")
    return f"{NOUNS.get(table, table)} {text}"


def row_text(table: str, row: dict[str, Any] | None) -> str:
    """Format the values of an object, without those in its name."""
    if row is None:
        return "none"
    named = {*TABLES[table].key, *OTHER_NAMES.get(table, ())} if table in TABLES else set()
    return ", ".join(f"{name} {value_text(value)}" for name, value in row.items() if name not in named)


def value_text(value: object) -> str:
    """Format one value; secrets are hidden."""
    if isinstance(value, list):
        return f"[{','.join(map(str, value))}]"
    if isinstance(value, dict):
        return HIDDEN
    return "none" if value is None else str(value)
