"""Transactions as producers and consumers see them, by the rules of Kafka's coordinator."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from kcli.broker import Broker
from kcli.broker.transactions.transaction import TransactionState
from kcli.records.batches import scan
from tests.broker.groups.test_offsets import commit as commit_plain
from tests.broker.talk import Talk, run, talking
from tests.broker.transactions.producer import Producer, committed, read


def values(data: bytes) -> list[str]:
    return [(row.value or b"").decode() for each in scan(data) if not each.is_control for row in each.records()]


@pytest.mark.parametrize("implicit", [False, True])
def test_what_is_committed_is_read_and_what_is_aborted_is_named(implicit: bool) -> None:
    async def work() -> None:
        async with talking(config={"log.roll.ms": str(1 << 62)}, topic="t") as talk:
            producer = Producer(talk, implicit=implicit)
            assert await producer.init() == "NONE"
            for commit in (True, False):
                start = (await read(talk, committed=False))[1]["highWatermark"]
                if not implicit:
                    assert await producer.add(0) == ["NONE"]
                assert await producer.send("a", "b") == "NONE"
                records, row = await read(talk)
                assert (row["highWatermark"], row["lastStableOffset"]) == (start + 2, start)
                assert len(values(records)) == start - start // 3
                assert await producer.end(commit=commit) == "NONE"
            records, row = await read(talk)
            assert (row["highWatermark"], row["lastStableOffset"]) == (6, 6)
            assert values(records) == ["a", "b", "a", "b"]
            assert row["abortedTransactions"] == [{"producerId": producer.id, "firstOffset": 3}]
            assert producer.epoch == (2 if implicit else 0)

    run(work())


def test_a_batch_needs_a_transaction_that_has_its_partition() -> None:
    async def work() -> None:
        async with talking(topic="t", partitions=2) as talk:
            producer = Producer(talk)
            await producer.init()
            assert await producer.send("a") == "INVALID_TXN_STATE"
            assert await producer.send("a", version=11) == "TRANSACTION_ABORTABLE"
            assert await producer.add(0) == ["NONE"]
            assert await producer.send("a", partition=1) == "INVALID_TXN_STATE"
            assert await producer.send("a") == "NONE"
            producer.name = "another"
            assert await producer.send("b") == "INVALID_PRODUCER_ID_MAPPING"
            assert await producer.end() == "INVALID_PRODUCER_ID_MAPPING"
            producer.name = ""
            assert await producer.end() == "INVALID_REQUEST"

    run(work())


def test_where_a_partition_is_missing_none_is_added() -> None:
    async def work() -> None:
        async with talking(topic="t", partitions=2) as talk:
            producer = Producer(talk)
            await producer.init()
            assert await producer.add(0, 7) == ["OPERATION_NOT_ATTEMPTED", "UNKNOWN_TOPIC_OR_PARTITION"]
            assert await producer.end() == "INVALID_TXN_STATE"

    run(work())


@pytest.mark.parametrize("implicit", [False, True])
def test_a_new_producer_fences_the_one_before(implicit: bool) -> None:
    """One epoch for the end of the transaction, one for the new producer, of either version (KAFKA-19367)."""

    async def work() -> None:
        async with talking(topic="t") as talk:
            old, new = Producer(talk, implicit=implicit), Producer(talk)
            await old.init()
            if not implicit:
                await old.add(0)
            await old.send("a")
            assert await new.init() == "CONCURRENT_TRANSACTIONS"
            assert await new.init() == "NONE"
            assert (new.id, new.epoch) == (old.id, 2)
            assert (await read(talk))[1]["lastStableOffset"] == 2
            assert await old.add(0) == ["PRODUCER_FENCED"]
            assert await old.add(0, version=1) == ["INVALID_PRODUCER_EPOCH"]
            assert await old.send("b") == "INVALID_PRODUCER_EPOCH"
            assert await old.add_group() == "PRODUCER_FENCED"
            assert await old.send_offset(1) == "INVALID_PRODUCER_EPOCH"
            assert await old.end(version=3) == "PRODUCER_FENCED"
            assert await old.end(version=1) == "INVALID_PRODUCER_EPOCH"
            assert await old.init(producerId=old.id, producerEpoch=old.epoch) == "PRODUCER_FENCED"

    run(work())


def test_a_producer_that_asks_again_gets_the_same_epoch() -> None:
    async def work() -> None:
        async with talking(topic="t") as talk:
            producer = Producer(talk)
            await producer.init()
            known = {"producerId": producer.id, "producerEpoch": producer.epoch}
            for _ in range(2):
                assert await producer.init(**known) == "NONE"
                assert producer.epoch == 1
            assert await producer.init(producerId=producer.id + 1, producerEpoch=1) == "PRODUCER_FENCED"
            assert await producer.init(timeout=900_001) == "INVALID_TRANSACTION_TIMEOUT"
            assert await producer.init(timeout=0) == "INVALID_TRANSACTION_TIMEOUT"

    run(work())


@pytest.mark.parametrize("implicit", [False, True])
def test_a_fenced_producer_continues_by_its_former_epoch(implicit: bool) -> None:
    """After a timeout or another producer's InitProducerId, until that one has its epoch."""

    async def work() -> None:
        async with talking(topic="t") as talk:
            old, new = Producer(talk, implicit=implicit), Producer(talk, implicit=implicit)
            await old.init()
            await old.add(0)
            known = {"producerId": old.id, "producerEpoch": 0}
            assert await new.init() == "CONCURRENT_TRANSACTIONS"
            for _ in range(2):
                assert (await old.init(**known), old.epoch) == ("NONE", 1)
            assert await old.end(commit=True) == "INVALID_TXN_STATE"
            assert (await new.init(), new.epoch) == ("NONE", 2)
            assert await old.init(**known) == "PRODUCER_FENCED"

    run(work())


