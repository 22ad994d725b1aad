import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from kcli.snapshots.history.replayed import NodeFolder, compare_nodes, node_at, replay_folder
from kcli.snapshots.image.image import Image
from kcli.snapshots.reading.api import Wanted, load_image
from kcli.snapshots.reading.load import load_snapshot
from kcli.snapshots.reading.names import SnapshotId, parse_snapshot_name
from kcli.snapshots.rules.findings import SnapshotFinding
from kcli.snapshots.writing.write import write_snapshot
from tests.snapshots.files import NODES, partition_folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return shutil.copytree(partition_folder("431-single/n1"), tmp_path / "__cluster_metadata-0")


def rewritten(path: Path, image: Image) -> None:
    name = parse_snapshot_name(path.name)
    assert name is not None
    image.provenance.end_offset, image.provenance.epoch = name.id
    out = bytearray()
    write_snapshot(image, out.extend, now_ms=1)
    path.unlink(missing_ok=True)
    path.write_bytes(out)


def changed(folder: Path, name: str, change: Callable[[Image], object]) -> Path:
    """A snapshot of the folder, written anew with a change."""
    path = next(folder.glob(name))
    image = load_snapshot(memoryview(path.read_bytes()))
    change(image)
    rewritten(path, image)
    return path


def messages(folder: Path) -> list[str]:
    return [finding.message for finding in replay_folder(folder)]


@pytest.mark.parametrize("node", NODES)
def test_real_folders_follow(node: str) -> None:
    assert list(replay_folder(partition_folder(node))) == []


def test_configs_that_the_log_removed(folder: Path) -> None:
    """As Kafka 4.4.0 leaves them on a node: the log has removed the topic, the snapshot still has its configs."""
    removed = next(
        (key, values)
        for key, values in load_image(Wanted(str(folder), None, 952)).loader.image.configs.items()
        if key not in load_image(Wanted(str(folder), None, 1600)).loader.image.configs
    )
    path = changed(folder, "*1600-*", lambda image: image.configs.update([removed]))
    found = list(replay_folder(folder))
    assert {(each.severity, each.rule, each.file) for each in found} == {("error", "replay", str(path))}
    name, value = next(iter(removed[1].items()))
    assert found[0].message.startswith(
        f"not what the log makes of snapshot 952-1: config TOPIC {removed[0][1]} {name}: value {value} here, "
        "none by the log (since record 1"
    )
    assert "RemoveTopicRecord)" in found[0].message


def test_another_state_under_a_fitting_name(folder: Path) -> None:
    """The first difference is the first record that the snapshot lacks; the next snapshot is compared with this one."""
    rewritten(next(folder.glob("*1600-*")), load_image(Wanted(str(folder), None, 1310)).loader.image)
    found = messages(folder)
    assert "(since record 13" in found[0]
    assert found[-1].endswith("more objects are not what the log makes of snapshot 952-1")
    assert len(found) >= 21


def test_the_first_snapshot_follows_from_a_log_that_begins_at_0(folder: Path) -> None:
    for name in ("*0000-0*", "*44-*"):
        next(folder.glob(name)).unlink()
    assert messages(folder) == []
    changed(folder, "*952-*", lambda image: image.brokers.pop(1))
    assert any(
        text.startswith("not what the log makes of the log's start: broker 1: none here") for text in messages(folder)
    )


def test_what_never_was_in_the_log(folder: Path) -> None:
    changed(folder, "*44-*", lambda image: image.configs.update({(2, "ghost"): {"retention.ms": "1"}}))
    found = messages(folder)
    assert [each.partition(": ")[2] for each in found] == [
        "config TOPIC ghost retention.ms: value 1 here, none by the log (since before snapshot 0-0)",
        "config TOPIC ghost retention.ms: none here, value 1 by the log (since before snapshot 44-1)",
    ]


