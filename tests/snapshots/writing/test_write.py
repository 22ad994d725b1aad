import pytest

from kcli.snapshots.image.diff import diff_images
from kcli.snapshots.json_lines import RecordLines
from kcli.snapshots.reading.decoding import Decoder
from kcli.snapshots.reading.load import load_snapshot
from kcli.snapshots.reading.names import SnapshotId, parse_snapshot_name
from kcli.snapshots.rules.verification import verify
from kcli.snapshots.writing.write import image_records, write_snapshot
from tests.snapshots.files import TRUTH, log_file
from tests.snapshots.made import NAME, headers, image, partition, snapshot


def records(data: bytes) -> list[bytes]:
    """The lines of a snapshot's records without their offsets, sorted."""
    lines = b"".join(bytes(piece) for piece in RecordLines().lines(memoryview(data))).splitlines()
    return sorted(line.partition(b",")[2] for line in lines)


@pytest.mark.parametrize("path", sorted(TRUTH["files"]))
def test_a_real_snapshot_written_again_holds_the_same_records(path: str) -> None:
    file = log_file(path)
    name = parse_snapshot_name(file.name)
    assert name is not None
    data = file.read_bytes()
    found = load_snapshot(memoryview(data), end_offset=name.id.end_offset, epoch=name.id.epoch)
    again = snapshot(found)
    assert len(again) == len(data)
    assert records(again) == records(data)
    assert [each for each in verify(memoryview(again), file.name) if each.is_error] == []


def test_what_is_written() -> None:
    """KIP-630: a header, the records, a footer."""
    out = bytearray()
    written = write_snapshot(image(), out.extend, now_ms=5)
    assert (written.id, written.size, written.records, written.batches) == (SnapshotId(100, 2), len(out), 7, 3)
    first, data, last = headers(bytes(out))
    assert (first.is_control, data.is_control, last.is_control) == (True, False, True)
    assert {each.leader_epoch for each in (first, data, last)} == {2}
    assert (first.base_timestamp, last.base_offset) == (5, 8)


def test_batches_are_bounded() -> None:
    small = snapshot(most_batch=150)
    assert len(headers(small)) > 5
    assert [each for each in verify(memoryview(small), NAME) if each.is_error] == []
    assert list(diff_images(load_snapshot(memoryview(small)), image())) == []


@pytest.mark.parametrize(("level", "broker", "number"), [(7, 1, 0), (9, 2, 0), (17, 3, 1), (23, 3, 2), (30, 4, 2)])
def test_versions_follow_the_level(level: int, broker: int, number: int) -> None:
    found = image(("PartitionRecord", partition(2, eligibleLeaderReplicas=[1])), level=level)
    heads = {record[1]: record[2] for record in image_records(found, Decoder())}
    assert (heads[0], heads[3]) == (broker, number)
    assert (21 in heads) == (8 <= level < 22)


def test_a_partition_of_another_version_is_written_anew() -> None:
    old = load_snapshot(memoryview(snapshot(image(level=17))))
    old.features["metadata.version"] = 30
    heads = {record[2] for record in image_records(old, Decoder()) if record[1] == 3}
    assert heads == {2}


def test_voters_are_written_where_the_log_has_them() -> None:
    found = image()
    found.kraft_version = 1
    voter = {"voterId": 1, "voterDirectoryId": "A" * 22, "endpoints": []}
    found.voters = [voter | {"kRaftVersionFeature": {"minSupportedVersion": 0, "maxSupportedVersion": 1}}]
    again = load_snapshot(memoryview(snapshot(found)))
    assert (again.kraft_version, again.voters) == (1, found.voters)


def test_the_first_producer_id_is_kept() -> None:
    """It is 0 before a broker has asked for a block; -1 where there is no record of it."""
    for number in (0, -1, 1000):
        made = image()
        made.next_producer_id = number
        assert load_snapshot(memoryview(snapshot(made))).next_producer_id == number
