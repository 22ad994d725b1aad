"""Counts exchanges by group (see exchange_counts.pyx)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kcli.core.codec.sink import Sink

class ExchangeCounts(Sink):
    counted: int
    def __init__(
        self,
        bodies: Any,
        by: Sequence[str],
        widths: Mapping[str, int],
        linked: bool,
        fields: Callable[[int, int], Any],
        chosen: Any,
    ) -> None: ...
    def next_file(self, number: int, changed: int, at: Callable[[int], int]) -> None: ...
    def take_groups(self) -> list[tuple[Any, ...]]: ...

def records_in(data: memoryview | bytes) -> int: ...
