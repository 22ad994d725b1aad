from typing import Any

import pytest

from kcli.schemas.apikeys import FETCH, FETCH_SNAPSHOT
from kcli.snapshots.live.quorum_reader import MOST_TURNS, Endpoint, Restart, SnapshotFetchError, Write
from kcli.snapshots.live.snapshot_fetch import SnapshotFetch
from kcli.snapshots.reading.names import SnapshotId

A, B = Endpoint("a", 1), Endpoint("b", 2)
ID = SnapshotId(500, 3)
DATA = bytes(range(256)) * 4
NOT_LEADER = 6


def found(
    code: int = 0, offered: SnapshotId | None = ID, leader: tuple[int, int] = (1, 3), **extra: Any
) -> dict[str, Any]:
    partition: dict[str, Any] = {"partitionIndex": 0, "errorCode": code, "logStartOffset": 0}
    partition["currentLeader"] = {"leaderId": leader[0], "leaderEpoch": leader[1]}
    if offered:
        partition["snapshotId"] = {"endOffset": offered.end_offset, "epoch": offered.epoch}
    nodes = [{"nodeId": 1, "host": "a", "port": 1}, {"nodeId": 2, "host": "b", "port": 2}]
    return {"errorCode": 0, "responses": [{"partitions": [partition]}], "nodeEndpoints": nodes} | extra


def piece(position: int, data: bytes, code: int = 0, size: int = len(DATA), **values: Any) -> dict[str, Any]:
    partition = {
        "index": 0,
        "errorCode": code,
        "snapshotId": {"endOffset": ID.end_offset, "epoch": ID.epoch},
        "size": size,
        "position": position,
        "unalignedRecords": data,
    }
    return {"errorCode": 0, "topics": [{"name": "t", "partitions": [partition | values]}]}


def begun() -> SnapshotFetch:
    machine = SnapshotFetch([A])
    machine.take(found())
    assert machine.state == "download"
    return machine


def test_the_straight_way() -> None:
    """KIP-630: Fetch tells of the snapshot, FetchSnapshot gives it until Position + bytes is Size."""
    machine = SnapshotFetch([A], cluster_id="c", max_bytes=400)
    assert (machine.api_key, machine.target) == (FETCH, A)
    assert machine.request(18)["topics"][0]["topicId"] == "AAAAAAAAAAAAAAAAAAAAAQ"
    assert machine.request(12)["topics"][0]["topic"] == "__cluster_metadata"
    assert machine.request(18)["clusterId"] == "c"
    assert machine.take(found()) is None
    assert (machine.api_key, machine.id, machine.epoch, machine.leader) == (FETCH_SNAPSHOT, ID, 3, 1)
    got = b""
    while machine.state != "done":
        asked = machine.request(1)["topics"][0]["partitions"][0]
        assert asked["currentLeaderEpoch"] == 3
        at = asked["position"]
        taken = machine.take(piece(at, DATA[at : at + 400]))
        assert isinstance(taken, Write)
        got += taken.data
    assert got == DATA
    assert machine.size == len(DATA)


def test_a_follower_names_the_leader() -> None:
    machine = SnapshotFetch([B])
    assert machine.take(found(6, None, (1, 3))) is None
    assert (machine.state, machine.target, machine.epoch) == ("find", A, 3)


def test_a_follower_that_knows_no_leader_sends_on_to_the_next() -> None:
    machine = SnapshotFetch([A, B])
    machine.take(found(6, None, (-1, 3), nodeEndpoints=[]))
    assert machine.target == B
    machine.lost()
    assert machine.target == A


def test_a_leader_whose_address_no_one_tells() -> None:
    """Before 3.9 answers have no addresses: the leader has to be among the bootstrap controllers."""
    machine = SnapshotFetch([A, B])
    with pytest.raises(SnapshotFetchError, match=r"node 7 leads \(epoch 3\)"):
        for _ in range(6):
            machine.take(found(6, None, (7, 3), nodeEndpoints=[]))
    machine = SnapshotFetch([A, B])
    machine.take(found(6, None, (7, 3), nodeEndpoints=[]))
    machine.take(found(nodeEndpoints=[]))
    assert (machine.state, machine.refusals) == ("download", 0)


@pytest.mark.parametrize("code", [74, 75])
def test_an_epoch_that_is_wrong_is_learnt(code: int) -> None:
    machine = SnapshotFetch([A])
    machine.take(found(code, None, (1, 9)))
    assert machine.request(18)["topics"][0]["partitions"][0]["currentLeaderEpoch"] == 9
    machine.take(found(leader=(1, 9)))
    assert machine.take(piece(0, b"", code, currentLeader={"leaderId": 1, "leaderEpoch": 11})) is None
    assert (machine.state, machine.epoch) == ("download", 11)
    assert machine.take(piece(0, b"", code, currentLeader={"leaderId": -1, "leaderEpoch": -1})) is None
    assert machine.state == "find"


