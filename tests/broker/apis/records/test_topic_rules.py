"""Rules of a topic for its records: what it takes, in which form, for how long."""

from __future__ import annotations

from pathlib import Path

import pytest

from kcli.broker.apis.topics.metadata import MAKING_SECONDS
from kcli.records import build_batch
from kcli.schemas.apikeys import DELETE_RECORDS, METADATA
from kcli.schemas.errors import error_name
from tests.broker.talk import Talk, batch, connected, parts, run, talking


def test_nobody_but_the_broker_writes_to_internal_topics(tmp_path: Path) -> None:
    """The metadata log is no topic of the clients'; an admin may write to the others (Kafka's ReplicaManager)."""

    async def names(talk: Talk, version: int, *wanted: str) -> dict[str, str]:
        answer = await talk(METADATA, version, {"topics": [{"name": name} for name in wanted]})
        return {each["name"]: error_name(each["errorCode"]) for each in answer["topics"]}

    async def write(talk: Talk, topic: str) -> str:
        return error_name((await talk.produce(topic, batch("x")))["errorCode"])

    async def work() -> None:
        async with talking(data=tmp_path) as talk:
            unlawful = ["../x", "/x", "a b", "nul\0", "..", "x" * 250]
            assert set((await names(talk, 1, *unlawful)).values()) == {"INVALID_TOPIC_EXCEPTION"}
            assert await names(talk, 1, "__cluster_metadata") == {"__cluster_metadata": "UNKNOWN_TOPIC_OR_PARTITION"}
            assert await write(talk, "__cluster_metadata") == "UNKNOWN_TOPIC_OR_PARTITION"
            for name in ("__consumer_offsets", "__transaction_state", "__share_group_state"):
                assert await names(talk, 1, name) == {name: "UNKNOWN_TOPIC_OR_PARTITION"}
                talk.broker.clock.advance(MAKING_SECONDS)
                assert await names(talk, 1, name) == {name: "NONE"}
                topic = talk.broker.topics.by_name[name]
                assert topic.internal
                assert len(topic.partitions) == 50
                assert await write(talk, name) == "INVALID_TOPIC_EXCEPTION"
                asked = {"name": name, "partitions": [{"partitionIndex": 0, "offset": 0}]}
                answer = await talk(DELETE_RECORDS, 2, {"topics": [asked], "timeoutMs": 1000})
                assert error_name(answer["topics"][0]["partitions"][0]["errorCode"]) == "INVALID_TOPIC_EXCEPTION"
            assert talk.broker.topics.by_name["__consumer_offsets"].configs.own == {"cleanup.policy": "compact"}
            async with connected(talk.broker, client_id="__admin_client") as admin:
                keyed = build_batch([(1, b"k", b"x", ())])
                assert (await admin.produce("__transaction_state", keyed))["errorCode"] == 0
        # The folder starts again, and nothing stands where it should not.
        async with talking(data=tmp_path) as talk:
            assert "__transaction_state" in talk.broker.topics.by_name
        folders = {path.name for path in tmp_path.iterdir() if path.is_dir()}
        assert folders == {"__cluster_metadata-0", "__transaction_state-0"}

    run(work())


