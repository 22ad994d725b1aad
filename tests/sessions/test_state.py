from __future__ import annotations

import pytest

from kcli.core import COMPILED
from kcli.sessions import state, statistics


@pytest.mark.skipif(not COMPILED, reason="the core is not built here")
def test_the_compiled_classes_are_used_where_they_are() -> None:
    from kcli.core.sessions import fetches

    assert [state.PartitionState.__module__, state.Counts.__module__] == [fetches.__name__] * 2
    kernel = state.new_kernel()
    assert state.new_marks(kernel) is kernel.marks


def test_without_a_kernel_everything_is_interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "COMPILED", False)
    assert state.new_kernel() is None
    assert isinstance(state.new_marks(None), statistics.HighWatermarks)
