"""Envelopes around values: Connect's `{"schema", "payload"}`, and Debezium's `{"before", "after", "op", ...}`."""

from __future__ import annotations

from typing import Any

OPERATIONS = {"c", "u", "d", "r", "t", "m"}
META = {"op": "__op", "ts_ms": "__ts_ms"}  # names of Debezium's own ExtractNewRecordState
DELETED = "__deleted"


def flattened(value: Any) -> Any:
    """Return the row in an envelope; a value without one unchanged.

    A row of Debezium is the one after the change, for a deletion the one before it, with `__op`, `__ts_ms` and
    `__deleted`.
    """
    if isinstance(value, dict) and value.keys() == {"schema", "payload"}:
        value = value["payload"]
    return row_of(value) if is_change(value) else value


def is_change(value: Any) -> bool:
    """Return whether a value is a change event of Debezium."""
    return (
        isinstance(value, dict)
        and isinstance(op := value.get("op"), str)
        and op in OPERATIONS
        and bool(value.keys() & {"before", "after"})
    )


def row_of(change: dict[str, Any]) -> dict[str, Any]:
    row = change.get("after") if change.get("after") is not None else change.get("before")
    made = dict(row) if isinstance(row, dict) else {} if row is None else {"row": row}
    made |= {META[name]: change[name] for name in META if name in change}
    return made | {DELETED: "true" if change["op"] == "d" else "false"}  # text, as Debezium writes it