def test_records_that_a_topic_does_not_take() -> None:
    async def work() -> None:
        async with talking() as talk:
            now = talk.broker.now()
            talk.broker.create_topic("compacted", configs={"cleanup.policy": "delete,compact"})
            keyless = build_batch([(now, b"k", b"v", ()), (now, None, b"v", ())])
            row = await talk.produce("compacted", keyless)
            assert error_name(row["errorCode"]) == "INVALID_RECORD" and "records[1]" in row["errorMessage"]
            assert (await talk.produce("compacted", build_batch([(now, b"k", None, ())])))["errorCode"] == 0
            rows = [(now, key, b"v", ()) for key in (b"k", None, b"k", None)]
            wrong = (await talk.produce("compacted", build_batch(rows)))["recordErrors"]
            assert [each["batchIndex"] for each in wrong] == [1, 3] and "without key" in wrong[0][
                "batchIndexErrorMessage"
            ]
            times = (now, now + 2 * 3_600_000)
            row = await talk.produce("compacted", build_batch([(each, b"k", b"v", ()) for each in times]))
            assert error_name(row["errorCode"]) == "INVALID_TIMESTAMP"
            assert [each["batchIndex"] for each in row["recordErrors"]] == [1]
            limits = {"message.timestamp.after.max.ms": "60000", "message.timestamp.before.max.ms": "90000"}
            talk.broker.create_topic("timely", configs=limits)
            for ahead, code in ((50_000, 0), (70_000, 32), (-80_000, 0), (-100_000, 32)):
                assert (await talk.produce("timely", batch("x", time=now + ahead)))["errorCode"] == code

    run(work())


@pytest.mark.parametrize("codec", ["uncompressed", "gzip", "snappy", "lz4", "zstd"])
def test_a_topics_own_codec(codec: str) -> None:
    async def work() -> None:
        async with talking() as talk:
            configs = {"compression.type": codec, "message.timestamp.type": "LogAppendTime"}
            talk.broker.create_topic("t", configs=configs)
            for sent in ("none", "zstd"):
                assert (await talk.produce("t", batch("a" * 99, "b", codec=sent)))["errorCode"] == 0
            log = talk.broker.topics.by_name["t"].partitions[0].made_log()
            from kcli.records.batches import scan

            for each in scan(log.active.slice(0, log.size).read()):
                assert (each.compression, each.crc_valid, each.is_append_time) == (
                    "none" if codec == "uncompressed" else codec,
                    True,
                    True,
                )
                assert [record.value for record in each.records()] == [b"a" * 99, b"b"]

    run(work())


def test_an_old_fetch_of_records_that_have_no_older_form() -> None:
    """Two records of one offset are taken, as by Kafka; a fetch below v4 gets what is before them, then an error."""
    from kcli.core.records.crc import crc32c

    odd = bytearray(batch("a", "b"))
    at = odd.rindex(b"\x02\x01\x02b\x00")  # the second record's offset delta
    odd[at] = 0
    odd[17:21] = crc32c(bytes(odd[21:])).to_bytes(4, "big")

    async def work() -> None:
        async with talking(topic="t") as talk:
            await talk.produce("t", batch("first"))
            assert (await talk.produce("t", bytes(odd)))["errorCode"] == 0
            for version in range(4):
                row = parts(await talk.fetch(version, ("t", 0, 0)))["t", 0]
                assert row["errorCode"] == 0 and b"first" in row["records"]
                row = parts(await talk.fetch(version, ("t", 0, 1)))["t", 0]
                assert error_name(row["errorCode"]) == "CORRUPT_MESSAGE"

    run(work())


def test_retention_takes_the_active_segment() -> None:
    async def work() -> None:
        async with talking() as talk:
            topic = talk.broker.create_topic("t", configs={"retention.ms": "1000"})
            await talk.produce("t", batch("old", time=talk.broker.now() - 9000))
            talk.broker.replicas.retain()
            log = topic.partitions[0].made_log()
            assert (log.start_offset, log.end_offset, log.size) == (1, 1, 0)
            await talk.produce("t", batch("new", time=talk.broker.now()))
            talk.broker.replicas.retain()
            assert (log.start_offset, log.end_offset) == (1, 2)

    run(work())


def test_segments_are_rolled_by_time() -> None:
    async def work() -> None:
        async with talking() as talk:
            topic = talk.broker.create_topic("t", configs={"segment.ms": "1000"})
            for ago in (9000, 8500, 7000):
                await talk.produce("t", batch("x", time=talk.broker.now() - ago))
            assert topic.partitions[0].made_log().bases == [0, 2]

    run(work())
