import cramjam
import pytest

from kcli.errors import InputError
from kcli.records.codecs import snappy

DATA = b"hello " * 9000


def test_a_raw_block_is_read_too() -> None:
    raw = bytes(cramjam.snappy.compress_raw(DATA))
    assert snappy.decompress(memoryview(raw), 1, 10**6, []) == DATA


def test_blocks_of_32_kib_behind_a_header() -> None:
    stream = snappy.compress(DATA, 2, None)
    assert stream[:16] == snappy.HEADER
    blocks = snappy.split_blocks(memoryview(stream))
    assert [snappy.unfolded_size(block) for block in blocks] == [32768, len(DATA) - 32768]


def test_joined_streams_are_read_as_one() -> None:
    stream = snappy.compress(DATA, 2, None)
    assert snappy.decompress(memoryview(stream * 2), 2, 10**6, []) == DATA * 2


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "no bytes"),
        (snappy.HEADER + b"\0\0\0\x09abc", "says 9 bytes, 3 left"),
        (snappy.HEADER + b"\xff\xff\xff\xff", "says -1 bytes"),
        (b"\0abc", "a block gives 0 bytes"),
        (snappy.compress(DATA, 2, None) + b"extra", "left"),
        (b"\xff" * 9, "without its size"),
        (b"\x05ab", "snappy"),
    ],
)
def test_damage(data: bytes, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        snappy.decompress(memoryview(data), 2, 10**6, [])


@pytest.mark.parametrize("version", [0, -1])
def test_the_version_of_a_header_between_blocks_is_looked_at_as_in_java(version: int) -> None:
    stream = snappy.compress(DATA, 2, None)
    other = snappy.MAGIC + version.to_bytes(4, "big", signed=True) + stream[12:]
    assert snappy.decompress(memoryview(other), 2, 10**6, []) == DATA
    with pytest.raises(InputError, match=f"version {version}, 1 or more expected"):
        snappy.decompress(memoryview(stream + other), 2, 10**6, [])
