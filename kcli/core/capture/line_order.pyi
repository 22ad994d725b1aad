"""The order of lines that several processes make (see line_order.pyx)."""

from collections.abc import Callable
from typing import Any

class LineOrder:
    exceeded: bool
    def open(self, room: Any) -> None: ...
    def close(self) -> tuple[int, int, int] | None: ...
    def take(self, give: Callable[[memoryview, memoryview, memoryview], Any]) -> None: ...
