"""The narrow tables: time in buckets, and who is a broker."""

from pathlib import Path

import pytest

from kcli.diagnose.diagnosis import read_facts
from kcli.diagnose.store import FactStore
from kcli.pipeline.derived.file_views import view_of
from kcli.report.asking import ask_fleet
from kcli.report.capture_tables import PAGE, ask_captures
from kcli.report.engine import ReportEngine
from kcli.report.prepared import FLEET_VIEWS
from tests.capture.messages import request, response
from tests.capture.wires import Wire, pcap
from tests.report.answers import written

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
    """Of a capture, and of the pipeline's tables of it."""
    path = capture(tmp_path)
    written([path], tmp_path / "tables")
    with ReportEngine(tmp_path / "tables") as tables, FactStore(PAGE) as store:
        read_facts([str(path)], store, lambda count: None, {})
        store.choose_optimizer()
        for answers, run in ((ask_fleet(tables), tables.run), (ask_captures(store), store.answer)):
            brokers = run("SELECT client_id, address FROM inner_clients ORDER BY address")[1]
            assert brokers == [("sender", "10.0.0.10"), ("follower", "10.0.0.3"), ("3", "10.0.0.9")]
            assert {row["client_id"]: row["role"] for row in answers.by_name["clients"].dicts()} == {
                "follower": "broker", "consumer": "client", "3": "broker", "sender": "broker", "admin": "client",
            }  # fmt: skip
            times = run("SELECT time_ns, completed_ns FROM page_calls")[1]
            assert times and all(
                time % answers.step == 0 and 0 <= completed - time < answers.step for time, completed in times
            )


@pytest.mark.parametrize("name", ["java44-consume-classic.pcap", "old-librdkafka-on-3.9.pcap", "ipv6.pcapng"])
def test_facts_of_captures_are_those_of_the_pipelines_table(name: str, samples: Path, tmp_path: Path) -> None:
    """But for a replica's id, where the table's text is only asked whether it is one, and a throttle time of 0."""
    found = "exchange_facts", "noted_exchanges"
    written([samples / name], tmp_path, "exchanges", *found)
    same = "* REPLACE (replica_id >= 0 AS replica_id, nullif(throttle_ms, 0) AS throttle_ms)"
    noted = "api, request, response, latency_ms, errors, completed_ns"
    with ReportEngine(tmp_path) as tables:
        for table, chosen in zip(found, (same, noted), strict=True):
            tables.define(table, FLEET_VIEWS[table])
            tables.define("captured", view_of(table, tmp_path))
            ours, theirs = (tables.run(f"SELECT {chosen} FROM {each} ORDER BY ALL") for each in ("captured", table))
            tables.execute("DROP VIEW captured")
            assert len(ours[1]) > 10 or table != "exchange_facts"
            assert [dict(zip(ours[0], row, strict=True)) for row in ours[1]] == [
                dict(zip(theirs[0], row, strict=True)) for row in theirs[1]
            ]
