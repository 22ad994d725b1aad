"""`drift` is a real quorum of Kafka 4.4.0: while node 3 was down, the topic `orders` was created with
retention.ms=1002166 and deleted; later it was created anew without configs."""

from pathlib import Path

from kcli.errors import InputError
from kcli.records.builder import build_control_batch
from kcli.snapshots.live.drift import Drifting, Parting, comparisons, drifting, last_changes, parting
from kcli.snapshots.reading.files import metadata_directory
from kcli.snapshots.reading.folders import FolderNode
from tests.snapshots.files import unpacked
from tests.snapshots.made import image, snapshot

RECORD = (b"\0\0\0\4", b"\0\0\0")


def quorum() -> list[FolderNode]:
    return [FolderNode(f"n{number}", metadata_directory(str(unpacked("drift") / f"n{number}"))) for number in (1, 2, 3)]


def made(
    folder: Path, segments: dict[int, tuple[int, ...]] | None = None, snapshots: tuple[int, ...] = ()
) -> FolderNode:
    """segments: {base offset: the epoch of each of its records}."""
    folder.mkdir()
    for base, epochs in (segments or {}).items():
        data = [
            build_control_batch([RECORD], 1, base + n, partition_leader_epoch=each) for n, each in enumerate(epochs)
        ]
        (folder / f"{base:020d}.log").write_bytes(b"".join(data))
    for end in snapshots:
        (folder / f"{end:020d}-{1:010d}.checkpoint").write_bytes(snapshot(image(end_offset=end, epoch=1)))
    return FolderNode(folder.name, folder)


def test_a_real_quorum_that_drifts() -> None:
    nodes = quorum()
    (compared,) = comparisons(nodes)
    assert (compared.offset, compared.nodes) == (303, nodes)
    problems: list[InputError] = []
    (found,) = drifting(nodes, 303, problems)
    assert (found.table, found.key, found.columns, problems) == ("configs", ("TOPIC", "orders", "retention.ms"), (), [])
    assert [(names, row and row["value"]) for names, row in found.groups] == [(["n1", "n2"], None), (["n3"], "1002166")]
    last_changes(nodes[0], [found], 303)
    assert found.last is not None
    assert (found.last.record, found.last.change.kind) == ("RemoveTopicRecord", "deleted")
    assert [parting(nodes[0], each) for each in nodes[1:]] == [None, None]  # the logs are the same


def test_before_the_node_was_down_there_is_no_drift() -> None:
    nodes = quorum()
    assert [node.shows(40) for node in nodes] == [True] * 3
    assert drifting(nodes, 40, []) == []


def test_what_can_be_compared(tmp_path: Path) -> None:
    early = made(tmp_path / "early", {0: (1,) * 5})
    late = made(tmp_path / "late", {3: (1,) * 6}, (4,))
    far = made(tmp_path / "far", {20: (1,)}, (20,))
    alone = made(tmp_path / "alone", snapshots=(4, 20))
    assert [(each.offset, each.nodes) for each in comparisons([early, late])] == [(5, [early, late])]
    assert [(each.offset, each.nodes) for each in comparisons([early, late], before=4)] == [(4, [early, late])]
    assert [(each.offset, each.nodes) for each in comparisons([far, early, late, alone])] == [
        (20, [far, alone]),
        (5, [early, late]),
    ]
    assert comparisons([early, far]) == []
    assert comparisons([early]) == []
    assert (alone.log, alone.end, alone.reach(), early.reach()) == (None, 20, -1, 5)


def test_logs_that_go_apart(tmp_path: Path) -> None:
    one = made(tmp_path / "one", {0: (1, 1), 2: (1, 3, 3)})
    two = made(tmp_path / "two", {1: (1, 1, 2)}, (1,))
    assert parting(one, two) == Parting(3, (3, 2))
    assert parting(two, one) == Parting(3, (2, 3))
    assert parting(one, made(tmp_path / "three", {3: (3, 3, 3)}, (3,))) is None


def test_more_values_than_two(tmp_path: Path) -> None:
    nodes = []
    for number, value in enumerate(("1", "2", "2", None)):
        config = ("ConfigRecord", {"resourceType": 2, "resourceName": "orders", "name": "retention.ms", "value": value})
        path = tmp_path / f"n{number}"
        path.mkdir()
        (path / "00000000000000000100-0000000002.checkpoint").write_bytes(snapshot(image(config)))
        nodes.append(FolderNode(path.name, path))
    (found,) = drifting(nodes, 100, [])
    assert [(names, row and row["value"]) for names, row in found.groups] == [
        (["n0"], "1"),
        (["n1", "n2"], "2"),
        (["n3"], None),
    ]
    assert found.columns == ()
    (found,) = drifting(nodes[:3], 100, [])
    assert found.columns == ("value",)
    last_changes(nodes[0], [found], 100)
    assert isinstance(found, Drifting)
    assert found.last is None
