"""Produce: every version stores what it carries, and says no where Kafka does."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kcli.broker import Broker
from kcli.errors import NetworkError
from kcli.records import build_message_set, scan
from kcli.schemas.apikeys import FETCH, PRODUCE
from kcli.schemas.errors import error_name
from tests.broker.talk import Talk, batch, fetch_body, parts, produced, run, talking
from tests.broker.transactions.producer import Producer


def values(data: bytes) -> list[bytes | None]:
    return [record.value for each in scan(data) for record in each.records()]


@pytest.mark.parametrize("version", range(14))
def test_each_version_stores_its_records(version: int) -> None:
    async def work() -> None:
        async with talking(topic="t") as talk:
            topic = talk.broker.topics.by_name["t"]
            records = (
                batch("a", "b")
                if version >= 3
                else build_message_set([(1, None, b"a"), (1, None, b"b")], magic=min(1, version // 2))
            )
            row = produced("t", 0, records)
            if version >= 13:
                row["topicId"] = topic.id
                del row["name"]
            answer = await talk(PRODUCE, version, {"acks": 1, "timeoutMs": 1, "topicData": [row]})
            done = answer["responses"][0]["partitionResponses"][0]
            assert (done["errorCode"], done["baseOffset"]) == (0, 0)
            fetched = parts(await talk.fetch(12, ("t", 0, 0)))["t", 0]
            assert values(fetched["records"]) == [b"a", b"b"]
            assert fetched["highWatermark"] == 2

    run(work())


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_batches_are_numbered_in_place(codec: str) -> None:
    async def work() -> None:
        async with talking(topic="t") as talk:
            for _ in range(3):
                assert (await talk.produce("t", batch("x", "y", codec=codec)))["errorCode"] == 0
            got = list(scan(parts(await talk.fetch(12, ("t", 0, 0)))["t", 0]["records"]))
            assert [each.base_offset for each in got] == [0, 2, 4]
            assert all(each.crc_valid for each in got)
            assert [each.partition_leader_epoch for each in got] == [0, 0, 0]
            assert [record.offset for each in got for record in each.records()] == list(range(6))

    run(work())


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4"])
def test_compressed_old_sets_get_their_offsets(magic: int, codec: str) -> None:
    async def work() -> None:
        async with talking() as talk:
            talk.broker.create_topic("t", configs={"message.format.version": "0.10.2"})
            for _ in range(2):
                sets = build_message_set([(5, b"k", b"a"), (6, b"k", b"b")], magic=magic, codec=codec)
                assert (await talk.produce("t", sets, version=2))["errorCode"] == 0
            got = list(scan(parts(await talk.fetch(12, ("t", 0, 0)))["t", 0]["records"]))
            assert all(each.crc_valid for each in got)
            assert [record.offset for each in got for record in each.records()] == [0, 1, 2, 3]

    run(work())


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", ["none", "gzip", "snappy"])
def test_old_messages_are_stored_as_kafka_3_does(magic: int, codec: str) -> None:
    """As one batch of magic 2, with their codec; magic 0 has no times."""

    async def work() -> None:
        async with talking(topic="t") as talk:
            sets = build_message_set([(5, b"k", b"a"), (6, None, b"b")], magic=magic, codec=codec)
            for offset in (0, 2):
                assert (await talk.produce("t", sets, version=magic + 1))["baseOffset"] == offset
            got = list(scan(parts(await talk.fetch(12, ("t", 0, 0)))["t", 0]["records"]))
            assert [(each.magic, each.count, each.compression, each.crc_valid) for each in got] == [
                (2, 2, codec, True)
            ] * 2
            times = [5, 6] if magic else [-1, -1]
            assert [record[1:4] for each in got for record in each.records()] == [
                (times[0], b"k", b"a"),
                (times[1], None, b"b"),
            ] * 2

    run(work())


def broken(change: Callable[[bytearray], None]) -> bytes:
    data = bytearray(batch("a", "b"))
    change(data)
    return bytes(data)


def flip_last(data: bytearray) -> None:
    data[-1] ^= 1


def cut(data: bytearray) -> None:
    del data[-1:]


REFUSED = [
    (broken(flip_last), 9, "CORRUPT_MESSAGE"),
    (broken(cut), 9, "INVALID_RECORD"),
    (b"", 9, "INVALID_RECORD"),
    (batch("a") + batch("b"), 9, "INVALID_RECORD"),
    (build_message_set([(1, None, b"a")], magic=1), 9, "INVALID_RECORD"),
    (batch("a"), 2, "INVALID_RECORD"),
    (batch("a", base_offset=7), 9, "INVALID_RECORD"),
    (batch("a", control=True), 9, "INVALID_RECORD"),
    (batch("a", codec="zstd"), 6, "UNSUPPORTED_COMPRESSION_TYPE"),
    (batch("a" * 2_000_000), 9, "MESSAGE_TOO_LARGE"),
    (batch("a", producer_id=5, producer_epoch=0), 9, "INVALID_RECORD"),
]


@pytest.mark.parametrize(("records", "version", "error"), REFUSED)
def test_what_is_refused(records: bytes, version: int, error: str) -> None:
    async def work() -> None:
        async with talking(topic="t") as talk:
            row = await talk.produce("t", records, version=version)
            assert error_name(row["errorCode"]) == error
            assert row["baseOffset"] == -1
            if version >= 8:
                assert row["errorMessage"]
            assert talk.broker.topics.by_name["t"].partitions[0].end_offset == 0

    run(work())


def test_unknown_places() -> None:
    async def work() -> None:
        async with talking(topic="t") as talk:
            assert error_name((await talk.produce("t", batch("a"), 1))["errorCode"]) == "UNKNOWN_TOPIC_OR_PARTITION"
            assert error_name((await talk.produce("u", batch("a")))["errorCode"]) == "UNKNOWN_TOPIC_OR_PARTITION"
            row = {"topicId": "B" * 21 + "A", "partitionData": [{"index": 0, "records": batch("a")}]}
            answer = await talk(PRODUCE, 13, {"acks": 1, "timeoutMs": 1, "topicData": [row]})
            assert error_name(answer["responses"][0]["partitionResponses"][0]["errorCode"]) == "UNKNOWN_TOPIC_ID"
            assert error_name((await talk.produce("t", batch("a"), acks=7))["errorCode"]) == "INVALID_REQUIRED_ACKS"

    run(work())


def test_acks_0_has_no_answer_and_a_failure_ends_the_connection() -> None:
    async def work() -> None:
        async with talking(topic="t") as talk:
            send_only(talk, "t")
            fetched = await talk.fetch(12, ("t", 0, 0), wait=2000)
            assert parts(fetched)["t", 0]["highWatermark"] == 1
            send_only(talk, "missing")
            with pytest.raises(NetworkError):
                await talk(FETCH, 12, fetch_body(12, ("t", 0, 0)))

    run(work())


def send_only(talk: Talk, topic: str) -> None:
    from kcli.grammar import frames

    header = {"requestApiKey": PRODUCE, "requestApiVersion": 9, "correlationId": 0, "clientId": "c"}
    body = {"acks": 0, "timeoutMs": 1, "topicData": [produced(topic, 0, batch("a"))]}
    talk.connection.send_only(frames.encode_request(header, body))


def sequenced(first: int, *values: str, epoch: int = 0, producer: int = 7) -> bytes:
    return batch(*values, producer_id=producer, producer_epoch=epoch, base_sequence=first)


def test_idempotent_producers() -> None:
    """KIP-98: duplicates answer with their first offset, gaps and old epochs are refused."""

    async def work() -> None:
        async with talking(topic="t") as talk:
            steps: list[tuple[bytes, str, int]] = [
                (sequenced(0, "a", "b"), "NONE", 0),
                (sequenced(2, "c"), "NONE", 2),
                (sequenced(0, "a", "b"), "NONE", 0),
                (sequenced(2, "c"), "NONE", 2),
                (sequenced(9, "z"), "OUT_OF_ORDER_SEQUENCE_NUMBER", -1),
                (sequenced(1, "z"), "OUT_OF_ORDER_SEQUENCE_NUMBER", -1),
                (sequenced(3, "z", epoch=1), "OUT_OF_ORDER_SEQUENCE_NUMBER", -1),
                (sequenced(0, "d", epoch=1), "NONE", 3),
                (sequenced(3, "d", epoch=0), "INVALID_PRODUCER_EPOCH", -1),
                (sequenced(50, "x", producer=8), "NONE", 4),
            ]
            for records, error, offset in steps:
                row = await talk.produce("t", records)
                assert (error_name(row["errorCode"]), row["baseOffset"]) == (error, offset)
            assert talk.broker.topics.by_name["t"].partitions[0].end_offset == 5

    run(work())


def test_what_the_log_itself_answers() -> None:
    """A duplicate has its first copy's latest timestamp; what the log refuses its start offset and no text."""

    async def work() -> None:
        async with talking(topic="t") as talk:
            names = ("baseOffset", "logAppendTimeMs", "logStartOffset", "errorMessage")
            for records, found in (
                (sequenced(0, "a", "b"), (0, -1, 0, None)),
                (sequenced(0, "a", "b"), (0, 1001, 0, None)),
                (sequenced(9, "z"), (-1, -1, 0, None)),
            ):
                row = await talk.produce("t", records)
                assert tuple(row[name] for name in names) == found

    run(work())


