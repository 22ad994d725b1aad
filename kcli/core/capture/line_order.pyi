"""In which order the lines stand that several processes make (see line_order.pyx)."""

from collections.abc import Callable
from typing import Any

BUCKETS: int

class LineOrder:
    exceeded: bool
    def take(self, give: Callable[[memoryview, memoryview, memoryview], Any]) -> None: ...
