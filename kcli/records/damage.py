"""Damage in a sequence of batches: its kind, and the byte at which the next sound batch begins.

Kafka's readers stop at an impossible size and trust any other. Here the checksum decides: the next batch with a correct
one is searched at bytes that are not a batch, and after a batch with a wrong checksum that no sound batch follows.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from kcli.core.records import batches as core
from kcli.core.records.batches import LENGTH_END, MAGIC_AT
from kcli.records.chunks import CHUNK_BYTES, Chunk, ReadInto, Wish, cut_chunks
from kcli.records.entries import entry_size

# The most bytes held in memory to find the next sound batch.
SEARCH_BYTES = 1 << 25


@dataclass(frozen=True, slots=True)
class Damage:
    """Bytes that are not a batch. event: "undecodable", or "truncated" for the begin of a batch that is cut at the
    end.
    """

    event: str
    start: int
    end: int
    reason: str

    @property
    def lawful(self) -> bool:
        """Return whether the damage is valid: a fetch response, or a log that is being written, may end inside a
        batch.
        """
        return self.event == "truncated"


Verdict = Damage | Literal["trust", "more"]


def assess(data: bytearray | memoryview, size: int, at: int, status: int, last: bool) -> Verdict:
    """Return what to do about the entry at `at`, where a writer stopped with `status`: the Damage to report; "trust" to
    take the batch as it is, because its size is right; "more" if more bytes are needed to decide.

    data[:size]: the bytes; last: nothing follows them.
    """
    if status == core.SUSPECT:
        return assess_suspect(data, size, at, last)
    following = core.find(data, at + 1, size)
    if following >= 0:
        return Damage("undecodable", at, following, describe(data, size, at, status))
    if not last:
        if size - at < SEARCH_BYTES:
            return "more"
        return Damage("undecodable", at, size - SEARCH_BYTES // 2, describe(data, size, at, status))
    if status == core.PARTIAL:
        event = "undecodable" if has_odd_magic(data, size, at) else "truncated"
        return Damage(event, at, size, describe(data, size, at, status))
    return Damage("undecodable", at, skip_short(data, size, at, status), describe(data, size, at, status))


def assess_suspect(data: bytearray | memoryview, size: int, at: int, last: bool) -> Verdict:
    """Assess a batch with a wrong checksum that no sound batch follows: its size field may be wrong."""
    end = at + entry_size(data, at)
    plausible, _ = core.sound(data, end, size)
    following = core.find(data, at + 1, size)
    if following < 0:
        return "trust" if last or size - at >= SEARCH_BYTES else "more"
    if following > end or (following == end and plausible):
        return "trust"
    reason = (
        f"a batch with a wrong checksum says {end - at} bytes, a sound one begins {following - at} bytes from its start"
    )
    return Damage("undecodable", at, following, reason)


def has_odd_magic(data: bytearray | memoryview, size: int, at: int) -> bool:
    """Return whether the begin of a cut batch has a magic that is not 0, 1 or 2, so that it is none."""
    return size - at > MAGIC_AT and data[at + MAGIC_AT] > 2


def skip_short(data: bytearray | memoryview, size: int, at: int, status: int) -> int:
    """Return where Kafka's reader would continue: after an entry with a plausible size, else at the end."""
    if status in (core.SHORT, core.MAGIC):
        return min(size, at + entry_size(data, at))
    return size


def describe(data: bytearray | memoryview, size: int, at: int, status: int) -> str:
    """Return why there is no batch at `at`, as a text."""
    left = size - at
    if status == core.PARTIAL and left < 18:
        return f"{left} bytes at the end, fewer than a batch has"
    declared = entry_size(data, at) - LENGTH_END
    if status == core.PARTIAL and has_odd_magic(data, size, at):
        return f"magic {data[at + MAGIC_AT]}: 0, 1 or 2 expected"
    if status == core.PARTIAL:
        return f"a batch of {declared + LENGTH_END} bytes, {left} are here"
    if status == core.MAGIC:
        return f"magic {data[at + MAGIC_AT] - 256}: 0, 1 or 2 expected"
    if status == core.SHORT:
        return f"says {declared} bytes, too few for the header of magic {data[at + MAGIC_AT]}"
    if not any(memoryview(data)[at:size]):
        return f"{left} zero bytes to the end (a file made longer beforehand?)"
    return f"says {declared} bytes: 14 or more expected"


class Stretch(NamedTuple):
    """chunk.data[start:stop] are whole entries. damage: the bytes after them if they are not a batch, with positions in
    the chunk; None if the next entries follow.
    """

    chunk: Chunk
    start: int
    stop: int
    damage: Damage | None


def stretches(read: ReadInto, chunk_bytes: int = CHUNK_BYTES, *, kept: bool = False) -> Iterator[Stretch]:
    """Yield a source as stretches of whole entries and the damage between them, by their size fields without computing
    checksums.

    kept: each chunk's bytes stay valid; else they are valid until the next stretch
    """
    chunks = cut_chunks(read, 0, chunk_bytes, [] if kept else None)
    wish: Wish = None
    while True:
        try:
            chunk = next(chunks) if wish is None else chunks.send(wish)
        except StopIteration:
            return
        at, more = 0, False
        while at < chunk.stop and not more:
            status, end, _begun = core.whole(chunk.data, at, chunk.size, chunk.stop)
            damage = (
                None if status in (core.DONE, core.END) else assess(chunk.data, chunk.size, end, status, chunk.last)
            )
            more = damage == "more"
            yield Stretch(chunk, at, end, damage if isinstance(damage, Damage) else None)
            at = damage.end if isinstance(damage, Damage) else end
        wish = (chunk.base + at, more)
