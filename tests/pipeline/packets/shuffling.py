"""One range through the first stage, and the packets of what it leaves."""

from typing import Any

from kcli.core.capture.packets import PacketReader
from kcli.pipeline.packets.ranges import Range
from kcli.pipeline.packets.shuffle import Dealing, ShuffledRange, shuffle_ranges
from kcli.pipeline.packets.shuffle_files import Slice

__all__ = ["packets", "shuffle_range"]


def shuffle_range(taken: Range, number: int, shares: int, folder: str, **options: Any) -> ShuffledRange:
    """Deal out one range, as a task that has no other."""
    (made,) = shuffle_ranges([taken], number, Dealing(shares, folder, **options))
    return made


def packets(part: Slice) -> list[tuple[int, bytes]]:
    """Return (ns, bytes) of each packet."""
    file, reader = part.open(PacketReader)
    found = []
    while True:
        used, rows = reader.rows(file.data)
        file.use(used)
        found += [(row[1], row[5]) for row in rows]
        if not file.fill():
            file.close()
            return found
