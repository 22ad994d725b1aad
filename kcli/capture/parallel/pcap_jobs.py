"""`decode pcap --jobs`: lines of JSON that several processes make, byte for byte those that one would make."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from kcli.capture.decoder import CaptureDecoder
from kcli.capture.parallel.shared_reading import SharedReading, TooMuchSharedError


class SharedDecoder(SharedReading):
    """A capture whose lines other processes help to make."""

    def __init__(self, *paths: Any, jobs: int, **options: Any) -> None:
        super().__init__(*paths, jobs=jobs, text=True, **options)
        self.new_decoder = partial(CaptureDecoder, *paths, text=True, **options)

    def lines(
        self,
        write: Callable[[memoryview], Any],
        moved: Callable[[int], None] = lambda count: None,
        flush: Callable[[], None] | None = None,
    ) -> None:
        """As `CaptureDecoder.lines`. InputError, too, where another process ended early."""
        try:
            for _ in self.read_together(write, moved, flush):
                pass
        except TooMuchSharedError:
            self.write_alone(RestOutput(write, self.merger.written).write, moved, flush)

    def write_alone(
        self,
        write: Callable[[memoryview], Any],
        moved: Callable[[int], None],
        flush: Callable[[], None] | None,
    ) -> None:
        """Write all lines, made here: from the beginning, but for what was written already."""
        decoder = self.new_decoder()
        try:
            decoder.lines(write, moved, flush)
        finally:
            self.engine, self.tally, self.kept = decoder.engine, decoder.tally, decoder.kept


class RestOutput:
    """Writes all but so many bytes at the start."""

    def __init__(self, write: Callable[[memoryview], Any], skipped: int) -> None:
        self.write_on, self.skipped = write, skipped

    def write(self, text: memoryview) -> None:
        """Write a piece of text."""
        if self.skipped < len(text):
            self.write_on(text[self.skipped :])
        self.skipped = max(0, self.skipped - len(text))
