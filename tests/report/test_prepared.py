"""The narrow tables: time in buckets, and who is a broker."""

from __future__ import annotations

from pathlib import Path

import pytest

from kcli.pipeline.rows.row_source import RowSource
from kcli.pipeline.writing import TableWriter
from kcli.report.asking import ask_all
from kcli.report.building import TableBuilder
from kcli.report.engine import ReportEngine
from kcli.report.prepared import EXCHANGE_FACTS
from tests.capture.messages import request, response
from tests.capture.wires import Wire, pcap

pytest.importorskip("duckdb")


def capture(folder: Path) -> Path:
    """A follower's fetch, a consumer's fetch, a broker's heartbeat, the markers that a broker sends, and those that an
    admin sends who asks for the quorum, too; each over a connection of its own."""
    packets = []
    for number, (client, replica) in enumerate((("follower", 2), ("consumer", -1))):
        wire = Wire((f"10.0.0.{number + 3}", 40000)).open()
        asked = {"replicaId": replica, "maxWaitMs": 1, "minBytes": 1, "topics": []}
        wire.client(request(1, 4, 1, asked, client)).server(response(1, 4, 1, {"responses": []})).close()
        packets += wire.packets
    wire = Wire(("10.0.0.9", 40000)).open()
    beat = {"brokerId": 1, "brokerEpoch": 1, "currentMetadataOffset": 1, "wantFence": False, "wantShutDown": False}
    wire.client(request(63, 0, 1, beat, "3")).server(response(63, 0, 1, {})).close()
    packets += wire.packets
    for address, client, keys in (("10.0.0.10", "sender", (27,)), ("10.0.0.11", "admin", (27, 55))):
        wire = Wire((address, 40000)).open()
        for number, key in enumerate(keys):
            wire.client(request(key, 1, number, {}, client)).server(response(key, 1, number, {}))
        packets += wire.close().packets
    path = folder / "roles.pcap"
    path.write_bytes(pcap(sorted(packets)))
    return path


def test_roles_and_buckets(tmp_path: Path) -> None:
    for _ in TableBuilder([str(capture(tmp_path))], str(tmp_path / "tables")).read():
        pass
    with ReportEngine(tmp_path / "tables") as tables:
        tables.derive()
        answers = ask_all(tables)
        brokers = tables.run("SELECT client_id, address FROM inner_clients ORDER BY address")[1]
        times = tables.run("SELECT time_ns, completed_ns FROM calls")[1]
    assert brokers == [("sender", "10.0.0.10"), ("follower", "10.0.0.3"), ("3", "10.0.0.9")]
    assert {row["client_id"]: row["role"] for row in answers.by_name["clients"].dicts()} == {
        "follower": "broker", "consumer": "client", "3": "broker", "sender": "broker", "admin": "client",
    }  # fmt: skip
    assert all(time % answers.step == 0 and 0 <= completed - time < answers.step for time, completed in times)


@pytest.mark.parametrize("name", ["java44-consume-classic.pcap", "old-librdkafka-on-3.9.pcap", "ipv6.pcapng"])
def test_facts_of_captures_are_those_of_the_pipelines_table(name: str, samples: Path, tmp_path: Path) -> None:
    """But for a replica's id, where the table's text is only asked whether it is one, and a throttle time of 0."""
    writer, wanted = TableWriter(str(tmp_path), "both"), frozenset({"exchanges", "exchange_facts"})
    put = lambda table, row: writer.put(table, row) if table in wanted else None  # noqa: E731
    source = RowSource(put, wanted, writer.put_batch, [str(samples / name)])
    for _ in source.read():
        pass
    source.flush(last=True)
    writer.close()
    same = "* REPLACE (replica_id >= 0 AS replica_id, nullif(throttle_ms, 0) AS throttle_ms)"
    with ReportEngine(tmp_path) as tables:
        tables.open("exchange_facts")
        ours, theirs = (
            tables.run(f"SELECT {same} FROM ({each}) ORDER BY ALL") for each in ("FROM exchange_facts", EXCHANGE_FACTS)
        )
    assert len(ours[1]) > 10
    assert [dict(zip(ours[0], row, strict=True)) for row in ours[1]] == [
        dict(zip(theirs[0], row, strict=True)) for row in theirs[1]
    ]
