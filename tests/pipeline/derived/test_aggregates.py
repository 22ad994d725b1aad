"""Tables across connections, from rows made by hand."""

from typing import Any

from kcli.pipeline.derived.aggregates import client_rows, snapshots
from tests.pipeline.outputs import named


def part(position: int, size: int, at: int, error: str | None = None) -> dict[str, Any]:
    return {
        "timestamp": at * 10**6, "server": "s", "client": "c", "client_id": "i", "topic": "m",
        "partition": 0, "end_offset": 9, "epoch": 1, "position": position, "size_bytes": 100, "received_bytes": size,
        "error": error, "answered_ns": (at + 1) * 10**9,
    }  # fmt: skip


def test_a_snapshot_in_parts_one_of_them_twice() -> None:
    (row,) = named("quorum", snapshots(iter([part(0, 60, 1), part(0, 60, 2), part(60, 40, 3)])))
    assert (row["received_bytes"], row["requests"], row["complete"], row["seconds"]) == (100, 3, True, 3.0)


def test_a_snapshot_that_was_not_there() -> None:
    (row,) = named("quorum", snapshots(iter([part(0, 0, 1, "SNAPSHOT_NOT_FOUND")])))
    assert (row["complete"], row["error_names"], row["size_bytes"]) == (False, "SNAPSHOT_NOT_FOUND", None)


def use(version: int, software: str | None = None, negotiates: bool = False) -> dict[str, Any]:
    return {
        "client_id": "c", "address": "h", "software": software, "software_version": None, "negotiates": negotiates,
        "api_key": 1, "api_version": version, "requests": 5, "free": True,
    }  # fmt: skip


def test_clients_are_judged_as_audit_judges() -> None:
    counts = {("c", "h", None, None): 3}
    rows = named("clients", client_rows([use(2), use(12)], counts))
    assert [(row["api_version"], row["verdict"], row["connections"]) for row in rows] == [
        (2, "refused", 3),
        (12, "ok", 3),
    ]
    assert "takes" in rows[0]["reason"]
    assert rows[1]["reason"] is None
