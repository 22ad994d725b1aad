from dataclasses import dataclass
from typing import Any

from kcli.capture.api import read_capture
from kcli.capture.kafka.exchange import Exchange
from kcli.snapshots.live.extract import Assembly, pieces_of
from kcli.snapshots.reading.names import SnapshotId
from tests.snapshots.files import unpacked


def test_a_snapshot_out_of_a_real_capture() -> None:
    capture = unpacked("wire") / "440-three-fetchsnapshot.pcap"
    found = [item for item in read_capture(capture).items() if isinstance(item, Exchange)]
    pieces = list(pieces_of(found))
    assert [piece.key.id for piece in pieces] == [SnapshotId(2555, 1)] * 3
    (file,) = (unpacked("wire") / "440-three").iterdir()
    data, assembly = bytearray(pieces[0].size), Assembly(pieces[0].size)
    for piece in pieces:
        data[piece.position : piece.position + len(piece.data)] = piece.data
        assembly.add(piece.position, len(piece.data))
    assert assembly.whole
    assert bytes(data) == file.read_bytes()


@dataclass
class Answer:
    api_key: int
    response: dict[str, Any] | None
    connection: str = "10.0.0.1:9093-10.0.0.2:4000"


def test_errors_and_other_exchanges_are_passed_over() -> None:
    partition = {"index": 0, "errorCode": 98, "snapshotId": {"endOffset": 1, "epoch": 1}, "size": 0, "position": 0}
    body = {"topics": [{"name": "t", "partitions": [partition | {"unalignedRecords": b""}]}]}
    answers = [Answer(1, {}), Answer(59, None), Answer(59, body)]
    assert list(pieces_of(answers)) == []
    partition |= {"errorCode": 0, "size": 5, "position": 2, "unalignedRecords": b"abc"}
    (piece,) = pieces_of([Answer(59, {"topics": [{"name": "t", "partitions": [partition]}]})])
    assert (piece.key.server, piece.size, piece.position, piece.data) == ("10.0.0.1:9093", 5, 2, b"abc")


def test_pieces_that_fit_no_file_are_left_out() -> None:
    places = [(-1, 5), (3, 5), (1 << 62, (1 << 63) - 1), (0, -1), (0, 0)]
    partition = {"index": 0, "errorCode": 0, "snapshotId": {"endOffset": 1, "epoch": 1}, "unalignedRecords": b"abc"}
    parts = [partition | {"position": position, "size": size} for position, size in places]
    assert list(pieces_of([Answer(59, {"topics": [{"name": "t", "partitions": parts}]})])) == []


def test_an_assembly_knows_what_is_missing() -> None:
    assembly = Assembly(10)
    assert assembly.missing() == [(0, 10)]
    for position, length in ((4, 2), (0, 1), (6, 1), (3, 3), (2, 0)):
        assembly.add(position, length)
    assert assembly.covered == [(0, 1), (3, 7)]
    assert assembly.missing() == [(1, 3), (7, 10)]
    assembly.add(0, 10)
    assert assembly.whole
    assert assembly.missing() == []
