"""What a test does with an embedded broker: records, requests, faults, watches, interceptions, its clock."""

from __future__ import annotations

import threading
from typing import Any, ClassVar

import pytest

from kcli import EmbeddedBroker, UsageError, embedded_broker
from kcli.broker.control.client_request import ClientRequest
from kcli.broker.control.control import MOST, Journal
from kcli.errors import NetworkError
from kcli.schemas import apikeys as keys
from kcli.schemas.apikeys import JOIN_GROUP, METADATA, PRODUCE
from kcli.schemas.errors import error_name
from tests.broker.control.asking import ask, produce
from tests.broker.talk import fetch_body

JOINED = {
    "groupId": "g",
    "sessionTimeoutMs": 10_000,
    "rebalanceTimeoutMs": 10_000,
    "memberId": "",
    "protocolType": "consumer",
    "protocols": [{"name": "range", "metadata": b""}],
}


def test_records_are_written_and_read() -> None:
    with embedded_broker() as kafka:
        kafka.create_topic("orders", 3, configs={"cleanup.policy": "compact"})
        assert kafka.append("orders", ["a", b"b"], partition=2) == [0, 1]
        given = {"key": "k", "value": None, "headers": {"h": "1"}, "timestamp": 7, "partition": 1}
        kafka.append("orders", [("key", "v"), given])
        kafka.append("new", "one")
        found = kafka.records("orders", 1)
        assert found[-1][1:] == (len(found) - 1, 7, b"k", None, (("h", b"1"),))
        assert [each.value for each in kafka.records("orders", 2)][:2] == [b"a", b"b"]
        assert sum(each.key == b"key" for each in kafka.records("orders")) == 1
        assert [each.value for each in kafka.records("new")] == [b"one"]
        for wrong in ({"kee": "k"}, ("a", "b", "c"), 5, {"partition": 9}):
            with pytest.raises(UsageError):
                kafka.append("orders", [wrong])  # type: ignore[list-item]
        with pytest.raises(UsageError, match="no topic nope; there are new, orders"):
            kafka.records("nope")
        with pytest.raises(UsageError, match="no partition 7"):
            kafka.records("orders", 7)


def test_only_what_was_committed() -> None:
    with embedded_broker() as kafka:
        kafka.create_topic("t")
        from tests.broker.talk import connected, run
        from tests.broker.transactions.producer import Producer

        async def work() -> None:
            async with connected(kafka.broker) as talk:
                producer = Producer(talk, implicit=True)
                await producer.init()
                for commit in (True, False):
                    await producer.send(f"commit {commit}")
                    await producer.end(commit=commit)
                await producer.send("open")

        run(work())
        assert [each.value for each in kafka.records("t", committed=True)] == [b"commit True"]
        assert len(kafka.records("t")) == 3


def test_a_faulted_partition_is_not_written_and_the_others_are() -> None:
    with embedded_broker() as kafka:
        kafka.create_topic("t", 3)
        with kafka.fault(api="Produce", topic="t", partition=1, error="NOT_LEADER_OR_FOLLOWER", count=1) as fault:
            rows = produce(kafka, "t", 0, 1, 2)
            assert [error_name(each["errorCode"]) for each in rows] == ["NONE", "NOT_LEADER_OR_FOLLOWER", "NONE"]
            fault.wait(hits=1)
            assert fault.hits == 1 and "hits" in repr(fault)
            assert [each.partition for each in kafka.records("t")] == [0, 2]
            assert [each["errorCode"] for each in produce(kafka, "t", 1)] == [0]
        assert kafka.requests("Produce")[0].errors == ["NOT_LEADER_OR_FOLLOWER"]


