"""Compaction: what stays of each key, tombstones and markers in their time, transactions, a restart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kcli import UsageError, embedded_broker
from kcli.broker import Broker
from kcli.broker.embedded import EmbeddedBroker
from kcli.records import build_batch
from kcli.records.batches import Batch, scan
from tests.broker.talk import connected, parts, run, talking
from tests.broker.transactions.producer import Producer, read

COMPACTED = {"cleanup.policy": "compact"}


def state(kafka: EmbeddedBroker, topic: str = "t") -> dict[str, str | None]:
    found = kafka.records(topic)
    return {(each.key or b"").decode(): None if each.value is None else each.value.decode() for each in found}


def offsets(kafka: EmbeddedBroker, topic: str = "t") -> list[int]:
    return [each.offset for each in kafka.records(topic)]


def batches(kafka: EmbeddedBroker, topic: str = "t") -> list[Batch]:
    def work(broker: Broker) -> list[Batch]:
        log = broker.topics.by_name[topic].partitions[0].made_log()
        return [each for one in log.segments for each in scan(one.slice(0, one.size).read())]

    return kafka.call(work)


@pytest.mark.parametrize("codec", ["producer", "gzip", "snappy", "lz4", "zstd"])
def test_the_latest_record_of_each_key_stays(codec: str) -> None:
    with embedded_broker() as kafka:
        kafka.create_topic("t", 1, configs=COMPACTED | {"compression.type": codec, "segment.bytes": 300})
        for number in range(40):
            kafka.append("t", [(f"k{number % 3}", f"v{number}"), {"key": "h", "value": "x", "headers": {"n": "1"}}])
        kafka.compact("t")
        assert state(kafka) == {"k0": "v39", "k1": "v37", "k2": "v38", "h": "x"}
        assert offsets(kafka) == [74, 76, 78, 79]
        assert kafka.records("t")[-1].headers == (("n", b"1"),)
        assert all(each.crc_valid for each in batches(kafka))
        # Later ones go on where the log ended, and older ones go the next time.
        assert kafka.append("t", ("k0", "new")) == [80]
        kafka.compact()
        assert state(kafka) == {"k0": "new", "k1": "v37", "k2": "v38", "h": "x"}


def test_a_consumer_reads_over_what_went() -> None:
    async def work() -> None:
        async with talking() as talk:
            topic = talk.broker.create_topic("t", configs=COMPACTED | {"segment.bytes": "150"})
            for number in range(9):
                await talk.produce("t", build_batch([(number, b"k", b"%d" % number, ()), (number, b"j", b"", ())]))
            before = topic.partitions[0].end_offset
            talk.broker.replicas.compact()
            assert (topic.partitions[0].start_offset, topic.partitions[0].end_offset) == (0, before)
            offset, found = 0, []
            while offset < before:
                row = parts(await talk.fetch(4, ("t", 0, offset)))["t", 0]
                assert row["errorCode"] == 0
                got = [each for batch in scan(row["records"]) for each in batch.records() if each.offset >= offset]
                found += [(each.offset, each.key, each.value) for each in got]
                offset = max([offset + 1, *(each.offset + 1 for each in got)])
            assert found == [(16, b"k", b"8"), (17, b"j", b"")]

    run(work())


def test_a_tombstone_stays_for_a_time() -> None:
    with embedded_broker() as kafka:
        kafka.create_topic("t", 1, configs=COMPACTED | {"delete.retention.ms": 3_600_000})
        kafka.append("t", [("a", "1"), ("b", "2"), ("a", None)])
        kafka.compact("t")
        assert state(kafka) == {"b": "2", "a": None}
        (batch,) = batches(kafka)
        assert batch.delete_horizon is not None
        assert kafka.clock.now() < batch.delete_horizon <= kafka.clock.now() + 3_600_000
        assert [each.timestamp for each in kafka.records("t")] == [each.timestamp for each in batch.records()]
        kafka.append("t", ("c", "3"))
        kafka.compact("t")
        assert state(kafka) == {"b": "2", "a": None, "c": "3"}
        kafka.clock.advance(hours=2)
        kafka.compact("t")
        assert state(kafka) == {"b": "2", "c": "3"}


def test_transactions() -> None:
    """What was aborted goes; what is open waits; a marker goes when its records have gone, and its time is over."""
    with embedded_broker() as kafka:
        kafka.create_topic("t", 1, configs=COMPACTED | {"delete.retention.ms": 1000})
        now = kafka.clock.now()

        async def work() -> None:
            async with connected(kafka.broker) as talk:
                producer = Producer(talk, implicit=True)
                await producer.init()
                for commit in (True, False):
                    rows = [(now, b"k", b"%d" % commit, ()), (now, b"only %d" % commit, b"", ())]
                    await producer.send_rows(rows)
                    await producer.end(commit=commit)
                await producer.send_rows([(now, b"open", b"", ())])

        run(work())
        kafka.append("t", ("k", "after"))
        assert kafka.records("t", committed=True)
        kafka.compact("t")
        assert len(kafka.records("t")) == 6  # the open transaction holds all of it up

        kafka.clock.advance(hours=1)  # it times out
        kafka.compact("t")
        assert state(kafka) == {"only 1": "", "k": "after"}
        assert [each.is_control for each in batches(kafka)].count(True) >= 1
        kafka.clock.advance(hours=1)
        kafka.append("t", ("only 1", "later"))
        kafka.compact("t")
        kafka.clock.advance(hours=1)
        kafka.compact("t")
        assert state(kafka) == {"k": "after", "only 1": "later"}
        control = [each for each in batches(kafka) if each.is_control]
        assert sum(each.count for each in control) == 0


def test_nobody_is_told_of_aborted_transactions_without_records(tmp_path: Path) -> None:
    """A consumer would leave out all that their producer wrote, up to a marker that has gone."""
    told: list[int] = []

    async def work(rounds: int) -> None:
        async with talking(Broker(tmp_path)) as talk:
            if rounds:
                talk.broker.create_topic("t", configs=COMPACTED | {"delete.retention.ms": "0"})
                producer = Producer(talk)
                await producer.init()
                for commit in (False, True):
                    await producer.add(0)
                    await producer.send_rows([(1, b"%d" % commit, b"v", ())])
                    await producer.end(commit=commit)
            for _ in range(rounds):
                told.append(len((await read(talk))[1]["abortedTransactions"] or ()))
                talk.broker.replicas.compact()
                talk.broker.clock.advance(1)
            found, row = await read(talk)
            assert [record.key for each in scan(found) if not each.is_control for record in each.records()] == [b"1"]
            assert not row["abortedTransactions"]

    run(work(3))
    assert told == [1, 0, 0]
    assert not list(tmp_path.glob("t-0/*.txnindex"))
    run(work(0))


def test_a_producers_last_batch_stays_without_records() -> None:
    """So that the next one's sequence is known, also when the broker starts again."""

    async def work(data: Path, expected: list[str], *, sequence: int) -> None:
        async with talking(Broker(data)) as talk:
            if "t" not in talk.broker.topics.by_name:
                talk.broker.create_topic("t", configs=COMPACTED)
            rows = [(1, b"k", b"v", ())]
            for at, code in enumerate(expected, sequence):
                batch = build_batch(rows, producer_id=7, producer_epoch=0, base_sequence=at)
                answer = await talk.produce("t", batch)
                assert answer["errorCode"] == int(code), answer
            await talk.produce("t", build_batch([(2, b"k", b"other", ())]))
            talk.broker.replicas.compact()

    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        run(work(Path(folder), ["0", "0"], sequence=0))
        run(work(Path(folder), ["0"], sequence=2))
        run(work(Path(folder), ["45"], sequence=9))


