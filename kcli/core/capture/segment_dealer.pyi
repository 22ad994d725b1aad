"""Deals TCP segments out to the processes that read a capture together (see segment_dealer.pyx)."""

from collections.abc import Sequence
from typing import Any

class SegmentDealer:
    full: bool
    def __init__(self, count: int) -> None: ...
    def open(self, rooms: Sequence[Any]) -> None: ...
    def sizes(self) -> list[int]: ...