def test_a_fault_ends_with_its_block() -> None:
    with embedded_broker() as kafka:
        kafka.create_topic("t")
        with kafka.fault("api=Produce,error=NOT_LEADER_OR_FOLLOWER"):
            assert produce(kafka, "t")[0]["errorCode"] == 6
        assert produce(kafka, "t")[0]["errorCode"] == 0
        handle = kafka.fault(api=["Fetch", "Produce"], error="NOT_LEADER_OR_FOLLOWER", client="other")
        assert produce(kafka, "t")[0]["errorCode"] == 0
        assert produce(kafka, "t", client="other")[0]["errorCode"] == 6
        handle.remove()
        handle.remove()
        assert produce(kafka, "t", client="other")[0]["errorCode"] == 0
        for parts in ({"error": "NOPE"}, {"api": "Gret", "drop": True}, {"topic": "a,b", "drop": True}, {"x": 1}):
            with pytest.raises(UsageError):
                kafka.fault(**parts)
        kept = kafka.fault(api="Produce", drop=True, error=None, close=False)
    kept.remove()


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        ({}, "a group or a topic expected"),
        ({"topic": "t", "state": "Stable"}, "state and members are of a group"),
        ({"topic": "t", "members": 0}, "state and members are of a group"),
        ({"group": "g", "records": 1}, "records of a topic"),
        ({"group": "g", "state": "stabel"}, "no such state stabel; did you mean Stable"),
    ],
)
def test_a_wait_for_nothing_that_there_is_is_refused(wanted: dict[str, Any], why: str) -> None:
    with embedded_broker() as kafka, pytest.raises(UsageError, match=why):
        kafka.wait(**wanted, timeout=0)


def test_a_wait_that_fails_shows_what_was_asked() -> None:
    with embedded_broker() as kafka:
        kafka.create_topic("t")
        produce(kafka, "t", client="app")
        fault = kafka.fault(api="Fetch", delay=1)
        with pytest.raises(TimeoutError) as caught:
            fault.wait(hits=3, timeout=0.01)
        assert "fault api=Fetch,delay=1: 0 hits; 3 expected" in str(caught.value)
        assert "app 127.0.0.1:" in str(caught.value) and "Produce v9 [t]: ok" in str(caught.value)


def test_requests_are_seen_decoded() -> None:
    with embedded_broker() as kafka:
        kafka.create_topic("t")
        assert kafka.requests() == []
        produce(kafka, "t", client="app")
        ask(kafka, METADATA, 9, {"topics": [{"name": "a b"}]}, client="other")
        (found,) = kafka.requests("Produce", "app")
        assert (found.api, found.version, found.client, found.node, found.topics) == ("Produce", 9, "app", 1, ("t",))
        assert found.body["topicData"][0]["partitionData"][0]["index"] == 0
        assert found.response is not None and found.response["responses"][0]["partitionResponses"][0]["baseOffset"] == 0
        assert len(kafka.requests(["Produce", "Metadata"])) == 2
        assert kafka.requests("Metadata")[0].errors == ["INVALID_TOPIC_EXCEPTION"]
        assert kafka.requests(topic="t") == [found]
        assert not kafka.requests(client="nobody")
        ask(kafka, keys.FETCH, 4, fetch_body(4, ("t", 0, 0)))
        assert (kafka.requests("Fetch")[0].response or {})["responses"][0]["partitions"][0]["highWatermark"] == 1
        with pytest.raises(UsageError, match="Gret"):
            kafka.requests("Gret")


def test_watches_count_without_changing_anything() -> None:
    with embedded_broker() as kafka:
        kafka.create_topic("t")
        with kafka.observe("Produce", topic="t") as watch:
            threading.Timer(0.02, produce, (kafka, "t")).start()
            watch.wait(hits=1)
            produce(kafka, "t")
            assert watch.hits == 2 and [each.api for each in watch.requests] == ["Produce", "Produce"]
        produce(kafka, "t")
        assert watch.hits == 2


def test_a_function_answers_in_the_brokers_place() -> None:
    seen: list[ClientRequest] = []

    def answer(request: ClientRequest) -> dict[str, Any] | None:
        seen.append(request)
        return {"errorCode": 41, "controllerId": 7} if len(seen) > 1 else None

    with embedded_broker() as kafka, kafka.intercept("DescribeCluster", answer, count=2) as handle:
        assert ask(kafka, keys.DESCRIBE_CLUSTER, 0, {})["controllerId"] == 1
        assert ask(kafka, keys.DESCRIBE_CLUSTER, 0, {})["controllerId"] == 7
        assert ask(kafka, keys.DESCRIBE_CLUSTER, 0, {})["controllerId"] == 1
        assert handle.hits == 2 and len(seen) == 2
        assert kafka.requests("DescribeCluster")[1].errors == ["NOT_CONTROLLER"]


