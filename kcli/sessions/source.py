"""Reads captures for a tracker: steady sessions go straight to its kernel, all else to its feeder, in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kcli.capture.events import Event
from kcli.capture.exchange import Exchange
from kcli.capture.exchanges import MEMORY, CaptureDecoder
from kcli.sessions.feeder import Feeder

__all__ = ["SessionDecoder"]


class SessionDecoder(CaptureDecoder):
    """One or more capture files, followed to their end by `run`."""

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
        self.sink = feeder.tracker.kernel
        self.feeder = feeder
        super().__init__(paths, ports=ports, dialect=dialect, names=False, memory=memory, key_logs=key_logs)

    def emit(self, item: Exchange | Event) -> None:
        # At once, and not when the piece of the file is done: the kernel has been given what came before.
        if isinstance(item, Event):
            self.feeder.event(item)
        else:
            self.feeder.exchange(item)

    def run(self, moved: Callable[[int], None] = lambda count: None) -> None:
        """Read the files to their end. InputError, at the end: some were damaged."""
        for _ in self.pieces(moved):
            pass
