"""Lines of several processes, put in order by hand-made marks."""

import struct

import pytest

pytest.importorskip("kcli.core.capture.line_merger")

from kcli.core.capture.line_merger import LineMerger
from kcli.core.codec.values import uuid_text

ID = bytes(range(16))
LINE = f'{{"topicId":"{uuid_text(ID)}"}}\n'.encode()
NAMED = f'{{"topicId":"{uuid_text(ID)}","_topicName":"orders"}}\n'.encode()


def mark(segment: int, size: int, learnt: int = 0, missed: bool = False, rank: int = 0) -> bytes:
    return struct.pack("=QQQII", segment, rank, size, learnt, missed)


def taught(name: bytes) -> bytes:
    return ID + struct.pack("=I", len(name)) + name


def merged(*stretches: list[tuple[bytes, bytes, bytes]]) -> tuple[bytes, list[bytes | None]]:
    """What is written, and what is new of each stretch."""
    out = bytearray()
    merger = LineMerger(out.extend)
    learnt = [merger.merge(parts) for parts in stretches]
    return bytes(out), learnt


def test_lines_stand_by_segment_and_rank() -> None:
    one = (b"adf", mark(1, 1) + mark(4, 1, rank=1) + mark(9, 1), b"")
    two = (b"bce", mark(2, 2) + mark(4, 1, rank=2), b"")
    assert merged([one, two, (b"", b"", b"")]) == (b"abcdef", [b""])
    assert merged([one, one])[0] == b"aaddff"  # two that stand at the same place: one behind the other
    long = b"x" * 100_000  # written from where it lies
    assert merged([(long + b"!", mark(1, len(long)) + mark(3, 1), b""), (b"y", mark(2, 1), b"")])[0] == long + b"y!"


def test_names_are_put_in_behind_their_places_alone() -> None:
    log = taught(b'"orders"')
    teacher = (b"t\n", mark(5, 2, len(log)), log)
    others = (LINE * 3, mark(4, len(LINE), missed=True) + mark(6, len(LINE)) + mark(7, len(LINE), missed=True), b"")
    assert merged([teacher, others]) == (LINE + b"t\n" + LINE + NAMED, [log])
    again = (LINE, mark(9, len(LINE), len(log), missed=True), log)  # known: nothing new
    assert merged([teacher], [again]) == (b"t\n" + NAMED, [log, b""])


def test_another_name_of_a_topic_stops_it() -> None:
    first, second = taught(b'"orders"'), taught(b'"others"')
    one = (b"1", mark(1, 1, len(first)), first)
    two = (b"23", mark(2, 1, len(second)) + mark(3, 1), second)
    assert merged([one, two]) == (b"12", [None])


@pytest.mark.parametrize("part", [(b"ab", mark(1, 1), b""), (b"a", mark(1, 1, 5), b""), (b"", b"", b"log")])
def test_marks_of_other_lines_are_refused(part: tuple[bytes, bytes, bytes]) -> None:
    with pytest.raises(ValueError, match="marks of other lines"):
        merged([part])


def test_what_is_written_is_valid_until_the_next_stretch() -> None:
    pieces: list[memoryview] = []
    merger = LineMerger(pieces.append)
    size = 5000
    parts = [
        (b"a" * size * 9, b"".join(mark(2 * number, size) for number in range(9)), b""),
        (b"b" * 9, b"".join(mark(2 * number + 1, 1) for number in range(9)), b""),
    ]
    merger.merge(parts)
    assert b"".join(pieces) == (b"a" * size + b"b") * 9 and len(pieces) == 18
    assert merger.written == 9 * (size + 1)
