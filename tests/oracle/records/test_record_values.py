from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import pytest

from kcli.core.records.problems import REASONS
from kcli.records.batches import scan
from kcli.records.codecs import decompress
from tests.oracle.records import record_values as interpreted
from tests.oracle.records.both import damaged, inputs

compiled = pytest.importorskip("kcli.core.records.record_values")


@pytest.mark.parametrize("given", [inputs, partial(damaged, 9, 200)], ids=["sound", "damaged"])
def test_both_read_the_same_records(given: Callable[[], Iterable[bytes]]) -> None:
    for data in given():
        check(data)


def check(data: bytes) -> None:
    """Records of each batch of these bytes are the same."""
    for batch in scan(data, damages=[]):
        if batch.payload is None or batch.codec > 4 or (batch.magic < 2 and not batch.codec):
            continue
        try:
            payload = decompress(batch.codec, batch.payload, batch.magic)
        except Exception:
            continue
        if batch.magic >= 2:
            where = (payload, min(batch.count, 100_000), batch.base_offset, batch.base_timestamp, batch.is_append_time)
            assert reported(interpreted.read_records(*where)) == reported(compiled.read_records(*where))
        else:
            old = (payload, batch.magic, batch.attributes, batch.base_offset, batch.max_timestamp)
            assert reported(interpreted.read_messages(*old)) == reported(compiled.read_messages(*old))


def reported(found: tuple[list[Any], tuple[int, int, int, int, int] | None]) -> tuple[Any, ...]:
    """The rows, and what is said of a problem: not every reason uses both figures."""
    rows, problem = found
    if problem is None:
        return rows, None
    code, record, at, says, here = problem
    return rows, code, record, at, REASONS[code][1].format(says=says, here=here)


def test_both_write_the_same_bytes() -> None:
    rows = [
        (5, -1, None, b"", []),
        (9, 1 << 40, b"k" * 300, None, [(b"h", None), (b"", b"x" * 99)]),
        (1 << 30, -(1 << 62), b"", b"v", []),
    ]
    assert interpreted.write_records(rows, 5, 7) == compiled.write_records(rows, 5, 7)
    for kernel in (interpreted, compiled):
        with pytest.raises(OverflowError, match="too far"):
            kernel.write_records([(1 << 40, 0, None, None, [])], 0, 0)
    header = (-9, 3, 2, 0x7F, -4, 1 << 60, -1, 1 << 50, 5, -1, 8, b"payload")
    for crc in (None, 77):
        assert interpreted.write_header(*header, crc) == compiled.write_header(*header, crc)
        for magic in (0, 1):
            for key, value in ((None, None), (b"", b"v" * 50), (b"k", None)):
                message = (1 << 40, magic, 0x88, 99, key, value, crc)
                assert interpreted.write_message(*message) == compiled.write_message(*message)
