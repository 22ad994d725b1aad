"""The frames and searches of both kinds of kernels are the same, whatever the bytes."""

from collections.abc import Callable, Iterable
from functools import partial

import pytest

from tests.oracle.records import batches as interpreted
from tests.oracle.records.both import damaged, inputs

compiled = pytest.importorskip("kcli.core.records.batches")


@pytest.mark.parametrize("given", [inputs, partial(damaged, 3, 400)], ids=["sound", "damaged"])
def test_both_find_the_same_frames(given: Callable[[], Iterable[bytes]]) -> None:
    for number, data in enumerate(given()):
        assert interpreted.frames(data) == compiled.frames(data), number
        assert interpreted.frames(data, 0, False) == compiled.frames(data, 0, False), number
        assert interpreted.whole(data, 0, len(data)) == compiled.whole(data, 0, len(data)), number
        assert interpreted.whole(data, 0, len(data), 90) == compiled.whole(data, 0, len(data), 90), number


@pytest.mark.parametrize("seed", range(4))
def test_both_find_the_same_batch_behind_damage(seed: int) -> None:
    for data in damaged(seed, 10):
        broken = b"\0" * 7 + data[:1500]
        assert interpreted.find(broken, 1, len(broken)) == compiled.find(broken, 1, len(broken))
        for at in (0, 7):
            assert interpreted.sound(broken, at, len(broken)) == compiled.sound(broken, at, len(broken))
