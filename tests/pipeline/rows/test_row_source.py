"""Exchanges and events as rows: those of the tables that are wanted, and of exchanges that a filter chooses."""

from pathlib import Path
from typing import Any

import pytest

from kcli.capture.filters import Filter
from kcli.capture.kafka.events import Event
from kcli.pipeline.rows.row_source import RowSource
from tests.capture.decoding import as_values, pieces
from tests.capture.messages import request
from tests.capture.wires import SAMPLES, START, Wire, pcap
from tests.pipeline.outputs import rows_of, run_here
from tests.pipeline.packets.test_decoding import made

MINUTE_NS = 60_000_000_000


def test_only_the_rows_that_are_wanted(tmp_path: Path) -> None:
    rows: list[str] = []

    def put_batch(table: str, _day: int, batch: Any, _nameless: bool) -> None:
        rows.extend([table] * batch.num_rows)

    source = RowSource(lambda table, _: rows.append(table), frozenset({"exchanges"}), put_batch)
    source.run(made(tmp_path))
    assert rows.count("exchanges") == 2 and not {"fetch_partitions", "record_batches"} & {*rows}


def test_what_is_not_chosen_is_heard_all_the_same() -> None:
    """Names of topics and clients' software."""
    rows: list[tuple[str, tuple[object, ...]]] = []

    def put_batch(table: str, _day: int, batch: Any, _nameless: bool) -> None:
        rows.extend((table, tuple(row.values())) for row in batch.to_pylist())

    source = RowSource(
        lambda *row: rows.append(row),
        put_batch=put_batch,
        paths=[str(SAMPLES / "java44-txn.pcap")],
        chosen=Filter(apis=frozenset({0})),
    )
    for _ in source.read():
        pass
    source.flush(last=True)
    assert source.rows.exchanges == sum(table == "exchanges" for table, _ in rows) == 8
    assert {table for table, _ in rows} >= {"topic_names", "produce_partitions", "client_uses"}
    assert any("apache-kafka-java" in map(str, row) for table, row in rows if table == "client_uses")


@pytest.mark.parametrize("silent", [5, 30])
def test_an_unanswered_request_ends_where_its_connection_does(silent: int, tmp_path: Path, output: Path) -> None:
    """With the last of several captures; with its last packet where it was silent for long by then: in all commands."""
    pytest.importorskip("duckdb")
    captures = [tmp_path / f"{number}.pcap" for number in range(2)]
    wires = [Wire(("10.0.0.3", 4000 + number), start=START + number * silent * MINUTE_NS) for number in range(2)]
    for wire, path in zip(wires, captures, strict=True):
        for number in range(3):
            wire.open() if not number else wire.client(request(3, 0, number, {"topics": []}))
        path.write_bytes(pcap(wire.packets))
    run_here(captures, output)
    expected = [wires[silent == 5].packets[-1].ns, wires[1].packets[-1].ns]
    assert expected == ends(rows_of(output, "undecodable")) == ends(asked(captures)) == decoded(captures)


def ends(rows: list[dict[str, Any]]) -> list[int]:
    """The times (ns) of requests without an answer, by connection."""
    found = sorted((row["connection"], row["timestamp"]) for row in rows if row["event"] == "unanswered-at-end")
    return [round(moment.timestamp() * 1000) * 1_000_000 for _, moment in found]


def asked(captures: list[Path]) -> list[dict[str, Any]]:
    """The rows of `undecodable` in `kcli sql`."""
    from kcli.sql.given_tables import open_engine
    from kcli.sql.inputs import sort_inputs

    question = "SELECT timestamp, event, connection FROM undecodable"
    with open_engine(sort_inputs([str(path) for path in captures]), {}) as engine, engine.answer(question) as answer:
        return [row for batch in answer for row in batch.to_pylist()]


def decoded(captures: list[Path]) -> list[int]:
    """The same of `kcli decode pcap`."""
    decoder = as_values([str(path) for path in captures])
    found = [item for items in pieces(decoder) for item in items]
    events = [each for each in found if isinstance(each, Event) and each.kind == "unanswered-at-end"]
    return [each.ns for each in sorted(events, key=lambda each: str(each.connection))]
