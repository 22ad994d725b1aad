"""Captures run again against an embedded broker: ids, order, clients, versions, and a broker that goes away."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kcli.broker import Broker
from kcli.capture.api import read_capture
from kcli.capture.kafka.exchange import Exchange
from kcli.capture.kafka.record_fields import record_fields
from kcli.client.cluster import Client
from kcli.client.properties import ClientConfig
from kcli.records import build_batch, scan
from kcli.replay.traffic.choice import Choice
from kcli.replay.traffic.comparison import Level
from kcli.replay.traffic.outcome import Outcome
from kcli.replay.traffic.replaying import Setting, TrafficOptions, replay
from kcli.replay.traffic.survey import survey
from kcli.schemas.apikeys import (
    CONSUMER_GROUP_HEARTBEAT,
    FETCH,
    HEARTBEAT,
    INIT_PRODUCER_ID,
    JOIN_GROUP,
    LEAVE_GROUP,
    LIST_GROUPS,
    METADATA,
    OFFSET_COMMIT,
    PRODUCE,
    SYNC_GROUP,
)
from kcli.schemas.catalog import catalog
from kcli.topic_names import INTERNAL
from tests.replay.traffic.made import exchange

SAMPLES = Path(__file__).parents[3] / "samples"
FAST = TrafficOptions(scale=None)


def setting(
    items: Iterable[Exchange], choice: Choice, config: ClientConfig, options: TrafficOptions, outcome: Outcome
) -> Setting:
    return Setting(survey=survey(items, choice), choice=choice, config=config, options=options, outcome=outcome)


def run(
    items: Iterable[Exchange] | str,
    options: TrafficOptions = FAST,
    level: Level = "errors",
    choice: Choice | None = None,
    **broker: Any,
) -> tuple[Outcome, dict[str, list[bytes]]]:
    """The outcome, and the values of each partition afterwards, by "topic[partition]"."""
    outcome, found = run_for_logs(items, options, level, choice, **broker)
    return outcome, {name: list(log.values()) for name, log in found.items()}


def run_for_logs(
    items: Iterable[Exchange] | str,
    options: TrafficOptions = FAST,
    level: Level = "errors",
    choice: Choice | None = None,
    **broker: Any,
) -> tuple[Outcome, dict[str, dict[int, bytes]]]:
    """The same, with the values by offset."""
    choice = choice or Choice(catalog(None))
    outcome = Outcome(level, 5)

    def read() -> Iterable[Exchange]:
        return read_capture(str(SAMPLES / items)) if isinstance(items, str) else items

    async def work() -> dict[str, dict[int, bytes]]:
        # Records of any age, and in one segment each log: a capture makes topics of its own.
        lasting = {"log.retention.ms": "-1", "log.roll.ms": str(2**63 - 1)}
        async with Broker(**{"config": lasting, **broker}) as there:
            config = ClientConfig({"bootstrap.servers": there.bootstrap})
            await replay(read, setting(read(), choice, config, options, outcome))
            return await logs(config)

    return outcome, asyncio.run(work())


async def logs(config: ClientConfig) -> dict[str, dict[int, bytes]]:
    found: dict[str, dict[int, bytes]] = {}
    async with Client(config) as client:
        await client.refresh(None)
        topics = {name: each for name, each in client.metadata.topics.items() if name not in INTERNAL}
        for name, topic in topics.items():
            for index in range(topic.partitions):
                part = {"partition": index, "fetchOffset": 0, "partitionMaxBytes": 1 << 24}
                body = {
                    "replicaId": -1,
                    "maxWaitMs": 0,
                    "maxBytes": 1 << 24,
                    "topics": [{"topic": name, "partitions": [part]}],
                }
                leader = client.leader(name, index)
                assert leader is not None
                answer = await client.call(FETCH, body, node=leader.node, version=11)
                data = answer["responses"][0]["partitions"][0]["records"] or b""
                batches = [batch for batch in scan(data) if not batch.is_control]
                rows = [row for batch in batches for row in batch.records()]
                found[f"{name}[{index}]"] = {row.offset: row.value or b"" for row in rows}
    return found


def test_a_capture_of_many_apis_gives_the_same_errors_and_records() -> None:
    outcome, found = run("kcat-codecs.pcap")
    assert not outcome.has_differences(), [each.text for each in outcome.kept]
    assert outcome.apis["Produce"].live.records == outcome.apis["Produce"].captured.records == 1000
    assert sum(map(len, found.values())) == 1000
    assert outcome.apis["Fetch"].live.records == 1000
    assert outcome.late == 0


@pytest.mark.parametrize("file", ["kcat-codecs.pcap", "old-librdkafka-on-3.9.pcap", "java44-consume-classic.pcap"])
def test_what_one_broker_did_is_done_by_several(file: str) -> None:
    """A captured broker that is leader and coordinator at once: each request goes to who that is here."""
    alone, _ = run(file, release="4.0", choice=Choice(catalog(None), skip={FETCH}))
    several, _ = run(file, release="4.0", choice=Choice(catalog(None), skip={FETCH}), nodes=3)
    # A topic that is not there yet is unknown to who asks first: here that may be the replay, looking for its leader.
    assert {api: each.live.errors for api, each in several.apis.items() if api != "Metadata"} == {
        api: each.live.errors for api, each in alone.apis.items() if api != "Metadata"
    }
    assert [each.text for each in several.kept] == [each.text for each in alone.kept]


def test_every_client_several_times_each_with_a_group_of_its_own() -> None:
    outcome, found = run("kcat-codecs.pcap", TrafficOptions(scale=None, clients=3), level="none")
    assert outcome.apis["Produce"].live.exchanges == 21
    assert sum(map(len, found.values())) == 3000
    assert outcome.apis["JoinGroup"].live.errors == {"MEMBER_ID_REQUIRED": 3}
    assert outcome.apis["SyncGroup"].live.errors == {}


def test_repeated_runs_follow_each_other() -> None:
    outcome, found = run("kcat-codecs.pcap", TrafficOptions(scale=None, repeat=2))
    assert outcome.apis["Produce"].live.exchanges == 14
    assert sum(map(len, found.values())) == 2000


def test_old_requests_are_sent_in_versions_that_the_broker_has() -> None:
    """Produce v0 and v1 with message sets, Fetch v0 and v1, ListOffsets v0."""
    outcome, found = run("old-librdkafka-on-3.9.pcap", release="4.0", choice=Choice(catalog(None), skip={FETCH}))
    assert outcome.apis["Produce"].live.errors == {}
    assert outcome.apis["Produce"].live.records == outcome.apis["Produce"].captured.records > 0
    assert sum(map(len, found.values())) == outcome.apis["Produce"].captured.records


def idempotent(sequence: int, at: int, producer: int = 77) -> Exchange:
    data = build_batch([(1, b"k", b"v%d" % sequence, ())], producer_id=producer, producer_epoch=2,
                       base_sequence=sequence)  # fmt: skip
    part = {"index": 0, "errorCode": 0, "baseOffset": 500 + sequence}
    return exchange(
        PRODUCE,
        7,
        {"acks": -1, "timeoutMs": 1000, "topicData": [{"name": "t", "partitionData": [{"index": 0, "records": data}]}]},
        {"responses": [{"name": "t", "partitionResponses": [part]}]},
        at=at,
    )


def test_two_producers_at_once_append_in_the_captured_order() -> None:
    """The one that was asked first appended last."""

    def produced(client: str, offset: int, at: int, took: int) -> Exchange:
        data = build_batch([(1, b"k", client.encode(), ())])
        part = {"index": 0, "errorCode": 0, "baseOffset": offset}
        topic = {"name": "t", "partitionData": [{"index": 0, "records": data}]}
        answer = {"responses": [{"name": "t", "partitionResponses": [part]}]}
        body = {"acks": 1, "timeoutMs": 1000, "topicData": [topic]}
        return exchange(PRODUCE, 7, body, answer, at=at, took=took, client=client)

    items = [produced("10.0.0.1:3", 0, 9, 1), produced("10.0.0.1:2", 1, 5, 30), produced("10.0.0.1:1", 2, 0, 50)]
    outcome, found = run(items)
    assert not outcome.has_differences() and not outcome.late
    assert found == {"t[0]": [b"10.0.0.1:3", b"10.0.0.1:2", b"10.0.0.1:1"]}


def test_logs_of_producers_and_transactions_at_once_are_as_captured() -> None:
    """Kafka 4.4.0 with a producer, three transactional ones and a Java client, all on their way at once: every record
    that an answer gave an offset has it here, behind the marks of the same transactions.
    """
    file = str(Path(__file__).parent / "data/producers-at-once.pcap.gz")
    expected: dict[str, dict[int, bytes]] = {}
    for each in read_capture(file):
        for one in record_fields(each) if isinstance(each, Exchange) and each.api_key == PRODUCE else ():
            if one.base_offset is not None:
                rows = [row.value or b"" for batch in scan(one.data) for row in batch.records()]
                log = expected.setdefault(f"{one.label}[{one.partition}]", {})
                log.update({one.base_offset + at: value for at, value in enumerate(rows)})
    outcome, found = run_for_logs(file, choice=Choice(catalog(None), skip={FETCH}, admin=True))
    assert not outcome.has_differences(), [(each.api, each.text) for each in outcome.kept]
    assert sum(map(len, expected.values())) == 1560
    assert {name: found[name] for name in expected} == expected


def test_what_a_cluster_was_not_ready_for_is_not_sent() -> None:
    """The client's next attempt stands for it: records would be there twice, and a member that never comes be waited
    for."""
    data = build_batch([(1, b"k", b"v", ())])
    topic = {"name": "t", "partitionData": [{"index": at, "records": data} for at in (0, 1)]}
    body = {"acks": 1, "timeoutMs": 1000, "topicData": [topic]}

    def answered(*codes: int, at: int) -> Exchange:
        parts = [{"index": index, "errorCode": code, "baseOffset": -1} for index, code in enumerate(codes)]
        return exchange(PRODUCE, 7, body, {"responses": [{"name": "t", "partitionResponses": parts}]}, at=at)

    member = {"groupId": "g", "sessionTimeoutMs": 6000, "memberId": "", "protocolType": "consumer", "protocols": []}
    loading = {"errorCode": 14, "generationId": -1, "protocolName": "", "leader": "", "memberId": "", "members": []}
    outcome, found = run([answered(6, 6, at=0), answered(6, 0, at=5), exchange(JOIN_GROUP, 2, member, loading, at=9)])
    assert found == {"t[0]": [], "t[1]": [b"v"]}
    assert not outcome.has_differences()
    assert {api: dict(each.not_comparable) for api, each in outcome.apis.items()} == {
        "Produce": {"the captured cluster was not ready": 1},
        "JoinGroup": {"the captured cluster was not ready": 1},
    }
    assert not outcome.lost


def test_members_that_the_live_group_takes_one_by_one_join_once_more() -> None:
    """As captured they were in one generation; the embedded broker does not wait for the second."""
    outcome, _ = run([*pair_of_members()])
    assert not outcome.has_differences(), [(each.api, each.text) for each in outcome.kept]
    assert outcome.retried


def test_a_member_that_has_left_does_not_join_again() -> None:
    """It said so before its first answer came: that answer stands."""
    first, *_ = pair_of_members()
    body = {"groupId": "g", "memberId": "a"}
    leave = exchange(LEAVE_GROUP, 1, body, {"errorCode": 0}, at=5, took=200, client=first.link.client)
    outcome, _ = run([first, leave])
    assert outcome.apis["JoinGroup"].live.errors == {}


def test_a_rebalance_of_the_capture_alone_is_no_difference() -> None:
    """The live group had met before."""
    items = list(pair_of_members())
    beat = {"groupId": "g", "generationId": 1, "memberId": "a"}
    items.append(exchange(HEARTBEAT, 1, beat, {"errorCode": 27}, at=400, client="10.0.0.1:97"))
    outcome, _ = run(items)
    assert outcome.apis["Heartbeat"].captured.errors == {"REBALANCE_IN_PROGRESS": 1}
    assert outcome.apis["Heartbeat"].live.errors == {}
    assert not outcome.has_differences()


def pair_of_members() -> Iterator[Exchange]:
    protocols = [{"name": "range", "metadata": b""}]
    base = {"groupId": "g", "sessionTimeoutMs": 6000, "rebalanceTimeoutMs": 6000, "protocolType": "consumer"}
    members = [{"memberId": each, "metadata": b""} for each in ("a", "b")]
    for name, at in (("a", 0), ("b", 15)):
        client = f"10.0.0.1:{ord(name)}"
        named = {"errorCode": 0, "generationId": 1, "protocolName": "range", "leader": "a", "memberId": name}
        answer = named | {"members": members if name == "a" else []}
        body = base | {"memberId": "", "protocols": protocols}
        yield exchange(JOIN_GROUP, 2, body, answer, at=at, took=100 - at, client=client)
        shares = [{"memberId": each, "assignment": b"x"} for each in ("a", "b")] if name == "a" else []
        body = {"groupId": "g", "generationId": 1, "memberId": name, "assignments": shares}
        yield exchange(SYNC_GROUP, 1, body, {"errorCode": 0, "assignment": b"x"}, at=200 + at, took=9, client=client)
        beat = {"groupId": "g", "generationId": 1, "memberId": name}
        yield exchange(HEARTBEAT, 1, beat, {"errorCode": 0}, at=300 + at, client=client)


def fetch(offset: int, at: int, records: bytes = b"") -> Exchange:
    part = {"partition": 0, "fetchOffset": offset, "partitionMaxBytes": 1 << 20}
    answer = {"partitionIndex": 0, "errorCode": 0, "highWatermark": 1, "records": records}
    return exchange(
        FETCH,
        11,
        {"replicaId": -1, "maxWaitMs": 100, "minBytes": 1, "topics": [{"topic": "t", "partitions": [part]}]},
        {"responses": [{"topic": "t", "partitions": [answer]}]},
        at=at,
        client="10.0.0.2:1",
    )


def test_a_producer_from_before_the_capture_gets_an_id_and_offsets_move_with_the_log() -> None:
    """Its sequences begin at 0; a fetch of what it wrote asks for the live offset, behind the live answer."""
    outcome, found = run([idempotent(30, 0), idempotent(31, 10), fetch(531, 30, build_batch([(1, b"k", b"x", ())]))])
    assert not outcome.has_differences()
    assert found == {"t[0]": [b"v30", b"v31"]}
    assert outcome.apis["Fetch"].live.records == 1


def test_a_producers_id_and_epoch_are_the_live_ones() -> None:
    init = exchange(
        INIT_PRODUCER_ID,
        1,
        {"transactionalId": None, "transactionTimeoutMs": 1000},
        {"errorCode": 0, "producerId": 77, "producerEpoch": 2},
    )
    outcome, found = run([init, *(idempotent(at, 10 + at) for at in range(5))], TrafficOptions(scale=None, clients=2))
    assert not outcome.has_differences()
    assert sorted(found["t[0]"]) == sorted([b"v%d" % at for at in range(5)] * 2)


def test_transactions_end_as_captured() -> None:
    outcome, _ = run("java44-txn.pcap")
    assert not outcome.has_differences()
    assert outcome.apis["EndTxn"].live.errors == {"PRODUCER_FENCED": 1}
    assert outcome.apis["Fetch"].live.records == outcome.apis["Fetch"].captured.records


def test_what_the_cluster_lacks_is_counted_apart_with_all_that_hangs_on_it() -> None:
    """A group of the new protocol, whose members never join a broker that lacks it."""
    beat = {"groupId": "g", "memberId": "m", "memberEpoch": 0}
    joined = exchange(CONSUMER_GROUP_HEARTBEAT, 0, beat, {"errorCode": 0, "memberId": "m"}, at=0)
    part = {"partitionIndex": 0, "committedOffset": 1, "committedMetadata": ""}
    commit = {"generationIdOrMemberEpoch": 4, "memberId": "", "topics": [{"name": "t", "partitions": [part]}]}
    done = {"topics": [{"name": "t", "partitions": [{"partitionIndex": 0, "errorCode": 0}]}]}
    commits = [exchange(OFFSET_COMMIT, 8, commit | {"groupId": name}, done, at=5) for name in ("g", "h")]
    outcome, _ = run([joined, *commits], release="3.6")
    beats, committed = outcome.apis["ConsumerGroupHeartbeat"], outcome.apis["OffsetCommit"]
    assert beats.not_comparable == {"the broker does not have this API": 1}
    assert (list(beats.verdicts("errors")), beats.as_dict("errors")["lacking"]) == ([], dict(beats.not_comparable))
    assert committed.not_comparable == {"group g could not form": 1}
    assert list(committed.verdicts("errors")) == ["errors: none, live 1 ILLEGAL_GENERATION"]  # that of h
    assert {each.api for each in outcome.kept} == {"ConsumerGroupHeartbeat", "OffsetCommit"}


def test_a_member_that_joined_before_the_capture_is_counted_apart() -> None:
    beat = {"groupId": "g", "generationId": 4, "memberId": "old"}
    leave = {"groupId": "g", "members": [{"memberId": "old", "groupInstanceId": None}]}
    gone = {"errorCode": 0, "members": [{"memberId": "old", "groupInstanceId": None, "errorCode": 0}]}
    outcome, _ = run([exchange(HEARTBEAT, 4, beat, {"errorCode": 0}), exchange(LEAVE_GROUP, 4, leave, gone, at=9)])
    assert outcome.apis["Heartbeat"].not_comparable == {"the member joined before the capture": 1}
    assert outcome.apis["LeaveGroup"].not_comparable == {"group g began before the capture": 1}
    assert not outcome.has_differences()


def test_what_brokers_keep_for_themselves_is_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kcli.replay.traffic.replayed_connection.PAUSE", 0)
    part = {"partition": 0, "fetchOffset": 900, "partitionMaxBytes": 1}
    topics = [{"topic": "__consumer_offsets", "partitions": [part]}]
    body = {"maxWaitMs": 0, "minBytes": 0, "maxBytes": 1, "topics": topics}
    row = {"partitionIndex": 0, "errorCode": 0, "highWatermark": 900, "records": None}
    answer = {"errorCode": 0, "responses": [{"topic": "__consumer_offsets", "partitions": [row]}]}
    outcome, _ = run([exchange(FETCH, 11, body, answer)])
    assert outcome.apis["Fetch"].not_comparable == {"what brokers keep in internal topics is the cluster's own": 1}
    assert not outcome.has_differences()


def test_partitions_of_new_topics_are_led_as_captured() -> None:
    nodes = [{"nodeId": 10 + each, "host": "h", "port": 1 + each} for each in range(3)]
    leaders = [12, 10, 11, 12]
    parts = [{"partitionIndex": at, "leaderId": node, "replicaNodes": [node]} for at, node in enumerate(leaders)]
    topic = {"errorCode": 0, "name": "t", "partitions": [each | {"errorCode": 0} for each in parts]}
    items = [exchange(METADATA, 1, {"topics": [{"name": "t"}]}, {"brokers": nodes, "topics": [topic]})]
    for at, node in enumerate(leaders):
        server = f"10.0.0.{node}:9092"
        data = build_batch([(1, b"k", b"v%d" % at, ())])
        rows = [{"index": at, "errorCode": 0, "baseOffset": 0}]
        body = {
            "acks": -1,
            "timeoutMs": 1,
            "topicData": [{"name": "t", "partitionData": [{"index": at, "records": data}]}],
        }
        answer = {"responses": [{"name": "t", "partitionResponses": rows}]}
        items.append(exchange(PRODUCE, 3, body, answer, at=at, server=server, client=f"10.0.0.1:{5000 + node}"))
    outcome, found = run(items, nodes=3)
    assert outcome.retried == 0 and not outcome.has_differences()
    assert found == {f"t[{at}]": [b"v%d" % at] for at in range(4)}


def test_errors_that_last_are_not_waited_for_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kcli.replay.traffic.replayed_connection.PAUSE", 0)
    listed: dict[str, Any] = {"errorCode": 0, "groups": []}
    items = [exchange(LIST_GROUPS, 4, {"statesFilter": []}, listed, at=at) for at in (0, 10, 20)]
    outcome, _ = run(items, faults=["api=ListGroups,error=COORDINATOR_NOT_AVAILABLE"])
    assert outcome.retried == 50
    assert outcome.apis["ListGroups"].live.errors == {"COORDINATOR_NOT_AVAILABLE": 3}


def test_a_cluster_without_an_authorizer_is_no_difference() -> None:
    listed = exchange(LIST_GROUPS, 4, {"statesFilter": []}, {"errorCode": 0, "groups": []})
    outcome, _ = run([listed], faults=["api=ListGroups,error=SECURITY_DISABLED"])
    assert outcome.apis["ListGroups"].not_comparable == {"the cluster answers SECURITY_DISABLED": 1}
    assert not outcome.has_differences()


def test_what_the_captured_cluster_had_not_is_no_difference() -> None:
    listed = exchange(LIST_GROUPS, 4, {"statesFilter": []}, {"errorCode": 35, "groups": []})
    outcome, _ = run([listed])
    assert outcome.apis["ListGroups"].not_comparable == {"the captured cluster answered UNSUPPORTED_VERSION": 1}
    assert not outcome.has_differences()


def test_only_some_apis() -> None:
    outcome, found = run("kcat-codecs.pcap", choice=Choice(catalog(None), only={PRODUCE}))
    assert set(outcome.apis) == {"Produce"}
    assert sum(map(len, found.values())) == 1000


def test_the_captured_rhythm_is_kept() -> None:
    sent: list[float] = []

    class Noting(Outcome):
        def add(self, captured: Exchange, live: Exchange, identities: Any) -> None:
            sent.append(live.request_ns / 1e9)
            super().add(captured, live, identities)

    items = [idempotent(0, 0), idempotent(1, 400)]

    async def work() -> None:
        async with Broker() as there:
            config = ClientConfig({"bootstrap.servers": there.bootstrap})
            choice = Choice(catalog(None))
            await replay(lambda: items, setting(items, choice, config, TrafficOptions(scale=2.0), Noting("none")))

    begun = time.time()
    asyncio.run(work())
    assert sent[1] - begun >= 0.2


def test_a_broker_that_goes_away_ends_every_request() -> None:
    items = [idempotent(0, 0), idempotent(1, 10)]

    async def work() -> Outcome:
        outcome, choice = Outcome("errors"), Choice(catalog(None))
        async with Broker(faults=["api=Produce,close=0"]) as there:
            config = ClientConfig({"bootstrap.servers": there.bootstrap})
            await replay(lambda: items, setting(items, choice, config, FAST, outcome))
        return outcome

    outcome = asyncio.run(work())
    produced = outcome.apis["Produce"]
    assert produced.live.unanswered == 2
    assert sum(produced.problems.values()) == 2
    assert outcome.has_differences()


@pytest.mark.parametrize("file", ["ipv6.pcapng", "sasl-plain-scram.pcap", "java44-consume-classic.pcap"])
def test_every_sample_comes_to_its_end(file: str) -> None:
    outcome, _ = run(file, level="shape")
    assert sum(each.live.exchanges for each in outcome.apis.values()) > 10
    assert not any(each.problems for each in outcome.apis.values())
