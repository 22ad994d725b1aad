"""Fault rules before a broker that knows nothing of them."""

import asyncio
import contextlib
from collections import deque

import pytest

from kcli.errors import NetworkError, UsageError
from kcli.proxy.faulting import MOST_HELD, FaultedRequests, HeardTopicNames, ProxyFaultRules
from kcli.proxy.request_stream import Awaited
from kcli.schemas.apikeys import API_VERSIONS, FIND_COORDINATOR, METADATA, PRODUCE
from kcli.schemas.errors import error_name
from tests.broker.talk import batch, parts, run, until
from tests.proxy.talk import proxied


def test_an_error_for_a_partition_while_the_others_are_served() -> None:
    rule = "api=Produce,topic=t,partition=1,error=NOT_LEADER_OR_FOLLOWER,count=2"

    async def work() -> None:
        async with proxied(faults=[rule]) as both, both.client() as client:
            topic = both.broker.create_topic("t", 2)
            rows = [{"index": index, "records": batch("a")} for index in (0, 1)]
            body = {"acks": -1, "timeoutMs": 1000, "topicData": [{"name": "t", "partitionData": rows}]}
            for wanted in ("NOT_LEADER_OR_FOLLOWER", "NOT_LEADER_OR_FOLLOWER", "NONE"):
                (answer,) = (await client(PRODUCE, 9, body))["responses"]
                codes = {each["index"]: error_name(each["errorCode"]) for each in answer["partitionResponses"]}
                assert codes == {0: "NONE", 1: wanted}
            assert [each.end_offset for each in topic.partitions] == [3, 1]
            assert (await client.produce("t", batch("a"), 1))["errorCode"] == 0

    run(work())


def test_an_error_for_all_that_a_request_names_never_reaches_the_broker() -> None:
    async def work() -> None:
        rules = [
            "api=Produce,topic=t,error=KAFKA_STORAGE_ERROR,count=1",
            "api=FindCoordinator,error=COORDINATOR_NOT_AVAILABLE,count=1",
        ]
        async with proxied(faults=rules) as both, both.client() as client:
            topic = both.broker.create_topic("t")
            assert error_name((await client.produce("t", batch("a")))["errorCode"]) == "KAFKA_STORAGE_ERROR"
            assert topic.partitions[0].end_offset == 0
            assert (await client.produce("t", batch("a")))["errorCode"] == 0
            for wanted in ("COORDINATOR_NOT_AVAILABLE", "NONE"):
                assert error_name((await client(FIND_COORDINATOR, 0, {"key": "g"}))["errorCode"]) == wanted

    run(work())


def test_a_rule_finds_topics_by_their_ids() -> None:
    async def work() -> None:
        async with (
            proxied(faults=["api=Fetch,topic=t,error=KAFKA_STORAGE_ERROR,count=1"]) as both,
            both.client() as client,
        ):
            topic = both.broker.create_topic("t")
            await client(METADATA, 12, {"topics": None})
            got = parts(await client.fetch(13, (topic.id, 0, 0)))[(topic.id, 0)]
            assert error_name(got["errorCode"]) == "KAFKA_STORAGE_ERROR"
            assert parts(await client.fetch(13, (topic.id, 0, 0)))[(topic.id, 0)]["errorCode"] == 0

    run(work())


def test_answers_come_in_the_order_of_the_requests() -> None:
    async def work() -> None:
        rules = [
            "api=Produce,delay=100,count=1",
            "api=FindCoordinator,error=COORDINATOR_NOT_AVAILABLE",
            "api=Fetch,split=3",
        ]
        async with proxied(faults=rules) as both, both.client() as client:
            both.broker.create_topic("t")
            first = asyncio.ensure_future(client.produce("t", batch("a")))
            await asyncio.sleep(0)
            second = client(FIND_COORDINATOR, 0, {"key": "g"})
            third = client.fetch(12, ("t", 0, 0))
            fourth = client(API_VERSIONS, 0, {})
            assert (await first)["errorCode"] == 0
            assert error_name((await second)["errorCode"]) == "COORDINATOR_NOT_AVAILABLE"
            assert parts(await third)["t", 0]["errorCode"] == 0
            assert (await fourth)["errorCode"] == 0

    run(work())


@pytest.mark.parametrize(("rule", "kept"), [("drop", 1), ("ignore", 0)])
def test_silence(rule: str, kept: int) -> None:
    async def work() -> None:
        async with proxied(faults=[f"api=Produce,{rule}"]) as both:
            topic = both.broker.create_topic("t")
            async with both.client() as client:
                produced = asyncio.ensure_future(client.produce("t", batch("a")))
                await asyncio.sleep(0)
                behind = client(API_VERSIONS, 0, {})
                await until(lambda: topic.partitions[0].end_offset == kept)
                done, _ = await asyncio.wait([produced, behind], timeout=0.3)
                assert not done
                assert topic.partitions[0].end_offset == kept
                produced.cancel()
            while both.proxy.connections:
                await asyncio.sleep(0.01)

    run(work())


