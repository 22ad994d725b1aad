import asyncio
from typing import Any

import pytest

from kcli.broker.broker import Broker as Embedded
from kcli.client.cluster import Client
from kcli.client.consumer import Consumer, Fetched
from kcli.client.fetch_wire import request_body
from kcli.client.producing.producer import Producer
from kcli.client.properties import ClientConfig
from kcli.errors import BrokerError, NetworkError
from kcli.records import scan
from kcli.sessions.values import FetchRequest, Position
from tests.client.broker import Body, running, together
from tests.client.fetchable import FetchableBroker

T0, T1 = ("t", 0), ("t", 1)


def read(broker: FetchableBroker, positions: dict[tuple[str, int], int], enough: int, **settings: str) -> list[Fetched]:
    """What a consumer brings until it has so many records."""
    found: list[Fetched] = []

    async def work() -> None:
        async with running(broker), Client(broker.config(retry_backoff_ms="1", **settings)) as client:
            consumer = aiter(Consumer(client, positions))
            count = 0
            async for part in consumer:
                found.append(part)
                count += sum(batch.count for batch in scan(part.records))
                if count >= enough:
                    break
            await consumer.aclose()  # type: ignore[attr-defined]

    asyncio.run(asyncio.wait_for(work(), 50))
    return found


def offsets(found: list[Fetched], partition: int) -> list[int]:
    return [
        record.offset
        for part in found
        if part.partition == partition
        for b in scan(part.records)
        for record in b.records()
    ]


@pytest.mark.parametrize("newest", [4, 7, 12, 17])
def test_every_record_once_and_in_order(newest: int) -> None:
    broker = FetchableBroker({"t": 2}, newest)
    found = read(broker, {T0: 0, T1: 4}, 16)
    assert offsets(found, 0) == list(range(10))
    assert offsets(found, 1) == list(range(4, 10))
    assert {(part.topic, part.high_watermark) for part in found} == {("t", 10)}
    fetches = [body for key, _, body in broker.requests if key == 1]
    if newest >= 7:
        assert [body["sessionEpoch"] for body in fetches][:3] == [0, 1, 2]


def test_limits_are_those_of_the_configuration() -> None:
    broker = FetchableBroker({"t": 1})
    settings = {"fetch_max_wait_ms": "7", "fetch_min_bytes": "2", "fetch_max_bytes": "3000"}
    read(broker, {T0: 0}, 3, **settings, max_partition_fetch_bytes="2000", isolation_level="read_committed")
    body = next(body for key, _, body in broker.requests if key == 1)
    assert (body["maxWaitMs"], body["minBytes"], body["maxBytes"], body["isolationLevel"]) == (7, 2, 3000, 1)
    assert body["topics"][0]["partitions"][0]["partitionMaxBytes"] == 2000


def test_an_evicted_session_is_made_again() -> None:
    broker = FetchableBroker({"t": 1})
    broker.evict_at = 2
    assert offsets(read(broker, {T0: 0}, 10), 0) == list(range(10))


@pytest.mark.parametrize("hint", [True, False])
def test_kip_951_a_leader_that_moved_is_followed(hint: bool) -> None:
    old, new = FetchableBroker({"t": 1}), FetchableBroker({"t": 1})
    moved = False

    def leader(_part: Body) -> Body:
        return {"leaderId": 2, "leaderEpoch": 8} if moved and not hint else {"leaderId": 1, "leaderEpoch": 7}

    answer, count = old.fetch, 0

    def move(version: int, body: Body) -> Body:
        nonlocal count, moved
        count += 1
        if count >= 2:
            moved = True
            leader: dict[str, Any] = {"currentLeader": {"leaderId": 2, "leaderEpoch": 8}} if hint else {}
            old.errors[T0] = {"errorCode": 6, **leader}
        return answer(version, body)

    together(leader, old, new)
    old.answers[1] = move

    async def work() -> list[Fetched]:
        found: list[Fetched] = []
        # With a hint nobody waits: a long backoff would show.
        backoff = "60000" if hint else "1"
        async with running(old), running(new):
            client = Client(old.config(retry_backoff_ms=backoff, retry_backoff_max_ms=backoff))
            async with client:
                consumer = aiter(Consumer(client, {T0: 0}))
                async for part in consumer:
                    found.append(part)
                    if part.next_offset >= 10:
                        break
                await consumer.aclose()  # type: ignore[attr-defined]
        return found

    found = asyncio.run(asyncio.wait_for(work(), 50))
    assert offsets(found, 0) == list(range(10))
    # Metadata was asked for again either way.
    assert sum(key == 3 for broker in (old, new) for key, _, _ in broker.requests) == 2


def test_an_error_that_time_does_not_heal_is_raised() -> None:
    broker = FetchableBroker({"t": 1})
    with pytest.raises(BrokerError, match=r"t\[0\] at 77: OFFSET_OUT_OF_RANGE"):
        read(broker, {T0: 77}, 1)


def test_a_broker_that_is_gone_is_raised_in_the_end() -> None:
    broker = FetchableBroker({"t": 1})
    broker.answers[1] = lambda *_: None
    with pytest.raises(NetworkError, match="closed the connection"):
        read(broker, {T0: 0}, 1, reconnect_backoff_ms="1", reconnect_backoff_max_ms="2", retry_backoff_max_ms="2")


@pytest.mark.parametrize(("remote", "said"), [(None, 2000), ("4000", 4000)])
def test_kip_1018_remote_partitions_have_a_size_of_their_own_or_that_of_all(remote: str | None, said: int) -> None:
    bodies: list[Body] = []
    broker = Embedded(dialect="kip-1018")

    async def work() -> None:
        async with broker:
            settings = {"bootstrap.servers": broker.bootstrap, "max.partition.fetch.bytes": "2000"}
            if remote:
                settings["remote.max.partition.fetch.bytes"] = remote
            async with Client(ClientConfig(settings), "kip-1018") as client:
                await client.describe_topic("t", create=True)
                consumer = Consumer(client, {T0: 0})
                link = await client.any_session()
                version = link.versions.best(1)
                positions = {(client.metadata.topic_id("t") or "", 0): Position(0, -1, 2000)}
                body = request_body(FetchRequest(0, -1, positions), version, consumer.limits_for(link))
                bodies.append(body)
                answer = await client.call(1, body, version=version)
                assert answer["errorCode"] == 0

    asyncio.run(work())
    (part,) = bodies[0]["topics"][0]["partitions"]
    assert (part["partitionMaxBytes"], part["remotePartitionMaxBytes"]) == (2000, said)


def test_kip_1018_is_not_spoken_with_a_broker_that_does_not_show_it() -> None:
    """Its Fetch v18 is another than Apache's, which this broker has."""
    broker = Embedded()
    reported: list[str] = []

    async def work() -> None:
        async with (
            broker,
            Client(ClientConfig({"bootstrap.servers": broker.bootstrap}), "kip-1018", reported.append) as client,
        ):
            await client.describe_topic("t", create=True)
            async with Producer(client, "t") as producer:
                await producer.send(None, b"hello")
            consumer = aiter(Consumer(client, {T0: 0}))
            assert (await anext(consumer)).next_offset == 1
            await consumer.aclose()  # type: ignore[attr-defined]

    asyncio.run(work())
    (text,) = reported
    assert text.startswith("broker 127.0.0.1:")
    assert text.endswith(" does not speak the dialect kip-1018: Apache Kafka's own messages are sent")
