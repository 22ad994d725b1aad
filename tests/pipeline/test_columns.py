"""Columns of the core on their way to Parquet."""

from __future__ import annotations

import struct

from kcli.pipeline.columns import DAY_NS, Taken, batches, uses
from kcli.pipeline.tables import arrow_schema

LINKS = ["a:1-b:2", "[::1]:1-[::2]:3"]


def row(ts: int, key: int, told: int, link: int) -> bytes:
    return struct.pack("9q", ts, ts + 5, key, 12, 7, 50, told, 1500, link)


def taken() -> Taken:
    numbers = row(0, 3, 100, 0) + row(1000, 0, -1, 1) + row(DAY_NS, 3, 100, 0)
    ends = struct.pack("15i", 2, 2, 2, 1, 1, 4, 4, 2, 1, 0, 6, 6, 4, 2, 1)
    return numbers, ends, b"{}{}{}", b"[][][]", b"{}{}", b"cc", LINKS, [(0, [6, 6, 5])]


def test_a_batch_for_each_day() -> None:
    made = list(batches(taken(), {3: "METADATA", 0: "PRODUCE"}.get))
    assert [(day, batch.num_rows) for day, batch in made] == [(0, 2), (1, 1)]
    assert made[0][1].schema.equals(arrow_schema("exchanges"))
    first, second = made[0][1].to_pylist()
    assert (first["server"], first["client"], first["client_id"]) == ("a:1", "b:2", "c")
    assert (first["errors"], first["latency_ms"]) == (["NOT_LEADER_OR_FOLLOWER", "LEADER_NOT_AVAILABLE"], 1.5)
    assert (second["connection"], second["client_id"], second["api"]) == (LINKS[1], None, "PRODUCE")
    assert (second["response"], second["response_bytes"], second["latency_ms"]) == (None, None, None)


def test_uses_are_counted() -> None:
    assert sorted(uses(taken()), key=str) == [("[::1]:1-[::2]:3", None, 0, 12, 1), ("a:1-b:2", "c", 3, 12, 2)]
