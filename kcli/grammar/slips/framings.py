"""Recognizes length prefixes that differ from Kafka's."""

from typing import NamedTuple

from kcli.core.codec.varints import Buffer
from kcli.grammar.request_start import BIG, LITTLE, PREFIX, chain


class Framing(NamedTuple):
    """Frames whose length prefixes differ from Kafka's. slip: the difference in words."""

    frames: list[tuple[int, int]]
    slip: str


SELF, REVERSED = "counts its own 4 bytes: it says {says}, {left} expected", "is little endian: big endian expected"
MISCOUNTED = tuple((BIG, by, "says {says}, {left} expected") for by in (1, -1, 2, -2, 3, -3))
SLIPS = (
    (BIG, PREFIX, SELF),
    (LITTLE, 0, REVERSED),
    (LITTLE, PREFIX, f"counts its own 4 bytes, and {REVERSED}"),
    *MISCOUNTED,
)


def framings(data: Buffer) -> list[Framing]:
    """Return the ways to read data as frames with wrong length prefixes, if these lead exactly to its end."""
    found: list[Framing] = []
    most = len(data) - PREFIX
    if most < PREFIX:
        return found
    first = {order: order.unpack_from(data)[0] for order in (BIG, LITTLE)}
    for order, extra, text in SLIPS:
        if PREFIX <= first[order] - extra <= most and (frames := chain(data, order, extra)):
            start, end = frames[0]
            slip = text.format(says=end - start + extra, left=end - start)
            found.append(Framing(frames, f"the length at {start - PREFIX:#x} {slip}"))
    return found
