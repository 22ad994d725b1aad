"""Every table's figures, counted another way: out of the brokers' own request logs, from what a consumer read, or by
hand.

One run on Spark over captures that have all of it, read by all tests. `remote_fetches` has its figures by hand in
test_partitions.py: nobody in these captures reads far behind the end.
"""

import gzip
import json
import struct
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kcli.pipeline.context import Options
from kcli.pipeline.run import run_pipeline
from kcli.pipeline.spark_engine import SparkEngine
from tests.capture.wires import Wire, packets_of, pcap
from tests.pipeline.outputs import decoded_lines, rows_of, run_here, time_text, unaccounted
from tests.request_log import PORTS, logged, unlike

ROOT = Path(__file__).parents[2]
HERE = ROOT / "tests/pipeline/data"
LOGGED = {
    "leader-change": HERE / "leader-change.pcap.zst",
    "kraft-boot": ROOT / "tests/capture/data/kraft-boot.pcap.zst",
    "java44-admin": ROOT / "tests/capture/data/java44-admin.pcap.gz",
    "java44-consume-classic": ROOT / "samples/java44-consume-classic.pcap",
    "old-librdkafka-on-3.9": ROOT / "samples/old-librdkafka-on-3.9.pcap",
    "kcat-codecs": ROOT / "samples/kcat-codecs.pcap",
}
LEADERSHIP = {6: "NOT_LEADER_OR_FOLLOWER", 74: "FENCED_LEADER_EPOCH"}

Row = dict[str, Any]


