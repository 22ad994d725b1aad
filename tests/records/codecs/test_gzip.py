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
    assert gzip.decompress(memoryview(standard.compress(DATA) + b"more"), 2, 9999, []) == DATA


def test_a_wrong_checksum_is_refused() -> None:
    broken = bytearray(standard.compress(DATA))
    broken[-6] ^= 1
    with pytest.raises(InputError, match="checksum"):
        gzip.decompress(memoryview(broken), 2, 9999, [])


def test_another_stream_is_said_by_its_first_bytes() -> None:
    with pytest.raises(InputError, match=r"gzip: the stream begins with 789c, 1f8b expected"):
        gzip.decompress(memoryview(zlib.compress(DATA)), 2, 9999, [])


MEMBERS = [standard.compress(b"one"), standard.compress(b"two" * 9000), standard.compress(b"")]


def test_members_behind_the_first_are_read_as_java_does() -> None:
    assert decompressed(b"".join(MEMBERS)) == b"one" + b"two" * 9000
    assert decompressed(standard.compress(DATA) * 300) == DATA * 300


@pytest.mark.parametrize("flags", [0x01, 0x02, 0x04, 0x08, 0x10, 0x1E])
def test_what_a_header_may_have_is_read_past(flags: int) -> None:
    head = bytearray(MEMBERS[1][:3] + bytes([flags]) + MEMBERS[1][4:10])
    head += b"\5\0extra" if flags & 0x04 else b""
    head += b"a name\0" if flags & 0x08 else b""
    head += b"a comment\0" if flags & 0x10 else b""
    head += (zlib.crc32(head) & 0xFFFF).to_bytes(2, "little") if flags & 0x02 else b""
    assert decompressed(MEMBERS[0] + head + MEMBERS[1][10:]) == b"one" + b"two" * 9000


@pytest.mark.parametrize(
    "behind",
    [b"\0", b"\0" * 4096, b"more", b"\x1f\x8b\x08\0" + b"\0" * 14, b"\x1f\x8b\x09" + b"\0" * 40,
     b"\x1f\x8b\x08\x08" + b"n" * 4000, b"\x1f\x8b\x08\x02" + b"\0" * 30],
)  # fmt: skip
def test_bytes_that_begin_no_member_are_ignored(behind: bytes) -> None:
    assert decompressed(MEMBERS[0] + behind) == b"one"


@pytest.mark.parametrize("cut", [1, 7, 9, 15])
def test_a_member_behind_the_first_that_is_damaged_is_refused(cut: int) -> None:
    with pytest.raises(InputError, match="ends early"):
        decompressed(MEMBERS[0] + MEMBERS[1][:-cut])
    wrong = bytearray(MEMBERS[0] + MEMBERS[1])
    wrong[-6] ^= 1
    with pytest.raises(InputError, match="checksum"):
        decompressed(bytes(wrong))


def test_members_share_the_bound() -> None:
    with pytest.raises(InputError, match="unfolds to more than 20000 bytes"):
        decompressed(MEMBERS[1] + MEMBERS[0], 20000)


def decompressed(data: bytes, most: int = 10**7) -> bytes:
    return gzip.decompress(memoryview(data), 2, most, [])
