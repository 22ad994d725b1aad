"""Rows of single exchanges: those that a run of the pipeline writes, each with its file."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("duckdb")

from kcli import read_capture
from kcli.pipeline.tables import TABLES
from kcli.sql.row_tables import ROW_TABLES
from tests.capture.messages import metadata, request, response
from tests.capture.wires import DATA, SAMPLES, START, Wire, pcap
from tests.pipeline.outputs import rows_of, run_here

CAPTURES = [*sorted(SAMPLES.glob("*.pcap*")), DATA / "mid-stream.pcap.zst", DATA / "kraft-boot.pcap.zst"]
TOPIC = "LiM8oXcTSBWR3XF1qnjt6A"


def same(rows: list[dict[str, Any]], table: str) -> Counter[str]:
    return Counter(str([row[name] for name in TABLES[table].names]) for row in rows)


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.name)
def test_rows_are_those_of_the_pipeline(path: Path, ask: Callable[..., Any], tmp_path: Path) -> None:
    output = tmp_path / "out"
    run_here([path], output)
    for table in ROW_TABLES:
        ours = ask(f"FROM {table}", path)
        assert same(ours, table) == same(rows_of(output, table), table)
        if table != "undecodable":
            assert {row["file"] for row in ours} <= {str(path)}


def test_each_row_of_several_knows_its_file(ask: Callable[..., Any], samples: Path) -> None:
    paths = [samples / "java44-txn.pcap", samples / "kcat-codecs.pcap", samples / "old-librdkafka-on-3.9.pcap"]
    for table in ("fetch_partitions", "record_batches"):
        query = f"SELECT * EXCLUDE file FROM {table}"
        for path in paths:
            only = f"{query} WHERE file = '{path}' ORDER BY ALL"
            assert ask(only, *paths) == ask(f"{query} ORDER BY ALL", path)


def test_an_event_at_the_end_of_all_captures_is_of_its_connections_capture(
    ask: Callable[..., Any], tmp_path: Path
) -> None:
    """A request that is never answered; it was of the last capture of all."""
    names = tmp_path / "first.pcap", tmp_path / "last.pcap"
    for name, port, start in zip(names, (40000, 40001), (START, START + 10**13), strict=True):
        wire = Wire(("10.0.0.1", port), start=start).open()
        for number in range(3):
            asked, answer = metadata(number)
            wire.client(asked).server(answer)
        name.write_bytes(pcap(wire.client(metadata(9)[0]).packets))
    run_here(names, tmp_path / "out")
    events = read_capture(names).to_arrow().read_all().to_pylist()
    of_arrow = [row for row in events if row["event"] is not None]
    for rows in (ask("FROM undecodable", *names), rows_of(tmp_path / "out", "undecodable"), of_arrow):
        assert {(row["connection"][-5:], row["event"], row["file"]) for row in rows} == {
            ("40000", "unanswered-at-end", str(names[0])), ("40001", "unanswered-at-end", str(names[1])),
        }  # fmt: skip


def test_a_topic_is_named_also_where_its_name_comes_late(ask: Callable[..., Any], tmp_path: Path) -> None:
    """The pipeline names topics throughout; a pipe, which can't be read twice, has no later name."""
    asked = request(1, 13, 1, {"topics": [{"topicId": TOPIC, "partitions": [{"partition": 4}]}]})
    answer = response(1, 13, 1, {"responses": [{"topicId": TOPIC, "partitions": [{"partitionIndex": 4}]}]})
    named = metadata(2, "late", topic_id=TOPIC)
    wire = Wire().open().client(asked).server(answer).client(named[0]).server(named[1])
    path = tmp_path / "late.pcap"
    path.write_bytes(pcap(wire.packets))
    assert ask("SELECT topic, topic_id, partition FROM fetch_partitions", path) == [
        {"topic": "late", "topic_id": TOPIC, "partition": 4}
    ]
