"""Tables of what requests say of transactions, members and partitions; what is wrong; what TCP says of connections."""

import json
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("duckdb")

from kcli.cli.main import main
from kcli.diagnose import diagnose
from tests.capture.messages import metadata
from tests.capture.wires import ACK, SYN, Wire, pcap
from tests.core.capture.test_paths import WAYS, mixed, through, wire
from tests.diagnose.captured import DATA
from tests.records.slips.making import batch_bytes, checked
from tests.rules.test_by_hand import HELLO, Talk, refused

Ask = Callable[..., Any]
TOPIC_ID = "LiM8oXcTSBWR3XF1qnjt6A"
INCIDENT = DATA / "transactional-id-clash-refunds.pcap.zst"


def test_transactions_have_what_was_written_in_them(samples: Path, ask: Ask) -> None:
    path = samples / "java44-txn.pcap"
    rows = ask("SELECT * FROM transactions", path)
    assert Counter(row["outcome"] for row in rows) == {"committed": 5, "aborted": 2, "fenced": 1}
    [written] = ask(
        "SELECT sum(count)::INT AS records, sum(size_in_bytes)::INT AS bytes FROM record_batches "
        "WHERE api = 'PRODUCE' AND is_transactional",
        path,
    )
    assert sum(row["records"] for row in rows) == written["records"] > 20
    assert sum(row["records_bytes"] for row in rows) == written["bytes"]
    assert [row["commits_offsets"] for row in rows].count(True) == 1
    assert {row["transactional_id"] for row in rows} == {"pay-1"}
    assert all(row["outcome"] == "fenced" or row["begun"] < row["ended"] for row in rows)


def test_transactions_that_do_not_end_well(ask: Ask) -> None:
    counts = "SELECT outcome, count(*) AS n, count(ended) AS ends FROM transactions GROUP BY ALL"
    found = {row["outcome"]: row for row in ask(counts, INCIDENT)}
    assert found["fenced"]["n"] == 1 and found["committed"]["n"] == found["committed"]["ends"] > 30
    rows = ask("SELECT * FROM transactions WHERE outcome = 'open'", DATA / "hanging-transaction-settlement.pcap.zst")
    assert [(row["ended"], row["duration_ms"]) for row in rows] == [(None, None)] and rows[0]["partitions"]


def test_members_come_and_go(samples: Path, ask: Ask) -> None:
    [row] = ask("SELECT * FROM members", samples / "java44-txn.pcap")
    assert (row["group_id"], row["client_id"], row["joins"]) == ("pay", "lab-java", 1)
    assert row["assignment"] == ["pay-in-0", "pay-in-1"] and row["reason"] == "the consumer is being closed"
    assert row["joined_at"] < row["left_at"] <= row["last_request"] and row["last_fetch"] is not None
    static = ask(
        "SELECT * FROM members WHERE instance_id IS NOT NULL", DATA / "duplicate-static-member-trades.pcap.zst"
    )
    assert (
        "FENCED_INSTANCE_ID" in {row["reason"] for row in static} and len({row["instance_id"] for row in static}) == 2
    )


def test_a_member_has_no_generation_of_a_refusal_and_no_timeout_that_it_keeps(ask: Ask, tmp_path: Path) -> None:
    """A heartbeat of KIP-848 repeats nothing that is as before (-1); a refused one is answered with epoch 0."""
    steady, refused_one = Talk("steady"), Talk("late", 41000)
    answer = {"memberId": "m", "heartbeatIntervalMs": 5000}
    beat = {"groupId": "g", "memberId": "m", "memberEpoch": 3, "rebalanceTimeoutMs": -1}
    steady.call(68, 1, beat, answer | {"memberEpoch": 3})
    beat |= {"memberId": "n", "memberEpoch": 0, "rebalanceTimeoutMs": 9000}
    refused_one.call(68, 1, beat, {"errorCode": 111, "memberEpoch": 0})
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap(sorted(steady.wire.packets + refused_one.wire.packets)))
    rows = ask("SELECT generation, rebalance_timeout_ms FROM members ORDER BY member_id", path)
    assert [tuple(row.values()) for row in rows] == [(3, None), (None, 9000)]


def test_partitions_as_metadata_tells_of_them(ask: Ask) -> None:
    query = "SELECT * FROM metadata_partitions ORDER BY server, topic, partition, completed_ns"
    rows = ask(query, DATA / "broker-restart-tickets.pcap.zst")
    assert {row["leader"] for row in rows} >= {1, 3} and len({row["server"] for row in rows}) > 1
    assert all(row["leader_address"].startswith("127.0.0.1:") for row in rows if row["leader"] >= 0)
    states = [tuple(value for name, value in row.items() if name not in ("timestamp", "completed_ns")) for row in rows]
    assert all(one != other for one, other in pairwise(states))


