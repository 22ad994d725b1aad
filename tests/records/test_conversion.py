"""Down-conversion against Kafka's own (RecordsUtil.downConvert), byte for byte where nothing is compressed."""

import json
from typing import Any

import pytest

from kcli.errors import DecodeError, InputError
from kcli.records.builder import build_batch
from kcli.records.conversion import Conversion, Slice, UnsupportedCompressionError, down_convert
from kcli.records.text import batches_json
from tests.records.vectors import Case, bad, good, mixed_batches, named


def convert(data: bytes, magic: int, **options: Any) -> bytes:
    return b"".join(down_convert(data, magic, **options))


def unpacked(data: bytes) -> list[dict[str, Any]]:
    """Batches without what a compressor decides."""
    rows = json.loads(batches_json(data))
    hidden = ("sizeInBytes", "crc", "_payload")
    return [{k: v for k, v in row.items() if row["compression"] == "none" or k not in hidden} for row in rows]


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("case", good(), ids=str)
def test_converted_segments_are_kafkas(case: Case, magic: int) -> None:
    expected = case.converted[magic]
    if expected == "UnsupportedCompressionTypeException":
        with pytest.raises(UnsupportedCompressionError, match="UNSUPPORTED_COMPRESSION_TYPE"):
            convert(case.data, magic)
        return
    found = convert(case.data, magic)
    if found != expected:
        assert unpacked(found) == unpacked(expected)
        assert any(row["compression"] != "none" for row in unpacked(found))
        assert all(row["crcValid"] for row in unpacked(found))


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("case", bad(), ids=str)
def test_damaged_segments_fail_where_kafkas_conversion_fails(case: Case, magic: int) -> None:
    expected = case.converted[magic]
    if isinstance(expected, str):
        with pytest.raises(InputError):
            convert(case.data, magic)
    else:
        found = convert(case.data, magic)
        compressed = any(row["compression"] != "none" for row in unpacked(found)) if found else False
        assert compressed or len(found) == expected[0]


@pytest.mark.parametrize("chunk_bytes", [1, 61, 500, 1 << 20])
def test_chunks_change_nothing(chunk_bytes: int) -> None:
    data = named("mixed-magic") + named("none-compacted")
    assert convert(data, 1, chunk_bytes=chunk_bytes) == convert(data, 1)


def test_chunks_are_whole_batches_of_the_size_asked_for() -> None:
    """KIP-283: a chunk is whole batches up to its size, one at least, even if larger."""
    data = named("idempotent")
    sizes = [len(chunk) for chunk in down_convert(data, 1, chunk_bytes=1400)]
    assert len(sizes) == 2
    assert len(list(down_convert(data, 1, chunk_bytes=1))) == 4


def test_what_stands_before_a_refused_batch_is_given() -> None:
    data, given = named("zstd-after-others"), []
    with pytest.raises(UnsupportedCompressionError, match="zstd"):
        for chunk in down_convert(data, 1):
            given.append(chunk)
    assert len(json.loads(batches_json(b"".join(given)))) == 16


def test_records_below_the_first_offset_are_left_out_of_uncompressed_batches() -> None:
    found = json.loads(batches_json(convert(named("one-record") + named("none-create"), 1, first_offset=2)))
    assert min(row["baseOffset"] for row in found) == 2


def test_a_cut_batch_at_the_end_is_left_out_and_told() -> None:
    data = named("none-create")
    conversion = Conversion(Slice.of(data[:-1]), 1)
    found = b"".join(bytes(chunk) for chunk in conversion.chunks())
    assert found == convert(data, 1)[: len(found)] and "left out" in conversion.trailing


def test_an_impossible_size_says_where() -> None:
    data = named("none-create")
    with pytest.raises(DecodeError, match=f"0x{len(data):x}") as caught:
        convert(data + bytes(100), 1)
    assert caught.value.offset == len(data)


def test_counting_gives_the_bytes_there_would_be() -> None:
    data = named("none-create")
    conversion = Conversion(Slice.of(data), 1, counting=True)
    assert list(conversion.chunks()) == []
    assert conversion.converter.planned == len(convert(data, 1))
    assert (conversion.converter.records, conversion.converter.estimated) == (12, False)
    headed = Conversion(Slice.of(named("none-append")), 0, counting=True)
    assert list(headed.chunks()) == [] and headed.converter.headers_lost == 18


def test_everything_of_magic_1_is_readable_again() -> None:
    data = mixed_batches()
    end = next(row["_position"] for row in rows_with_positions(data) if row["compression"] == "zstd")
    found = json.loads(batches_json(convert(data[:end], 1)))
    assert {row["magic"] for row in found} == {0, 1} and all(row["crcValid"] for row in found)


def rows_with_positions(data: bytes) -> list[dict[str, Any]]:
    from kcli.records.chunks import Chunk
    from kcli.records.damage import Damage
    from kcli.records.text import new_writer, write_chunk

    writer, damages = new_writer(positions=True), list[Damage]()
    write_chunk(writer, Chunk(bytearray(data), len(data), len(data), 0, True), False, False, damages)
    return list(json.loads(b"[" + writer.take() + b"]"))


def test_a_chunk_larger_than_the_source_takes_no_more_memory_than_the_source() -> None:
    data = build_batch([(1, b"key", b"value", ())], 0)
    conversion = Conversion(Slice.of(data), 1, 0, 1 << 40)
    assert len(conversion.data) == len(data)
    assert b"".join(map(bytes, conversion.chunks())) == b"".join(map(bytes, Conversion(Slice.of(data), 1).chunks()))
