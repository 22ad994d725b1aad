"""The tasks of the second stage: shares of the connections, and windows of a connection that is too big for one
task.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce

from kcli.pipeline.packets.decoding import Decoded, DecodingOptions, Portion, decode
from kcli.pipeline.packets.kept_state import Kept
from kcli.pipeline.packets.reading import Reading
from kcli.pipeline.packets.shuffle import ShuffledRange
from kcli.pipeline.packets.shuffle_files import ShuffleFile, at_hand, vote
from kcli.pipeline.packets.windows import Heavy


@dataclass(frozen=True, slots=True)
class Shard:
    """The connections of one share: their packets, and the state that an earlier run kept of them. One connection may
    be left out of both.
    """

    staged: tuple[ShuffleFile, ...]
    kept: Kept

    @property
    def number(self) -> int:
        """The share's number."""
        return self.kept.share

    @property
    def size(self) -> int:
        """The bytes of its packets."""
        return sum(each.bytes for each in self.staged)

    def decode(self, folder: str, options: DecodingOptions) -> Decoded:
        """Decode the shard into files below `folder`."""
        connection = None if self.kept.without is None else (self.kept.without, False)
        with at_hand([each.whole for each in self.staged]) as slices:
            opened = partial(Reading, slices=slices)
            portion = Portion(self.number, opened, connection=connection, carried=self.kept.read())
            return decode(portion, folder, options)


def deal(scattered: Sequence[ShuffledRange], kept: Sequence[Kept]) -> list[Shard]:
    """Return the shares that have packets, or may have open connections, the biggest first. kept: the open connections
    of each share.
    """
    made = []
    for each in kept:
        staged = tuple(section for result in scattered for section in result.staged if section.share == each.share)
        if staged or each.uris:
            made.append(Shard(staged, each))
    return sorted(made, key=lambda share: share.size, reverse=True)


def split(share: Shard, window_bytes: int, clock: int) -> tuple[Shard, Heavy | None]:
    """Split off the one connection of a share that is too big for one task; None if there is none. clock: the time (ns)
    at which the run before ended.
    """
    heavy, votes = heaviest(share.staged)
    if (
        votes <= window_bytes // 2 or (share.size + votes) // 2 <= window_bytes * 3 // 2
    ):  # the least and the most bytes it can have
        return share, None
    own = tuple(replace(share.kept, alone=heavy).read())
    rest = replace(share, kept=replace(share.kept, without=heavy))
    return rest, Heavy(share.number, heavy, share.staged, own, clock)


def heaviest(staged: Sequence[ShuffleFile]) -> tuple[int, int]:
    """Return (hash, votes) of the connection that may have more bytes than all others together. It has at least `votes`
    bytes, and at most half of all bytes plus half of the votes.
    """
    return reduce(vote, ((each.heavy, each.votes) for each in staged), (0, 0))
