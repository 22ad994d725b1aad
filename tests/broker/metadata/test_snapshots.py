"""KIP-630's broker side: snapshots of the metadata log, made, served, and what the log forgets."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from kcli.broker import Broker
from kcli.broker.embedded import embedded_broker
from kcli.cli.main import main
from kcli.schemas.errors import error_name
from kcli.snapshots.reading.load import load_snapshot
from tests.broker.talk import Talk, connected, run, talking

FETCH, FETCH_SNAPSHOT = 1, 59
DELETE_RECORDS, DESCRIBE_CONFIGS, ALTER_CONFIGS = 21, 32, 44
NAME, TOPIC_ID = "__cluster_metadata", "AAAAAAAAAAAAAAAAAAAAAQ"
OFTEN = {"controller.snapshot.minimum.records": "20"}


def ask(offset: int, epoch: int, version: int = 17) -> dict[str, Any]:
    field = {"topicId": TOPIC_ID} if version >= 13 else {"topic": NAME}
    row = {"partition": 0, "fetchOffset": offset, "lastFetchedEpoch": epoch, "partitionMaxBytes": 1 << 20}
    return {"maxWaitMs": 0, "minBytes": 0, "topics": [field | {"partitions": [row]}]}


async def fetch(talk: Talk, offset: int, epoch: int) -> dict[str, Any]:
    row: dict[str, Any] = (await talk(FETCH, 17, ask(offset, epoch)))["responses"][0]["partitions"][0]
    return row


def wanted(end: int, epoch: int, position: int = 0, leader_epoch: int = 1, **more: Any) -> dict[str, Any]:
    row = {"partition": 0, "snapshotId": {"endOffset": end, "epoch": epoch}, "position": position}
    return {"topics": [{"name": NAME, "partitions": [row | {"currentLeaderEpoch": leader_epoch}]}]} | more


def fill(broker: Broker, topics: int = 12) -> None:
    have = len(list(broker.topics))
    for number in range(have, have + topics):
        broker.create_topic(f"t{number}", 2)


def test_a_fetch_below_the_log_is_told_of_the_snapshot() -> None:
    """KIP-630: LBO and SnapshotId; without a snapshot the log is there from 0 on."""

    async def work() -> None:
        async with talking(config=OFTEN) as talk:
            row = await fetch(talk, 0, 0)
            assert "snapshotId" not in row
            assert row["records"]
            assert row["currentLeader"] == {"leaderId": 1, "leaderEpoch": 1}
            fill(talk.broker)
            made = talk.broker.metadata.snapshots.latest
            assert made is not None
            row = await fetch(talk, 0, 0)
            assert row["snapshotId"] == {"endOffset": made.end_offset, "epoch": made.epoch}
            assert (row["records"], row["logStartOffset"]) == (b"", made.end_offset)
            row = await fetch(talk, made.end_offset, made.epoch)
            assert "snapshotId" not in row
            assert row["errorCode"] == 0

    run(work())


def test_the_snapshot_comes_in_pieces() -> None:
    """KIP-630: FetchSnapshot, piece by piece until Position + bytes is Size."""

    async def work() -> None:
        async with talking(config=OFTEN) as talk:
            fill(talk.broker)
            made = talk.broker.metadata.snapshots.latest
            assert made is not None
            data = b""
            size = 1
            while len(data) < size:
                body = wanted(*made, position=len(data), maxBytes=700)
                answer = await talk(FETCH_SNAPSHOT, 1, body)
                row = answer["topics"][0]["partitions"][0]
                assert answer["errorCode"] == 0
                assert (row["errorCode"], row["position"]) == (0, len(data))
                size = row["size"]
                assert 0 < len(row["unalignedRecords"]) <= 700
                data += row["unalignedRecords"]
            assert data == talk.broker.metadata.snapshots.path(made).read_bytes()
            image = load_snapshot(memoryview(data), end_offset=made.end_offset, epoch=made.epoch)
            assert len(image.topics) >= 6

    run(work())


def test_kcli_fetches_it(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """KIP-630 from end to end: `kcli snapshot fetch` from the broker, byte for byte, and `verify` finds it sound."""
    with embedded_broker(config=OFTEN) as server:
        server.call(fill)
        assert main(["snapshot", "fetch", "--bootstrap", server.bootstrap_servers, "-o", str(tmp_path)]) == 0
        file = Path(capfd.readouterr().out.strip())
        checkpoints = server.call(lambda broker: broker.metadata.snapshots)
        made = checkpoints.latest
        assert made is not None
        assert file.name == made.file_name
        assert file.read_bytes() == checkpoints.path(made).read_bytes()
    assert main(["snapshot", "verify", str(file)]) == 0


def test_what_is_refused() -> None:
    """KIP-630: SNAPSHOT_NOT_FOUND, POSITION_OUT_OF_RANGE, NOT_LEADER_OR_FOLLOWER and wrong epochs, with the leader."""

    async def work() -> None:
        async with talking(config=OFTEN, nodes=2) as talk, connected(talk.broker, 1) as other:
            fill(talk.broker)
            made = talk.broker.metadata.snapshots.latest
            assert made is not None
            for body, error in (
                (wanted(made.end_offset + 1, 1), "SNAPSHOT_NOT_FOUND"),
                (wanted(*made, position=1 << 40), "POSITION_OUT_OF_RANGE"),
                (wanted(*made, position=-1), "POSITION_OUT_OF_RANGE"),
                (wanted(*made, leader_epoch=0), "FENCED_LEADER_EPOCH"),
                (wanted(*made, leader_epoch=9), "UNKNOWN_LEADER_EPOCH"),
            ):
                row = (await talk(FETCH_SNAPSHOT, 0, body))["topics"][0]["partitions"][0]
                assert error_name(row["errorCode"]) == error
                assert row["currentLeader"] == {"leaderId": 1, "leaderEpoch": 1}
            row = (await other(FETCH_SNAPSHOT, 0, wanted(*made)))["topics"][0]["partitions"][0]
            assert error_name(row["errorCode"]) == "NOT_LEADER_OR_FOLLOWER"
            answer = await talk(FETCH_SNAPSHOT, 0, wanted(*made, clusterId="another"))
            assert error_name(answer["errorCode"]) == "INCONSISTENT_CLUSTER_ID"
            body = wanted(*made)
            body["topics"][0]["name"] = "t0"
            row = (await talk(FETCH_SNAPSHOT, 0, body))["topics"][0]["partitions"][0]
            assert error_name(row["errorCode"]) == "UNKNOWN_TOPIC_OR_PARTITION"

    run(work())


def test_the_metadata_log_is_cleaned_by_snapshots_alone() -> None:
    """KIP-630: cleanup.policy is `snapshot` and stays so; DeleteRecords is judged as the log's begin is."""

    async def work() -> None:
        async with talking() as talk:
            asked = {"resourceType": 2, "resourceName": NAME, "configurationKeys": ["cleanup.policy"]}
            reported = (await talk(DESCRIBE_CONFIGS, 1, {"resources": [asked], "includeSynonyms": False}))["results"][0]
            assert [(row["value"], row["readOnly"]) for row in reported["configs"]] == [("snapshot", True)]
            change = {"name": "cleanup.policy", "configOperation": 0, "value": "delete"}
            wanted = {"resourceType": 2, "resourceName": NAME, "configs": [change]}
            row = (await talk(ALTER_CONFIGS, 0, {"resources": [wanted], "validateOnly": False}))["responses"][0]
            assert error_name(row["errorCode"]) == "INVALID_CONFIG"
            fill(talk.broker)
            log = talk.broker.metadata.log
            assert await delete(talk, log.end_offset) == "POLICY_VIOLATION"
            assert await delete(talk, 1) == "POLICY_VIOLATION"
            assert log.start_offset == 0
            made = talk.broker.metadata.snapshots.take()
            assert made is not None
            fill(talk.broker)
            assert await delete(talk, made.end_offset + 1) == "POLICY_VIOLATION"
            assert await delete(talk, made.end_offset) == "NONE"
            assert log.start_offset == made.end_offset

    run(work())


