"""Offsets are found by time and epoch, records deleted."""

from pathlib import Path
from typing import Any

import pytest

from kcli.broker import Broker
from kcli.schemas import apikeys as keys
from kcli.schemas.apikeys import DELETE_RECORDS, LIST_OFFSETS, OFFSET_FOR_LEADER_EPOCH
from kcli.schemas.errors import error_name
from tests.broker.talk import batch, parts, run, talking


def test_records_are_deleted(tmp_path: Path) -> None:
    async def work() -> None:
        async with talking(Broker(tmp_path), topic="t") as talk:
            for _ in range(5):
                await talk.produce("t", batch("a"))
            for offset, low, error in ((3, 3, "NONE"), (2, 3, "NONE"), (9, -1, "OFFSET_OUT_OF_RANGE"), (-1, 5, "NONE")):
                rows = [{"name": "t", "partitions": [{"partitionIndex": 0, "offset": offset}]}]
                answer = await talk(DELETE_RECORDS, 2, {"topics": rows, "timeoutMs": 1})
                row = answer["topics"][0]["partitions"][0]
                assert (row["lowWatermark"], error_name(row["errorCode"])) == (low, error)

    async def again() -> None:
        async with talking(Broker(tmp_path)) as talk:
            assert error_name(parts(await talk.fetch(12, ("t", 0, 4)))["t", 0]["errorCode"]) == "OFFSET_OUT_OF_RANGE"
            assert (await talk.produce("t", batch("a")))["baseOffset"] == 5

    run(work())
    run(again())


def test_a_request_for_many_partitions_writes_their_starts_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file has all partitions: written for each, 60,000 entries kept all others waiting for seconds."""
    written = []

    async def work() -> None:
        async with talking(Broker(tmp_path), topic="t", partitions=3) as talk:
            monkeypatch.setattr("kcli.broker.metadata.topics.write_offsets", lambda *args: written.append(args))
            asked = {"name": "t", "partitions": [{"partitionIndex": index % 3, "offset": 0} for index in range(30)]}
            answer = await talk(DELETE_RECORDS, 2, {"topics": [asked], "timeoutMs": 1})
            assert {row["errorCode"] for row in answer["topics"][0]["partitions"]} == {0}
            [(_, starts)] = written
            assert starts == {("t", index): 0 for index in range(3)}

    run(work())


def test_an_isolation_level_that_kafka_does_not_have() -> None:
    async def work() -> None:
        async with talking(topic="t") as talk:
            asked = {"replicaId": -1, "topics": [{"name": "t", "partitions": [{"partitionIndex": 0, "timestamp": -1}]}]}
            for level, error in ((1, "NONE"), (9, "UNKNOWN_SERVER_ERROR")):
                answer = await talk(LIST_OFFSETS, 5, asked | {"isolationLevel": level})
                assert error_name(answer["topics"][0]["partitions"][0]["errorCode"]) == error
                answer = await talk(keys.FETCH, 11, {"replicaId": -1, "maxWaitMs": 0, "isolationLevel": level})
                assert error_name(answer["errorCode"]) == error

    run(work())


@pytest.mark.parametrize("version", range(12))
def test_offsets_by_time(version: int) -> None:
    async def work() -> None:
        async with talking(topic="t") as talk:
            for time in (1000, 3000, 2000):
                await talk.produce("t", batch("a", "b", time=time))
            rules = {-1: (-1, 6), -2: (-1, 0), 0: (1000, 0), 1001: (1001, 1), 2500: (3000, 2), 3002: (-1, -1)}
            if version >= 7:
                rules[-3] = (3001, 3)
            for when, found in rules.items():
                row: dict[str, Any] = {"partitionIndex": 0, "timestamp": when}
                if version == 0:
                    row["maxNumOffsets"] = 9
                body: dict[str, Any] = {"replicaId": -1, "topics": [{"name": "t", "partitions": [row]}]}
                got = (await talk(LIST_OFFSETS, version, body))["topics"][0]["partitions"][0]
                assert got["errorCode"] == 0
                if version == 0:
                    assert got["oldStyleOffsets"] == {-1: [6, 0], -2: [0]}.get(when, got["oldStyleOffsets"])
                else:
                    assert (got["timestamp"], got["offset"]) == found, when

    run(work())


def test_offsets_for_leader_epochs() -> None:
    async def work() -> None:
        async with talking(topic="t") as talk:
            await talk.produce_in_epochs("t", 0, 2)
            for epoch, found in ((0, (0, 2)), (1, (0, 2)), (2, (2, 4)), (3, (-1, -1))):
                rows = [{"topic": "t", "partitions": [{"partition": 0, "currentLeaderEpoch": 2, "leaderEpoch": epoch}]}]
                answer = await talk(OFFSET_FOR_LEADER_EPOCH, 4, {"replicaId": -1, "topics": rows})
                row = answer["topics"][0]["partitions"][0]
                assert (row["leaderEpoch"], row["endOffset"]) == found

    run(work())


@pytest.mark.parametrize(
    ("timestamp", "version", "code", "offset"),
    [
        (-1, 5, "NONE", 2),
        (-3, 5, "UNSUPPORTED_VERSION", -1),
        (-3, 7, "NONE", 1),
        (-4, 7, "UNSUPPORTED_VERSION", -1),
        (-4, 8, "NONE", 0),
        (-5, 8, "UNSUPPORTED_VERSION", -1),
        (-5, 9, "NONE", -1),
        (-6, 10, "UNSUPPORTED_VERSION", -1),
        (-6, 11, "NONE", -1),
        (-7, 11, "UNSUPPORTED_VERSION", -1),
    ],
)
def test_offsets_by_name(timestamp: int, version: int, code: str, offset: int) -> None:
    async def work() -> None:
        async with talking(topic="t") as talk:
            await talk.produce("t", batch("a", "b"))
            at = [{"partitionIndex": 0, "timestamp": timestamp}]
            body = {"replicaId": -1, "isolationLevel": 0, "topics": [{"name": "t", "partitions": at}]}
            row = (await talk(keys.LIST_OFFSETS, version, body))["topics"][0]["partitions"][0]
            assert (error_name(row["errorCode"]), row["offset"]) == (code, offset)

    run(work())
