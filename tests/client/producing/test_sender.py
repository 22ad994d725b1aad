"""Answers of every kind, and what goes again."""

import asyncio

import pytest

from kcli.client.producing.producer import Producer
from kcli.errors import BrokerError, NetworkError
from tests.client.broker import Body
from tests.client.producing.work import check_all, numbers, produce
from tests.client.producing.writable import Cluster


@pytest.mark.parametrize("seed", range(3))
def test_errors_that_heal_lose_and_double_nothing(seed: int) -> None:
    cluster = Cluster("t", 2)
    errors = cluster.brokers[1].errors
    statistics = produce(
        cluster,
        numbers(
            2000, each=lambda number: errors.append([0, 7, 0, 19, 0][(number + seed) % 5]) if number % 7 == 0 else None
        ),
        batch_size="400",
    )
    check_all(cluster, 2000)
    assert statistics.retries > 3


def test_an_answer_that_was_lost_is_a_duplicate_and_counts() -> None:
    cluster = Cluster("t", 1)
    broker, count = cluster.brokers[1], 0
    take = broker.produce

    def lose_one(version: int, body: Body) -> Body | None:
        nonlocal count
        count += 1
        made = take(version, body)
        return None if count == 2 else made

    broker.answers[0] = lose_one
    statistics = produce(cluster, numbers(300), batch_size="400")
    check_all(cluster, 300)
    assert statistics.retries >= 1


def test_no_acks_no_answers() -> None:
    cluster = Cluster("t", 1)
    take = cluster.brokers[1].produce

    async def work(producer: Producer) -> None:
        await numbers(200)(producer)
        await producer.flush()
        while len(cluster.values[0]) < 200:
            await asyncio.sleep(0.01)

    def unanswered(version: int, body: Body) -> Body:
        take(version, body)
        return {"responses": []}

    cluster.brokers[1].answers[0] = unanswered
    cluster.brokers[1].silent = {0}
    statistics = produce(cluster, work, acks="0")
    check_all(cluster, 200)
    assert statistics.records == 200


def test_a_hint_that_is_not_newer_backs_off() -> None:
    """KIP-951: a hint with an epoch that is not newer changes nothing: the old way, with backoff."""
    cluster = Cluster("t", 1)
    broker = cluster.brokers[1]
    take, count = broker.produce, 0

    def stale(version: int, body: Body) -> Body:
        nonlocal count
        count += 1
        if count > 1:
            return take(version, body)
        part = {"index": 0, "errorCode": 6, "currentLeader": {"leaderId": 1, "leaderEpoch": 0}}
        return {"responses": [{"name": "t", "partitionResponses": [part]}]}

    broker.answers[0] = stale
    statistics = produce(cluster, numbers(5), retry_backoff_ms="100", retry_backoff_max_ms="100")
    assert (statistics.retries, statistics.hinted) == (1, 0)
    assert statistics.latencies.most >= 75e6


def test_an_error_that_does_not_heal_is_raised() -> None:
    cluster = Cluster("t", 1)
    cluster.brokers[1].errors.append(10)
    with pytest.raises(BrokerError, match=r"t\[0\]: MESSAGE_TOO_LARGE \(10\)"):
        produce(cluster, numbers(5))
    cluster.brokers[1].errors += [7] * 1000
    with pytest.raises(NetworkError, match=r"not delivered within 0.1 s \(delivery.timeout.ms\)"):
        produce(cluster, numbers(5), delivery_timeout_ms="100")
    with pytest.raises(NetworkError, match=r"t\[0\]: refused 3 times"):
        produce(cluster, numbers(5), retries="2")


def test_a_broker_that_refuses_only_the_very_first_batch_does_not_get_the_second_before_it() -> None:
    cluster = Cluster("t", 1)
    cluster.brokers[1].errors += [6]
    produce(cluster, numbers(100), batch_size="100")
    check_all(cluster, 100)


@pytest.mark.parametrize(("acks", "sent"), [("all", -1), ("-1", -1), ("1", 1)])
def test_acks_go_as_the_number_that_they_mean(acks: str, sent: int) -> None:
    cluster = Cluster("t", 1)
    take, seen = cluster.brokers[1].produce, set[int]()

    def noting(version: int, body: Body) -> Body:
        seen.add(body["acks"])
        return take(version, body)

    cluster.brokers[1].answers[0] = noting
    produce(cluster, numbers(20), acks=acks, enable_idempotence="false")
    assert seen == {sent}
