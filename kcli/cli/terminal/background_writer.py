"""A file that is written in a thread of its own, so that a slow disk does not hold up what is written."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import BinaryIO, Self

MOST_WAITING = 128  # pieces; whoever writes more has to wait


class BackgroundWriter:
    """Open while it is entered. failed: called in the thread, once, when the file can't be written.

    Leaving it waits until all is written, and raises the OSError of what could not be.
    """

    def __init__(self, out: BinaryIO, failed: Callable[[], object]) -> None:
        self.out, self.failed = out, failed
        self.failure: OSError | None = None
        self._pieces: queue.Queue[bytes | None] = queue.Queue(MOST_WAITING)
        self._thread = threading.Thread(target=self._run, name="kcli-writer", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._pieces.put(None)
        self._thread.join()
        if self.failure is not None:
            raise self.failure

    def write(self, data: bytes) -> None:
        """Have it written."""
        self._pieces.put(data)

    def _run(self) -> None:
        while (data := self._pieces.get()) is not None:
            if self.failure is not None:
                continue
            try:
                self.out.write(data)
                if self._pieces.empty():
                    self.out.flush()
            except OSError as error:
                self.failure = error
                self.failed()
