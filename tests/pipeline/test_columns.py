"""Columns of the core on their way to Parquet."""

from __future__ import annotations

import struct
from typing import Any

from kcli.capture.audit import Talk
from kcli.pipeline.columns import DAY_NS, Columns, Uses
from kcli.pipeline.writing import stored_schema

LINKS = ["a:1-b:2", "[::1]:1-[::2]:3"]
NAMES = {3: "METADATA", 0: "PRODUCE"}


def row(ts: int, key: int, told: int, link: int, client: int, voice: int = 0) -> bytes:
    return struct.pack("11q", ts, ts + 5, key, 12, 7, 50, told, 1500, link, client, voice)


def made(numbers: bytes, rows: int) -> Columns:
    ends = struct.pack(f"{3 * rows}i", *(at for number in range(1, rows + 1) for at in (2 * number,) * 3))
    texts = dict.fromkeys(("header", "request", "response"), b"{}" * rows)
    taken: dict[str, Any] = {"numbers": numbers, "ends": ends, "links": LINKS, "clients": [None, "c"], **texts}
    return Columns(taken | {"errors": [(0, [6, 6, 5])]}, NAMES.get)


def test_a_batch_for_each_day() -> None:
    columns = made(row(0, 3, 100, 0, 1) + row(1000, 0, -1, 1, 0) + row(DAY_NS, 3, 100, 0, 1), 3)
    batches = list(columns.batches())
    assert [(table, day, batch.num_rows) for table, day, batch in batches] == [("exchanges", 0, 2), ("exchanges", 1, 1)]
    assert batches[0][2].schema.equals(stored_schema("exchanges"))
    first, second = batches[0][2].to_pylist()
    assert (first["server"], first["client"], first["client_id"]) == ("a:1", "b:2", "c")
    assert (first["errors"], first["latency_ms"]) == (["NOT_LEADER_OR_FOLLOWER", "LEADER_NOT_AVAILABLE"], 1.5)
    assert (second["connection"], second["client_id"], second["api"]) == (LINKS[1], None, "PRODUCE")
    assert (second["response"], second["response_bytes"], second["latency_ms"]) == (None, None, None)
    assert second["errors"] == []


def test_uses_are_counted() -> None:
    """Two of one kind; one before the client said who it is; one with the newest version that was offered."""
    numbers = row(0, 3, 1, 0, 1) + row(1, 3, 1, 0, 1, 1) + row(2, 3, 1, 0, 1, 1) + row(3, 0, 1, 1, 0, 1)
    voices = [Talk(), Talk("soft", "9", negotiates=True, offered={0: 12, 3: 13, 900: 1})]
    found = Uses(made(numbers, 4), voices).batch()
    assert found.schema.equals(stored_schema("client_uses"))
    rows = {tuple(each.values()) for each in found.to_pylist()}
    assert rows == {
        (LINKS[0], "c", "b", None, None, False, 3, 12, 1, True),
        (LINKS[0], "c", "b", "soft", "9", True, 3, 12, 2, True),
        (LINKS[1], None, "::2", "soft", "9", True, 0, 12, 1, False),
    }
