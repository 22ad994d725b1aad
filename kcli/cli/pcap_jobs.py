"""`decode pcap --jobs`: lines of JSON that several processes make, byte for byte those that one would make."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from kcli.capture.exchanges import CaptureDecoder
from kcli.cli.shared_reading import SharedReading, TooMuchSharedError

__all__ = ["SharedDecoder"]


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
        out = CountedOutput(write)
        try:
            for _ in self.read_together(out.write, moved):
                pass
        except TooMuchSharedError:
            self.write_alone(CountedOutput(write, skipped=out.size).write, moved)

    def write_alone(self, write: Callable[[memoryview], Any], moved: Callable[[int], None]) -> None:
        """Write all lines, made here: from the beginning, but for what was written already."""
        decoder = self.new_decoder()
        try:
            decoder.lines(write, moved)
        finally:
            self.engine, self.tally, self.kept = decoder.engine, decoder.tally, decoder.kept


class CountedOutput:
    """Counts what it writes, in `size`. skipped: so many bytes at the start are not written."""

    def __init__(self, write: Callable[[memoryview], Any], skipped: int = 0) -> None:
        self.write_on, self.skipped, self.size = write, skipped, 0

    def write(self, text: memoryview) -> None:
        """Write a piece of text."""
        left = self.skipped - self.size
        self.size += len(text)
        if left < len(text):
            self.write_on(text[left:] if left > 0 else text)
