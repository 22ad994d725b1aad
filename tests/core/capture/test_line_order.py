"""Where lines stand that one of several processes makes."""

from __future__ import annotations

import struct

import pytest

pytest.importorskip("kcli.core.capture.line_order")

from kcli.capture.shares import ShareDecoder
from kcli.core.capture import line_order
from tests.capture.wires import SAMPLES

MARK = struct.Struct("=QQQII")


def test_marks_are_of_all_text_and_in_order() -> None:
    source = ShareDecoder([str(SAMPLES / "java44-txn.pcap")])
    source.take_share(0, 1)
    for _ in source.read():
        pass
    taken: list[tuple[bytes, ...]] = []
    source.engine.order.take(lambda *part: taken.append(tuple(map(bytes, part))))
    text, marks, names = taken[0]
    found = list(MARK.iter_unpack(marks))
    assert [mark[:2] for mark in found] == sorted({mark[:2] for mark in found})
    assert sum(mark[2] for mark in found) == len(text) and sum(mark[3] for mark in found) == len(names) > 0
    at = 0
    for *_, size, _learnt, _missed in found:
        at += size
        assert text[:at].endswith(b"\n")
    source.engine.order.take(lambda *part: taken.append(tuple(map(bytes, part))))
    assert taken[1] == (b"", b"", b"")


def test_a_connection_is_in_one_of_so_many_buckets() -> None:
    assert line_order.BUCKETS == 64