def test_a_function_may_wait_and_may_use_the_broker() -> None:
    import asyncio

    with embedded_broker() as kafka:

        async def create_first(_request: ClientRequest) -> None:
            await asyncio.sleep(0.01)
            kafka.create_topic("made")

        with kafka.intercept("Metadata", create_first):
            answer = ask(kafka, METADATA, 9, {"topics": None})
            assert [each["name"] for each in answer["topics"]] == ["made"]


def test_an_error_in_a_function_is_raised_in_the_test() -> None:
    def wrong(_request: ClientRequest) -> dict[str, Any]:
        return {"nonsense": 1}

    def closing(_request: ClientRequest) -> None:
        raise ConnectionError("gone")

    with embedded_broker() as kafka:
        with kafka.intercept("Metadata", wrong), pytest.raises(NetworkError):
            ask(kafka, METADATA, 9, {"topics": None})
        with pytest.raises(UsageError, match=r"intercept Metadata: .*nonsense"):
            kafka.requests()
        with kafka.intercept("Metadata", closing), pytest.raises(NetworkError):
            ask(kafka, METADATA, 9, {"topics": None})
        assert kafka.requests("Metadata")[-1].outcome == "closed: intercepted: gone"
        with pytest.raises(UsageError, match="a function expected"):
            kafka.intercept("Metadata", None)  # type: ignore[arg-type]


def test_the_clock_is_put_forward_and_what_waits_for_it_happens() -> None:
    """A member's session ends, a transaction times out, old records go."""
    with embedded_broker(config={"log.retention.ms": "60000"}) as kafka:
        kafka.create_topic("t")
        kafka.append("t", "old")
        member = ask(kafka, JOIN_GROUP, 4, JOINED)["memberId"]
        body = JOINED | {"memberId": member}
        assert ask(kafka, JOIN_GROUP, 4, body)["errorCode"] == 0
        kafka.wait(group="g", state="CompletingRebalance", members=1)
        begin = {"transactionalId": "x", "transactionTimeoutMs": 5000}
        made = ask(kafka, keys.INIT_PRODUCER_ID, 4, begin)
        who = {"transactionalId": "x", "producerId": made["producerId"], "producerEpoch": made["producerEpoch"]}
        v3 = {f"v3AndBelow{name[0].upper()}{name[1:]}": value for name, value in who.items()}
        v3["v3AndBelowTopics"] = [{"name": "t", "partitions": [0]}]
        ask(kafka, keys.ADD_PARTITIONS_TO_TXN, 3, v3)
        before = kafka.clock.now()
        kafka.clock.advance(6)
        assert kafka.clock.now() - before >= 6000
        states = ask(kafka, keys.DESCRIBE_TRANSACTIONS, 0, {"transactionalIds": ["x"]})["transactionStates"]
        assert states[0]["transactionState"] == "CompleteAbort"
        kafka.wait(group="g", members=1)
        kafka.clock.advance(minutes=1)
        kafka.wait(group="g", state="Empty", members=0)
        kafka.clock.advance(hours=24 * 365)
        assert kafka.records("t") == []
        with pytest.raises(UsageError, match="forward only"):
            kafka.clock.advance(-1)


def test_a_long_poll_follows_the_clock() -> None:
    with embedded_broker() as kafka:
        kafka.create_topic("t")
        body = fetch_body(4, ("t", 0, 0), wait=600_000)
        watch = kafka.observe("Fetch")
        found: list[dict[str, Any]] = []
        waiting = threading.Thread(target=lambda: found.append(ask(kafka, keys.FETCH, 4, body)))
        waiting.start()
        watch.wait()
        kafka.clock.advance(minutes=11)
        waiting.join(30)
        assert found and not found[0]["responses"][0]["partitions"][0]["errorCode"]


