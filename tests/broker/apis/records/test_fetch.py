"""Fetch: what every version is answered, limits, waiting, sessions."""

import asyncio
import time
from typing import Any

import pytest

from kcli.broker.configs import Configs
from kcli.records import build_marker, scan
from kcli.schemas.errors import error_name
from tests.broker.talk import Talk, batch, connected, parts, run, talking


def values(data: bytes) -> list[bytes | None]:
    return [record.value for each in scan(data, damages=[]) for record in each.records() if each.crc_valid]


@pytest.mark.parametrize("version", range(19))
def test_each_version_reads(version: int) -> None:
    async def work() -> None:
        async with talking(topic="t") as talk:
            name = talk.broker.topics.by_name["t"].id if version >= 13 else "t"
            await talk.produce("t", batch("a", "b"))
            got = parts(await talk.fetch(version, (name, 0, 1)))[name, 0]
            assert got["errorCode"] == 0
            assert got["highWatermark"] == 2
            assert [value for value in values(got["records"]) if value][-1] == b"b"

    run(work())


@pytest.mark.parametrize(
    ("wanted", "version", "error"),
    [
        (("t", 0, 3), 12, "OFFSET_OUT_OF_RANGE"),
        (("t", 0, -5), 12, "OFFSET_OUT_OF_RANGE"),
        (("t", 4, 0), 12, "UNKNOWN_TOPIC_OR_PARTITION"),
        (("u", 0, 0), 12, "UNKNOWN_TOPIC_OR_PARTITION"),
        (("B" * 21 + "A", 0, 0), 13, "UNKNOWN_TOPIC_ID"),
    ],
)
def test_errors_are_told_at_once(wanted: tuple[str, int, int], version: int, error: str) -> None:
    async def work() -> None:
        async with talking(topic="t") as talk:
            await talk.produce("t", batch("a", "b"))
            got = await asyncio.wait_for(talk.fetch(version, wanted, wait=20_000), 15)
            assert [error_name(row["errorCode"]) for row in parts(got).values()] == [error]

    run(work())


def test_leader_epochs_are_checked() -> None:
    """KIP-320."""

    async def work() -> None:
        async with talking(topic="t") as talk:
            talk.broker.topics.by_name["t"].partitions[0].epoch = 3
            for epoch, error in ((2, "FENCED_LEADER_EPOCH"), (3, "NONE"), (4, "UNKNOWN_LEADER_EPOCH"), (-1, "NONE")):
                row = {"partition": 0, "fetchOffset": 0, "partitionMaxBytes": 100, "currentLeaderEpoch": epoch}
                body = {"maxWaitMs": 0, "minBytes": 1, "topics": [{"topic": "t", "partitions": [row]}]}
                assert error_name(parts(await talk(1, 11, body))["t", 0]["errorCode"]) == error

    run(work())


def test_a_log_that_parted_is_told_where() -> None:
    """KIP-595: a fetcher that followed another leader's epoch has to go back."""

    async def work() -> None:
        async with talking(topic="t") as talk:
            await talk.produce_in_epochs("t", 0, 2)
            row = {"partition": 0, "fetchOffset": 3, "partitionMaxBytes": 100, "lastFetchedEpoch": 1}
            body = {"maxWaitMs": 0, "minBytes": 1, "topics": [{"topic": "t", "partitions": [row]}]}
            got = parts(await talk(1, 12, body))["t", 0]
            assert got["divergingEpoch"] == {"epoch": 0, "endOffset": 2}
            assert got["records"] == b""

    run(work())


# --- how much (KIP-74)


def test_the_first_batch_comes_whole_and_the_rest_by_its_limits() -> None:
    async def work() -> None:
        async with talking(topic="t", partitions=3) as talk:
            for index in range(3):
                await talk.produce("t", batch("x" * 1000), index)
            size = len(batch("x" * 1000))
            places = [("t", index, 0) for index in range(3)]
            for limits, sizes in (
                ({"part_bytes": 10}, [size, 0, 0]),
                ({"max_bytes": 10}, [size, 0, 0]),
                ({"max_bytes": 2 * size}, [size, size, 0]),
                ({"max_bytes": 2 * size - 1}, [size, 0, 0]),
                ({"max_bytes": 0, "part_bytes": 0}, [size, 0, 0]),
                ({}, [size, size, size]),
            ):
                got = parts(await talk.fetch(12, *places, **limits))
                assert [len(got[topic, index]["records"]) for topic, index, _ in places] == sizes, limits

    run(work())


