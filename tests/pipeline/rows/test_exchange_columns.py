"""Columns of the core on their way to Parquet."""

import struct
from typing import Any

import numpy

from kcli.core.codec.values import MISSING
from kcli.pipeline.rows.exchange_columns import DAY_NS, ExchangeColumns
from kcli.pipeline.rows.row_source import EXCHANGE_FIELDS
from kcli.pipeline.writing import stored_schema
from kcli.tables.arrays import numbered, strings

NAMES = {3: "METADATA", 0: "PRODUCE"}


def row(ts: int, key: int, answer: int, link: int, client: int) -> bytes:
    return struct.pack("15q", ts, ts + 5, key, 12, 7, 50, answer, 1500, link, client, 0, 0, -1, 0, 0)


def column(*texts: str) -> tuple[bytes, bytes]:
    ends = [sum(map(len, texts[:count])) for count in range(len(texts) + 1)]
    return struct.pack(f"{len(ends)}i", *ends), "".join(texts).encode()


def made(numbers: bytes, rows: int, *nameless: int) -> ExchangeColumns:
    texts = dict.fromkeys(("header", "request"), column(*["{}"] * rows))
    answers = struct.unpack(f"{len(numbers) // 8}q", numbers)[6::15]
    texts["response"] = column(*["" if answer < 0 else "{}" for answer in answers])
    taken: dict[str, Any] = {
        "numbers": numbers, "links": column("a:1-b:2", "[::1]:1-[::2]:3"), "ends": column("b:2", "[::2]:3"),
        "servers": column("[::1]:1", "a:1"), "server_of": struct.pack("2i", 1, 0), "clients": column("c"),
        "addresses": column("::2", "b"), "address_of": struct.pack("2i", 1, 0),
        "errors": (struct.pack(f"{rows + 1}i", 0, 2, 2, *[3] * (rows - 2)), struct.pack("3q", 6, 5, 6)), **texts,
        "fields": (struct.pack("q", MISSING) * rows * len(EXCHANGE_FIELDS), column()),
        "nameless": struct.pack(f"{len(nameless)}i", *nameless),
    }  # fmt: skip
    return ExchangeColumns(taken, NAMES.get, EXCHANGE_FIELDS)


def test_a_batch_for_each_day() -> None:
    columns = made(row(0, 3, 100, 0, 0) + row(1000, 0, -1, 1, -1) + row(DAY_NS, 3, 100, 0, 0), 3)
    batches = list(columns.batches())
    assert [(table, day, batch.num_rows, lacks) for table, day, batch, lacks in batches] == [
        ("exchanges", 0, 2, False),
        ("exchanges", 1, 1, False),
    ]
    assert batches[0][2].schema.equals(stored_schema("exchanges"))
    first, second = batches[0][2].to_pylist()
    assert (first["server"], first["client"], first["client_id"]) == ("a:1", "b:2", "c")
    assert (first["errors"], first["latency_ms"]) == (["NOT_LEADER_OR_FOLLOWER", "LEADER_NOT_AVAILABLE"], 1.5)
    assert (second["connection"], second["client_id"], second["api"]) == ("[::1]:1-[::2]:3", None, "PRODUCE")
    assert (second["server"], second["response"], second["response_bytes"]) == ("[::1]:1", None, None)
    assert (second["latency_ms"], second["errors"]) == (None, [])
    (third,) = batches[1][2].to_pylist()
    assert (third["errors"], third["response"], third["response_bytes"]) == (["NOT_LEADER_OR_FOLLOWER"], "{}", 100)


def test_one_day_is_not_looked_through() -> None:
    ((_, day, batch, lacks),) = made(row(DAY_NS, 3, 100, 0, 0) + row(DAY_NS + 1, 3, 100, 1, 0), 2).batches()
    assert (day, batch.num_rows, lacks) == (1, 2, False)
    assert batch.column("response").null_count == 0


def test_rows_without_names_are_told_apart() -> None:
    rows = row(0, 3, 100, 0, 0) + row(1, 0, -1, 1, 0) + row(DAY_NS, 3, 100, 0, 0)
    batches = [(day, batch.column("api").to_pylist(), lacks) for _, day, batch, lacks in made(rows, 3, 1).batches()]
    assert batches == [(0, ["METADATA"], False), (0, ["PRODUCE"], True), (1, ["METADATA"], False)]


def test_texts_that_are_not_there_are_null() -> None:
    assert strings(column("a", "", "bc"), numpy.array([False, True, False])).to_pylist() == ["a", None, "bc"]
    found = numbered(["x", None, "y", "z"], numpy.array([3, 1, 0, 3])).dictionary()
    assert (found.to_pylist(), found.dictionary.to_pylist()) == (["z", None, "x", "z"], ["x", "z"])