def test_a_response_that_is_cut() -> None:
    async def work() -> None:
        async with proxied(faults=["api=Produce,close=10"]) as both:
            both.broker.create_topic("t")
            async with both.client() as client:
                with pytest.raises(NetworkError, match="closed the connection"):
                    await client.produce("t", batch("a"))

    run(work())


def test_what_is_recorded_is_what_the_client_got() -> None:
    blocks: list[bytes] = []

    async def work() -> None:
        rules = ["api=Produce,error=KAFKA_STORAGE_ERROR,count=1", "api=Produce,drop,after=1"]
        async with proxied(faults=rules, record=blocks.append) as both:
            both.broker.create_topic("t")
            async with both.client() as client:
                await client.produce("t", batch("refused"))
                dropped = asyncio.ensure_future(client.produce("t", batch("dropped")))
                await until(lambda: b"dropped" in b"".join(blocks))
                dropped.cancel()

    run(work())
    data = b"".join(blocks)
    assert (data.count(b"refused"), data.count(b"dropped")) == (1, 1)
    assert data.count(b"\x00\x38\xff\xff\xff\xff\xff\xff\xff\xff") + data.count(b"\x00\x38\x00\x00\x00\x00") == 1


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ("evict", "evict and move are for"),
        ("api=Produce,move=2", "evict and move are for"),
        ("error=NOPE", "no such error NOPE"),
        ("nothing", "'nothing' is unknown"),
    ],
)
def test_rules_that_make_no_sense_here(rule: str, why: str) -> None:
    with pytest.raises(UsageError, match=f"^fault {rule}: {why}"):
        ProxyFaultRules([rule])


def test_a_request_that_is_too_long() -> None:
    async def work() -> None:
        async with proxied(faults=["api=Produce,delay=1"]) as both:
            reader, writer = await asyncio.open_connection("127.0.0.1", both.proxy.port)
            writer.write((101 << 20).to_bytes(4, "big"))
            with contextlib.suppress(ConnectionResetError):
                assert await reader.read() == b""
            writer.close()
            assert any("closed:" in note for note in both.notes)

    run(work())


def test_an_error_for_what_the_tables_lack_is_none() -> None:
    """Without a response's layout there is no error to answer with: such a request passes."""
    awaited = deque[Awaited]()
    requests = FaultedRequests(ProxyFaultRules(["error=KAFKA_STORAGE_ERROR"]), awaited, HeardTopicNames())
    frame = b"\0\0\0\x0a\1\x1e\0\0\0\0\0\7\xff\xff"
    assert requests.feed(frame) == frame
    assert awaited == deque([Awaited(286, 0, 7)])
    assert requests.feed(bytes(4)) == bytes(4)  # a request without a byte is the broker's to refuse


def produced(size: int) -> bytes:
    return size.to_bytes(4, "big") + b"\0\0\0\x07\0\0\0\1\xff\xff\xff\xff\0\1" + bytes(size - 14)


def fetched() -> bytes:
    return b"\0\0\0\x0a\0\1\0\x0c\0\0\0\2\xff\xff"


@pytest.mark.parametrize("piece", [1 << 20, 200_003])
def test_long_requests_that_no_rule_is_about_are_not_held(piece: int) -> None:
    rules, awaited = ProxyFaultRules(["api=Fetch,ignore"]), deque[Awaited]()
    requests = FaultedRequests(rules, awaited, HeardTopicNames())
    data, passed = produced(3 << 20) + fetched() + produced(100), b""
    for at in range(0, len(data), piece):
        passed += requests.feed(data[at : at + piece])
        assert len(passed) > min(at, 3 << 20) - 100 and not rules.held
    assert passed == produced(3 << 20) + produced(100) and requests.is_between
    assert [(each.api_key, each.answer) for each in awaited] == [(0, None), (1, b""), (0, None)]


def test_halves_of_requests_are_held_up_to_a_bound_in_all() -> None:
    """What is beyond passes without rules: the proxy does not stop what it can't hold."""
    said: list[str] = []
    rules = ProxyFaultRules(["api=Produce,ignore"], note=said.append)
    half, size = bytes(10 << 20), 15 << 20
    every = [(FaultedRequests(rules, awaited := deque[Awaited](), HeardTopicNames()), awaited) for _ in range(20)]
    passed = [each.feed(produced(size)[: len(half)]) for each, _ in every]
    assert sum(rules.held.values()) <= MOST_HELD and len(said) == sum(map(bool, passed)) == 20 - MOST_HELD // len(half)
    rest = produced(size)[len(half) :]
    for (each, awaited), first in zip(every, passed, strict=True):
        second = each.feed(rest)
        assert first + second == (produced(size) if first else b"") and each.is_between
        assert [asked.answer for asked in awaited] == ([None] if first else [b""])
    assert not rules.held


def test_a_connection_that_ends_holds_nothing() -> None:
    rules = ProxyFaultRules(["api=Produce,ignore"])
    requests = FaultedRequests(rules, deque(), HeardTopicNames())
    requests.feed(produced(1 << 20)[: 1 << 19])
    assert sum(rules.held.values()) == 1 << 19
    requests.close()
    assert not rules.held
