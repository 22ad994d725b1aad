"""`decode pcap --jobs`: lines of JSON from several processes, byte for byte the same as from one process."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from kcli.capture.parallel.shared_reading import SharedReading, TooMuchSharedError

if TYPE_CHECKING:
    from kcli.capture.decoder import CaptureDecoder
    from kcli.capture.sinks import LineSink


class SharedLines(SharedReading):
    """A capture whose lines several processes make."""

    capture: CaptureDecoder[LineSink]

    def read(self, moved: Callable[[int], None] = lambda count: None) -> Generator[None, None, None]:
        """Read the files, as `CaptureDecoder.read` does. Also raises InputError if another process ended early."""
        sink = self.capture.sink
        try:
            yield from self.read_together(sink.write, moved, sink.flush)
        except TooMuchSharedError:
            # This process makes all lines again, and skips those that were written.
            sink.write = RestOutput(sink.write, self.merger.written).write
            self.capture.begin()
            yield from self.capture.read(moved)


class RestOutput:
    """Skips a number of bytes at the start, and writes the rest."""

    def __init__(self, write: Callable[[memoryview], Any], skipped: int) -> None:
        self.write_on, self.skipped = write, skipped

    def write(self, text: memoryview) -> None:
        """Write a piece of text."""
        if self.skipped < len(text):
            self.write_on(text[self.skipped :])
        self.skipped = max(0, self.skipped - len(text))
