"""What the kernel alone has to hold; that it gives Kafka's bytes is tested in tests/records."""

import random

import pytest

from kcli.records.batches import scan
from kcli.records.builder import build_batch
from kcli.records.codecs import compress, decompress

core = pytest.importorskip("kcli.core.records.downconvert")


def test_values_of_every_size_are_copied_whole() -> None:
    """The kernel copies sixteen bytes at a time, and takes a record's checksum while it writes the next."""
    chance = random.Random(1)
    sizes = [*range(120), 500, 511, 512, 513, 600, 1023, 1024, 5000, 70_000]
    records = [(n, chance.randbytes(size % 40), chance.randbytes(size), ()) for n, size in enumerate(sizes)]
    for magic in (0, 1):
        converter = core.Converter(magic, 0, decompress, compress)
        data = build_batch(records)
        assert converter.convert(data, 0, len(data)) == (core.DONE, len(data))
        found = list(scan(converter.take()))
        assert all(batch.crc_valid for batch in found) and converter.records == len(records)
        assert [(r.key, r.value) for batch in found for r in batch.records()] == [row[1:3] for row in records]


def test_a_failed_batch_leaves_those_before_it() -> None:
    first, second = build_batch([(0, None, b"a", ())]), build_batch([(-5, None, b"b", ())], 1)
    converter = core.Converter(1, 0, decompress, compress)
    assert converter.convert(first + second, 0, len(first + second)) == (core.BROKEN, len(first))
    assert converter.problem[0] == 13 and len(list(scan(converter.text()))) == 1


def test_an_error_of_the_codec_that_is_none_of_ours_is_raised() -> None:
    def fails(*_: object) -> bytes:
        raise ZeroDivisionError

    data = build_batch([(0, None, b"a", ())], codec="lz4")
    for converter in (core.Converter(1, 0, fails, compress), core.Converter(1, 0, decompress, fails)):
        with pytest.raises(ZeroDivisionError):
            converter.convert(data, 0, len(data))