def test_a_second_batch_that_comes_before_the_first() -> None:
    """The first went to the old leader, the second to the new one. Taken, it would keep the first out for ever."""

    async def work() -> None:
        broker = Broker(nodes=2)
        async with talking(broker) as old, old.another(1) as new:
            partition = broker.create_topic("t", assignment=[(1, 2)]).partitions[0]
            assert (await old.produce("t", sequenced(0, "of another", producer=6)))["errorCode"] == 0
            broker.move_leader(partition, 2)
            steps = [
                (new, 1, "OUT_OF_ORDER_SEQUENCE_NUMBER"),
                (old, 0, "NOT_LEADER_OR_FOLLOWER"),
                (new, 1, "OUT_OF_ORDER_SEQUENCE_NUMBER"),
                (new, 0, "NONE"),
                (new, 1, "NONE"),
            ]
            for node, sequence, error in steps:
                assert error_name((await node.produce("t", sequenced(sequence, "v")))["errorCode"]) == error
            assert partition.end_offset == 3

    run(work())


def test_a_second_batch_behind_one_that_a_fault_refused() -> None:
    async def work() -> None:
        async with talking(topic="t", faults=["api=Produce,error=NOT_LEADER_OR_FOLLOWER,count=1"]) as talk:
            rows = [await talk.produce("t", sequenced(sequence, "v")) for sequence in (0, 1, 0, 1)]
            assert [error_name(row["errorCode"]) for row in rows] == [
                "NOT_LEADER_OR_FOLLOWER",
                "OUT_OF_ORDER_SEQUENCE_NUMBER",
                "NONE",
                "NONE",
            ]

    run(work())