async def delete(talk: Talk, offset: int) -> str:
    parts = [{"partitionIndex": 0, "offset": offset}]
    body = {"topics": [{"name": NAME, "partitions": parts}], "timeoutMs": 1000}
    return error_name((await talk(DELETE_RECORDS, 1, body))["topics"][0]["partitions"][0]["errorCode"])


def test_the_draft_says_whether_to_go_on() -> None:
    """KIP-630's draft: Fetch v12 (last offset in the snapshot, and where to go on) and FetchSnapshot (Continue)."""

    async def work() -> None:
        async with talking(config=OFTEN, dialect="kip-630-draft") as talk:
            fill(talk.broker)
            made = talk.broker.metadata.snapshots.latest
            assert made is not None
            row = (await talk(FETCH, 12, ask(0, 0, 12)))["topics"][0]["partitions"][0]
            assert row["snapshotOffsetAndEpoch"] == {"fetchOffset": made.end_offset - 1, "fetchOffsetEpoch": made.epoch}
            assert row["nextOffsetAndEpoch"] == {"nextFetchOffset": made.end_offset, "nextFetchOffsetEpoch": made.epoch}
            assert row["logBeginOffset"] == made.end_offset
            named = {"offset": made.end_offset - 1, "offsetEpoch": made.epoch}
            data = b""
            for _ in range(100):
                asked = {"partitionIndex": 0, "snapshotOffsetAndEpoch": named, "position": len(data), "maxBytes": 500}
                body = {"replicaId": 5, "topics": [{"name": NAME, "partitions": [asked]}]}
                got = (await talk(FETCH_SNAPSHOT, 0, body))["topics"][0]["partitions"][0]
                assert got["errorCode"] == 0
                data += got["bytes"]
                if not got["continue"]:
                    break
            assert data == talk.broker.metadata.snapshots.path(made).read_bytes()
            for most in (0, -1):  # a client that asks for nothing goes on all the same
                asked |= {"position": 0, "maxBytes": most}
                got = (await talk(FETCH_SNAPSHOT, 0, body))["topics"][0]["partitions"][0]
                assert (got["bytes"], got["continue"]) == (data[:1], True)
            asked["position"] = len(data) + 1
            got = (await talk(FETCH_SNAPSHOT, 0, body))["topics"][0]["partitions"][0]
            assert error_name(got["errorCode"]) == "OFFSET_OUT_OF_RANGE"

    run(work())


