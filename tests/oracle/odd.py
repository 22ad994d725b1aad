"""Exchanges that all go the slower way: they come as values, and their texts and partitions are made in Python."""

from typing import Any

import pytest

from kcli.capture.filters import Filter
from kcli.capture.tables import arrow
from kcli.capture.tables.columns import put_exchange
from kcli.pipeline.rows import row_source


class Odd:
    """A core's sink that takes nothing by itself."""

    def __init__(self, sink: Any) -> None:
        self.sink = sink

    def put(self, _item: Any, _clock: int) -> bool:
        return False

    def __getattr__(self, name: str) -> Any:
        return getattr(self.sink, name)


def make_all_odd(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have tables read captures so."""

    def put(sink: Any, *rest: Any) -> None:
        put_exchange(Odd(sink), *rest)

    for module in (arrow, row_source):
        monkeypatch.setattr(module, "put_exchange", put)
    monkeypatch.setattr(row_source.RowSource, "direct", False)
    monkeypatch.setattr(Filter, "is_plain", property(lambda self: False))
