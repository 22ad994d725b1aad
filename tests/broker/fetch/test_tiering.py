"""Tiered topics and KIP-1018: what leaves the first folder, how it is read, by which limit."""

import asyncio
import time
from pathlib import Path
from typing import Any

from kcli.broker import Broker
from kcli.client.calls import call
from kcli.records import scan
from kcli.schemas.apikeys import API_VERSIONS, FETCH, LIST_OFFSETS
from tests.broker.talk import Talk, batch, connected, fetch_body, parts, run, talking

TIERED = {
    "remote.storage.enable": "true",
    "local.retention.bytes": "2000",
    "segment.bytes": "1000",
    "max.message.bytes": "100000",
}
DIALECT = "kip-1018"


async def filled(talk: Talk, *, partitions: int = 1, batches: int = 40) -> None:
    talk.broker.create_topic("t", partitions, configs=TIERED)
    for index in range(partitions):
        for number in range(batches):
            assert (await talk.produce("t", batch(f"{number:03}" + "x" * 100), index))["errorCode"] == 0


def test_closed_segments_move_to_the_second_folder(tmp_path: Path) -> None:
    async def work() -> None:
        async with talking(Broker(tmp_path)) as talk:
            await filled(talk)
            local = sum(path.stat().st_size for path in (tmp_path / "t-0").glob("*.log"))
            assert local <= 2000 + 1000
            remote = sorted(path.name for path in (tmp_path / "remote-storage" / "t-0").glob("*.log"))
            assert len(remote) > 3
            assert await everything(talk) == [f"{number:03}" for number in range(40)]

    async def again() -> None:
        async with talking(Broker(tmp_path)) as talk:
            assert await everything(talk) == [f"{number:03}" for number in range(40)]
            topic = talk.broker.topics.by_name["t"]
            assert topic.partitions[0].start_offset == 0
            talk.broker.topics.delete_records(topic.partitions[0], 20)
            names = [path.name for path in (tmp_path / "remote-storage" / "t-0").glob("*.log")]
            assert names
            assert all(int(name[:20]) > 5 for name in names)
            talk.broker.controller.delete_topic(topic)
            assert not (tmp_path / "remote-storage" / "t-0").exists()

    run(work())
    run(again())


async def everything(talk: Talk) -> list[str]:
    got: list[str] = []
    while len(got) < 40:
        records = parts(await talk.fetch(12, ("t", 0, len(got))))["t", 0]["records"]
        got += [(one.value or b"")[:3].decode() for each in scan(records, damages=[]) for one in each.records()]
    return got


def test_one_remote_partition_a_fetch() -> None:
    """KIP-1018, KAFKA-14915: one remote partition a fetch; local partitions come along."""

    async def work() -> None:
        async with talking() as talk:
            await filled(talk, partitions=3)
            got = parts(await talk.fetch(12, ("t", 0, 0), ("t", 1, 0), ("t", 2, 39)))
            sizes = [len(got["t", index]["records"]) for index in range(3)]
            assert sizes[0] > 0
            assert sizes[1] == 0
            assert sizes[2] > 0
            # Its turn comes: in a session it stays due.
            opened = await talk.fetch(12, ("t", 0, 0), ("t", 1, 0), session=(0, 0))
            answer = parts(await talk.fetch(12, ("t", 0, 39), session=(opened["sessionId"], 1)))
            assert len(answer["t", 1]["records"]) > 0

    run(work())


def test_remote_reads_take_their_time() -> None:
    async def work() -> None:
        async with talking(config={"remote.read.latency.ms": "500"}) as talk, connected(talk.broker) as other:
            await filled(talk)
            start = time.monotonic()
            slow = talk.fetch(12, ("t", 0, 0))
            assert parts(await other.fetch(12, ("t", 0, 39)))["t", 0]["records"]
            assert not slow.done()
            assert parts(await slow)["t", 0]["records"]
            assert time.monotonic() - start >= 0.5

    run(work())


