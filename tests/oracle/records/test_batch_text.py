"""The JSON text and the findings of both kinds of kernels are the same, whatever the bytes."""

from collections.abc import Callable, Iterable
from functools import partial
from types import ModuleType
from typing import Any

import pytest

from kcli.records.codecs import decompress
from kcli.records.control import control_members
from tests.oracle.records import batches as interpreted
from tests.oracle.records.both import damaged, inputs

compiled = pytest.importorskip("kcli.core.records.batches")


def outcome(kernel: ModuleType, data: bytes, full: bool, exact: bool) -> list[Any]:
    writer = kernel.BatchText(decompress, control_members, None, exact, exact)
    stops: list[Any] = []
    at = 0
    while at < len(data):
        status, at = writer.write(data, at, len(data), 0, full)
        stops.append((status, at))
        if status == kernel.SUSPECT:
            status, at = writer.write(data, at, len(data), 0, full, at)
            stops.append((status, at))
        if status != kernel.DONE:
            break
    return [bytes(writer.text()), stops, writer.take_findings()]


@pytest.mark.parametrize("given", [inputs, partial(damaged, 3, 400)], ids=["sound", "damaged"])
def test_both_write_the_same_text(given: Callable[[], Iterable[bytes]]) -> None:
    for number, data in enumerate(given()):
        for full, exact in ((False, False), (True, False), (True, True)):
            assert outcome(interpreted, data, full, exact) == outcome(compiled, data, full, exact), number
