import struct
from itertools import pairwise
from typing import Any

import pytest

from kcli.errors import InputError
from kcli.records.builder import build_batch, build_control_batch
from kcli.snapshots.image.diff import diff_images
from kcli.snapshots.image.image import Image
from kcli.snapshots.image.summary import image_summary
from kcli.snapshots.reading.decoding import Decoder
from kcli.snapshots.reading.load import Loader, load_snapshot
from kcli.snapshots.reading.names import parse_snapshot_name
from tests.oracle.snapshots import by_oracle
from tests.snapshots.files import NODES, TRUTH, damaged, log_file, partition_folder
from tests.snapshots.made import OTHER_ID, headers, image, snapshot, with_crc


def loaded(path: str) -> Image:
    file = log_file(path)
    name = parse_snapshot_name(file.name)
    assert name is not None
    return load_snapshot(memoryview(file.read_bytes()), end_offset=name.id.end_offset, epoch=name.id.epoch)


SAME = {
    "brokers": "brokers",
    "brokersFenced": "brokersFenced",
    "controllers": "controllers",
    "topics": "topics",
    "partitions": "partitions",
    "leaderless": "offline",
    "isrSmallerThanReplicas": "underReplicated",
    "reassigning": "reassigning",
    "withElr": "withElr",
    "acls": "acls",
    "configResources": "configResources",
    "configValues": "configs",
    "quotaEntities": "quotaEntities",
    "quotaValues": "quotas",
    "scram": "scramCredentials",
    "tokens": "delegationTokens",
    "nextProducerId": "nextProducerId",
}


@pytest.mark.parametrize("path", sorted(TRUTH["files"]))
def test_the_image_has_what_kafka_s_has(path: str) -> None:
    truth = TRUTH["files"][path]
    summary = image_summary(loaded(path))
    assert {name: summary[ours] for name, ours in SAME.items()} == {name: truth[name] for name in SAME}
    if truth["metadataVersion"] and summary["metadataVersion"]:
        assert summary["metadataVersion"] == truth["metadataVersion"]
        features = ", ".join(f"{name}={level}" for name, level in summary["features"].items())
        assert f"{{{features}}}" == truth["features"]


@pytest.mark.parametrize("node", NODES)
def test_a_snapshot_and_the_log_behind_it_make_the_next_snapshot(node: str) -> None:
    folder = partition_folder(node)
    snapshots = sorted(folder.glob("*.checkpoint"))
    for before, after in pairwise(snapshots):
        name, following = parse_snapshot_name(before.name), parse_snapshot_name(after.name)
        assert name is not None
        assert following is not None
        loader = Loader()
        loader.snapshot(memoryview(before.read_bytes()), end_offset=name.id.end_offset, epoch=name.id.epoch)
        for segment in sorted(folder.glob("*.log")):
            loader.segment(memoryview(segment.read_bytes()), until=following.id.end_offset)
        expected = loaded(f"{node}/__cluster_metadata-0/{after.name}")
        assert list(diff_images(loader.image, expected, secrets=True)) == []
        found = loader.image.provenance
        assert (found.end_offset, found.epoch, found.timestamp) == (
            following.id.end_offset,
            following.id.epoch,
            expected.provenance.timestamp,
        )
        assert (loader.image.voters or []) == (expected.voters or [])


def test_a_topic_told_again_loses_its_partitions_as_in_kafka() -> None:
    found = load_snapshot(memoryview(damaged("unknown-tagged-field").read_bytes()))
    assert (found.partition_count(), len(found.topics)) == (282, 28)


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ("orphan-partition", "15 partitions of topic 7wMQz0oiQLW2ebPjl1-kIQ"),
        ("cut-in-data", "at byte 166"),
        ("bit-flip-data", "checksum is wrong"),
        ("unknown-type", "unknown record type 99"),
        ("null-value", "no value"),
        ("magic-1", "magic 1"),
        ("unknown-control-type", "unknown control record type 77"),
    ],
)
def test_damage_stops_a_strict_loader_and_is_noted_by_another(case: str, reason: str) -> None:
    data = memoryview(damaged(case).read_bytes())
    with pytest.raises(InputError, match=reason):
        load_snapshot(data)
    loader = Loader(strict=False)
    loader.snapshot(data)
    assert reason in loader.problems[0][1]
    assert loader.image.kraft_version == 1


def segment(*batches: list[tuple[str, dict[str, Any]]], start: int = 100) -> bytes:
    """A log segment: a batch for each list of records, in epoch 3."""
    decoder, out, offset = Decoder(), b"", start
    for records in batches:
        rows = [(1_700_000_002_000, None, decoder.write(name, 0, value), ()) for name, value in records]
        out += build_batch(rows, offset, partition_leader_epoch=3)
        offset += len(rows)
    return out


def topic(name: str) -> tuple[str, dict[str, Any]]:
    return "TopicRecord", {"name": name, "topicId": OTHER_ID}


