"""A committed offset."""

from typing import NamedTuple


class Committed(NamedTuple):
    """The offset that a group committed for a partition; timestamp: of the commit, ms since 1970."""

    offset: int
    leader_epoch: int
    metadata: str
    timestamp: int