def test_a_producer_whose_records_were_deleted_goes_on() -> None:
    """What was deleted may have been of any producer, so that an unknown one may begin anywhere, after a move, too."""

    async def work() -> None:
        broker = Broker(nodes=2)
        async with talking(broker) as talk:
            partition = broker.create_topic("t", assignment=[(1, 2)]).partitions[0]
            await talk.produce("t", batch("a", "b"))
            broker.topics.delete_records(partition, 1)
            broker.move_leader(partition, 2)
            broker.move_leader(partition, 1)
            assert (await talk.produce("t", sequenced(9, "v")))["errorCode"] == 0

    run(work())


@pytest.mark.parametrize(("version", "error"), [(11, "NONE"), (12, "OUT_OF_ORDER_SEQUENCE_NUMBER")])
def test_a_transaction_of_an_unknown_producer_begins_at_0(version: int, error: str) -> None:
    """From v12 on (KIP-890; ProducerAppendInfo)."""

    async def work() -> None:
        async with talking(topic="t") as talk:
            producer = Producer(talk)
            await producer.init()
            await producer.add(0)
            producer.sequence = 4
            assert await producer.send("a", version=version) == error

    run(work())


def test_only_the_last_five_batches_are_known_again() -> None:
    async def work() -> None:
        async with talking(topic="t") as talk:
            for sequence in range(6):
                await talk.produce("t", sequenced(sequence, "v"))
            assert (await talk.produce("t", sequenced(1, "v")))["baseOffset"] == 1
            assert (
                error_name((await talk.produce("t", sequenced(0, "v")))["errorCode"]) == "OUT_OF_ORDER_SEQUENCE_NUMBER"
            )

    run(work())


