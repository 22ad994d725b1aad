"""The skew of captures: how their connections share the packets, estimated from some stretches of them."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

from kcli.errors import InputError
from kcli.pipeline.packets.ranges import Range, RangeSource, is_packed
from kcli.pipeline.packets.shuffle import read_range
from kcli.pipeline.storage import Place, StoredFile

STRETCH = 1 << 20  # bytes
STRETCHES = 16  # of all files together, about


def largest_share(files: Sequence[StoredFile], shares: int) -> float:
    """Return the part of TCP's packets, by their bytes, in the largest of so many shares; 1.0 if unknown."""
    found = [0] * shares

    def note(share: int, _link: int, _first: int, _last: int, _packets: int, size: int, *_: Any) -> None:
        found[share] += size

    for taken in stretches(files):
        with contextlib.suppress(InputError, OSError):
            sample(taken, shares, note)
    return max(found) / (sum(found) or 1) if any(found) else 1.0


def stretches(files: Sequence[StoredFile]) -> list[Range]:
    """Evenly over all files; compressed ones have no places in the middle to go to."""
    step = max(STRETCH, sum(file.size for file in files) // STRETCHES)
    made = []
    for file in files:
        with contextlib.suppress(OSError):
            starts = [0] if is_packed(Place(file.uri)) else range(0, file.size, step)
            made += [Range(file.uri, file.size, at, min(file.size, at + STRETCH)) for at in starts]
    return made


def sample(taken: Range, shares: int, note: Any) -> None:
    """Deal out the packets of a stretch. InputError, OSError."""
    from kcli.core.capture.packet_shuffle import Scatter

    engine = Scatter(shares, note, refer=True)
    with contextlib.closing(RangeSource(taken, engine)) as source:
        for _ in read_range(source, engine, taken, [], []):
            pass
    engine.finish()