@pytest.mark.parametrize("orderly", [True, False])
def test_a_restart_begins_with_the_snapshot(tmp_path: Path, orderly: bool) -> None:
    async def first() -> None:
        async with Broker(tmp_path, config=OFTEN) as broker:
            fill(broker)
            broker.controller.delete_topic(broker.topics.by_name["t3"])
            broker.controller.configure_topic(broker.topics.by_name["t4"], {"retention.ms": "5"})
        if not orderly:
            (tmp_path / ".kafka_cleanshutdown").unlink()

    async def second(epoch: int) -> None:
        async with Broker(tmp_path, config=OFTEN) as broker:
            names = {each.name for each in broker.topics}
            assert names == {f"t{number}" for number in range(12) if number != 3}
            assert broker.topics.by_name["t4"].configs.own == {"retention.ms": "5"}
            assert broker.metadata.epoch == epoch
            checkpoints = broker.metadata.snapshots
            made = checkpoints.take()
            assert made is not None
            assert checkpoints.ids == [made]
            assert broker.metadata.log.start_offset == made.end_offset

    asyncio.run(first())
    for epoch in (2, 3, 4):
        asyncio.run(second(epoch))
    assert not list((tmp_path / "__cluster_metadata-0").glob("*.part"))
    assert len(list((tmp_path / "__cluster_metadata-0").glob("*.log"))) == 1
