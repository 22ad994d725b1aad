"""KIP-227's third draft on the wire: the uuid, the mismatch, the full fetch that follows."""

import asyncio
from typing import Any

import pytest

from kcli.errors import NetworkError
from kcli.records import scan
from kcli.schemas.apikeys import FETCH, INCREMENTAL_FETCH
from kcli.sessions.draft_exchange import UUID_MISMATCH
from tests.broker.talk import DRAFT, batch, run, talking


def full(*wanted: tuple[int, int], replica: int = -1) -> dict[str, Any]:
    rows = [{"partition": index, "fetchOffset": offset, "partitionMaxBytes": 1 << 20} for index, offset in wanted]
    topics = [{"topic": "t", "partitions": rows}]
    return {"replicaId": replica, "maxWaitMs": 0, "minBytes": 1, "isolationLevel": 0, "topics": topics}


def more(uuid: int, *moved: tuple[object, int], wait: int = 0, replica: int = -1) -> dict[str, Any]:
    rows = [{"partitionId": str(index), "fetchOffset": offset, "maxBytes": 1 << 20} for index, offset in moved]
    topics = [{"topicName": "t", "partitions": rows}] if rows else []
    body = {"uuid": uuid, "replicaId": replica, "maxWaitTime": wait, "minBytes": 1, "isolationLevel": 0}
    return body | {"topics": topics}


def reported(answer: dict[str, Any]) -> dict[int, list[bytes | None]]:
    return {
        each["header"]["partitionId"]: [record.value for one in scan(each["records"]) for record in one.records()]
        for topic in answer["topics"]
        for each in topic["partitions"]
    }


def test_a_full_fetch_then_what_changed() -> None:
    """KIP-227's draft: a full fetch registers partitions and is answered with a UUID; then only what changed."""

    async def work() -> None:
        async with talking(dialect=DRAFT, topic="t", partitions=3) as talk, talk.another() as other:
            opened = await talk(FETCH, 7, full((0, 0), (1, 0), (2, 0)))
            uuid = opened["uuid"]
            assert uuid != 0
            assert len(opened["responses"][0]["partitions"]) == 3
            assert reported(await talk(INCREMENTAL_FETCH, 0, more(uuid))) == {}
            waiting = talk(INCREMENTAL_FETCH, 0, more(uuid, wait=20_000))
            await asyncio.sleep(0.02)
            assert not waiting.done()
            await other.produce("t", batch("n"), 1)
            assert reported(await asyncio.wait_for(waiting, 15)) == {1: [b"n"]}
            assert reported(await talk(INCREMENTAL_FETCH, 0, more(uuid, (1, 1)))) == {}

    run(work())


def test_only_the_latest_uuid_is_good() -> None:
    """KIP-227's draft: the broker refuses every UUID but the latest."""

    async def work() -> None:
        async with talking(dialect=DRAFT, topic="t", partitions=2) as talk:
            first = (await talk(FETCH, 7, full((0, 0), replica=5)))["uuid"]
            second = (await talk(FETCH, 7, full((0, 0), replica=5)))["uuid"]
            assert first != second
            answer = await talk(INCREMENTAL_FETCH, 0, more(first, replica=5))
            assert (answer["errorCode"], answer["uuid"], answer["topics"]) == (UUID_MISMATCH, 0, [])
            assert (await talk(INCREMENTAL_FETCH, 0, more(second, replica=5)))["errorCode"] == 0
            # Another replica knows of neither, and a partition that was never registered is no part of it.
            assert (await talk(INCREMENTAL_FETCH, 0, more(second, replica=6)))["errorCode"] == UUID_MISMATCH
            assert (await talk(INCREMENTAL_FETCH, 0, more(second, (1, 0), replica=5)))["errorCode"] == UUID_MISMATCH
            # The way out: a full fetch.
            assert (await talk(FETCH, 7, full((0, 0), (1, 0), replica=5)))["uuid"] not in (0, first, second)

    run(work())


def test_a_partition_id_is_decimal_digits() -> None:
    """KIP-227's draft: partition_id is a STRING in the request; what is no number is refused."""

    async def work() -> None:
        async with talking(dialect=DRAFT, topic="t") as talk:
            uuid = (await talk(FETCH, 7, full((0, 0))))["uuid"]
            with pytest.raises(NetworkError):
                await talk(INCREMENTAL_FETCH, 0, more(uuid, ("x1", 0)))

    run(work())


def test_without_the_dialect_nobody_has_it() -> None:
    """KIP-227's draft is shown to nobody where it was not asked for."""

    async def work() -> None:
        async with talking(topic="t") as talk:
            talk.dialect = DRAFT
            with pytest.raises(NetworkError):
                await talk(INCREMENTAL_FETCH, 0, more(1))

    run(work())


def test_apaches_versions_are_as_they_were() -> None:
    """KIP-227's draft is an RPC of its own: Apache's versions stay as they are."""

    async def work() -> None:
        async with talking(dialect=DRAFT, topic="t") as talk:
            await talk.produce("t", batch("a"))
            got = await talk.fetch(12, ("t", 0, 0), session=(0, 0))
            assert got["sessionId"] > 0

    run(work())