def test_secrets_are_compared_and_not_shown(folder: Path) -> None:
    def turn(image: Image) -> None:
        for users in image.scram.values():
            for credential in users.values():
                credential["salt"] = "AAAA"

    changed(folder, "*1600-*", turn)
    found = messages(folder)
    assert found
    assert all("[hidden]" in each and "AAAA" not in each for each in found)


def test_a_log_that_does_not_apply(folder: Path) -> None:
    changed(folder, "*952-*", lambda image: image.topics.clear())
    found = [each for each in replay_folder(folder) if "the log does not apply" in each.message]
    assert found[0].message.startswith("from snapshot 952-1 to 1600-1, the log does not apply: record ")
    assert found[0].file == str(folder)


def test_a_log_that_ends_before(folder: Path) -> None:
    (folder / "00000000000000001150.log").unlink()
    (note,) = replay_folder(folder)
    assert (note.severity, note.message) == ("note", "the log ends at 1150: nothing shows what leads to this snapshot")
    for path in folder.glob("*.log"):
        path.unlink()
    assert list(replay_folder(folder)) == []


def errors(found: list[SnapshotFinding]) -> list[str]:
    return [each.message for each in found if each.is_error]


def test_snapshots_of_one_id(folder: Path, tmp_path: Path) -> None:
    other = shutil.copytree(folder, tmp_path / "n2" / "__cluster_metadata-0")
    nodes = [node_at("a", folder), node_at("b", other)]
    assert list(compare_nodes(nodes)) == []
    changed(other, "*1600-*", lambda image: image.configs.update({(2, "ghost"): {"retention.ms": "1"}}))
    (finding,) = compare_nodes(nodes)
    first = folder / "00000000000000001600-0000000001.checkpoint"
    assert finding.file == str(other / first.name)
    assert finding.message == (
        f"of 1600-1 as is {first}, and not the same: config TOPIC ghost retention.ms: value 1 here, none there"
    )
    assert (
        list(compare_nodes([NodeFolder("x", {SnapshotId(1, 1): first}), NodeFolder("y", {SnapshotId(1, 1): first})]))
        == []
    )


def test_other_clusters(folder: Path, tmp_path: Path) -> None:
    other = shutil.copytree(folder, tmp_path / "n2" / "__cluster_metadata-0")

    def turn(image: Image) -> None:
        image.provenance.timestamp += 1
        image.brokers.clear()

    path = next(other.glob("*1600-*"))
    image = load_snapshot(memoryview(path.read_bytes()))
    turn(image)
    rewritten(path, image)
    (note,) = compare_nodes([node_at("a", folder), node_at("b", other)])
    assert (note.severity, note.rule) == ("note", "same-id")
    for place in (folder, other):
        (place.parent / "meta.properties").write_text("version=1\ncluster.id=one\n")
    assert "broker 1: none here" in next(compare_nodes([node_at("a", folder), node_at("b", other)])).message
    for place, name in ((folder, "one"), (other, "two")):
        (place.parent / "meta.properties").write_text(f"version=1\ncluster.id={name}\n")
    (finding,) = compare_nodes([node_at("a", folder), node_at("b", other)])
    assert finding.message == "nodes of several clusters, by meta.properties: a one, b two"


def test_more_objects_than_are_shown(folder: Path, tmp_path: Path) -> None:
    other = shutil.copytree(folder, tmp_path / "n2" / "__cluster_metadata-0")
    changed(other, "*1600-*", lambda image: image.acls.clear())
    found = errors(list(compare_nodes([node_at("a", folder), node_at("b", other)])))
    assert len(found) == 21
    assert found[-1].endswith("more objects are not the same")


def test_two_topics_of_one_name(folder: Path) -> None:
    """A damaged snapshot may have them: their partitions go by one name."""

    def double(image: Image) -> None:
        topic = image.sorted_topics()[0]
        image.topics[b"0123456789abcdef"] = type(topic)(b"0123456789abcdef", topic.name, dict(topic.partitions))
        topic.partitions.clear()

    changed(folder, "*1600-*", double)
    assert any(each.startswith("not what the log makes of snapshot 952-1: topic ") for each in messages(folder))
