"""Lines of captures that several processes make in turn: each reads all packets, and writes the lines of its own turns.

All count the same bytes, so all know whose turn it is. What is learnt of topics' names, all learn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kcli.capture.exchange import Exchange
from kcli.capture.exchanges import CaptureDecoder, Item

__all__ = ["TurnDecoder"]


class TurnDecoder(CaptureDecoder):
    """A capture as lines, of which `lines` gives those of one process's turns; the core is built.

    on_turn(number): called when the turn of a process is over, and whatever it has written can be drained.
    """

    on_turn: Callable[[int], None]

    def __init__(self, *paths: Any, **options: Any) -> None:
        """As `CaptureDecoder`, without a condition."""
        super().__init__(*paths, text=True, **options)
        self.counted = False

    def exchanged(self, *exchange: Any) -> None:
        """An exchange that the engine read by itself, and counted."""
        self.counted = True
        super().exchanged(*exchange)

    def receive(self, item: Item) -> None:
        """Take what came out as a value."""
        if isinstance(item, Exchange) and not self.counted:
            self.engine.pass_by(item.request_bytes + (item.response_bytes or 0))
        self.counted = False
        super().receive(item)

    def emit(self, item: Item) -> None:
        """Write the line of an exchange or event, where it is this process's turn."""
        if self.engine.is_on or (isinstance(item, Exchange) and self.may_teach(item)):
            super().emit(item)

    def put_line(self, line: bytes, exchange: bool) -> None:
        """As `CaptureDecoder.put_line`; what comes in turns of others was only to be learnt from."""
        if self.engine.is_on:
            super().put_line(line, exchange)

    def may_teach(self, item: Exchange) -> bool:
        """Whether a topic's name may stand in an exchange."""
        known = self.bodies.knows(item.api_key, item.api_version)
        return known and self.teaches(item.api_key, item.api_version)

    # Called by the core

    def turned(self, number: int) -> None:
        """A process's turn is over."""
        self.on_turn(number)

    def teaches(self, api_key: int, version: int) -> bool:
        """Whether exchanges of a version have topics' names beside their ids."""
        return self.bodies.teaches(api_key, version)
