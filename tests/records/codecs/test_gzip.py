from __future__ import annotations

import gzip as standard
import zlib

import pytest

from kcli.errors import InputError
from kcli.records.codecs import gzip

DATA = b"hello " * 500


def test_what_is_written_is_gzip() -> None:
    for level in (None, 0, 9):
        assert standard.decompress(gzip.compress(DATA, 2, level)) == DATA


def test_bytes_behind_the_stream_are_ignored() -> None:
    assert gzip.decompress(memoryview(standard.compress(DATA) + b"more"), 2, 9999) == DATA


def test_a_wrong_checksum_is_refused() -> None:
    broken = bytearray(standard.compress(DATA))
    broken[-6] ^= 1
    with pytest.raises(InputError, match="checksum"):
        gzip.decompress(memoryview(broken), 2, 9999)


def test_another_stream_is_said_by_its_first_bytes() -> None:
    with pytest.raises(InputError, match=r"gzip: the stream begins with 789c, 1f8b expected"):
        gzip.decompress(memoryview(zlib.compress(DATA)), 2, 9999)
