"""Stripes of a file that are read and decoded in parallel; each worker computes the checksums of the bytes that it has
just read.

A stripe learns from the one before where its first batch begins, once that one has walked its size fields and before it
computes a checksum. Anything but a row of sound batches ends the stripes; from there the source is read by chunks.
"""

from __future__ import annotations

import contextlib
import mmap
import sys
import threading

from kcli.core.records import batches as core
from kcli.core.records.batches import LENGTH_END
from kcli.records.chunks import CHUNK_BYTES, ReadInto
from kcli.records.entries import entry_size

# Long enough that the queue costs nothing, and short enough that a few stripes stay in the cores' shared cache.
STRIPE_BYTES = 2 * CHUNK_BYTES


def new_buffer(size: int) -> mmap.mmap:
    """Allocate memory without touching it; the system uses pages of 2 MiB where it can."""
    if sys.platform != "linux":
        return mmap.mmap(-1, size)
    buffer = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE)
    with contextlib.suppress(OSError):  # the system has no large pages
        buffer.madvise(mmap.MADV_HUGEPAGE)
    return buffer


class Stripe:
    """The batches that begin in the `span` bytes from `base` of a source.

    `data` has room for more bytes, because the last batch may reach over the end. A stripe is `unsound` if the room
    does not suffice or a checksum is wrong. done: locked until the stripe is decoded; walked: locked until `end`, where
    the next stripe's first batch begins, is known; `end` is -1 if it can't be known.
    """

    # fmt: off
    __slots__ = (
        "base", "before", "data", "done", "end", "error", "read", "span", "start", "unsound", "walked", "writer",
    )
    # fmt: on

    def __init__(
        self, read: ReadInto, base: int, span: int, data: mmap.mmap, writer: core.BatchText, before: Stripe | None
    ) -> None:
        self.read, self.base, self.span, self.data, self.writer, self.before = read, base, span, data, writer, before
        self.start, self.end = -1 if before else base, -1
        self.unsound = False
        self.error: BaseException | None = None
        self.done, self.walked = threading.Lock(), threading.Lock()
        self.done.acquire()
        self.walked.acquire()

    def work(self, full: bool) -> None:
        """Read the stripe and write its batches, in a worker thread. full: with their records. An exception is kept in
        `error`.
        """
        try:
            try:
                have = self.fill(0, self.span + LENGTH_END)
                if self.before is not None:
                    with self.before.walked:
                        self.start = self.before.end
                have = self.walk(have)
            finally:
                self.before = None
                self.walked.release()
            self.write(have, full)
        except BaseException as error:  # noqa: BLE001  raised again in the thread that waits
            self.error = error
        self.done.release()

    def write(self, have: int, full: bool) -> None:
        """Write the batches that begin in the stripe, up to the first unsound one."""
        first, stop = self.start - self.base, self.end - self.base
        self.unsound = self.end < 0
        if not self.unsound and first < stop:
            view = memoryview(self.data)[:have]
            status, _at = self.writer.write(view, first, stop, self.base, full, -1, True)
            self.unsound = status != core.DONE or self.writer.wrong_checksums > 0

    def fill(self, have: int, wanted: int) -> int:
        """Read until the buffer has `wanted` bytes or the source ends. Returns the number of bytes in the buffer."""
        view = memoryview(self.data)
        while have < wanted:
            n = self.read(view[have:wanted], self.base + have)
            if n == 0:
                break
            have += n
        return have

    def walk(self, have: int) -> int:
        """Find `end` by the size fields alone, and read the rest of the last batch. Returns the number of bytes in the
        buffer.
        """
        if self.start < self.base:
            return have
        at, code = self.start - self.base, core.DONE
        while at < self.span:
            code, at, _begun = core.whole(self.data, at, have, self.span)
            if code in (core.DONE, core.END):
                break
            needed = at + entry_size(self.data, at)
            if code != core.PARTIAL or at + LENGTH_END > have or not have < needed <= len(self.data):
                return have
            have = self.fill(have, needed)
            if have < needed:
                return have
        self.end = self.base + at
        return have
