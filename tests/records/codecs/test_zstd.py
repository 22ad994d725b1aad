from __future__ import annotations

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