def test_a_new_leader_means_a_new_file() -> None:
    machine = begun()
    machine.take(piece(0, DATA[:100]))
    taken = machine.take(piece(100, b"", 6, currentLeader={"leaderId": 2, "leaderEpoch": 4}))
    assert isinstance(taken, Restart)
    assert (machine.state, machine.target, machine.position) == ("find", B, 0)
    machine = begun()
    machine.take(piece(0, DATA[:100]))
    assert isinstance(machine.take(piece(100, b"", 74, currentLeader={"leaderId": 2, "leaderEpoch": 4})), Restart)
    machine = begun()
    machine.take(piece(0, DATA[:100]))
    assert isinstance(machine.lost(), Restart)


def test_a_snapshot_that_is_gone() -> None:
    """KIP-630: after an error the latest snapshot is asked for anew."""
    machine = begun()
    machine.take(piece(0, DATA[:100]))
    assert isinstance(machine.take(piece(100, b"", 98)), Restart)
    newer = SnapshotId(900, 3)
    machine.take(found(offered=newer))
    assert (machine.state, machine.id, machine.position) == ("download", newer, 0)
    answer = {"errorCode": -1, "topics": []}  # of 3.9 to 4.4, which can't write their answer
    assert isinstance(machine.take(answer), Restart)
    assert (machine.state, machine.id) == ("find", None)
    with pytest.raises(SnapshotFetchError, match="UNKNOWN_SERVER_ERROR"):
        machine.take(answer)
    only = SnapshotFetch([A], wanted=ID)
    only.take(found(offered=newer))
    assert only.id == ID
    with pytest.raises(SnapshotFetchError, match="does not have snapshot 500-3"):
        only.take(piece(0, b"", 98))


def test_a_position_past_the_end_starts_over_and_gives_up_at_last() -> None:
    """KIP-630: a position beyond the file starts the fetch over."""
    machine = begun()
    machine.resume(5000)
    assert isinstance(machine.take(piece(5000, b"", 99)), Restart)
    assert (machine.state, machine.position) == ("download", 0)
    assert isinstance(machine.take(piece(0, b"", 99)), Restart)
    assert machine.state == "find"
    machine.take(found())
    machine.take(piece(0, b"", 99))
    machine.take(found())
    with pytest.raises(SnapshotFetchError, match="has no byte 0"):
        machine.take(piece(0, b"", 99))


def test_ways_to_ask_a_log_that_holds_everything() -> None:
    machine = SnapshotFetch([A])
    asked = []
    for _ in range(2):
        partition = machine.request(18)["topics"][0]["partitions"][0]
        asked.append((partition["fetchOffset"], partition["lastFetchedEpoch"]))
        machine.take(found(offered=None))
    partition = machine.request(18)["topics"][0]["partitions"][0]
    assert [*asked, (partition["fetchOffset"], partition["lastFetchedEpoch"])] == [(0, 0), (0, 3), (1, 0)]
    with pytest.raises(SnapshotFetchError, match="no snapshot to offer: its log begins at 0"):
        machine.take(found(offered=None))


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (found(errorCode=104), "INCONSISTENT_CLUSTER_ID"),
        (found(29), "TOPIC_AUTHORIZATION_FAILED"),
        ({"errorCode": 0, "responses": []}, "is it a controller"),
    ],
)
def test_refusals(answer: dict[str, Any], reason: str) -> None:
    with pytest.raises(SnapshotFetchError, match=reason):
        SnapshotFetch([A]).take(answer)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (piece(0, b"", 42), "INVALID_REQUEST"),
        (piece(7, b"x"), "it sent 500-3 at 7"),
        (piece(0, b"x", snapshotId={"endOffset": 1, "epoch": 1}), "it sent 1-1"),
        (piece(0, DATA, size=10), "1024 bytes of a snapshot of 10"),
    ],
)
def test_answers_that_make_no_sense(answer: dict[str, Any], reason: str) -> None:
    with pytest.raises(SnapshotFetchError, match=reason):
        begun().take(answer)


def test_a_size_that_changes_starts_over() -> None:
    machine = begun()
    machine.take(piece(0, DATA[:10]))
    assert machine.take(piece(10, DATA[10:20], size=999)) == Restart(
        "the snapshot's size changed from 1024 to 999 bytes"
    )
    assert machine.position == 0


def test_it_does_not_go_on_for_ever() -> None:
    machine = SnapshotFetch([A, B])
    with pytest.raises(SnapshotFetchError, match="no progress"):
        for _ in range(MOST_TURNS + 1):
            machine.take(found(6, None, (-1, 3), nodeEndpoints=[]))
    with pytest.raises(SnapshotFetchError, match="no controller answers"):
        machine.lost()


def test_a_leader_whose_number_is_0() -> None:
    """Kafka's numbers of nodes begin with it; -1 is none."""
    machine = SnapshotFetch([A])
    nodes = [{"nodeId": 0, "host": "b", "port": 2}]
    machine.take(found(code=NOT_LEADER, offered=None, leader=(0, 3), nodeEndpoints=nodes))
    assert machine.target == B
    machine = SnapshotFetch([A, B])
    machine.take(found(code=NOT_LEADER, offered=None, leader=(-1, 3), nodeEndpoints=[]))
    assert machine.leader is None