@pytest.mark.parametrize("path", [INCIDENT, DATA / "auth-failure-ledger.pcap.zst"], ids=lambda path: str(path.name))
def test_findings_are_those_of_diagnose(path: Path, ask: Ask) -> None:
    rows = ask("SELECT * FROM findings ORDER BY rank", path)
    found = diagnose([str(path)]).findings
    assert found and [row["rank"] for row in rows] == [*range(1, len(found) + 1)]
    for row, each in zip(rows, found, strict=True):
        assert (row["finding"], row["severity"], row["text"]) == (each.finding, each.severity, each.text)
        assert (json.loads(row["subject"]), json.loads(row["evidence"])) == (each.subject, each.evidence)


def test_how_connections_end_and_who_tried_to_log_in(ask: Ask) -> None:
    rows = ask("SELECT * FROM connections", DATA / "auth-failure-ledger.pcap.zst")
    assert {row["mechanism"] for row in rows} == {"PLAIN"} and {row["login"] for row in rows} == {None}
    results = Counter(row["login_result"] for row in rows)
    assert results["SASL_AUTHENTICATION_FAILED"] > 5 and results["accepted"] == 2
    assert {row["closed_by"] for row in rows} == {"client", "server", None}
    for row in rows:
        assert (row["closed_how"] == "end of capture") == (row["closed"] is None)
        assert row["closed"] is None or row["opened"] < row["closed"]
    tried = ask("SELECT DISTINCT login FROM connections", DATA / "auth-failure-ledger.pcap.zst", secrets=True)
    assert all(row["login"].startswith("User:") for row in tried)


def test_scram_is_accepted_when_it_ends_and_names_who_was_refused(samples: Path, ask: Ask) -> None:
    rows = ask("SELECT * FROM connections WHERE mechanism LIKE 'SCRAM%'", samples / "sasl-plain-scram.pcap")
    found = Counter((row["login"], row["principal"], row["login_result"]) for row in rows)
    assert found["User:alice", "User:alice", "accepted"] > 0
    assert all(principal is None for _, principal, result in found if result == "SASL_AUTHENTICATION_FAILED")


def test_tcp_by_direction_and_from_where_it_was_captured(ask: Ask) -> None:
    near, far = "client LIKE '10.99.1.1:%'", "client LIKE '10.99.1.2:%' AND opened IS NOT NULL"
    path = DATA / "slow-network-reports.pcap.zst"
    rows = ask(f"SELECT *, {far} AS far FROM connections WHERE {far} OR {near}", path)
    assert all(row["syn_ms"] < 5 and row["ack_ms"] == pytest.approx(141, abs=10) for row in rows if row["far"])
    assert all(row["server_rtt_p50_ms"] > 100 > row["client_rtt_p50_ms"] for row in rows if row["far"])
    [slow] = ask(
        "SELECT sum(client_zero_windows)::INT AS times, sum(client_zero_window_ms) AS ms, "
        "sum(server_zero_windows)::INT AS others FROM connections",
        DATA / "slow-reader-catalog.pcap.zst",
    )
    assert slow["times"] > 10 and slow["ms"] > 1000 and not slow["others"]


def test_a_handshake_captured_in_another_order_has_no_time(ask: Ask, tmp_path: Path) -> None:
    made = Wire()
    for sender, flags in ((1, SYN | ACK), (0, SYN), (0, ACK)):
        made.add(sender, flags)
    made.client(metadata(1)[0]).server(metadata(1)[1])
    (tmp_path / "a.pcap").write_bytes(pcap(made.packets))
    [row] = ask("SELECT syn_ms, ack_ms FROM connections", tmp_path / "a.pcap")
    assert row["syn_ms"] is None and row["ack_ms"] > 0


def test_two_connections_of_the_same_ends_are_counted_apart(ask: Ask, tmp_path: Path) -> None:
    one, other = wire(20, 1000), wire(5, 2_500_000_000)
    (tmp_path / "a.pcap").write_bytes(
        pcap(mixed(*(through(each.packets, way) for each, way in zip((one, other), WAYS["two VLANs"], strict=True))))
    )
    rows = ask("SELECT * FROM connections ORDER BY connection", tmp_path / "a.pcap")
    name = "10.0.0.2:9092-10.0.0.1:40000"
    assert [(row["connection"], row["requests"]) for row in rows] == [(name, 20), (f"{name}#2", 5)]
    alone = [row["client_segments"] for each in (one, other) for row in counted_alone(ask, tmp_path, each)]
    assert [row["client_segments"] for row in rows] == alone
    assert not sum(row["client_retransmissions"] + row["client_holes"] for row in rows)


