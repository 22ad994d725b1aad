"""Exchanges and events as rows: those of the tables that are wanted, and of exchanges that a filter chooses."""

from __future__ import annotations

from pathlib import Path

from kcli.capture.filters import Filter
from kcli.pipeline.row_source import RowSource
from tests.capture.wires import SAMPLES
from tests.pipeline.test_decoding import made


def test_only_the_rows_that_are_wanted(tmp_path: Path) -> None:
    rows: list[str] = []
    source = RowSource(lambda table, _: rows.append(table), frozenset({"exchanges"}))
    source.run(made(tmp_path))
    assert rows.count("exchanges") == 2


def test_what_is_not_chosen_is_heard_all_the_same() -> None:
    """Names of topics and clients' software; batches of columns are left to those who take all."""
    rows: list[tuple[str, tuple[object, ...]]] = []
    source = RowSource(
        lambda *row: rows.append(row),
        put_batch=lambda *_: None,
        paths=[str(SAMPLES / "java44-txn.pcap")],
        chosen=Filter(apis=frozenset({0})),
    )
    for _ in source.read():
        pass
    source.rows.finish()
    assert source.rows.exchanges == sum(table == "exchanges" for table, _ in rows) == 8
    assert {table for table, _ in rows} >= {"topic_names", "produce_partitions", "client_uses"}
    assert any("apache-kafka-java" in map(str, row) for table, row in rows if table == "client_uses")
