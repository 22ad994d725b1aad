import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kcli.snapshots.history.folder_replay import FolderReplay
from kcli.snapshots.history.replayed import replay_folder
from kcli.snapshots.image.image import Image, Partition
from kcli.snapshots.reading.files import listing_of
from kcli.snapshots.reading.framing import Batch, batches
from kcli.snapshots.reading.load import load_snapshot
from kcli.snapshots.rules.examination import Follower, examine
from tests.snapshots.files import NODES, partition_folder
from tests.snapshots.history.test_replayed import changed
from tests.snapshots.made import with_crc

pytest.importorskip("kcli.core.snapshots.snapshot")


def follows(folder: Path) -> bool:
    """What a replay of a folder says that examines each of its files once."""
    seen: list[Path] = []

    def look(path: Path, follower: Follower) -> None:
        seen.append(path)
        examine(memoryview(path.read_bytes()), path.name, follower=follower)

    replay = FolderReplay(folder, None, look)
    for name, _ in listing_of(folder).segments:
        look(folder / name, replay)
    assert len(seen) == len(set(seen))
    return replay.finish()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return shutil.copytree(partition_folder("431-single/n1"), tmp_path / "__cluster_metadata-0")


@pytest.mark.parametrize("node", NODES)
def test_real_folders_follow_in_one_pass(node: str) -> None:
    assert follows(partition_folder(node))


def test_a_log_from_its_start(folder: Path) -> None:
    for name in ("*0000-0*", "*44-*"):
        next(folder.glob(name)).unlink()
    assert follows(folder)
    changed(folder, "*952-*", lambda image: image.brokers.pop(1))
    assert not follows(folder)


def first_partition(image: Image) -> Partition:
    """A partition of the first topic, decoded, in its place."""
    topic = next(iter(image.topics.values()))
    made = topic.partitions[0] = image.partition(topic, 0)
    return made


CHANGES: dict[str, Callable[[Any], object]] = {
    "a broker": lambda image: image.brokers.pop(1),
    "a config": lambda image: image.configs.update({(2, "ghost"): {"retention.ms": "1"}}),
    "a partition": lambda image: next(iter(image.topics.values())).partitions.pop(0),
    "one more partition": lambda image: next(iter(image.topics.values())).partitions.update(
        {99: first_partition(image)}
    ),
    "a leader epoch": lambda image: first_partition(image).update(leaderEpoch=99),
    "an ISR": lambda image: first_partition(image).update(isr=[1, 2, 3, 4, 5, 6]),
    "a directory": lambda image: first_partition(image)["directories"].__setitem__(0, "X" * 21 + "A"),
    "replicas to come": lambda image: first_partition(image).update(addingReplicas=[1]),
    "a feature": lambda image: image.features.update({"group.version": 9}),
}


@pytest.mark.parametrize("snapshot", ["*952-*", "*1600-*"])
@pytest.mark.parametrize("change", CHANGES)
def test_what_a_snapshot_has_otherwise(change: str, snapshot: str, folder: Path) -> None:
    changed(folder, snapshot, CHANGES[change])
    assert not follows(folder)


def test_a_partition_that_is_there_twice_and_one_that_is_not(folder: Path) -> None:
    """As many partitions as there should be are not the same ones."""
    path = next(folder.glob("*952-*"))
    data = path.read_bytes()
    image = load_snapshot(memoryview(data))
    topic = next(each for each in image.topics.values() if len(each.partitions) > 1)
    framed = [each for each in topic.partitions.values() if isinstance(each, bytes)]
    one, two = (data.index(each) for each in framed[:2])
    assert len(framed[0]) == len(framed[1])
    twice = bytearray(data)
    twice[two : two + len(framed[0])] = framed[0]
    for batch in [each for each in batches(memoryview(data)) if isinstance(each, Batch)]:
        twice = bytearray(with_crc(bytes(twice), batch))
    path.write_bytes(twice)
    assert one != two
    assert not follows(folder)


def test_damage_on_the_way(folder: Path) -> None:
    """What is odd is left to `replay_folder`: it never goes unsaid."""
    whole = {path: path.read_bytes() for path in folder.glob("0*")}
    chance = random.Random(1)
    quiet = 0
    for _ in range(60):
        path = chance.choice(sorted(whole))
        data = bytearray(whole[path])
        found = [each for each in batches(memoryview(bytes(data))) if isinstance(each, Batch)]
        batch = chance.choice(found)
        kind = chance.choice(("bit", "crc", "cut", "lost"))
        if kind == "bit":
            data[chance.randrange(batch.position, batch.end)] ^= 1 << chance.randrange(8)
        elif kind == "crc":
            data[chance.randrange(batch.position + 61, batch.end)] ^= 1 << chance.randrange(8)
            data = bytearray(with_crc(bytes(data), batch))
        elif kind == "cut":
            del data[chance.randrange(batch.position, batch.end) :]
        else:
            del data[batch.position : batch.end]
        path.write_bytes(data)
        sound = follows(folder)
        assert not (sound and list(replay_folder(folder)))
        quiet += sound
        path.write_bytes(whole[path])
    assert quiet < 30


def test_a_log_that_ends_before_the_last_snapshot(folder: Path) -> None:
    for path in folder.glob("*.log"):
        if int(path.stem) > 700:
            path.unlink()
    assert not follows(folder)


def test_a_folder_without_a_log(folder: Path) -> None:
    for path in folder.glob("*.log"):
        path.unlink()
    assert not follows(folder)


def test_an_examination_lets_go_of_the_partitions(folder: Path) -> None:
    """What verify keeps of a file, for the rules on the folder, is small."""
    kept = []

    def look(path: Path, follower: Follower) -> None:
        kept.append(examine(memoryview(path.read_bytes()), path.name, follower=follower))

    FolderReplay(folder, None, look)
    assert load_snapshot(memoryview(next(folder.glob("*0000-0*")).read_bytes())).partition_count() == 0
    assert [each.partitions.store for each in kept] == [None]
