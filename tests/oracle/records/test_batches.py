"""The frames and searches of both kinds of kernels are the same, whatever the bytes."""

from __future__ import annotations

import pytest

from tests.oracle.records import batches as interpreted
from tests.oracle.records.both import damaged, inputs

compiled = pytest.importorskip("kcli.core.records.batches")


@pytest.mark.parametrize("data", [*inputs(), *damaged(3, 400)], ids=lambda data: f"{len(data)}-bytes")
def test_both_find_the_same_frames(data: bytes) -> None:
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
