"""A file that is written in a thread of its own, so that a slow disk does not delay the command."""

import contextlib
import queue
import threading
import time
from collections.abc import Callable
from typing import BinaryIO, Self

MOST_WAITING = 128  # pieces; a write of more has to wait
AGAIN_SECONDS = 1.0  # until a full disk is tried again


class BackgroundWriter:
    """Writes to a file in a thread, while its block is entered. failed: called once, in the thread, when the file can't
    be written. Leaving the block waits until everything is written, and raises the OSError of a failure.
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
        """Write the data in the background."""
        self._pieces.put(data)

    def _run(self) -> None:
        while (data := self._pieces.get()) is not None:
            if self.failure is not None:
                continue
            try:
                self.put(data)
            except OSError as error:
                self.failure = error
                self.failed()

    def put(self, data: bytes) -> None:
        """Write a piece, in the thread. Raises OSError."""
        self.out.write(data)
        if self._pieces.empty():
            self.out.flush()


class PausingWriter(BackgroundWriter):
    """A BackgroundWriter of whole pieces that continues after a full disk: pieces that come meanwhile are dropped.

    note: called with a line when writing pauses, and when it resumes. The first piece is the file's beginning: it comes
    before any other, however late. Only a closed pipe is a failure.
    """

    def __init__(self, out: BinaryIO, failed: Callable[[], object], note: Callable[[str], None]) -> None:
        super().__init__(out, failed)
        self.raw = getattr(out, "raw", out)  # a buffer would keep unwritable bytes
        self.note = note
        self.left_out = 0  # bytes since writing paused
        self._beginning: bytes | None = None
        self._has_begun = False
        self._again = 0.0

    def put(self, data: bytes) -> None:
        if self.left_out and time.monotonic() < self._again:
            self.left_out += len(data)
            return
        try:
            self._write(data if self._has_begun or self._beginning is None else self._beginning + data)
        except BrokenPipeError:
            raise
        except OSError as error:
            if not self.left_out:
                self.note(f"{error}: recording pauses, traffic continues")
            if not self._has_begun and self._beginning is None:
                self._beginning = data
            self.left_out += len(data)
            self._again = time.monotonic() + AGAIN_SECONDS
            return
        self._has_begun = True
        if self.left_out:
            self.note(f"recording continues: {self.left_out:,} bytes of packets are missing")
            self.left_out = 0

    def _write(self, data: bytes) -> None:
        """Write a piece whole, or nothing of it. Raises OSError."""
        start = self.raw.tell() if self.raw.seekable() else None
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[self.raw.write(rest) :]
        except OSError:
            if start is not None:
                with contextlib.suppress(OSError):
                    self.raw.seek(start)
                    self.raw.truncate(start)
            raise