def replayed(data: bytes, until: int | None = None, strict: bool = True) -> Loader:
    loader = Loader(strict=strict)
    loader.snapshot(memoryview(snapshot()), end_offset=100, epoch=2)
    loader.segment(memoryview(data), until=until)
    return loader


BEGIN: tuple[str, dict[str, Any]] = ("BeginTransactionRecord", {})
END: tuple[str, dict[str, Any]] = ("EndTransactionRecord", {})
ABORT: tuple[str, dict[str, Any]] = ("AbortTransactionRecord", {})


def test_a_transaction_counts_when_it_ends() -> None:
    assert len(replayed(segment([BEGIN], [topic("a")], [END])).image.topics) == 2
    assert len(replayed(segment([BEGIN, topic("a"), ABORT])).image.topics) == 1
    open_one = replayed(segment([BEGIN, topic("a")]))
    assert len(open_one.image.topics) == 1
    assert open_one.held


def test_replay_stops_before_an_offset() -> None:
    """A batch is applied whole, as nodes do: an offset inside it is the state before it."""
    data = segment([topic("a"), ("RemoveTopicRecord", {"topicId": OTHER_ID})], [topic("b")])
    names = [
        sorted(each.name for each in replayed(data, until).image.topics.values()) for until in (100, 101, 102, 103)
    ]
    assert names == [["orders"], ["orders"], ["orders"], ["b", "orders"]]
    assert [replayed(data, until).image.provenance.end_offset for until in (101, 102)] == [100, 102]
    assert [replayed(data, until).split for until in (101, 102)] == [(100, 102), None]
    provenance = replayed(data).image.provenance
    assert (provenance.end_offset, provenance.epoch, provenance.timestamp) == (103, 3, 1_700_000_002_000)


def test_records_that_the_snapshot_has_are_passed_over() -> None:
    data = segment([topic("old"), topic("new")], start=99)
    assert sorted(each.name for each in replayed(data).image.topics.values()) == ["new", "orders"]


def test_a_gap_in_the_log_is_found() -> None:
    first, last = segment([topic("a")]), segment([topic("b")], start=103)
    with pytest.raises(InputError, match="the log has no offsets 101 to 102: the next batch begins at 103"):
        replayed(first + last)
    loader = replayed(first + last, strict=False)
    assert [offset for offset, _ in loader.problems] == [101]
    assert {each.name for each in loader.image.topics.values()} == {"orders", "b"}  # the ids are one topic's
    assert len(replayed(segment([topic("a")], start=101), strict=False).problems) == 1


def test_a_batch_that_lacks_records_is_found() -> None:
    data = segment([topic("a"), topic("b"), topic("c")])
    batch = headers(data)[0]
    short = bytearray(data)
    short[batch.position + 57 : batch.position + 61] = (2).to_bytes(4)
    problems = replayed(with_crc(bytes(short), batch), strict=False).problems
    assert problems[0] == (100, "the batch of offsets 100 to 102 has 2 records")


def test_a_batch_that_is_not_sound_is_one_problem() -> None:
    data = bytearray(segment([topic("a")]) + segment([topic("b")], start=101))
    data[70] ^= 1
    (problem,) = replayed(bytes(data), strict=False).problems
    assert problem == (0, "at byte 0: the batch's checksum is wrong")


def test_a_batch_that_can_t_be_decompressed_is_a_problem() -> None:
    data = segment([topic("a")])
    batch = headers(data)[0]
    said = bytearray(data)
    said[batch.position + 22] |= 1  # gzip, which it is not
    odd = with_crc(bytes(said), batch)
    with pytest.raises(InputError, match="at byte 0: "):
        replayed(odd)
    loader = replayed(odd + segment([topic("b")], start=101), strict=False)
    assert [offset for offset, _ in loader.problems] == [0]
    assert {each.name for each in loader.image.topics.values()} == {"orders", "b"}


def test_control_records_of_a_log() -> None:
    decoder = Decoder()
    assert decoder.control_codec(5, memoryview(b"\0\0\0\1\0")) is not None
    change = build_control_batch([(struct.pack(">hh", 0, 5), b"\0\0\0\1\0")], 1, 100, partition_leader_epoch=3)
    assert replayed(change).image.kraft_version == 1


def test_what_does_not_apply_is_noted() -> None:
    loader = replayed(segment([("RemoveTopicRecord", {"topicId": OTHER_ID})]), strict=False)
    assert loader.problems[0][0] == 100
    assert loader.image.unread == {(9, 0): 1}


def test_the_oracle_loads_the_same() -> None:
    data = memoryview(snapshot(image()))
    fast = load_snapshot(data)
    with by_oracle():
        slow = load_snapshot(data)
    assert list(diff_images(fast, slow, secrets=True)) == []
    assert slow.count_facts()["offline"] == 0
