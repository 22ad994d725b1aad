import lz4.frame
import pytest

from kcli.errors import InputError
from kcli.records.codecs import lz4 as codec

DATA = b"hello " * 30000


def test_the_frame_is_the_one_that_kafka_writes() -> None:
    frame = codec.compress(DATA, 2, None)
    assert frame[:7].hex() == "04224d18604082" and lz4.frame.decompress(frame) == DATA


def test_magic_0_has_its_own_header_checksum() -> None:
    frame = codec.compress(DATA, 0, None)
    assert frame[6] == 0x1A and codec.decompress(memoryview(frame), 0, 10**6, []) == DATA
    with pytest.raises(InputError, match="lz4"):
        codec.decompress(memoryview(frame), 1, 10**6, [])
    assert codec.decompress(memoryview(frame[:6] + b"\x77" + frame[7:]), 0, 10**6, []) == DATA
    assert codec.decompress(memoryview(codec.compress(DATA, 2, None)), 0, 10**6, []) == DATA


def test_levels_fold_more() -> None:
    text = b" ".join(b"%d apples, %d pears" % (n * n % 997, n * 7 % 89) for n in range(3000))
    assert len(codec.compress(text, 2, 9)) < len(codec.compress(text, 2, None))


def test_a_content_size_in_the_header_is_read_past() -> None:
    frame = lz4.frame.compress(DATA, block_linked=False, store_size=True)
    assert codec.descriptor_size(memoryview(frame)) == 10
    for magic in (0, 2):
        assert codec.decompress(memoryview(frame), magic, 10**6, []) == DATA


def test_bytes_behind_the_frame_are_ignored() -> None:
    assert codec.decompress(memoryview(codec.compress(DATA, 2, None) + b"more"), 2, 10**6, []) == DATA


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "starts with nothing"),
        (b"GIF89a..", "starts with 47494638"),
        (codec.MAGIC + b"\x60", "header is cut"),
        (codec.MAGIC + b"\x68\x40\0", "header is cut"),
        (lz4.frame.compress(DATA, block_linked=True), "linked blocks"),
        (codec.MAGIC + b"\x60\x40\x00" + bytes(20), "lz4"),
    ],
)
def test_damage(data: bytes, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        codec.decompress(memoryview(data), 2, 10**6, [])


def test_xxh32() -> None:
    """Values of the algorithm's own description (xxhash_spec.md) and of a known frame header."""
    assert codec.xxh32(b"") == 0x02CC5D05 and codec.xxh32(b"abc") == 0x32D153FF
    assert codec.xxh32(b"\x60\x40") >> 8 & 0xFF == 0x82


@pytest.mark.parametrize("content_size", [False, True])
@pytest.mark.parametrize("magic", [0, 1, 2])
def test_the_checksum_of_the_content_is_passed_over_as_in_kafka(magic: int, content_size: bool) -> None:
    options = {"block_linked": False, "store_size": content_size, "content_checksum": True}
    frame = bytearray(lz4.frame.compress(DATA, **options))
    odd = list[str]()
    assert codec.decompress(memoryview(frame), magic, 10**6, odd) == DATA and not odd
    frame[-2] ^= 0x40
    assert codec.decompress(memoryview(frame), magic, 10**6, odd) == DATA
    assert odd == ["lz4: the checksum of the content is wrong, which Kafka does not look at"]


def test_the_checksums_of_blocks_and_of_the_header_are_checked() -> None:
    frame = bytearray(lz4.frame.compress(DATA, block_linked=False, block_checksum=True, content_checksum=True))
    for place in (6, len(frame) - 12):
        wrong = frame[:]
        wrong[place] ^= 1
        with pytest.raises(InputError, match=r"lz4.*(hecksum|decompress)"):
            codec.decompress(memoryview(wrong), 2, 10**6, [])


@pytest.mark.parametrize("magic", [0, 1, 2])
@pytest.mark.parametrize("size", [0, 1, len(DATA) - 1, len(DATA) + 1, 2**63 + 5])
@pytest.mark.parametrize("checksum", ["none", "right", "wrong"])
def test_the_size_of_the_content_is_passed_over_as_in_kafka(magic: int, size: int, checksum: str) -> None:
    frame = lz4.frame.compress(DATA, block_linked=False, store_size=True, content_checksum=checksum != "none")
    head = frame[:6] + size.to_bytes(8, "little")
    made = bytearray(head + bytes([codec.header_checksum(head[4:])]) + frame[15:])
    made[-1] ^= checksum == "wrong"
    odd = list[str]()
    assert codec.decompress(memoryview(made), magic, 10**6, odd) == DATA
    names = [*["size"] * (size != 0), *["checksum"] * (checksum == "wrong")]  # a size of 0 is none to the library
    assert odd == [f"lz4: the {name} of the content is wrong, which Kafka does not look at" for name in names]


@pytest.mark.parametrize("magic", [0, 1, 2])
@pytest.mark.parametrize("size", [b"", bytes(8)])
def test_a_dictionary_is_refused_as_by_kafka(magic: int, size: bytes) -> None:
    head = bytes([0x61 | 8 * bool(size), 0x40]) + size + b"\7\0\0\0"
    made = codec.MAGIC + head + bytes([codec.header_checksum(head[:14])]) + lz4.frame.compress(DATA)[7:]
    with pytest.raises(InputError, match="dictionary, which Kafka refuses"):
        codec.decompress(memoryview(made), magic, 10**6, [])


def test_a_block_of_no_bytes_ends_the_frame_as_in_kafka() -> None:
    """An uncompressed one, or a compressed one that is not the last."""
    head = codec.MAGIC + b"\x60\x40\x82"
    data = DATA[:600]
    block = len(data).to_bytes(3, "little") + b"\x80" + data
    uncompressed, compressed, end = b"\0\0\0\x80", b"\1\0\0\0\0", bytes(4)
    for empty, cut in (
        (uncompressed, b""),
        (uncompressed, end),
        (uncompressed, block + end),
        (compressed, block + end),
    ):
        odd: list[str] = []
        assert codec.decompress(memoryview(head + block + empty + cut), 2, 1 << 20, odd) == data
        assert odd == ["lz4: a block of no bytes ends the frame, as in Kafka"]
    assert codec.decompress(memoryview(head + block + compressed + end), 2, 1 << 20, odd := []) == data
    assert odd == []
    summed = codec.MAGIC + b"\x64\x40" + bytes([codec.header_checksum(b"\x64\x40")])
    with pytest.raises(InputError, match="ends early"):
        codec.decompress(memoryview(summed + block + uncompressed), 2, 1 << 20, [])
