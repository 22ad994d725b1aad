"""Reads captures for a tracker: steady sessions go straight to its kernel, all other exchanges to its feeder, in
order.
"""

from collections.abc import Callable, Sequence
from typing import Any

from kcli.capture.decoder import CaptureDecoder, DecodeOptions, decode
from kcli.capture.kafka.events import Event
from kcli.capture.kafka.exchange import Exchange, Item
from kcli.capture.sinks import Sink
from kcli.sessions.draft_exchange import FETCHES
from kcli.sessions.feeder import Feeder
from kcli.sessions.offsets import OFFSET_APIS


class SessionSink(Sink):
    """Passes all exchanges and events of captures to a feeder, chosen or not."""

    learns = False
    overhears = frozenset({*FETCHES, *OFFSET_APIS})

    def __init__(self, feeder: Feeder) -> None:
        self.feeder, self.takes_all = feeder, feeder.chosen.takes_all
        # Exchanges in the kernel never become values that a filter could see.
        self.compiled = feeder.tracker.kernel if self.takes_all else None

    def begin(self, capture: CaptureDecoder[Any]) -> None:
        self.feeder.tracker.pauses = capture.pauses

    def exchange(self, exchange: Exchange) -> None:
        # At once, not at the end of the file's piece, because the kernel has the exchanges before it already.
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
    """Read capture files to their end. options: ports, dialect, memory and key_logs, of DecodeOptions. Raises
    InputError at the end if some were damaged.
    """
    chosen = feeder.chosen
    names = chosen.topic is not None or chosen.where is not None
    return decode(paths, SessionSink(feeder), DecodeOptions(**options, chosen=chosen, names=names), moved)
