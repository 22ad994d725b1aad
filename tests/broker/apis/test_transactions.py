"""What administrators see of transactions: ListTransactions, DescribeTransactions, DescribeProducers."""

import asyncio
from typing import Any

from kcli.broker import Broker
from kcli.schemas.apikeys import DESCRIBE_PRODUCERS, DESCRIBE_TRANSACTIONS, LIST_TRANSACTIONS, WRITE_TXN_MARKERS
from kcli.schemas.errors import error_name
from tests.broker.talk import run, talking
from tests.broker.transactions.producer import Producer, read


def test_transactions_are_listed_by_state_producer_and_age() -> None:
    async def work() -> None:
        async with talking(topic="t") as talk:
            idle, busy = Producer(talk, "idle"), Producer(talk, "busy", implicit=True)
            await idle.init()
            await busy.init()
            await busy.send("a")
            await asyncio.sleep(0.002)  # ages count in whole ms, and a filter of 0 asks for more than that
            for filters, names in (
                ({}, ["idle", "busy"]),
                ({"stateFilters": ["Ongoing"]}, ["busy"]),
                ({"stateFilters": ["Odd"]}, []),
                ({"producerIdFilters": [idle.id]}, ["idle"]),
                ({"durationFilter": 0}, ["idle", "busy"]),  # Kafka takes an idle one for older than any
                ({"durationFilter": 1_000_000}, ["idle"]),
            ):
                body: dict[str, Any] = {"stateFilters": [], "producerIdFilters": [], "durationFilter": -1} | filters
                answer = await talk(LIST_TRANSACTIONS, 1, body)
                assert [each["transactionalId"] for each in answer["transactionStates"]] == names, filters
                assert answer["unknownStateFilters"] == [each for each in body["stateFilters"] if each == "Odd"]

    run(work())


def test_a_transaction_and_its_producer_are_described() -> None:
    async def work() -> None:
        async with talking(topic="t", partitions=2) as talk:
            producer = Producer(talk, implicit=True)
            await producer.init()
            await producer.send("a", "b", partition=1)
            answer = await talk(DESCRIBE_TRANSACTIONS, 0, {"transactionalIds": ["tx", "none"]})
            found, missing = answer["transactionStates"]
            assert (found["transactionState"], found["topics"]) == ("Ongoing", [{"topic": "t", "partitions": [1]}])
            assert (found["producerId"], found["producerEpoch"]) == (producer.id, 0)
            assert error_name(missing["errorCode"]) == "TRANSACTIONAL_ID_NOT_FOUND"
            answer = await talk(DESCRIBE_PRODUCERS, 0, {"topics": [{"name": "t", "partitionIndexes": [0, 1, 2]}]})
            nobody, somebody, nowhere = answer["topics"][0]["partitions"]
            assert nobody["activeProducers"] == []
            (each,) = somebody["activeProducers"]
            assert (each["producerId"], each["lastSequence"], each["currentTxnStartOffset"]) == (producer.id, 1, 0)
            assert error_name(nowhere["errorCode"]) == "UNKNOWN_TOPIC_OR_PARTITION"
            await producer.end(commit=True)
            answer = await talk(DESCRIBE_PRODUCERS, 0, {"topics": [{"name": "t", "partitionIndexes": [1]}]})
            (ended,) = answer["topics"][0]["partitions"][0]["activeProducers"]
            # Kafka counts the marker that ended the transaction
            assert ended["lastTimestamp"] > each["lastTimestamp"]
            assert ended["currentTxnStartOffset"] == -1

    run(work())


def marked(producer: Producer, *, commit: bool = False, topic: str = "t", **others: int) -> dict[str, Any]:
    """A request for one partition's marker. others: a marker's fields."""
    row: dict[str, Any] = {"producerId": producer.id, "producerEpoch": producer.epoch, "coordinatorEpoch": 0}
    row |= {"transactionResult": commit, "topics": [{"name": topic, "partitionIndexes": [0]}]}
    return {"markers": [row | others]}


async def mark(producer: Producer, version: int = 1, **others: Any) -> str:
    answer = await producer.talk(WRITE_TXN_MARKERS, version, marked(producer, **others))
    (partition,) = answer["markers"][0]["topics"][0]["partitions"]
    return error_name(partition["errorCode"])


def test_a_hanging_transaction_is_ended_by_a_marker() -> None:
    """As kafka-transactions abort does it."""

    async def work() -> None:
        async with talking(topic="t") as talk:
            producer = Producer(talk, implicit=True)
            await producer.init()
            await producer.send("a")
            assert (await read(talk))[1]["lastStableOffset"] == 0
            assert await mark(producer, topic="none") == "UNKNOWN_TOPIC_OR_PARTITION"
            assert await mark(producer, producerEpoch=producer.epoch - 1) == "INVALID_PRODUCER_EPOCH"
            assert await mark(producer, 2, transactionVersion=2) == "INVALID_PRODUCER_EPOCH"
            assert (await read(talk))[1]["lastStableOffset"] == 0
            other = Producer(talk)
            other.id, other.epoch = producer.id + 5, 0  # the log knows nothing of this producer
            assert await mark(other) == "NONE"
            assert await mark(producer) == "NONE"
            _, row = await read(talk)
            assert (row["lastStableOffset"], row["highWatermark"]) == (3, 3)
            assert row["abortedTransactions"] == [{"producerId": producer.id, "firstOffset": 0}]
            assert await mark(producer, coordinatorEpoch=-1) == "TRANSACTION_COORDINATOR_FENCED"
            assert await mark(producer, 2, transactionVersion=2, producerEpoch=producer.epoch + 1) == "NONE"

    run(work())


def test_markers_are_for_who_may_alter_the_cluster() -> None:
    async def work() -> None:
        config = {"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer"}
        async with talking(Broker(config=config), topic="t") as talk:
            producer = Producer(talk)
            producer.id, producer.epoch = 1, 0
            assert await mark(producer) == "CLUSTER_AUTHORIZATION_FAILED"

    run(work())
