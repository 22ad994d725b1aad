"""The table of exchanges and events: rows from values, and what the core made (see test_arrow.py for both together)."""

import struct
from typing import Any

import pytest

from kcli.capture.filters import Filter
from kcli.capture.kafka.bodies import Bodies
from kcli.capture.kafka.events import Event, Link
from kcli.capture.kafka.exchange import Exchange
from kcli.capture.tables.columns import EVERY, batch_of, event_row, rows_batch, wanted_rows
from kcli.capture.tables.partition_tables import lag_of
from kcli.core.codec.values import MISSING
from kcli.tables.captured import PARQUET_COLUMNS
from kcli.tables.definition import schema_of
from kcli.tables.exchanges import EXCHANGE_COLUMNS, fields_of_columns
from tests.capture.messages import metadata
from tests.oracle.exchange_row import exchange_row

pyarrow = pytest.importorskip("pyarrow")
SCHEMA = schema_of(PARQUET_COLUMNS)
FIELDS = fields_of_columns(EVERY)


def test_rows_of_values_have_columns_of_the_table() -> None:
    asked, _ = metadata(7)
    row = exchange_row(Exchange(Link("a:1", "b:2"), 5_000, asked[4:], None, None, Bodies()))
    event = event_row(Event("gap", "a:1-b:2", 7_000, 3, 4, "why"))
    assert row.keys() | event.keys() | {"file"} == EVERY, "tests/oracle/exchange_row.py has other columns"
    first, second = rows_batch([row, event], SCHEMA).to_pylist()
    assert (first["connection"], first["response"], first["latency_ms"], first["reason"]) == (
        "a:1-b:2",
        None,
        None,
        None,
    )
    assert (second["event"], second["offset"], second["bytes"], second["request"]) == ("gap", 3, 4, None)


def texts(*values: str) -> tuple[bytes, bytes]:
    ends = [len("".join(values[:count]).encode()) for count in range(len(values) + 1)]
    return struct.pack(f"{len(ends)}i", *ends), "".join(values).encode()


def taken() -> dict[str, Any]:
    """Three rows: Metadata of "c", Fetch without an answer of nobody, Fetch with an error."""
    rows = [(10_000, 0, 3, 12, 1, 50, 60, 1500, 0, 0), (20_000, 0, 1, 4, 2, 51, -1, 0, 1, -1)]
    rows.append((30_000, 0, 1, 4, 3, 52, 61, 7, 0, 0))
    return {
        "numbers": b"".join(struct.pack("15q", *row, 2_000, 3_000, -1, 1, 0) for row in rows),
        "links": texts("a:1-b:2", "c:3-d:4"), "servers": texts("c:3", "a:1"), "server_of": struct.pack("2i", 1, 0),
        "addresses": texts("d", "b"), "address_of": struct.pack("2i", 1, 0),
        "ends": texts("b:2", "d:4"), "clients": texts("c"),
        "request": texts('{"topics":[{"name":"t"}]}', '{"topics":[{"topic":"tt"}]}', '{"clientId":"t"}'),
        "fields": (struct.pack(f"{3 * len(FIELDS)}q", *[MISSING] * (3 * len(FIELDS))), texts()),
        "response": texts("{}", "", '{"errorCode":6}'), "errors": (struct.pack("4i", 0, 0, 0, 1), struct.pack("q", 6)),
    }  # fmt: skip


def test_what_the_core_made() -> None:
    made = batch_of(taken(), {3: "METADATA"}.get, SCHEMA, fields=FIELDS)
    assert made.schema == SCHEMA
    first, second, third = made.to_pylist()
    assert (first["api"], second["api"], first["client_id"], second["client_id"]) == ("METADATA", None, "c", None)
    assert (first["server"], first["client"], second["server"]) == ("a:1", "b:2", "c:3")
    assert (first["client_address"], second["client_address"], second["broker_address"]) == ("b", "d", "c")
    assert (first["latency_ms"], second["latency_ms"], second["response"], second["response_bytes"]) == (
        1.5,
        *[None] * 3,
    )
    assert (first["errors"], third["errors"], third["event"]) == ([], ["NOT_LEADER_OR_FOLLOWER"], None)


def test_columns_that_nobody_wants_are_null() -> None:
    whole = schema_of(EXCHANGE_COLUMNS)
    for name in ("client_id", "error", "broker_address", "latency_ms"):
        made = batch_of(taken() | {"header": texts("{}", "{}", "{}")}, str, whole, {name})
        assert made.schema == whole and made.num_rows == 3
        assert [column for column in whole.names if made.column(column).null_count < 3] == [name]


def test_ends_and_errors_have_a_plain_form_too() -> None:
    made = batch_of(
        taken() | {"header": texts("{}", "[]", "{}")}, str, schema_of(EXCHANGE_COLUMNS), fields=FIELDS
    ).to_pylist()
    assert [row["broker_address"] for row in made] == ["a", "c", "a"]
    assert [row["client_address"] for row in made] == ["b", "d", "b"]
    assert [row["error"] for row in made] == [None, None, "NOT_LEADER_OR_FOLLOWER"]
    assert (made[1]["request_header"], made[1]["completed_ns"], made[1]["file"]) == ("[]", 0, None)


@pytest.mark.parametrize(
    ("chosen", "kept"),
    [
        (Filter(), [0, 1, 2]),
        (Filter(apis=frozenset({1})), [1, 2]),
        (Filter(client_id="c"), [0, 2]),
        (Filter(errors=True), [2]),
        (Filter(since=20_000), [1, 2]),
        (Filter(until=20_000), [0, 1]),
        (Filter(topic="t"), [0]),  # the third has it as another thing's name
        (Filter(topic="tt", client_id="c"), []),
        (Filter(topic='"'), []),
    ],
    ids=str,
)
def test_rows_pass_a_filter_as_values_do(chosen: Filter, kept: list[int]) -> None:
    found = wanted_rows(chosen, taken(), batch_of(taken(), str, SCHEMA, fields=FIELDS))
    assert [row for row in range(3) if found[row]] == kept


def test_a_lag_beyond_64_bits_is_unknown() -> None:
    numpy = pytest.importorskip("numpy")
    ends, reads = numpy.array([9, 5, -1, (1 << 63) - 1, -(1 << 63)]), numpy.array([2, 7, 0, -1, 1])
    unknown = numpy.array([False, False, True, False, False])
    assert lag_of(ends, reads, unknown).to_pylist() == [7, -2, None, None, None]
