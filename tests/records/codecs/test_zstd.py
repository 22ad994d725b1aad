import struct

import pytest
import zstandard

from kcli.errors import InputError
from kcli.records.codecs import zstd

DATA = b"hello " * 100_000


def test_no_content_size_is_written() -> None:
    frame = zstd.compress(DATA, 2, None)
    assert zstandard.frame_content_size(frame) == -1
    assert len(zstd.compress(DATA[:5000] + bytes(range(256)) * 9, 2, 19)) <= len(
        zstd.compress(DATA[:5000] + bytes(range(256)) * 9, 2, 1)
    )


def test_frames_may_follow_one_another() -> None:
    frame = zstd.compress(DATA, 2, None)
    assert zstd.decompress(memoryview(frame * 3), 2, 10**7, []) == DATA * 3
    assert zstd.decompress(memoryview(zstandard.ZstdCompressor().compress(DATA)), 2, 10**7, []) == DATA
    assert zstd.decompress(memoryview(b""), 2, 10, []) == b""


def test_anything_else_behind_a_frame_is_refused() -> None:
    with pytest.raises(InputError, match="zstd"):
        zstd.decompress(memoryview(zstd.compress(DATA, 2, None) + b"more!"), 2, 10**7, [])


def skippable(kind: int, size: int, content: bytes) -> bytes:
    """A frame that decompresses to nothing."""
    return struct.pack("<II", 0x184D2A50 + kind, size) + content


FRAME = zstd.compress(b"hello " * 99, 2, None)
CUT_ENDS = {
    "a frame": FRAME[:-2],
    "a frame's magic": FRAME[:3],
    "a skippable frame": skippable(0, 6, b"abc"),
    "a skippable frame's header": skippable(15, 0, b"")[:6],
}


@pytest.mark.parametrize("name", CUT_ENDS)
def test_a_frame_that_is_cut_ends_the_input_where_another_ended_in_the_same_chunk(name: str) -> None:
    """zstd-jni 1.5.7 was asked, by Kafka 4.4's own reader."""
    odd = list[str]()
    assert zstd.decompress(memoryview(FRAME + skippable(3, 0, b"") + CUT_ENDS[name]), 2, 10**6, odd) == b"hello " * 99
    assert odd == ["zstd: the last frame is cut, which Kafka takes for the end"]
    size = zstd.FRAMES.chunk - 8
    for alone in (CUT_ENDS[name], skippable(1, size, bytes(size)) + CUT_ENDS[name]):
        with pytest.raises(InputError, match="ends early"):
            zstd.decompress(memoryview(alone), 2, 10**6, [])


def test_skippable_frames_are_skipped() -> None:
    made = skippable(0, 3, b"abc") + FRAME + skippable(7, 0, b"") + zstd.compress(b"", 2, None) + FRAME
    assert zstd.decompress(memoryview(made), 2, 10**6, []) == b"hello " * 198
