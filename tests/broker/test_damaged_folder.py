"""A data folder that was damaged, or that holds files of something else: what is sound of it is served, and each thing
that is left out is said in a line."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kcli.broker import Broker
from kcli.broker.metadata.kraft_records import encode
from kcli.broker.metadata.log import FOLDER
from kcli.broker.storage.incoming import read_incoming
from kcli.errors import KcliError
from kcli.records import scan
from kcli.records.builder import build_batch
from kcli.schemas.apikeys import LIST_OFFSETS, METADATA, OFFSET_COMMIT
from kcli.schemas.errors import error_name
from tests.broker.talk import batch, parts, run, talking

SEGMENT = "00000000000000000000.log"
CONFIG = {"log.segment.bytes": "200", "offsets.topic.num.partitions": "1"}
Edit = Callable[[Path], object]


async def fill(data: Path) -> None:
    """Topic "good" of two partitions, "other" of one: four records each, in several segments; a snapshot; a commit."""
    async with talking(data=data, config=CONFIG) as talk:
        for name, count in (("good", 2), ("other", 1)):
            talk.broker.create_topic(name, count)
        talk.broker.metadata.snapshots.take()
        for topic, index in (("good", 0), ("good", 1), ("other", 0)):
            for value in ("a", "b", "c", "d"):
                assert (await talk.produce(topic, batch(value * 50), index))["errorCode"] == 0
        place = {"partitionIndex": 0, "committedOffset": 3, "committedLeaderEpoch": -1, "committedMetadata": ""}
        body = {"groupId": "g", "generationIdOrMemberEpoch": -1, "memberId": ""}
        await talk(OFFSET_COMMIT, 7, body | {"topics": [{"name": "good", "partitions": [place]}]})


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = tmp_path_factory.mktemp("sound") / "data"
    run(fill(data))
    return data


def served(data: Path, topic: str = "good", index: int = 0) -> tuple[str, str, list[str]]:
    """(first letters of all records of a partition, the error of a fetch of it, what the broker noted) on a start."""
    notes: list[str] = []
    got: list[str] = []
    error = "NONE"

    async def work() -> None:
        nonlocal error
        async with talking(Broker(data, config=CONFIG, note=notes.append)) as talk:
            offset = 0
            while True:
                row = parts(await talk.fetch(11, (topic, index, offset)))[topic, index]
                error = error_name(row["errorCode"])
                batches = list(scan(row.get("records") or b"", damages=[]))
                if not batches or error != "NONE":
                    break
                got.extend((record.value or b"")[:1].decode() for each in batches for record in each.records())
                offset = batches[-1].last_offset + 1

    run(work())
    return "".join(got), error, notes


def broken(data: Path) -> Path:
    """As a crash leaves it."""
    (data / ".kafka_cleanshutdown").unlink()
    return data


def metadata_of_others(data: Path) -> None:
    """What 0.1.0 let clients write: records that are no metadata, in the metadata log."""
    log = sorted((data / FOLDER).glob("*.log"))[-1]
    end = max(each.last_offset for each in scan(log.read_bytes())) + 1
    with log.open("ab") as file:
        file.write(build_batch([(0, b"k", b"of a client", ()), (0, b"k", None, ())], base_offset=end))


DAMAGES: list[tuple[str, Edit, str]] = [
    ("a log that ends in the middle", lambda data: cut(data / "good-0"), "abc"),
    ("garbage behind a log", lambda data: grow(last_log(data / "good-0")), "abcd"),
    ("garbage behind a log, after a crash", lambda data: grow(last_log(broken(data) / "good-0")), "abcd"),
    ("an index of garbage", lambda data: write_all(data / "good-0", ".index", b"\x00\x00\x00\x09" * 6), "abcd"),
    ("a time index of garbage", lambda data: write_all(data / "good-0", ".timeindex", b"\xff" * 36), "abcd"),
    ("producers of garbage", lambda data: write_all(data / "good-0", ".snapshot", b"\x00\x01" * 60), "abcd"),
    ("a snapshot of another name", lambda data: (data / "good-0" / "x.snapshot").write_bytes(b"?"), "abcd"),
    (
        "leader epochs of garbage",
        lambda data: (data / "good-0" / "leader-epoch-checkpoint").write_bytes(b"\xff"),
        "abcd",
    ),
    (
        "leader epochs that lie",
        lambda data: (data / "good-0" / "leader-epoch-checkpoint").write_text("0\n9\n0 0\n"),
        "abcd",
    ),
    ("metadata of the partition", lambda data: (data / "good-0" / "partition.metadata").write_bytes(b"\xff"), "abcd"),
    ("a file instead of another partition", lambda data: to_file(data / "other-0"), "abcd"),
    ("start offsets of garbage", lambda data: (data / "log-start-offset-checkpoint").write_bytes(b"\xff\n"), "abcd"),
    ("properties of garbage", lambda data: (data / "meta.properties").write_bytes(b"\xff\xfe="), "abcd"),
    ("records of others in the metadata log", metadata_of_others, "abcd"),
    ("garbage behind the metadata log", lambda data: grow(last_log(data / FOLDER)), "abcd"),
    ("a checkpoint of garbage", lambda data: checkpoint(data).write_bytes(b"\xff" * 99), "abcd"),
    ("a checkpoint that is cut", lambda data: checkpoint(data).write_bytes(newest(data).read_bytes()[:-9]), "abcd"),
    ("an empty checkpoint", lambda data: checkpoint(data).touch(), "abcd"),
    (
        "a checkpoint of another age",
        lambda data: (data / FOLDER / f"{9:020}-{(1 << 31):010}.checkpoint").touch(),
        "abcd",
    ),
    ("a checkpoint that is a folder", lambda data: checkpoint(data).mkdir(), "abcd"),
    ("commits of garbage", lambda data: grow(last_log(data / "__consumer_offsets-0")), "abcd"),
    ("files of something else", lambda data: (data / "holiday.jpg").write_bytes(b"JPG"), "abcd"),
    ("a folder of something else", lambda data: (data / "../data/photos").mkdir(), "abcd"),
]


def checkpoint(data: Path) -> Path:
    """One that would be newer than all others."""
    return data / FOLDER / f"{1000:020}-{1:010}.checkpoint"


def newest(data: Path) -> Path:
    return max((data / FOLDER).glob("*.checkpoint"))


def last_log(folder: Path) -> Path:
    return sorted(folder.glob("*.log"))[-1]


def cut(folder: Path) -> None:
    path = last_log(folder)
    path.write_bytes(path.read_bytes()[:-5])


def grow(path: Path) -> None:
    with path.open("ab") as file:
        file.write(random.Random(1).randbytes(500))


def write_all(folder: Path, suffix: str, content: bytes) -> None:
    for path in folder.glob(f"*{suffix}"):
        path.write_bytes(content)


def to_file(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.write_bytes(b"no folder")


@pytest.mark.parametrize(("edit", "expected"), [each[1:] for each in DAMAGES], ids=[each[0] for each in DAMAGES])
def test_what_is_sound_is_served(edit: Edit, expected: str, sound: Path, tmp_path: Path) -> None:
    """Twice: what the first start wrote can be started from as well."""
    data = Path(shutil.copytree(sound, tmp_path / "data"))
    edit(data)
    for _ in range(2):
        got, error, notes = served(data)
        assert (got, error) == (expected, "NONE")
        assert len(notes) <= 4
    assert served(data, "good", 1)[0] == "abcd"


def test_each_thing_that_is_left_out_is_said_in_a_line(sound: Path, tmp_path: Path) -> None:
    data = Path(shutil.copytree(sound, tmp_path / "data"))
    for folder in ("good-0", "other-0"):
        shutil.rmtree(data / folder)
    (data / "good-0" / SEGMENT).mkdir(parents=True)
    (data / "other-0").write_bytes(b"")
    (data / "holiday.jpg").touch()
    metadata_of_others(data)
    got, error, notes = served(data)
    assert (got, error) == ("", "KAFKA_STORAGE_ERROR")
    said = sorted(note.removeprefix(str(data)).split(": left out: ")[0].lstrip("/") for note in notes)
    assert said == [f"{FOLDER}/{last_log(data / FOLDER).name}", "good-0", "holiday.jpg", "other-0"]
    assert any("2 records, the first: record" in note and "no metadata record" in note for note in notes)


def test_a_partition_that_can_not_be_read_is_offline_and_others_are_not(sound: Path, tmp_path: Path) -> None:
    data = Path(shutil.copytree(sound, tmp_path / "data"))
    shutil.rmtree(data / "good-0")
    (data / "good-0" / SEGMENT).mkdir(parents=True)

    async def work() -> None:
        async with talking(Broker(data, config=CONFIG)) as talk:
            assert error_name((await talk.produce("good", batch("x")))["errorCode"]) == "KAFKA_STORAGE_ERROR"
            asked = {"name": "good", "partitions": [{"partitionIndex": index, "timestamp": -1} for index in (0, 1)]}
            answer = await talk(LIST_OFFSETS, 4, {"replicaId": -1, "topics": [asked]})
            rows = {each["partitionIndex"]: each for each in answer["topics"][0]["partitions"]}
            assert error_name(rows[0]["errorCode"]) == "KAFKA_STORAGE_ERROR"
            assert rows[1]["offset"] == 4
            assert (await talk.produce("good", batch("x"), 1))["errorCode"] == 0

    run(work())


HOSTILE: list[tuple[str, dict[str, Any]]] = [
    ("TopicRecord", {"name": "../../above", "topicId": "Zm9vYmFyYmF6cXV4MTIzNA"}),
    ("TopicRecord", {"name": "__cluster_metadata", "topicId": "Am9vYmFyYmF6cXV4MTIzNA"}),
    ("TopicRecord", {"name": "good", "topicId": "Bm9vYmFyYmF6cXV4MTIzNA"}),
    ("PartitionRecord", {"partitionId": 1, "topicId": None, "replicas": [], "isr": [], "leader": 1}),
    ("PartitionRecord", {"partitionId": 1 << 30, "topicId": None, "replicas": [1], "isr": [1], "leader": 1}),
    ("ConfigRecord", {"resourceType": 2, "resourceName": "good", "name": "retention.ms", "value": "soon"}),
    ("ConfigRecord", {"resourceType": 4, "resourceName": "", "name": "log.segment.bytes", "value": "few"}),
    ("ProducerIdsRecord", {"brokerId": 1, "brokerEpoch": 1, "nextProducerId": -5}),
]


def test_records_that_make_no_sense_are_left_out(tmp_path: Path) -> None:
    data = tmp_path / "a" / "data"

    async def work() -> None:
        async with talking(Broker(data, config=CONFIG), topic="good") as talk:
            metadata, good = talk.broker.metadata, talk.broker.topics.by_name["good"]
            for name, value in HOSTILE:
                value = value | ({"topicId": good.id} if value.get("topicId", "") is None else {})
                record = (0, None, encode(name, 0, value), ())
                metadata.log.append(read_incoming(build_batch([record]), 1 << 20), metadata.epoch)

    run(work())
    for _ in range(2):
        got, error, notes = served(data)
        assert (got, error) == ("", "NONE")
        assert len(notes) == 1
        assert ": left out: 8 records, the first: record" in notes[0]
        assert "'../../above'" in notes[0]
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize("seed", range(24))
def test_any_damage(seed: int, sound: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Whatever a few bytes of a few files are, the broker starts, answers and stops; or says why not in one line."""
    rng = random.Random(seed)
    data = Path(shutil.copytree(sound, tmp_path / "data"))
    files = sorted(path for path in data.rglob("*") if path.is_file())
    for path in rng.sample(files, 6):
        content = bytearray(path.read_bytes())
        for _ in range(rng.randrange(1, 4)):
            at = rng.randrange(len(content) + 1)
            content[at : at + rng.randrange(9)] = rng.choice([b"", b"\xff" * 4, b"\0" * 8, rng.randbytes(5)])
        path.write_bytes(content)
    for _ in range(2):
        notes: list[str] = []

        async def work(notes: list[str] = notes) -> None:
            async with talking(Broker(data, config=CONFIG, note=notes.append)) as talk:
                await talk(METADATA, 1, {"topics": None})
                for key in (("good", 0), ("good", 1), ("other", 0)):
                    await talk.fetch(11, (*key, 0))
                assert (await talk.produce("new", batch("x")))["errorCode"] in (0, 3)

        try:
            run(work())
        except (KcliError, OSError) as error:
            assert str(error)
        assert not [note for note in notes if "\n" in note]
        assert "Traceback" not in capfd.readouterr().err
