"""The text, frames and searches of both kinds of kernels are the same, whatever the bytes."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

from kcli.records.codecs import decompress
from kcli.records.control import control_members
from kcli.records.reference import batches as interpreted
from tests.records.reference.both import damaged, inputs

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


@pytest.mark.parametrize("data", [*inputs(), *damaged(3, 400)], ids=lambda data: f"{len(data)}-bytes")
def test_both_say_the_same(data: bytes) -> None:
    for full, exact in ((False, False), (True, False), (True, True)):
        assert outcome(interpreted, data, full, exact) == outcome(compiled, data, full, exact)
    assert interpreted.frames(data) == compiled.frames(data)
    assert interpreted.frames(data, 0, False) == compiled.frames(data, 0, False)
    assert interpreted.whole(data, 0, len(data)) == compiled.whole(data, 0, len(data))
    assert interpreted.whole(data, 0, len(data), 90) == compiled.whole(data, 0, len(data), 90)


@pytest.mark.parametrize("seed", range(4))
def test_both_find_the_same_batch_behind_damage(seed: int) -> None:
    for data in damaged(seed, 10):
        broken = b"\0" * 7 + data[:1500]
        assert interpreted.find(broken, 1, len(broken)) == compiled.find(broken, 1, len(broken))
        for at in (0, 7):
            assert interpreted.sound(broken, at, len(broken)) == compiled.sound(broken, at, len(broken))
