import struct
from pathlib import Path

import pytest

from kcli.core.records.crc import crc32c
from kcli.errors import DecodeError
from kcli.records import segments
from kcli.records.segments import base_offset_of, kind_of, read_rows

NAME = "00000000000000000100"


def producers(*entries: tuple[int, ...], crc: int | None = None) -> bytes:
    body = struct.pack(">i", len(entries)) + b"".join(struct.pack(">qhiqiqiq", *entry) for entry in entries)
    return struct.pack(">hI", 1, crc32c(body) if crc is None else crc) + body


def test_names() -> None:
    assert base_offset_of(f"a/b/{NAME}.log") == 100 and base_offset_of("x.log") == 0
    others = ("1629.bin", "/dev/fd/63", "².log", "20261129.log.pcap")  # a name that is no segment's says no offset
    assert base_offset_of("7.log") == 7 and base_offset_of(f"{NAME}.log.gz") == 100
    assert [base_offset_of(name) for name in others] == [0, 0, 0, 0]
    kinds = [kind_of(f"{NAME}.{end}") for end in ("log", "index", "timeindex", "txnindex", "snapshot", "deleted")]
    assert kinds == ["log", "index", "timeindex", "txnindex", "snapshot", None]
    assert kind_of("d/leader-epoch-checkpoint") == "leader-epoch-checkpoint" and kind_of("partition.metadata") is None


def test_a_file_larger_than_any_beside_a_segment_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "LARGEST", 16)
    path = tmp_path / f"{NAME}.index"
    path.write_bytes(struct.pack(">iiii", 7, 4096, 256, 8192))
    assert len([*segments.read_file_rows("index", str(path))]) == 2
    path.write_bytes(bytes(17))
    with pytest.raises(DecodeError, match="more than the") as error:
        next(segments.read_file_rows("index", str(path)))
    assert error.value.offset == 16


def test_indexes_end_where_only_zeroes_follow() -> None:
    data = struct.pack(">iiii", 7, 4096, 256, 8192) + bytes(80)
    rows = list(read_rows("index", data, f"{NAME}.index"))
    assert rows == [{"offset": 107, "position": 4096}, {"offset": 356, "position": 8192}]
    assert list(read_rows("index", bytes(80), f"{NAME}.index")) == []
    times = struct.pack(">qi", 1700000000000, 0) + bytes(24)
    assert list(read_rows("timeindex", times, f"{NAME}.timeindex")) == [{"timestamp": 1700000000000, "offset": 100}]


def test_aborted_transactions() -> None:
    rows = list(read_rows("txnindex", struct.pack(">hqqqq", 0, 5, 10, 20, 9), "x"))
    assert rows == [{"version": 0, "producerId": 5, "firstOffset": 10, "lastOffset": 20, "lastStableOffset": 9}]


def test_producer_state() -> None:
    (row,) = read_rows("snapshot", producers((5, 1, 9, 40, 3, 1700, 2, -1)), "x")
    assert row == {
        "producerId": 5,
        "producerEpoch": 1,
        "lastSequence": 9,
        "lastOffset": 40,
        "offsetDelta": 3,
        "lastTimestamp": 1700,
        "coordinatorEpoch": 2,
        "currentTxnFirstOffset": -1,
    }


def test_leader_epochs() -> None:
    rows = list(read_rows("leader-epoch-checkpoint", b"0\n2\n0 0\n3 17\n", "leader-epoch-checkpoint"))
    assert rows == [{"epoch": 0, "startOffset": 0}, {"epoch": 3, "startOffset": 17}]


@pytest.mark.parametrize(
    ("kind", "data", "text", "read"),
    [
        ("index", struct.pack(">ii", 7, 4096) + b"\1\2\3", "3 bytes after", 1),
        ("timeindex", b"\1" * 13, "1 bytes after", 1),
        ("txnindex", b"\0" * 35, "1 bytes after", 1),
        ("txnindex", b"\1" * 34, "0 expected", 0),
        ("snapshot", b"\0\1", "needs 10 bytes, 2", 0),
        ("snapshot", b"\0\7" + bytes(8), "1 expected", 0),
        ("snapshot", producers((1,) * 8)[:-1], "says 1 producers", 0),
        ("snapshot", producers((1,) * 8, crc=5), "says 5, the bytes give", 1),
        ("leader-epoch-checkpoint", b"\x89PNG", "version: line 1: 0 expected", 0),
        ("leader-epoch-checkpoint", b"0\n2\n0 0\n", "says 2 entries, 1 here", 1),
        ("leader-epoch-checkpoint", b"0\n1\nzero 0\n", "line 3", 0),
    ],
)
def test_what_breaks_the_form_is_named_behind_what_can_be_read(kind: str, data: bytes, text: str, read: int) -> None:
    rows = []
    with pytest.raises(DecodeError, match=text):
        for row in read_rows(kind, data, "x"):
            rows.append(row)
    assert len(rows) == read
