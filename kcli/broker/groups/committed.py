"""A committed offset."""

from typing import NamedTuple


class Committed(NamedTuple):
    """The offset that a group committed for a partition; timestamp: of the commit, ms since 1970.

    written: the offset of its record in `__consumer_offsets`; of two commits the one written later is valid, even if
    the other one's transaction ends afterwards (Kafka's OffsetMetadataManager).
    """

    offset: int
    leader_epoch: int
    metadata: str
    timestamp: int
    written: int = -1
