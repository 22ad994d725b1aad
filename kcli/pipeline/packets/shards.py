"""The tasks of the second stage: shares of the connections, and windows of a connection that is too big."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any

from kcli.pipeline.packets.decoding import Decoded, decode
from kcli.pipeline.packets.open_connections import Carried
from kcli.pipeline.packets.reading import Reading
from kcli.pipeline.packets.shuffle import ShuffledRange
from kcli.pipeline.packets.shuffle_files import ShuffleFile, at_hand, vote
from kcli.pipeline.packets.windows import Heavy


@dataclass(frozen=True, slots=True)
class Shard:
    """The connections of one bucket: their packets, and what an earlier run left of them. without: the hash of one that
    is left out."""

    number: int
    staged: tuple[ShuffleFile, ...]
    carried: tuple[Carried, ...]
    without: int | None = None

    @property
    def size(self) -> int:
        """Bytes of its packets."""
        return sum(each.bytes for each in self.staged)

    def decode(self, folder: str, options: dict[str, Any]) -> Decoded:
        """Decode it into files below `folder`. options: as for `kcli.pipeline.packets.decoding.decode`."""
        connection = None if self.without is None else (self.without, False)
        with at_hand([each.whole for each in self.staged]) as slices:
            opened = partial(Reading, slices=slices)
            return decode(self.number, opened, folder, connection=connection, carried=self.carried, **options)


def deal(scattered: Sequence[ShuffledRange], carried: Sequence[Carried], count: int) -> list[Shard]:
    """Return the shares that have packets or connections, the biggest first. carried: open connections
    of all shares.
    """
    made = []
    for number, kept in enumerate(dealt(carried, count)):
        staged = tuple(each for result in scattered for each in result.staged if each.share == number)
        if staged or kept:
            made.append(Shard(number, staged, kept))
    return sorted(made, key=lambda share: share.size, reverse=True)


def dealt(carried: Sequence[Carried], count: int) -> list[tuple[Carried, ...]]:
    """Open connections by the number of their share."""
    from kcli.core.capture.packet_shuffle import share_of

    numbers = [share_of(each[0], count) for each in carried]
    return [
        tuple(each for each, share in zip(carried, numbers, strict=True) if share == number) for number in range(count)
    ]


def split(share: Shard, window_bytes: int, clock: int) -> tuple[Shard, Heavy | None]:
    """Split off the one connection of a share that is bigger than a task should be; None where there is none. clock:
    ns, of the end of the run before.
    """
    from kcli.core.capture.packet_shuffle import hash_of

    heavy, votes = heaviest(share.staged)
    if (
        votes <= window_bytes // 2 or (share.size + votes) // 2 <= window_bytes * 3 // 2
    ):  # the least, and the most it has
        return share, None
    own = tuple(each for each in share.carried if hash_of(each[0]) == heavy)
    rest = tuple(each for each in share.carried if hash_of(each[0]) != heavy)
    return replace(share, carried=rest, without=heavy), Heavy(share.number, heavy, share.staged, own, clock)


def heaviest(staged: Sequence[ShuffleFile]) -> tuple[int, int]:
    """Return (hash of the connection that may have more bytes than all others, votes for it): it has at least so many
    bytes, and at most half of all and half of those.
    """
    return reduce(vote, ((each.heavy, each.votes) for each in staged), (0, 0))