def test_before_v3_a_batch_is_cut() -> None:
    async def work() -> None:
        async with talking(config={"log.message.timestamp.type": "CreateTime"}) as talk:
            from kcli.records import build_message_set

            talk.broker.create_topic("t", configs={"message.format.version": "0.9.0"})
            sets = build_message_set([(1, None, b"y" * 1000)], magic=0)
            await talk.produce("t", sets, version=0)
            got = parts(await talk.fetch(0, ("t", 0, 0), part_bytes=100))
            assert len(got["t", 0]["records"]) == 100

    run(work())


def test_long_slices_are_spliced_in_unharmed() -> None:
    async def work() -> None:
        async with talking(topic="t", partitions=2) as talk:
            for index in range(2):
                for _ in range(5):
                    await talk.produce("t", batch("z" * 300_000), index)
            for version in (4, 12, 18):
                name = talk.broker.topics.by_name["t"].id if version >= 13 else "t"
                got = parts(
                    await talk.fetch(version, (name, 0, 1), (name, 1, 0), part_bytes=2 << 20, max_bytes=8 << 20)
                )
                assert [len(values(got[name, index]["records"])) for index in range(2)] == [4, 5]

    run(work())


# --- waiting


def test_a_fetch_waits_for_records_and_is_woken_by_them() -> None:
    async def work() -> None:
        async with talking(topic="t") as talk, connected(talk.broker) as other:
            waiting = talk.fetch(12, ("t", 0, 0), wait=20_000)
            await asyncio.sleep(0.05)
            assert not waiting.done()
            await other.produce("t", batch("late"))
            got = await asyncio.wait_for(waiting, 15)
            assert values(parts(got)["t", 0]["records"]) == [b"late"]

    run(work())


def test_a_fetch_waits_no_longer_than_it_said() -> None:
    async def work() -> None:
        async with talking(topic="t") as talk:
            start = time.monotonic()
            got = await talk.fetch(12, ("t", 0, 0), wait=120)
            assert 0.1 < time.monotonic() - start < 15
            assert parts(got)["t", 0]["records"] == b""

    run(work())


def test_min_bytes_are_waited_for() -> None:
    async def work() -> None:
        async with talking(topic="t") as talk, connected(talk.broker) as other:
            one = len(batch("v" * 100))
            waiting = talk.fetch(12, ("t", 0, 0), wait=20_000, min_bytes=3 * one)
            for _ in range(2):
                await other.produce("t", batch("v" * 100))
                await asyncio.sleep(0.02)
                assert not waiting.done()
            await other.produce("t", batch("v" * 100))
            assert len(parts(await asyncio.wait_for(waiting, 15))["t", 0]["records"]) == 3 * one

    run(work())


def test_a_fetch_of_nothing_does_not_wait() -> None:
    async def work() -> None:
        async with talking() as talk:
            assert (await asyncio.wait_for(talk.fetch(12, wait=20_000), 15))["responses"] == []

    run(work())


def test_waiting_costs_nothing() -> None:
    async def work() -> None:
        async with talking(topic="t") as talk:
            waiting = talk.fetch(12, ("t", 0, 0), wait=600)
            await asyncio.sleep(0.05)
            start = time.process_time()
            await waiting
            assert time.process_time() - start < 0.3

    run(work())


# --- transactions


def test_read_committed() -> None:
    """Records of an open transaction are held back; those of an aborted one are named."""

    async def work() -> None:
        async with talking(topic="t") as talk:
            producer: dict[str, Any] = {"producer_id": 9, "producer_epoch": 0}
            await talk.produce("t", batch("a"))
            append(talk, batch("b", base_offset=1, transactional=True, base_sequence=0, **producer))
            await talk.produce("t", batch("c"))
            committed = parts(await talk.fetch(12, ("t", 0, 0), isolation=1))["t", 0]
            assert (committed["lastStableOffset"], committed["highWatermark"]) == (1, 3)
            assert values(committed["records"]) == [b"a"]
            assert committed["abortedTransactions"] == []
            assert values(parts(await talk.fetch(12, ("t", 0, 0)))["t", 0]["records"]) == [b"a", b"b", b"c"]
            abort(talk)
            ended = parts(await talk.fetch(12, ("t", 0, 0), isolation=1))["t", 0]
            assert ended["abortedTransactions"] == [{"producerId": 9, "firstOffset": 1}]
            assert ended["lastStableOffset"] == 4
            assert parts(await talk.fetch(12, ("t", 0, 3), isolation=1))["t", 0]["abortedTransactions"] == [
                {"producerId": 9, "firstOffset": 1}
            ]

    run(work())


