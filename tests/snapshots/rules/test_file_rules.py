import struct

import pytest

from kcli.records.builder import build_control_batch
from kcli.snapshots.image.image import Image, Provenance
from kcli.snapshots.rules.verification import verify
from tests.snapshots.made import NAME, headers, image, snapshot, with_crc

FOOTER = (struct.pack(">hh", 0, 4), b"\0\0\0")


def reported(data: bytes, name: str = NAME) -> list[tuple[str, str]]:
    return [(finding.rule, finding.message) for finding in verify(memoryview(data), name)]


def test_a_made_snapshot_is_sound() -> None:
    assert reported(snapshot()) == []


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("100-2.checkpoint", "not spelled"),
        (NAME + ".part", "unfinished"),
        (NAME + ".deleted", "about to be deleted"),
        (NAME + ".bak", "not spelled"),
        ("snapshot.bin", "a snapshot under the name"),
        ("00000000000000000000.log", "a snapshot under the name"),
    ],
)
def test_names(name: str, part: str) -> None:
    assert any(rule == "name" and part in text for rule, text in reported(snapshot(), name))


def test_bytes_of_no_kind_under_no_name() -> None:
    body = snapshot()[headers(snapshot())[1].position :]
    assert any(rule == "name" and "neither a snapshot's" in text for rule, text in reported(body, "data.bin"))


def test_a_batch_that_spans_more_offsets_than_it_has_records() -> None:
    data = bytearray(snapshot())
    batch = headers(bytes(data))[1]
    data[batch.position + 23 : batch.position + 27] = (99).to_bytes(4, "big")
    rules = {rule for rule, _ in reported(with_crc(bytes(data), batch))}
    assert "offsets" in rules


def test_epochs_of_a_log_don_t_go_back() -> None:
    one = build_control_batch([FOOTER], 1, 0, partition_leader_epoch=3)
    two = build_control_batch([FOOTER], 1, 1, partition_leader_epoch=2)
    assert ("epoch", "partitionLeaderEpoch 2 after 3: epochs don't go back") in reported(one + two, f"{0:020d}.log")


def test_a_leader_change_has_no_place_in_a_snapshot() -> None:
    change = (struct.pack(">hh", 0, 2), b"\0\0\0\0\0\1\1\1\0")
    header = (struct.pack(">hh", 0, 3), b"\0\0" + bytes(9))
    data = build_control_batch([header, change], 1, 0, partition_leader_epoch=2)
    data += build_control_batch([FOOTER], 1, 2, partition_leader_epoch=2)
    assert ("control-records", "record 1: LEADER_CHANGE has no place in a snapshot") in reported(data)


def test_voters_and_kraft_version_go_together() -> None:
    voter = {"voterId": 1, "voterDirectoryId": "A" * 22, "endpoints": []}
    voter["kRaftVersionFeature"] = {"minSupportedVersion": 0, "maxSupportedVersion": 1}
    found = image()
    found.kraft_version, found.voters = 1, [voter, voter]
    assert reported(snapshot(found)) == [("voters", "KRAFT_VOTERS names voter 1 twice")]
    found.voters = []
    assert reported(snapshot(found)) == [("voters", "KRAFT_VOTERS names no voter")]
    found.voters = None
    assert reported(snapshot(found)) == [("voters", "KRAFT_VERSION 1 without KRAFT_VOTERS")]


def test_a_node_that_knows_no_voters_yet() -> None:
    """As `kafka-storage format --no-initial-controllers` of 4.4 leaves it."""
    found = Image(kraft_version=1, features={"metadata.version": 30}, provenance=Provenance(0, 0, 1))
    assert reported(snapshot(found), "00000000000000000000-0000000000.checkpoint") == []


def test_a_key_version_of_the_future_is_a_note() -> None:
    header = (struct.pack(">hh", 3, 3), b"\0\0" + bytes(9))
    data = build_control_batch([header], 1, 0, partition_leader_epoch=2)
    data += build_control_batch([FOOTER], 1, 1, partition_leader_epoch=2)
    assert reported(data) == [("control-records", "record 0: SNAPSHOT_HEADER with key version 3 (0 expected)")]


def test_a_header_twice() -> None:
    header = (struct.pack(">hh", 0, 3), b"\0\0" + bytes(9))
    data = build_control_batch([header, header], 1, 0, partition_leader_epoch=2)
    data += build_control_batch([FOOTER], 1, 2, partition_leader_epoch=2)
    assert reported(data) == [("header", "record 1: a second SNAPSHOT_HEADER")]
