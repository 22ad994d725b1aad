from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

from kcli.records.codecs import compress, decompress
from tests.oracle.records import downconvert as interpreted
from tests.oracle.records.both import damaged, inputs

compiled = pytest.importorskip("kcli.core.records.downconvert")


def outcome(kernel: ModuleType, data: bytes, magic: int, first: int, counting: bool) -> list[Any]:
    converter = kernel.Converter(magic, first, decompress, compress, counting)
    stop = converter.convert(data, 0, len(data))
    counts = converter.records, converter.headers_lost
    return [bytes(converter.take()), stop, counts, converter.planned if counting else None]


@pytest.mark.parametrize("data", [*inputs(), *damaged(5, 300)], ids=lambda data: f"{len(data)}-bytes")
def test_both_convert_the_same(data: bytes) -> None:
    for magic in (0, 1):
        for first, counting in ((0, False), (3, False), (0, True)):
            found = [outcome(kernel, data, magic, first, counting) for kernel in (interpreted, compiled)]
            assert found[0] == found[1]
    for chunk in (1, 300, 5000):
        assert interpreted.chunk_end(data, 0, len(data), chunk) == compiled.chunk_end(data, 0, len(data), chunk)
    for offset in (0, 4, 1 << 50):
        assert interpreted.find_offset(data, 0, len(data), offset) == compiled.find_offset(data, 0, len(data), offset)
