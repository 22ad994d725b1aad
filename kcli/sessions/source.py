"""Reads captures for a tracker: steady sessions go straight to its kernel, all else to its feeder, in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kcli.capture.decoder import MEMORY, CaptureDecoder
from kcli.capture.kafka.events import Event
from kcli.capture.kafka.exchange import Exchange
from kcli.sessions.draft_trace import FETCHES
from kcli.sessions.feeder import Feeder
from kcli.sessions.offsets import HEARD


class SessionDecoder(CaptureDecoder):
    """One or more capture files, followed to their end by `run`; all of what they hold, whatever the feeder chooses."""

    overhears = frozenset({*FETCHES, *HEARD})

    def __init__(
        self,
        paths: Sequence[str],
        feeder: Feeder,
        *,
        ports: Sequence[int] = (),
        dialect: str | None = None,
        memory: int = MEMORY,
        key_logs: Sequence[str] = (),
    ) -> None:
        self.feeder, chosen = feeder, feeder.chosen
        # What the kernel takes by itself never becomes a value that a filter could look at.
        self.sink = feeder.tracker.kernel if chosen.takes_all else None
        super().__init__(
            paths,
            ports=ports,
            dialect=dialect,
            names=chosen.topic is not None or chosen.where is not None,
            memory=memory,
            key_logs=key_logs,
            chosen=chosen,
        )

    def emit(self, item: Exchange | Event) -> None:
        # At once, and not when the piece of the file is done: the kernel has been given what came before.
        if isinstance(item, Event):
            self.feeder.event(item)
            return
        if not self.chosen.takes_all:
            self.learn_names(item)
            self.feeder.choosing = item.api_key in FETCHES and self.chosen.wants(item)
        self.feeder.exchange(item)

    def overlook(self, item: Exchange) -> None:
        """Follow an exchange for which the condition does not hold."""
        self.feeder.choosing = False
        self.feeder.exchange(item)

    def run(self, moved: Callable[[int], None] = lambda count: None) -> None:
        """Read the files to their end. InputError, at the end: some were damaged."""
        for _ in self.pieces(moved):
            pass