@pytest.mark.parametrize("restart", [False, True])
def test_of_two_commits_the_later_one_is_valid(restart: bool, tmp_path: Path) -> None:
    """Whenever its transaction ends."""

    async def first() -> None:
        async with talking(Broker(tmp_path), topic="t") as talk:
            producer, other = Producer(talk), Producer(talk, "other")
            for each, group in ((producer, "g"), (producer, "h"), (other, "h")):
                await each.init() if each.id < 0 else None
                await each.add_group(group)
            await producer.send_offset(5)
            await producer.send_offset(6, group="h")
            await commit_plain(talk, 7)
            await other.send_offset(8, group="h")
            if not restart:
                await end(talk, other, producer)

    async def end(talk: Talk, *producers: Producer) -> None:
        for each in producers:
            each.talk = talk
            await each.end()
        assert [await committed(talk, group=group) for group in "gh"] == [(7, "NONE"), (8, "NONE")]

    async def second() -> None:
        async with talking(Broker(tmp_path)) as talk:
            assert [await committed(talk, group=group) for group in "gh"] == [(7, "NONE"), (-1, "NONE")]
            made = {each.name: each for each in talk.broker.transactions}
            producers = [Producer(talk, name) for name in ("other", "tx")]
            for each in producers:
                each.id, each.epoch = made[each.name].producer_id, made[each.name].epoch
            await end(talk, *producers)

    run(first())
    if restart:
        run(second())


def test_an_end_may_be_repeated_and_not_turned() -> None:
    async def work() -> None:
        async with talking(topic="t") as talk:
            classic = Producer(talk, "classic")
            await classic.init()
            await classic.add(0)
            for commit, answer in ((True, "NONE"), (True, "NONE"), (False, "INVALID_TXN_STATE")):
                assert await classic.end(commit=commit) == answer
            newer = Producer(talk, "newer", implicit=True)
            await newer.init()
            await newer.send("a")
            for commit, answer in ((True, "NONE"), (True, "NONE"), (False, "INVALID_TXN_STATE")):
                assert await newer.end(commit=commit, adopt=False) == answer
            assert await newer.end(adopt=True) == "NONE"
            assert newer.epoch == 1
            assert await newer.end() == "INVALID_TXN_STATE"
            assert await newer.end(commit=False) == "NONE", "of one that never began"
            assert newer.epoch == 2
            assert await newer.end(commit=False) == "NONE"
            assert newer.epoch == 3
            late = Producer(talk, "newer", implicit=True)
            await late.init()
            assert await newer.end(commit=False) == "PRODUCER_FENCED"

    run(work())


@pytest.mark.parametrize("implicit", [False, True])
def test_offsets_hold_once_they_are_committed(implicit: bool) -> None:
    async def work() -> None:
        async with talking(topic="t") as talk:
            producer = Producer(talk, implicit=implicit)
            await producer.init()
            if not implicit:
                assert await producer.send_offset(5) == "INVALID_TXN_STATE"
            for offset, commit, holds in ((5, True, 5), (9, False, 5)):
                before = await committed(talk)
                if not implicit:
                    assert await producer.add_group() == "NONE"
                assert await producer.send_offset(offset) == "NONE"
                assert await committed(talk) == before
                assert await committed(talk, stable=True) == (-1, "UNSTABLE_OFFSET_COMMIT")
                assert await producer.end(commit=commit) == "NONE"
                assert await committed(talk, stable=True) == (holds, "NONE")
            odd: dict[str, Any] = {"memberId": "nobody", "generationIdOrMemberEpoch": 3}
            for group, error in (("none", "ILLEGAL_GENERATION"), ("g", "UNKNOWN_MEMBER_ID")):
                if not implicit:
                    assert await producer.send_offset(1, group=group, **odd) == "INVALID_TXN_STATE"
                    assert await producer.add_group(group) == "NONE"
                assert await producer.send_offset(1, group=group, **odd) == error
            assert await producer.send_offset(1, memberId="nobody") == "NONE"  # without a generation

    run(work())


