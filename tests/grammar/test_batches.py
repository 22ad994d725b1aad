"""The grammar reads what Kafka wrote, and builds the same bytes again, padded varints included."""

import pytest

from kcli.errors import DecodeError, EncodeError
from kcli.grammar.batches import BATCH_HEADER, CONTROL_KEY, END_TRANSACTION_MARKER, MESSAGES, RECORD, ZigzagBytes
from kcli.grammar.words.source import ByteSource
from kcli.grammar.words.trace import DecodeTrace
from kcli.grammar.words.varints import Zigzag
from kcli.grammar.words.word import Word


def both_ways(word: Word, data: bytes) -> object:
    source, trace = ByteSource(data), DecodeTrace()
    value = word.parse_word(source, trace, "")
    out = bytearray()
    word.build_word(value, out, trace, "")
    assert source.left() == 0 and bytes(out) == data
    return value


@pytest.mark.parametrize(
    ("bits", "data", "value"),
    [
        (32, b"\0", 0),
        (32, b"\1", -1),
        (32, b"\xfe\xff\xff\xff\x0f", (1 << 31) - 1),
        (32, b"\xff\xff\xff\xff\x0f", -(1 << 31)),
        (32, b"\x80\0", 0),
        (32, b"\x80\x80\x80\x80\x7f", None),
        (64, b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\1", -(1 << 63)),
        (64, b"\x82\x80\0", 1),
    ],
)
def test_zigzag(bits: int, data: bytes, value: int | None) -> None:
    found = both_ways(Zigzag(bits), data)
    assert value is None or found == value


def test_zigzag_refuses() -> None:
    for bits, data in ((32, b"\x80" * 5), (64, b"\x80" * 10), (32, b"\x80")):
        with pytest.raises(DecodeError):
            both_ways(Zigzag(bits), data)
    for value in (1 << 31, -(1 << 31) - 1, "1", True):
        with pytest.raises(EncodeError):
            Zigzag(32).build_word(value, bytearray(), DecodeTrace(), "")


def test_bytes_and_null() -> None:
    assert both_ways(ZigzagBytes(), b"\x06abc") == b"abc"
    assert both_ways(ZigzagBytes(), b"\1") is None and both_ways(ZigzagBytes(), b"\3") is None
    assert both_ways(ZigzagBytes(), b"\x86\0abc") == b"abc"
    for data in (b"\x08abc", b"\x80"):
        with pytest.raises(DecodeError):
            both_ways(ZigzagBytes(), data)
    with pytest.raises(DecodeError):
        both_ways(ZigzagBytes(nullable=False), b"\1")
    with pytest.raises(EncodeError):
        ZigzagBytes(nullable=False).build_word(None, bytearray(), DecodeTrace(), "")


def test_a_record() -> None:
    data = b"\x1a\0\x04\x02\x02k\x02v\x02\x02h\x01" + b""
    data = bytes([len(data[1:]) * 2]) + data[1:]
    assert both_ways(RECORD, data) == {
        "attributes": 0,
        "timestampDelta": 2,
        "offsetDelta": 1,
        "key": b"k",
        "value": b"v",
        "headers": [{"key": b"h", "value": None}],
    }
    with pytest.raises(DecodeError, match="the fields take"):
        both_ways(RECORD, bytes([data[0] - 2]) + data[1:])
    with pytest.raises(DecodeError, match="left"):
        both_ways(RECORD, bytes([data[0] + 2]) + data[1:])


def test_a_record_without_headers_and_with_none() -> None:
    data = RECORD.build({"key": b"a", "value": b"b"})
    assert RECORD.parse(data).headers == []
    with pytest.raises(EncodeError, match="headers: needs a list of headers, not None"):
        RECORD.build({"headers": None})


def test_frames() -> None:
    assert BATCH_HEADER.least == 61 and [grammar.least for grammar in MESSAGES] == [26, 34]
    assert both_ways(CONTROL_KEY, b"\0\0\0\1") == {"version": 0, "type": 1}
    assert both_ways(END_TRANSACTION_MARKER, b"\0\0\0\0\0\7") == {"version": 0, "coordinatorEpoch": 7}
