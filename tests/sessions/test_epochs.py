from __future__ import annotations

import pytest

from kcli.sessions.epochs import MAX_EPOCH, next_epoch


@pytest.mark.parametrize(("epoch", "after"), [(0, 1), (1, 2), (MAX_EPOCH - 1, MAX_EPOCH), (MAX_EPOCH, 1), (-1, -1)])
def test_epochs_count_and_wrap_to_one(epoch: int, after: int) -> None:
    assert next_epoch(epoch) == after