def counted_alone(ask: Ask, folder: Path, each: Wire) -> Any:
    (folder / "b.pcap").write_bytes(pcap(each.packets))
    return ask("SELECT client_segments FROM connections", folder / "b.pcap")


def test_topics_are_named_by_what_is_said_and_by_what_is_in_them(ask: Ask) -> None:
    [row] = ask("SELECT topic, how FROM topics", DATA / "commit-audit-sink.pcap.zst")
    assert row == {"topic": "audit-log", "how": "said"}
    path = DATA / "lagging-consumer-pageviews.pcap.zst"
    named = ask(
        "SELECT DISTINCT t.topic, how, f.topic AS said FROM fetch_partitions f JOIN topics t USING (topic_id)", path
    )
    assert named == [{"topic": "pageviews", "how": "same batch", "said": None}]


def test_a_topic_is_named_by_who_commits_what_it_fetched(ask: Ask, tmp_path: Path) -> None:
    """Twice at least, as once may be chance where it commits other topics, too."""

    def talk(times: int, *others: str) -> Path:
        made = Talk("reader")
        for offset in range(5, 5 + times):
            part = {"partition": 0, "fetchOffset": offset, "partitionMaxBytes": 9}
            asked = {"sessionEpoch": -1, "topics": [{"topicId": TOPIC_ID, "partitions": [part]}]}
            given = {"partitionIndex": 0, "highWatermark": 9, "logStartOffset": 0}
            made.call(1, 13, asked, {"responses": [{"topicId": TOPIC_ID, "partitions": [given]}]})
            parts = [{"partitionIndex": 0, "committedOffset": offset}]
            topics = [{"name": name, "partitions": parts} for name in ("orders", *others)]
            topics[1:] = [each | {"partitions": [parts[0] | {"committedOffset": 3}]} for each in topics[1:]]
            answer = [{"name": "orders", "partitions": [{"partitionIndex": 0, "errorCode": 0}]}]
            made.call(8, 8, {"groupId": "g", "memberId": "m", "topics": topics}, {"topics": answer})
        (tmp_path / "a.pcap").write_bytes(pcap(made.wire.packets))
        return tmp_path / "a.pcap"

    for times, others in ((2, ["bills"]), (1, [])):
        [row] = ask("SELECT topic_id, topic, how FROM topics", talk(times, *others))
        assert row == {"topic_id": TOPIC_ID, "topic": "orders", "how": "committed"}
    assert ask("SELECT * FROM topics", talk(1, "bills")) == []


@pytest.mark.parametrize("control", [False, True])
def test_the_end_of_a_transaction_names_no_topic(control: bool, ask: Ask, tmp_path: Path) -> None:
    """Its marker is the same in all partitions, those of __consumer_offsets, too."""
    made = Talk("reader")
    for offset in (5, 6):
        data = bytearray(batch_bytes([(b"\0\0\0\1", b"\0" * 6)], time=1_700_000_000_000 + offset))
        data[22] |= 0x30 if control else 0
        for version, topic in ((11, {"topic": "orders"}), (13, {"topicId": TOPIC_ID})):
            asked = {"sessionEpoch": -1, "topics": [topic | {"partitions": [{"partition": 0, "fetchOffset": offset}]}]}
            part = {"partitionIndex": 0, "highWatermark": 9, "records": checked(bytes(data))}
            made.call(1, version, asked, {"responses": [topic | {"partitions": [part]}]})
    (tmp_path / "a.pcap").write_bytes(pcap(made.wire.packets))
    rows = ask("SELECT topic, how FROM topics", tmp_path / "a.pcap")
    assert rows == ([] if control else [{"topic": "orders", "how": "same batch"}])


def test_mid_stream_the_client_is_known_by_what_it_asks(ask: Ask, tmp_path: Path) -> None:
    asked, answer = metadata(1)
    (tmp_path / "a.pcap").write_bytes(pcap(Wire(client=("10.0.0.9", 1234)).client(asked).server(answer).packets))
    [row] = ask("SELECT * FROM connections", tmp_path / "a.pcap")
    assert row["client"] == "10.0.0.9:1234" and row["client_bytes"] == row["request_bytes"]
    assert (row["opened"], row["closed"], row["closed_how"]) == (None, None, "end of capture")


def test_what_is_wrong_may_be_that_there_is_no_kafka(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.pcap"
    wires = [refused(40000 + number, HELLO, b"") for number in range(3)]
    path.write_bytes(pcap(sorted(packet for each in wires for packet in each.packets)))
    assert main(["sql", "SELECT finding FROM findings", str(path), "--format", "csv"]) == 0
    assert capsys.readouterr().out.split() == ["finding", "tls-on-plaintext"]
    assert main(["sql", "SELECT * FROM members", str(path)]) == 3
