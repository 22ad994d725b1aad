"""Exchanges into counts by group (see exchange_counts.pyx)."""

from collections.abc import Callable, Sequence
from typing import Any

from kcli.core.codec.sink import Sink

class ExchangeCounts(Sink):
    counted: int
    def __init__(self, bodies: Any, by: Sequence[str], fields: Callable[[int, int], Any], chosen: Any) -> None: ...
    def take_groups(self) -> list[tuple[Any, int, int, int, int, int, int, dict[int, int], dict[int | None, int]]]: ...