def limited(talk: Talk, *wanted: tuple[int, int], part: int, remote: int | None, most: int = 1 << 20) -> dict[str, Any]:
    topic_id = talk.broker.topics.by_name["t"].id
    body = fetch_body(18, *((topic_id, index, offset) for index, offset in wanted), part_bytes=part, max_bytes=most)
    for topic in body["topics"]:
        for row in topic["partitions"]:
            if remote is not None:
                row["remotePartitionMaxBytes"] = remote
    return body


def test_a_remote_partition_has_a_size_of_its_own() -> None:
    """KIP-1018: RemotePartitionMaxBytes for what is remote, PartitionMaxBytes for the rest, KIP-74 for both."""

    async def work() -> None:
        async with talking(dialect=DIALECT) as talk:
            await filled(talk, partitions=2)
            one = len(batch("000" + "x" * 100))
            topic_id = talk.broker.topics.by_name["t"].id
            for part, remote, sizes in (
                (2 * one, 4 * one, [4 * one, 2 * one]),
                (4 * one, 2 * one, [2 * one, one]),
                (2 * one, 1, [one, 2 * one]),
            ):
                got = parts(await talk(FETCH, 18, limited(talk, (0, 0), (1, 37), part=part, remote=remote)))
                answer = [len(got[topic_id, index]["records"]) for index in range(2)]
                assert answer[0] == sizes[0]
                assert answer[1] <= part
            # The limit of the whole response holds for remote reads, too.
            got = parts(await talk(FETCH, 18, limited(talk, (0, 0), part=one, remote=4 * one, most=3 * one)))
            assert len(got[topic_id, 0]["records"]) == 3 * one

    run(work())


def test_both_fetches_of_one_number_side_by_side() -> None:
    """KIP-1018: who says it speaks the dialect gets it; Apache's v18 (KIP-1166) goes on beside it, and falls back."""

    async def work() -> None:
        async with talking(dialect=DIALECT) as talk, connected(talk.broker) as apache, connected(talk.broker) as mine:
            await filled(talk)
            one = len(batch("000" + "x" * 100))
            for each, software in ((apache, ("apache-kafka-java", "4.4.0")), (mine, ("kcli", dialect_version()))):
                names = {"clientSoftwareName": software[0], "clientSoftwareVersion": software[1]}
                await call(each.connection, API_VERSIONS, 4, names)
            body = limited(talk, (0, 0), part=2 * one, remote=None)
            body["topics"][0]["partitions"][0]["highWatermark"] = 5
            topic_id = talk.broker.topics.by_name["t"].id
            got = parts(await call(apache.connection, FETCH, 18, body))
            assert len(got[topic_id, 0]["records"]) == 2 * one
            body = limited(talk, (0, 0), part=2 * one, remote=3 * one)
            got = parts(await call(mine.connection, FETCH, 18, body, dialect=DIALECT))
            assert len(got[topic_id, 0]["records"]) == 3 * one

    run(work())


def dialect_version() -> str:
    from kcli.client.dialects import spoken

    return spoken(DIALECT)


def test_offsets_by_tier() -> None:
    """KIP-405 and KIP-1005: -4 the first local offset, -5 the last one in remote storage, -6 the next to go there."""

    async def work() -> None:
        async with talking() as talk:
            await filled(talk)
            log = talk.broker.topics.by_name["t"].partitions[0].log
            assert log is not None
            found = {}
            for when in (-2, -4, -5, -6, -1):
                rows = [{"partitionIndex": 0, "timestamp": when}]
                body = {"replicaId": -1, "topics": [{"name": "t", "partitions": rows}]}
                found[when] = (await talk(LIST_OFFSETS, 11, body))["topics"][0]["partitions"][0]["offset"]
            assert found[-2] == 0
            assert 0 < found[-4] <= found[-5] < found[-1] == 40
            assert found[-6] == found[-5] + 1 == log.bases[-1]

    run(work())


def test_retention_reaches_remote_segments() -> None:
    async def work() -> None:
        async with talking() as talk:
            await filled(talk)
            topic = talk.broker.topics.by_name["t"]
            talk.broker.controller.configure_topic(topic, {"retention.bytes": "1500"})
            talk.broker.replicas.retain()
            log = topic.partitions[0].log
            assert log is not None
            assert log.size <= 2500
            assert log.start_offset > 20
            await asyncio.sleep(0)

    run(work())
