from typing import Any

import pytest

from kcli.records.builder import build_control_batch
from kcli.snapshots.live.follow import LogFollower
from kcli.snapshots.live.quorum_reader import Committed, Endpoint, Restart, SnapshotFetchError, Write
from kcli.snapshots.reading.names import SnapshotId

RECORD = (b"\0\0\0\4", b"\0\0\0")


def batch(offset: int, count: int = 1, epoch: int = 2) -> bytes:
    return build_control_batch([RECORD] * count, 1, offset, partition_leader_epoch=epoch)


def answer(records: bytes = b"", code: int = 0, watermark: int = 100, **values: Any) -> dict[str, Any]:
    partition = {"errorCode": code, "currentLeader": {"leaderId": 1, "leaderEpoch": 2}, "highWatermark": watermark}
    partition |= {"records": records, **values}
    nodes = [{"nodeId": 1, "host": "one", "port": 1}, {"nodeId": 2, "host": "two", "port": 2}]
    return {"errorCode": 0, "responses": [{"partitions": [partition]}], "nodeEndpoints": nodes}


def follower() -> LogFollower:
    return LogFollower([Endpoint("first", 9)])


def test_batches_below_the_high_watermark() -> None:
    made = follower()
    data = batch(0, 3) + batch(3) + batch(4, 2)
    assert made.take(answer(data, watermark=5)) == Committed(0, batch(0, 3) + batch(3))
    assert (made.offset, made.last_epoch, made.high_watermark, made.is_caught_up) == (4, 2, 5, False)
    assert made.take(answer(batch(3) + batch(4, 2)[:-1], watermark=6)) == Committed(4, b"")  # cut off: not yet
    assert made.take(answer(batch(3) + batch(4, 2), watermark=6)) == Committed(4, batch(4, 2))
    assert made.is_caught_up
    assert made.take(answer(watermark=4)) == Committed(6, b"")  # a new leader may not know it yet
    assert made.high_watermark == 6


def test_the_leader_is_the_one_of_the_newest_epoch() -> None:
    made, seen = follower(), []
    for leader, epoch in ((0, 2), (1, 1), (2, 2), (-1, 3)):
        made.learn_leader({"currentLeader": {"leaderId": leader, "leaderEpoch": epoch}})
        seen.append((made.leader, made.epoch))
    assert seen == [(0, 2), (0, 2), (2, 2), (None, 3)]


def test_the_request() -> None:
    made = follower()
    made.wait_ms = 5
    made.take(answer(batch(0, epoch=1)))
    body = made.request(17)
    (partition,) = body["topics"][0]["partitions"]
    assert (made.api_key, body["replicaId"], body["maxWaitMs"]) == (1, -1, 5)
    assert (partition["fetchOffset"], partition["lastFetchedEpoch"], partition["currentLeaderEpoch"]) == (1, 1, 2)
    assert partition["partitionMaxBytes"] > 0


def test_a_log_that_begins_later() -> None:
    made = follower()
    assert made.take(answer(snapshotId={"endOffset": 50, "epoch": 1})) is None
    assert (made.state, made.api_key, made.id) == ("download", 59, SnapshotId(50, 1))
    assert made.request(1)["topics"][0]["partitions"][0]["snapshotId"] == {"endOffset": 50, "epoch": 1}
    piece: dict[str, Any] = {
        "snapshotId": {"endOffset": 50, "epoch": 1},
        "size": 3,
        "position": 0,
        "unalignedRecords": b"ab",
    }
    assert made.take(answer(**piece)) == Write(0, b"ab")
    assert made.take(answer(**piece | {"position": 2, "unalignedRecords": b"c"})) == Write(2, b"c")
    assert (made.state, made.offset, made.last_epoch) == ("follow", 50, 1)
    assert made.take(answer(batch(50))) == Committed(50, batch(50))


def test_a_snapshot_that_goes_meanwhile() -> None:
    made = follower()
    made.take(answer(snapshotId={"endOffset": 50, "epoch": 1}))
    assert isinstance(made.take(answer(code=98)), Restart)
    assert (made.state, made.offset) == ("follow", 0)


def test_another_leader() -> None:
    made = follower()
    made.take(answer(batch(0)))
    assert made.target == Endpoint("one", 1)
    assert made.take(answer(code=6, currentLeader={"leaderId": 2, "leaderEpoch": 3})) is None
    assert (made.target, made.state, made.offset) == (Endpoint("two", 2), "follow", 1)
    made.take(answer(code=74, currentLeader={"leaderId": 2, "leaderEpoch": 7}))
    assert (made.epoch, made.state) == (7, "follow")
    assert made.take(answer(batch(1, epoch=7), currentLeader={"leaderId": 2, "leaderEpoch": 7})) == Committed(
        1, batch(1, epoch=7)
    )


def test_what_ends_it() -> None:
    with pytest.raises(SnapshotFetchError, match="TOPIC_AUTHORIZATION_FAILED"):
        follower().take(answer(code=29))
    with pytest.raises(SnapshotFetchError, match="has no record -1 of epoch 0: its log has epoch 4 up to 9"):
        follower().take(answer(divergingEpoch={"epoch": 4, "endOffset": 9}))
