"""What the text kernel alone has to hold; that it says what Kafka reads is tested in tests/records."""

import json
import random
from typing import Any

import pytest

from kcli.records.batches import scan
from kcli.records.builder import build_batch
from kcli.records.codecs import decompress

core = pytest.importorskip("kcli.core.records.batches")


def values(*contents: bytes) -> list[Any]:
    writer = core.BatchText(decompress)
    data = build_batch([(0, content, None, ()) for content in contents])
    assert writer.write(data, 0, len(data), 0, True) == (core.DONE, len(data))
    (row,) = json.loads(b"[" + writer.take() + b"]")
    return [record["key"] for record in row["records"]]


def test_text_where_it_prints() -> None:
    printing = [
        "",
        "a",
        "plain text of more than sixteen bytes",
        'quotes " and \\ slashes',
        "tab\tline\nreturn\r",
        "é中𝄞",
    ]
    assert values(*(text.encode() for text in printing)) == printing


@pytest.mark.parametrize(
    "content",
    [b"\0", b"\x1b[31m", b"\x7f", b"\xc2\x85", b"\xff", b"\xc3", b"\xed\xa0\x80", b"x" * 30 + b"\x7f", b"\xc0\x80"],
)
def test_base64_where_it_does_not(content: bytes) -> None:
    import base64

    assert values(content) == [{"base64": base64.b64encode(content).decode()}]


def test_any_place_in_a_value_is_looked_at() -> None:
    """The kernel takes sixteen bytes at a time: each odd byte is tried at each place of each length."""
    import base64

    for size in range(1, 50):
        for odd in (b'"', b"\\", b"\n", b"\x01", b"\x7f", b"\xff", "é".encode()):
            contents = [b"x" * at + odd + b"x" * (size - at) for at in range(size + 1)]
            for content, value in zip(contents, values(*contents), strict=True):
                if odd in (b"\x01", b"\x7f", b"\xff"):
                    assert value == {"base64": base64.b64encode(content).decode()}
                else:
                    assert value == content.decode()


def test_marks_of_direction_are_escaped_and_nothing_else_is() -> None:
    """Every character of two and three bytes, as kcli's own JSON writer has it; those of C1 do not print."""
    from kcli.jsontext import dumps

    for low in range(0xA0, 0x10000, 0x400):
        text = "".join(map(chr, range(low, low + 0x400))).encode("utf-8", "ignore")
        writer = core.BatchText(decompress)
        data = build_batch([(0, text, b"\xd8\x9c" * 300, ())])
        writer.write(data, 0, len(data), 0, True)
        written = bytes(writer.take()).decode()
        key, value = dumps(text.decode()), dumps("\u061c" * 300)
        assert f'"key":{key},"value":{value}' in written, hex(low)


def test_base64_of_every_length() -> None:
    import base64

    contents = [b"\xff" + random.Random(n).randbytes(n) for n in range(80)]
    assert values(*contents) == [{"base64": base64.b64encode(content).decode()} for content in contents]


def test_great_numbers() -> None:
    data = build_batch([((1 << 63) - 1, None, b"x", ()), (-(1 << 63), None, b"y", ())], (1 << 63) - 2)
    writer = core.BatchText(decompress)
    writer.write(data, 0, len(data), 0, True)
    (row,) = json.loads(b"[" + writer.take() + b"]")
    assert [record["timestamp"] for record in row["records"]] == [(1 << 63) - 1, -(1 << 63)]
    assert row["lastOffset"] == (1 << 63) - 1


def test_a_hook_adds_members_and_its_error_is_raised() -> None:
    data = build_batch([(0, b"k", None, ())])
    writer = core.BatchText(decompress, None, lambda key, value: b',"_more":%d' % len(key or b""))
    writer.write(data, 0, len(data), 0, True, -1, True)
    assert json.loads(writer.take())["records"][0]["_more"] == 1
    failing = core.BatchText(decompress, None, lambda key, value: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        failing.write(data, 0, len(data), 0, True)


def test_an_error_of_the_codec_that_is_none_of_ours_is_raised() -> None:
    def fails(_codec: int, _data: object, _magic: int) -> bytes:
        raise MemoryError

    data = build_batch([(0, b"k", None, ())], codec="gzip")
    with pytest.raises(MemoryError):
        core.BatchText(fails).write(data, 0, len(data), 0, True)


def test_a_search_for_a_sound_batch_is_bounded() -> None:
    """Bytes that look like headers all over, each with a size to the end: the search gives up, in little time."""
    header = bytearray(next(scan(build_batch([(0, b"k", None, ())]))).bytes)
    size = 300_000
    data = bytearray(bytes(header[:8]) * (size // 8))
    for at in range(0, size - 100, 97):
        data[at : at + 61] = header[:61]
        data[at + 8 : at + 12] = (size - at - 12).to_bytes(4, "big")
        data[at + 17] ^= 0xFF
    assert core.find(data, 1, size) == -1
