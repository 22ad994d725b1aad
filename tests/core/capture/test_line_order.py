"""Where lines stand that one of several processes makes."""

import struct
from pathlib import Path

import pytest

pytest.importorskip("kcli.core.capture.line_order")

from kcli.capture.parallel.worker import Share
from kcli.core.capture.segment_dealer import SegmentDealer
from tests.capture.decoding import as_lines
from tests.capture.wires import SAMPLES

MARK = struct.Struct("=QQQII")


def alone(path: Path) -> Share:
    """A process that shares the work with nobody."""
    source = Share(as_lines([str(path)]))
    source.take_share(1, SegmentDealer(1))
    return source


def test_marks_are_of_all_text_and_in_order() -> None:
    source = alone(SAMPLES / "java44-txn.pcap")
    for _ in source.capture.pieces(lambda count: None):
        pass
    taken: list[tuple[bytes, ...]] = []
    source.capture.engine.order.take(lambda *part: taken.append(tuple(map(bytes, part))))
    text, marks, names = taken[0]
    found = list(MARK.iter_unpack(marks))
    assert [mark[:2] for mark in found] == sorted({mark[:2] for mark in found})
    assert sum(mark[2] for mark in found) == len(text) and sum(mark[3] for mark in found) == len(names) > 0
    at = 0
    for *_, size, _learnt, _missed in found:
        at += size
        assert text[:at].endswith(b"\n")
    source.capture.engine.order.take(lambda *part: taken.append(tuple(map(bytes, part))))
    assert taken[1] == (b"", b"", b"")


def test_lines_lie_in_the_room_that_was_opened_or_elsewhere() -> None:
    taken: list[tuple[bytes, ...]] = []
    source = alone(SAMPLES / "java44-txn.pcap")
    for _ in source.capture.pieces(lambda count: None):
        pass
    source.capture.engine.order.take(lambda *part: taken.append(tuple(map(bytes, part))))
    room, small = bytearray(1 << 20), bytearray(3000)
    for each in (room, small):
        source = alone(SAMPLES / "java44-txn.pcap")
        source.capture.engine.order.open(each)
        for _ in source.capture.pieces(lambda count: None):
            pass
        sizes = source.capture.engine.order.close()
        if each is room:
            assert sizes == tuple(map(len, taken[0])) and room[: sum(sizes)] == b"".join(taken[0])
            source.capture.engine.order.open(small)  # lines of the next stretch
            assert source.capture.engine.order.close() == (0, 0, 0)
        else:
            assert sizes is None
            source.capture.engine.order.take(lambda *part: taken.append(tuple(map(bytes, part))))
    assert taken[1] == taken[0] and any(small)


def test_a_room_is_as_large_as_it_is() -> None:
    source = alone(SAMPLES / "java44-txn.pcap")
    line = b"x" * 999
    for size, fits in (1031, True), (1030, False), (999, False), (998, False), (1, False):  # a mark has 32 bytes
        room = bytearray(size + 10)
        source.capture.engine.order.open(memoryview(room)[:size])
        source.capture.engine.write(line)
        sizes = source.capture.engine.order.close()
        assert (sizes is not None) is fits
        if sizes is None:
            source.capture.engine.order.take(lambda text, *_: None)
        assert room[size:] == bytes(10)