def test_the_cleaner_runs_by_itself() -> None:
    with embedded_broker() as kafka:
        kafka.create_topic("t", 1, configs=COMPACTED | {"segment.bytes": 200})
        kafka.create_topic("lazy", 1, configs=COMPACTED | {"segment.bytes": 200, "min.compaction.lag.ms": 7_200_000})
        for topic in ("t", "lazy"):
            kafka.append(topic, [("k", "x")])
            for number in range(9):
                kafka.append(topic, [("k", str(number) * 30)])
        kafka.clock.advance(seconds=16)
        kafka.call(lambda _broker: None)
        for _ in range(200):
            if len(kafka.records("t")) <= 3:
                break
            kafka.call(lambda _broker: None)
        assert len(kafka.records("t")) <= 3 and len(kafka.records("lazy")) == 10
        kafka.clock.advance(hours=3)
        for _ in range(200):
            if len(kafka.records("lazy")) <= 3:
                break
            kafka.call(lambda _broker: None)
        assert len(kafka.records("lazy")) <= 3


def test_a_restart_goes_on_with_what_is_there(tmp_path: Path) -> None:
    with embedded_broker(tmp_path) as kafka:
        kafka.create_topic("t", 1, configs=COMPACTED | {"segment.bytes": 200})
        for number in range(20):
            kafka.append("t", [(f"k{number % 2}", str(number) * 9)])
        kafka.compact("t")
        kept = kafka.records("t")
        assert len(kept) == 2
    assert (tmp_path / "cleaner-offset-checkpoint").read_text() == "0\n1\nt 0 20\n"
    with embedded_broker(tmp_path) as kafka:
        assert kafka.records("t") == kept
        assert kafka.append("t", ("k0", "z")) == [20]
        assert kafka.notes == []