def test_what_is_waited_for_is_said_where_it_does_not_come() -> None:
    with embedded_broker() as kafka:
        with pytest.raises(TimeoutError, match="there is no group g"):
            kafka.wait(group="g", timeout=0.01)
        with pytest.raises(TimeoutError, match="group g: none with 0 members; Stable with 2 expected"):
            kafka.wait(group="g", state="Stable", members=2, timeout=0.01)
        with pytest.raises(TimeoutError, match="none with 0 members; Stable with any number expected"):
            kafka.wait(group="g", state="Stable", timeout=0.01)
        with pytest.raises(UsageError, match="no such state Stabel; did you mean Stable"):
            kafka.wait(group="g", state="Stabel")
        with pytest.raises(TimeoutError, match="there is no topic t"):
            kafka.wait(topic="t", records=1, timeout=0.01)
        threading.Timer(0.02, kafka.append, ("t", ["a", "b"])).start()
        kafka.wait(topic="t", records=2)
        with pytest.raises(UsageError):
            kafka.wait()


def test_what_a_group_committed() -> None:
    partitions = [{"partitionIndex": at, "committedOffset": 7 - at} for at in (1, 0)]
    body = {"groupId": "g", "memberId": "", "generationIdOrMemberEpoch": -1}
    with embedded_broker() as kafka:
        kafka.create_topic("t", 2)
        with pytest.raises(UsageError, match="no group g; there are none"):
            kafka.committed("g")
        ask(kafka, keys.OFFSET_COMMIT, 8, body | {"topics": [{"name": "t", "partitions": partitions}]})
        assert kafka.committed("g") == {("t", 0): 7, ("t", 1): 6}


def test_a_reset_forgets_everything() -> None:
    with embedded_broker(nodes=2) as kafka:
        kafka.append("t", "x")
        kafka.fault(api="Produce", error="NOT_LEADER_OR_FOLLOWER")
        kafka.observe("Produce")
        kafka.stop_node(2)
        kafka.reset()
        assert kafka.requests() == []
        kafka.create_topic("t", 1)
        assert kafka.records("t") == []
        leader = kafka.call(lambda broker: broker.topics.by_name["t"].partitions[0].leader)
        assert produce(kafka, "t", node=leader - 1)[0]["errorCode"] == 0
        assert not kafka.control.watches


def test_configs_without_effect_are_in_the_notes() -> None:
    with embedded_broker(config={"listeners": "PLAINTEXT://:9092"}) as kafka:
        assert kafka.notes == ["config listeners has no effect here"]


def test_the_journal_is_bounded() -> None:
    class Asked:
        class api:  # noqa: N801
            name, key = "Produce", PRODUCE

        class node:  # noqa: N801
            id = 1

        class client:  # noqa: N801
            name = "1.2.3.4:5"

        client_id, version, correlation_id = "c", 1, 1
        body: ClassVar[dict[str, Any]] = {}

        def now(self) -> int:
            return 0

        def topic_names_asked(self) -> list[str]:
            return []

    journal, asked = Journal(), Asked()
    for _ in range(MOST + 5):
        last = journal.add(asked, 10)  # type: ignore[arg-type]
    assert len(list(journal)) == MOST and journal.seen == MOST + 5
    first = next(iter(journal))
    journal.grow(last, 64 << 20)
    assert list(journal) == [last]
    journal.grow(first, 1 << 30)
    assert list(journal) == [last]


def test_a_callback_that_fails_is_told_where_the_test_looks_next() -> None:
    def wrong(_request: ClientRequest) -> None:
        raise ValueError("mine")

    def asked(kafka: EmbeddedBroker) -> None:
        with kafka.intercept("Metadata", wrong), pytest.raises(NetworkError):
            ask(kafka, METADATA, 9, {"topics": None})

    with pytest.raises(UsageError, match="intercept Metadata: ValueError: mine"), embedded_broker() as kafka:
        asked(kafka)
    with embedded_broker() as kafka:
        asked(kafka)
        with pytest.raises(UsageError, match="intercept Metadata: ValueError: mine"):
            kafka.wait(group="g", members=1, timeout=0.1)
    with pytest.raises(ZeroDivisionError) as caught, embedded_broker() as kafka:
        asked(kafka)
        raise ZeroDivisionError
    assert caught.value.__notes__ == ["intercept Metadata: ValueError: mine"]
