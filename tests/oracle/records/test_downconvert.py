from collections.abc import Callable, Iterable
from functools import partial
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


@pytest.mark.parametrize("given", [inputs, partial(damaged, 5, 300)], ids=["sound", "damaged"])
def test_both_convert_the_same(given: Callable[[], Iterable[bytes]]) -> None:
    for number, data in enumerate(given()):
        for magic in (0, 1):
            for first, counting in ((0, False), (3, False), (0, True)):
                found = [outcome(kernel, data, magic, first, counting) for kernel in (interpreted, compiled)]
                assert found[0] == found[1], number
        for chunk in (1, 300, 5000):
            found = [kernel.chunk_end(data, 0, len(data), chunk) for kernel in (interpreted, compiled)]
            assert found[0] == found[1], number
        for offset in (0, 4, 1 << 50):
            found = [kernel.find_offset(data, 0, len(data), offset) for kernel in (interpreted, compiled)]
            assert found[0] == found[1], number
