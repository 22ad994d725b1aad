"""Cuts a sequence of batches into chunks at batch boundaries, so that memory does not grow with the segment."""

from collections.abc import Callable, Generator
from dataclasses import dataclass

from kcli.core.records import batches as core

# Bytes; few enough to stay in a core's cache between reading and decoding.
CHUNK_BYTES = 1 << 20

# read(into, position) -> bytes read, 0 at the end: os.preadv, or a stream that is read in order.
ReadInto = Callable[[memoryview, int], int]


@dataclass(slots=True)
class Chunk:
    """A part of a source. data[:stop]: whole entries to decode; data[stop:size]: bytes that follow them; base: position
    of data[0] in the file; last: the source ends with it.
    """

    data: bytearray
    size: int
    stop: int
    base: int
    last: bool


Wish = tuple[int, bool] | None


def cut_chunks(
    read: ReadInto, position: int = 0, chunk_bytes: int = CHUNK_BYTES, spare: list[bytearray] | None = None
) -> Generator[Chunk, Wish, None]:
    """Yield the source as chunks, from `position` to its end.

    The last whole batch of a chunk is also the first of the next, so that each batch is seen together with the one
    after it. A longer batch makes its chunk longer. `send((position, True))` repeats from a position in the last
    chunk, with more bytes after it. spare: buffers to reuse, which the caller returns.
    """
    own = spare is None
    spare = [] if spare is None else spare
    data, have = take_buffer(spare, chunk_bytes), 0
    while True:
        have, last = fill(read, data, have, position)
        if not have:
            return
        code, _end, begun = core.whole(data, 0, have)
        stop = have if last or code not in (core.DONE, core.PARTIAL, core.END) else begun
        if stop == 0:
            data.extend(bytes(len(data)))
            chunk_bytes = max(chunk_bytes, len(data))
            continue
        wish = yield Chunk(data, have, stop, position, last)
        resume, more = (stop, False) if wish is None else (wish[0] - position, wish[1])
        if resume >= have and last:
            return
        left = have - resume
        wanted = max(chunk_bytes, 2 * left if more else left + chunk_bytes // 2)
        old, data = data, take_buffer(spare, wanted)
        data[:left] = memoryview(old)[resume:have]
        have, position = left, position + resume
        if own:
            spare.append(old)


def take_buffer(spare: list[bytearray], size: int) -> bytearray:
    if spare and len(spare[-1]) >= size:
        return spare.pop()
    return bytearray(size)


def fill(read: ReadInto, data: bytearray, have: int, position: int) -> tuple[int, bool]:
    """Read until the buffer is full or the source ends. Returns (number of bytes in the buffer, whether the source has
    ended).
    """
    view = memoryview(data)
    while have < len(data):
        n = read(view[have:], position + have)
        if n == 0:
            return have, True
        have += n
    return have, False