@pytest.fixture(scope="module")
def fleet(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All tables, of all these captures, with the secrets that a broker's log has, too."""
    output = tmp_path_factory.mktemp("fleet") / "out"
    run_pipeline(
        SparkEngine(spark), [str(path) for path in LOGGED.values()], Options(str(output), shares=3, secrets=True)
    )
    return output


def log_of(name: str) -> list[Row]:
    return list(logged(LOGGED[name].with_name(f"{name}.requests.jsonl.gz")))


def ports(connection: str) -> tuple[int, int]:
    found = PORTS.fullmatch(connection)
    assert found
    return int(found[1]), int(found[2])


def call(connection: str, correlation_id: int) -> tuple[int, int, int]:
    return (*ports(connection), correlation_id)


def entries(row: Row, api_key: int) -> Iterator[tuple[Row | None, Row | None, str]]:
    """(asked, answered, topic) of each partition of a Fetch (1) or Produce (0) in a log, each side on its own."""
    if row["requestHeader"]["requestApiKey"] != api_key:
        return
    lists = ("topics", "partitions", "partitions") if api_key else ("topicData", "partitionData", "partitionResponses")
    for topic in row["request"][lists[0]]:
        for each in topic[lists[1]]:
            yield each, None, topic.get("topicId") or topic.get("topic") or topic["name"]
    for topic in (row["response"] or {}).get("responses", ()):
        for each in topic[lists[2]]:
            yield None, each, topic.get("topicId") or topic.get("topic") or topic["name"]


@pytest.mark.parametrize("name", LOGGED)
def test_exchanges_are_those_in_the_log(name: str, fleet: Path) -> None:
    """Every field of every exchange, and never quicker than the broker says."""
    lines, waited = [], {}
    for row in rows_of(fleet, "exchanges"):
        line = {"connection": row["connection"], "requestHeader": json.loads(row["request_header"])}
        line |= {side: json.loads(row[side] or "null") for side in ("request", "response")}
        lines.append(line)
        waited[call(row["connection"], row["correlation_id"])] = row["latency_ms"]
    truth = log_of(name)
    answered = {call(line["connection"], line["requestHeader"]["correlationId"]) for line in lines if line["response"]}
    seen = [each for each in truth if call(each["connection"], each["requestHeader"]["correlationId"]) in answered]
    assert (
        len(truth) - len(seen) <= 14
    )  # sent or answered outside the capture; the manifest of kraft-boot counts as many
    assert not unlike(seen, lines)
    for each in seen:
        took = waited[call(each["connection"], each["requestHeader"]["correlationId"])]
        assert took > each["totalTimeMs"] - each["sendTimeMs"] - each["responseQueueTimeMs"] - 50


@pytest.mark.parametrize("name", LOGGED)
def test_fetch_partitions_are_those_in_the_log(name: str, fleet: Path) -> None:
    rows = defaultdict(list)
    for row in rows_of(fleet, "fetch_partitions"):
        rows[call(row["connection"], row["correlation_id"])].append(row)
    checked = 0
    for each in log_of(name):
        key = call(each["connection"], each["requestHeader"]["correlationId"])
        if each["requestHeader"]["requestApiKey"] != 1 or key not in rows:
            continue
        asked: Counter[Any] = Counter()
        answered: Counter[Any] = Counter()
        for asks, reported, topic in entries(each, 1):
            if asks is not None:
                asked[topic, asks["partition"], asks["fetchOffset"], asks["partitionMaxBytes"]] += 1
            if reported is not None:
                ends = (reported["highWatermark"], reported.get("lastStableOffset"), reported.get("logStartOffset"))
                answered[
                    topic, reported["partitionIndex"], reported["errorCode"] == 0, *ends, reported["recordsSizeInBytes"]
                ] += 1
        ours = rows[key]
        topics = [row["topic_id"] or row["topic"] for row in ours]
        assert asked == Counter(
            (topic, row["partition"], row["fetch_offset"], row["max_bytes"])
            for topic, row in zip(topics, ours, strict=True) if row["asked"]
        )  # fmt: skip
        if not answered or any(row["answered"] for row in ours):  # else the answer is not in the capture
            assert answered == Counter(
                (
                    topic, row["partition"], row["error"] is None, row["high_watermark"], row["last_stable_offset"],
                    row["log_start_offset"], row["records_bytes"],
                )
                for topic, row in zip(topics, ours, strict=True) if row["answered"]
            )  # fmt: skip
            checked += 1
        session = each["request"].get("sessionId", 0), each["request"].get("sessionEpoch", -1)
        assert {(row["session_id"], row["session_epoch"]) for row in ours} == {session}
    assert checked >= (0 if name == "kraft-boot" else 2)


def test_batches_hold_the_records_that_a_consumer_read(fleet: Path) -> None:
    """Of five topics, one a codec, written once and read once or twice: offsets, counts and times of their records."""
    read: dict[str, list[Row]] = defaultdict(list)
    with gzip.open(HERE / "kcat-codecs.records.jsonl.gz", "rt") as lines:
        for line in lines:
            record = json.loads(line)
            read[record["topic"]].append(record)
    assert len(read) == 5
    batches = [row for row in rows_of(fleet, "record_batches") if row["topic"] in read]
    for topic, records in read.items():
        produced = [row for row in batches if (row["topic"], row["api"]) == (topic, "PRODUCE")]
        fetched = [row for row in batches if (row["topic"], row["api"]) == (topic, "FETCH")]
        assert sum(row["count"] for row in produced) == sum(row["count"] for row in fetched) == len(records) == 200
        held = sorted(offset for row in fetched for offset in range(row["base_offset"], row["last_offset"] + 1))
        assert held == [record["offset"] for record in records]
        times = {record["offset"]: record["timestamp"] for record in records}
        for row in fetched:
            inside = [times[offset] for offset in range(row["base_offset"], row["last_offset"] + 1)]
            assert (row["base_timestamp"], row["max_timestamp"]) == (inside[0], max(inside))
        large = {row["compression"] for row in produced if row["count"] > 1}
        assert large == {topic.removeprefix("kcat-")}
        assert all(row["crc_valid"] and row["magic"] == 2 for row in produced + fetched)


def test_batches_have_the_bytes_that_brokers_logged(fleet: Path) -> None:
    sizes: Counter[Any] = Counter()
    for row in rows_of(fleet, "record_batches"):
        sizes[call(row["connection"], row["correlation_id"])] += row["size_in_bytes"]
    compared = 0
    for name in ("leader-change", "java44-admin", "java44-consume-classic", "kcat-codecs"):
        for each in log_of(name):
            key = call(each["connection"], each["requestHeader"]["correlationId"])
            if each["requestHeader"]["requestApiKey"] == 0:
                reported = sum(asks["recordsSizeInBytes"] for asks, _, _ in entries(each, 0) if asks)
                assert sizes[key] == reported
                compared += 1
    assert compared > 200


def test_sessions_are_those_of_the_logs(fleet: Path) -> None:
    """By session id: full and incremental fetches, who, and the partitions that the first one named."""
    truth: dict[tuple[int, int], list[Row]] = defaultdict(list)
    for name in ("leader-change", "java44-admin", "java44-consume-classic"):
        for each in log_of(name):
            if each["requestHeader"]["requestApiKey"] == 1 and each["response"]:
                session = each["request"]["sessionId"] or each["response"]["sessionId"]
                truth[ports(each["connection"])[0], session].append(each)
    ours = {
        (int(row["server"].rpartition(":")[2]), row["session_id"]): row
        for row in rows_of(fleet, "fetch_sessions") if row["session_id"] and row["client_id"] == "lab-java"
    }  # fmt: skip
    granted = {key for key, fetches in truth.items() if key[1]}
    assert set(ours) == granted
    assert len(granted) == 5
    for key in granted:
        fetches, row = truth[key], ours[key]
        epochs = [
            each["request"]["sessionEpoch"] for each in fetches
        ]  # -1, which closes it, names no partitions either
        assert row["fetches"] - row["unanswered"] == len(fetches)
        assert (row["full"], row["incremental"] - row["unanswered"]) == (epochs.count(0), len(epochs) - epochs.count(0))
        first = min(fetches, key=lambda each: each["requestHeader"]["correlationId"])
        assert row["partitions_first"] == sum(len(topic["partitions"]) for topic in first["request"]["topics"])
        sizes = [reported["recordsSizeInBytes"] for each in fetches for _, reported, _ in entries(each, 1) if reported]
        assert row["records_bytes"] == sum(sizes)


def test_clients_are_those_of_the_logs(fleet: Path) -> None:
    """Requests by client, API and version; what the client says it is; and what a 4.4 broker takes, by itself."""
    clients = rows_of(fleet, "clients")
    asked: Counter[Any] = Counter()
    software: dict[str, set[Any]] = defaultdict(set)
    taken: dict[int, tuple[int, int]] = {}
    for name in LOGGED:
        for each in log_of(name):
            header = each["requestHeader"]
            asked[header["clientId"], header["requestApiKey"], header["requestApiVersion"]] += 1
            software[header["clientId"]].add(tuple(each["clientInformation"].values()))
            if header["requestApiKey"] == 18 and name == "java44-admin":
                taken |= {k["apiKey"]: (k["minVersion"], k["maxVersion"]) for k in each["response"]["apiKeys"]}
    ours: Counter[Any] = Counter()
    for row in clients:
        ours[row["client_id"], row["api_key"], row["api_version"]] += row["requests"]
    for client in ("lab-java", "rdkafka", "broker-1-fetcher-0"):
        theirs = {key: count for key, count in asked.items() if key[0] == client and key[1] != 18}
        assert theirs
        found = {key: ours[key] for key in theirs}
        assert all(0 <= found[key] - count <= 2 for key, count in theirs.items()), (found, theirs)
    (java,) = {(row["software"], row["software_version"]) for row in clients if row["client_id"] == "lab-java"}
    assert java in software["lab-java"]
    for row in clients:
        if row["api_key"] in taken:
            low = taken[row["api_key"]][0] if row["api_key"] else 3  # of Produce it says 0, for librdkafka's sake
            assert (row["accepted_min"], row["accepted_max"]) == (low, taken[row["api_key"]][1]), row["api"]
            inside = row["accepted_min"] <= row["api_version"] <= row["accepted_max"]
            assert (row["verdict"] == "ok") == inside
    refused = {(row["api"], row["api_version"]) for row in clients if row["verdict"] == "refused"}
    assert refused == {("Fetch", 0), ("Fetch", 1), ("ListOffsets", 0), ("Produce", 0), ("Produce", 1)}


def test_down_conversions_are_the_fetches_that_took_a_broker_time(fleet: Path) -> None:
    """A 3.9 broker logs `messageConversionsTime` where it converts, and of what size the answer's records are."""
    rows: dict[Any, list[Row]] = defaultdict(list)
    for row in rows_of(fleet, "down_conversions"):
        rows[call(row["connection"], row["correlation_id"])].append(row)
    reported: Counter[Any] = Counter()
    for each in log_of("old-librdkafka-on-3.9"):
        if each["requestHeader"]["requestApiKey"] == 1 and "messageConversionsTime" in each:
            for _, answer, topic in entries(each, 1):
                if answer is not None and answer["recordsSizeInBytes"]:
                    key = call(each["connection"], each["requestHeader"]["correlationId"])
                    reported[key, topic, answer["partitionIndex"], answer["recordsSizeInBytes"]] += 1
    ours = Counter(
        (key, row["topic"], row["partition"], row["converted_bytes"]) for key, found in rows.items() for row in found
    )
    assert ours == reported
    assert len(reported) > 10
    assert {row["to_magic"] for found in rows.values() for row in found} == {0}


def test_leader_changes_are_the_errors_in_the_log(fleet: Path) -> None:
    """Per client, API and partition: errors, whom the answers hinted at, and by whom the next good one came."""
    errors: Counter[Any] = Counter()
    hints: set[Any] = set()
    for each in log_of("leader-change"):
        key = each["requestHeader"]["requestApiKey"]
        if key not in (0, 1):
            continue
        nodes = {node["nodeId"]: f"{node['host']}:{node['port']}" for node in each["response"].get("nodeEndpoints", ())}
        for _, reported, _ in entries(each, key):
            if reported is not None and reported["errorCode"] in LEADERSHIP:
                who = ("PRODUCE", "FETCH")[key], reported["index" if key == 0 else "partitionIndex"]
                errors[who] += 1
                leader = reported["currentLeader"]["leaderId"]
                hints.add((*who, LEADERSHIP[reported["errorCode"]], leader, nodes[leader]))
    rows = [row for row in rows_of(fleet, "leader_changes") if row["client_id"] == "lab-java"]
    ours: Counter[Any] = Counter()
    for row in rows:
        ours[row["api"], row["partition"]] += row["error_answers"]
    assert ours == errors
    assert sum(errors.values()) == 35
    assert {row["topic"] for row in rows} == {"lead"}
    found = {
        (row["api"], row["partition"], row["error"], row["hint_leader"], row["hint_server"])
        for row in rows if row["hint_sent"]
    }  # fmt: skip
    assert found <= hints
    assert len(found) > 10
    assert all(row["hint_saves_ms"] == 0 for row in rows if row["hint_sent"] and row["recovered"])


def test_a_leader_change_by_hand(fleet: Path) -> None:
    """Partition 1 for the producer. Three answers were "not leader" before it went to the one it was told of."""
    (row,) = [
        row for row in rows_of(fleet, "leader_changes")
        if (row["client_id"], row["api"], row["partition"], row["error_answers"]) == ("lab-java", "PRODUCE", 1, 3)
    ]  # fmt: skip
    answers = []
    for line in decoded_lines([LOGGED["leader-change"]]):
        if line.get("requestHeader", {}).get("requestApiKey") == 0 and line["response"]:
            for topic in line["response"]["responses"]:
                answers += [
                    (at_us(line["timestamp"]) + round(line["latencyMs"] * 1000), each["errorCode"], line["connection"])
                    for each in topic["partitionResponses"] if each["index"] == 1
                ]  # fmt: skip
    answers.sort()
    begun = next(n for n, (at, code, _) in enumerate(answers) if code and time_text(row["timestamp"])[:-1] == text(at))
    ended = next(n for n in range(begun, len(answers)) if answers[n][1] == 0)
    assert [code for _, code, _ in answers[begun:ended]] == [6, 6, 6]
    assert row["lost_ms"] == pytest.approx((answers[ended][0] - answers[begun][0]) / 1000, abs=0.01)
    assert answers[ended][2].startswith(row["to_server"])
    assert answers[begun][2].startswith(row["from_server"])


def at_us(timestamp: str) -> int:
    from datetime import datetime

    when = datetime.fromisoformat(timestamp)
    return int(when.timestamp()) * 1_000_000 + when.microsecond


def text(us: int) -> str:
    from datetime import UTC, datetime

    return f"{datetime.fromtimestamp(us // 1_000_000, UTC):%Y-%m-%dT%H:%M:%S}.{us % 1_000_000:06}"


def test_snapshots_are_those_that_the_log_says_were_fetched(fleet: Path) -> None:
    """What a broker that came late fetched: one snapshot, in one answer."""
    (truth,) = [each for each in log_of("kraft-boot") if each["requestHeader"]["requestApiKey"] == 59]
    (asked,) = truth["request"]["topics"][0]["partitions"]
    (reported,) = truth["response"]["topics"][0]["partitions"]
    (row,) = rows_of(fleet, "quorum")
    assert (row["end_offset"], row["epoch"]) == (asked["snapshotId"]["endOffset"], asked["snapshotId"]["epoch"])
    assert (row["size_bytes"], row["received_bytes"], row["requests"]) == (reported["size"], reported["size"], 1)
    assert (row["topic"], row["partition"], row["complete"]) == ("__cluster_metadata", 0, True)
    assert ports(f"{row['server']}-{row['client']}") == ports(truth["connection"])
    assert row["seconds"] * 1000 == pytest.approx(truth["totalTimeMs"], abs=50)


def test_lineage_counts_what_is_in_the_files(fleet: Path) -> None:
    """Packets and bytes of TCP, counted with a few lines that know Ethernet, IPv4 and TCP and nothing else."""
    files = {Path(row["name"]): row for row in rows_of(fleet, "lineage") if row["scope"] == "file"}
    assert set(files) == set(LOGGED.values())
    for name in ("java44-consume-classic", "kcat-codecs", "old-librdkafka-on-3.9"):
        packets = packets_of(LOGGED[name])
        row = files[LOGGED[name]]
        assert row["packets"] == row["tcp_packets"] == len(packets)
        assert row["payload_bytes"] == sum(tcp_bytes(packet.data) for packet in packets)
        assert row["bytes"] == LOGGED[name].stat().st_size
    assert unaccounted(fleet) == 0


def tcp_bytes(frame: bytes) -> int:
    header = (frame[14] & 15) * 4
    total, protocol = struct.unpack_from(">H", frame, 16)[0], frame[23]
    assert (frame[12:14], protocol) == (b"\x08\x00", 6)
    return int(total - header - (frame[14 + header + 12] >> 4) * 4)


def test_what_cannot_be_decoded_by_hand(tmp_path: Path, output: Path) -> None:
    """Ten exchanges, then: an answer whose body is cut short, a request without an answer; and another talk of 40
    bytes that are no Kafka. Each byte of them is counted once."""
    from tests.capture.messages import metadata, request

    wire = Wire(client=("10.0.0.1", 40_000)).open()
    for number in range(10):
        asked, reported = metadata(number)
        wire.client(asked).server(reported)
    asked, reported = metadata(10)
    short = struct.pack(">i", len(reported) - 4 - 7) + reported[4:-7]
    wire.client(asked).server(short)
    last = request(3, 12, 11, {"topics": None})
    wire.client(last)
    other = Wire(client=("10.0.0.2", 40_001)).open().client(b"GET / HTTP/1.1\r\nHost: kafka.example\r\n\r\n")
    path = tmp_path / "made.pcap"
    path.write_bytes(pcap(sorted(wire.close().packets + other.close().packets)))
    run_here([path], output, shares=2)
    events = Counter((row["event"], row["bytes"]) for row in rows_of(output, "undecodable"))
    assert events["undecodable", len(short)] == 1
    assert events["unanswered-at-end", len(last)] == 1
    http = [row for row in rows_of(output, "undecodable") if row["connection"] and "40001" in row["connection"]]
    assert sum(row["bytes"] for row in http) == 39
    assert unaccounted(output) == 0
    whole = [row for row in rows_of(output, "exchanges") if row["response"]]
    assert len(whole) == 10