def append(talk: Talk, data: bytes) -> None:
    """To the log, whatever a client may send."""
    from kcli.broker.storage.incoming import stored

    talk.broker.topics.by_name["t"].partitions[0].made_log().append_stored(stored(data))


def abort(talk: Talk) -> None:
    append(talk, build_marker(False, 1, 3, 9, 0, 0))


# --- sessions (KIP-227)


def test_a_session_tells_only_what_changed() -> None:
    """KIP-227: the response names the session, and then tells only what changed."""

    async def work() -> None:
        async with talking(topic="t", partitions=4) as talk, connected(talk.broker) as other:
            name = talk.broker.topics.by_name["t"].id
            opened = await talk.fetch(15, *((name, index, 0) for index in range(4)), session=(0, 0))
            session = opened["sessionId"]
            assert session > 0
            assert len(parts(opened)) == 4
            assert parts(await talk.fetch(15, session=(session, 1))) == {}
            waiting = talk.fetch(15, session=(session, 2), wait=20_000)
            await asyncio.sleep(0.02)
            await other.produce("t", batch("n"), 2)
            assert list(parts(await asyncio.wait_for(waiting, 15))) == [(name, 2)]
            # Not moved on: reported again.
            assert list(parts(await talk.fetch(15, session=(session, 3)))) == [(name, 2)]
            assert parts(await talk.fetch(15, (name, 2, 1), session=(session, 4))) == {}
            assert parts(await talk.fetch(15, session=(session, 5), forgotten=((name, 2),))) == {}
            await other.produce("t", batch("n"), 2)
            assert parts(await talk.fetch(15, session=(session, 6))) == {}

    run(work())


def test_session_errors() -> None:
    """KIP-227: on the wire, an unknown session is 70, a wrong epoch 71."""

    async def work() -> None:
        async with talking(topic="t") as talk:
            name = talk.broker.topics.by_name["t"].id
            session = (await talk.fetch(15, (name, 0, 0), session=(0, 0)))["sessionId"]
            for wanted, version, error in (
                ((session, 7), 15, "INVALID_FETCH_SESSION_EPOCH"),
                ((session + 1, 1), 15, "FETCH_SESSION_ID_NOT_FOUND"),
                ((session, 1), 12, "FETCH_SESSION_TOPIC_ID_ERROR"),
            ):
                answer = await talk.fetch(version, session=wanted)
                assert error_name(answer["errorCode"]) == error
            assert (await talk.fetch(15, session=(session, 1)))["errorCode"] == 0
            # Closed by epoch -1.
            assert (await talk.fetch(15, session=(session, -1)))["errorCode"] == 0
            assert error_name((await talk.fetch(15, session=(session, 2)))["errorCode"]) == "FETCH_SESSION_ID_NOT_FOUND"

    run(work())


def test_no_slots_no_session() -> None:
    """KIP-227: max.incremental.fetch.session.cache.slots, 1000 by default; without a free one fetches stay full."""

    assert Configs().int("max.incremental.fetch.session.cache.slots") == 1000

    async def work() -> None:
        async with talking(topic="t", config={"max.incremental.fetch.session.cache.slots": "2"}) as talk:
            answer = await talk.fetch(12, ("t", 0, 0), session=(0, 0))
            assert (answer["sessionId"], answer["errorCode"]) == (0, 0)

    run(work())


def test_a_deleted_topic_is_told_in_its_session() -> None:
    async def work() -> None:
        async with talking(topic="t") as talk:
            topic = talk.broker.topics.by_name["t"]
            session = (await talk.fetch(15, (topic.id, 0, 0), session=(0, 0)))["sessionId"]
            waiting = talk.fetch(15, session=(session, 1), wait=20_000)
            await asyncio.sleep(0.02)
            talk.broker.controller.delete_topic(topic)
            got = parts(await asyncio.wait_for(waiting, 15))
            assert error_name(got[topic.id, 0]["errorCode"]) == "UNKNOWN_TOPIC_ID"

    run(work())