def test_sequences_go_on_at_0_after_the_greatest() -> None:
    async def work() -> None:
        async with talking(topic="t") as talk:
            await talk.produce("t", sequenced((1 << 31) - 1, "v"))
            assert (await talk.produce("t", sequenced(0, "v")))["errorCode"] == 0

    run(work())


def test_append_time() -> None:
    async def work() -> None:
        async with talking(config={"log.message.timestamp.type": "LogAppendTime"}, topic="t") as talk:
            row = await talk.produce("t", batch("a", time=5))
            got = next(scan(parts(await talk.fetch(12, ("t", 0, 0)))["t", 0]["records"]))
            assert got.crc_valid
            assert got.timestamp_type == "LogAppendTime"
            assert next(iter(got.records())).timestamp == row["logAppendTimeMs"] > 1_600_000_000_000

    run(work())


def test_many_partitions_in_one_request() -> None:
    async def work() -> None:
        async with talking(topic="t", partitions=50) as talk:
            rows: list[dict[str, Any]] = [{"index": index, "records": batch(str(index))} for index in range(50)]
            body = {"acks": -1, "timeoutMs": 1, "topicData": [{"name": "t", "partitionData": rows}]}
            answer = await talk(PRODUCE, 9, body)
            assert [each["errorCode"] for each in answer["responses"][0]["partitionResponses"]] == [0] * 50
            found = parts(await talk.fetch(12, *(("t", index, 0) for index in range(50))))
            assert [values(found["t", index]["records"]) for index in range(50)] == [[b"%d" % at] for at in range(50)]

    run(work())


def test_pipelined_requests_are_answered_in_order() -> None:
    async def work() -> None:
        async with talking(topic="t") as talk:
            rows = await asyncio.gather(*(talk.produce("t", batch(str(at))) for at in range(200)))
            assert [row["baseOffset"] for row in rows] == list(range(200))

    run(work())


@pytest.mark.parametrize("data", [True, False])
def test_long_requests_leave_each_other_as_they_are(data: bool, tmp_path: Path) -> None:
    """Though they are received into the same memory, also where the log holds what was written in memory."""

    async def work() -> None:
        async with talking(data=tmp_path if data else None, topic="t", partitions=3) as talk:
            sent = [str(number) * size for number, size in enumerate((100_000, 70_000, 300_000, 66_000, 1_000))]
            for number, each in enumerate(sent):
                await talk.produce("t", batch(each), number % 3)
            await asyncio.gather(*(talk.produce("t", batch(each)) for each in sent))
            found = parts(
                await talk.fetch(12, *(("t", index, 0) for index in range(3)), part_bytes=1 << 21, max_bytes=1 << 22)
            )
            texts = [[(each or b"").decode() for each in values(found["t", index]["records"])] for index in range(3)]
            assert texts == [[sent[0], sent[3], *sent], [sent[1], sent[4]], [sent[2]]]

    run(work())