@pytest.mark.parametrize("commit", [False, True])
def test_an_open_transaction_outlives_the_broker(tmp_path: Path, commit: bool) -> None:
    async def first() -> None:
        async with talking(Broker(tmp_path), topic="t") as talk:
            producer = Producer(talk, implicit=True)
            producers.append(producer)
            await producer.init()
            await producer.send("a")
            await producer.send_offset(7)

    async def second() -> None:
        async with talking(Broker(tmp_path)) as talk:
            producers[0].talk = talk
            assert (await read(talk))[1]["lastStableOffset"] == 0
            assert await committed(talk, stable=True) == (-1, "UNSTABLE_OFFSET_COMMIT")
            assert await producers[0].end(commit=commit) == "NONE"

    async def third() -> None:
        async with talking(Broker(tmp_path)) as talk:
            assert (await read(talk))[1]["lastStableOffset"] == 2
            assert await committed(talk, stable=True) == (7 if commit else -1, "NONE")
            (each,) = talk.broker.transactions
            assert each.state is (TransactionState.COMPLETE_COMMIT if commit else TransactionState.COMPLETE_ABORT)

    producers: list[Producer] = []
    for each in (first, second, third):
        run(each())


def test_what_was_decided_before_a_crash_is_done_after_it(tmp_path: Path) -> None:
    async def first() -> None:
        async with talking(Broker(tmp_path), topic="t") as talk:
            producer = Producer(talk, implicit=True)
            await producer.init()
            await producer.send("a")
            (each,) = talk.broker.transactions
            each.stop_timer()
            each.state = TransactionState.PREPARE_COMMIT
            talk.broker.transactions.write(each)

    async def second() -> None:
        async with talking(Broker(tmp_path)) as talk:
            records, row = await read(talk)
            assert (values(records), row["lastStableOffset"]) == (["a"], 2)
            (each,) = talk.broker.transactions
            assert each.state is TransactionState.COMPLETE_COMMIT

    run(first())
    run(second())


def test_a_transaction_that_lasts_too_long_is_aborted() -> None:
    async def work() -> None:
        async with talking(topic="t") as talk:
            producer = Producer(talk, implicit=True)
            await producer.init(timeout=1)
            await producer.send("a")
            (each,) = talk.broker.transactions
            while each.state is TransactionState.ONGOING:
                await asyncio.sleep(0.005)
            assert (await read(talk))[1]["abortedTransactions"] == [{"producerId": producer.id, "firstOffset": 0}]
            assert (each.epoch, await producer.end()) == (1, "INVALID_TXN_STATE")
            # Its abort is one repeated: as a real Kafka 4.4.0 the broker gives it the epoch to go on with.
            assert (await producer.end(commit=False), producer.epoch) == ("NONE", 1)
            each.timeout_ms = 60_000
            assert (await producer.send("b"), await producer.end()) == ("NONE", "NONE")
            assert (await read(talk))[1]["lastStableOffset"] == 4

    run(work())


@pytest.mark.parametrize("implicit", [False, True])
def test_an_id_without_an_epoch_left_is_replaced(implicit: bool) -> None:
    async def work() -> None:
        async with talking(topic="t") as talk:
            producer = Producer(talk, implicit=implicit)
            await producer.init()
            (each,) = talk.broker.transactions
            producer.epoch = each.epoch = 32_766
            former = producer.id
            if implicit:
                assert await producer.send("a") == "NONE"
                assert await producer.end() == "NONE"
            else:
                assert await producer.init() == "NONE"
            assert (producer.id != former, producer.epoch) == (True, 0)
            assert (await read(talk))[1]["lastStableOffset"] == (2 if implicit else 0)

    run(work())


@pytest.mark.parametrize("implicit", [False, True])
def test_the_last_epoch_fences(implicit: bool) -> None:
    """The id stays while its transaction is aborted; the producer that comes has a new one."""

    async def work() -> None:
        async with talking(topic="t") as talk:
            old, new = Producer(talk, implicit=implicit), Producer(talk)
            await old.init()
            (each,) = talk.broker.transactions
            old.epoch = each.epoch = 32_766
            if not implicit:
                await old.add(0)
            assert await old.send("a") == "NONE"
            assert await new.init() == "CONCURRENT_TRANSACTIONS"
            assert (each.producer_id, each.epoch) == (old.id, 32_767)
            assert await new.init() == "NONE"
            assert (new.id != old.id, new.epoch) == (True, 0)

    run(work())


def test_a_deleted_topic_does_not_hold_a_transaction_up() -> None:
    async def work() -> None:
        async with talking(topic="t") as talk:
            producer = Producer(talk, implicit=True)
            await producer.init()
            await producer.send("a")
            talk.broker.controller.delete_topic(talk.broker.topics.by_name["t"])
            assert await producer.end() == "NONE"

    run(work())
