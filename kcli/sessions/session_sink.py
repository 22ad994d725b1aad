"""Reads captures for a tracker: steady sessions go straight to its kernel, all else to its feeder, in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kcli.capture.decoder import CaptureDecoder, DecodeOptions, Sink, decode
from kcli.capture.kafka.events import Event
from kcli.capture.kafka.exchange import Exchange, Item
from kcli.sessions.draft_trace import FETCHES
from kcli.sessions.feeder import Feeder
from kcli.sessions.offsets import HEARD


class SessionSink(Sink):
    """Gives all exchanges and events of captures to a feeder, chosen or not."""

    learns = False
    overhears = frozenset({*FETCHES, *HEARD})

    def __init__(self, feeder: Feeder) -> None:
        self.feeder, self.takes_all = feeder, feeder.chosen.takes_all
        # Exchanges that the kernel takes never become a value for a filter.
        self.compiled = feeder.tracker.kernel if self.takes_all else None

    def begin(self, capture: CaptureDecoder[Any]) -> None:
        self.feeder.tracker.pauses = capture.pauses

    def exchange(self, exchange: Exchange) -> None:
        # At once, and not when the piece of the file is done: the kernel has been given what came before.
        if not self.takes_all:
            self.feeder.choosing = exchange.api_key in FETCHES
        self.feeder.exchange(exchange)

    def event(self, event: Event) -> None:
        self.feeder.event(event)

    def overlook(self, item: Item) -> None:
        """Follow an exchange that is not chosen."""
        if isinstance(item, Event):
            self.feeder.event(item)
            return
        self.feeder.choosing = False
        self.feeder.exchange(item)


def follow(
    paths: Sequence[str],
    feeder: Feeder,
    moved: Callable[[int], None] = lambda count: None,
    **options: Any,
) -> CaptureDecoder[SessionSink]:
    """Read capture files to their end. options: ports, dialect, memory and key_logs, of DecodeOptions.

    InputError, at the end: some were damaged.
    """
    chosen = feeder.chosen
    names = chosen.topic is not None or chosen.where is not None
    return decode(paths, SessionSink(feeder), DecodeOptions(**options, chosen=chosen, names=names), moved)