def test_committed_offsets_survive_their_compaction(tmp_path: Path) -> None:
    async def work(commit: int | None) -> None:
        async with talking(Broker(tmp_path)) as talk:
            if "t" not in talk.broker.topics.by_name:
                talk.broker.create_topic("t")
            for offset in range(commit or 0):
                place = {"name": "t", "partitions": [{"partitionIndex": 0, "committedOffset": offset}]}
                body = {"groupId": "g", "generationIdOrMemberEpoch": -1, "memberId": "", "topics": [place]}
                await talk(8, 7, body)
            talk.broker.replicas.compact()
            asked = {"groups": [{"groupId": "g", "topics": None}], "requireStable": False}
            found = (await talk(9, 8, asked))["groups"][0]["topics"][0]["partitions"][0]["committedOffset"]
            assert found == 19

    run(work(20))
    run(work(None))


def test_what_is_not_compacted() -> None:
    with embedded_broker() as kafka:
        kafka.append("t", "x")
        with pytest.raises(UsageError, match=r"topic t: cleanup.policy is delete"):
            kafka.compact("t")
        kafka.compact()
        assert len(kafka.records("t")) == 1


def test_old_messages_stay_while_one_is_the_latest() -> None:
    from kcli.records.builder import build_message_set

    async def work() -> None:
        async with talking() as talk:
            talk.broker.create_topic("t", configs=COMPACTED)
            for value in (b"1", b"2"):
                row: Any = await talk.produce("t", build_message_set([(5, b"k", value)]), version=2)
                assert row["errorCode"] == 0
            talk.broker.replicas.compact()
            log = talk.broker.topics.by_name["t"].partitions[0].made_log()
            data = b"".join(each.slice(0, each.size).read() for each in log.segments)
            assert [row.value for each in scan(data) for row in each.records()] == [b"2"]

    run(work())


def test_the_cleaner_leaves_other_topics_alone() -> None:
    with embedded_broker() as kafka:
        rolled = {"segment.bytes": 200, "min.cleanable.dirty.ratio": 0}
        kafka.create_topic("all", 1, configs=rolled)
        kafka.create_topic("newest", 1, configs=rolled | COMPACTED)
        for number in range(9):
            kafka.append("all", [("k", str(number) * 30)])
            kafka.append("newest", [("k", str(number) * 30)])
        kafka.call(lambda broker: [*broker.replicas.clean()])
        assert len(kafka.records("all")) == 9 and len(kafka.records("newest")) < 9
