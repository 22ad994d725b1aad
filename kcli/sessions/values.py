"""The plain values that both sides of a fetch session exchange, without bytes and message dicts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

# A topic's name, or from Fetch v13 on its id (url-safe base64, as Kafka prints it), and the partition's index.
Partition = tuple[str, int]


class Position(NamedTuple):
    """A fetcher's request of one partition. Offsets are -1 if the fetcher does not send them.

    remote_max_bytes: how many bytes may come from remote storage (KIP-1018); -1: as many as max_bytes
    """

    fetch_offset: int
    log_start_offset: int = -1
    max_bytes: int = 1 << 20
    leader_epoch: int = -1
    last_fetched_epoch: int = -1
    remote_max_bytes: int = -1


class Result(NamedTuple):
    """A broker's result for one partition: bytes of records, offsets, error code.

    diverging: it asks the follower to truncate
    more: there are records that had no room in this response (never on the wire: for the broker's own turns)
    """

    high_watermark: int = -1
    last_stable_offset: int = -1
    log_start_offset: int = -1
    records_size: int = 0
    error: int = 0
    preferred_replica: int = -1
    diverging: bool = False
    more: bool = False


@dataclass(slots=True, frozen=True)
class FetchRequest:
    """The part of a Fetch request that concerns sessions.

    partitions: in a full fetch all wanted ones, in an incremental fetch those added or moved, in order of interest
    forgotten: partitions to drop from the session (incremental fetches only)
    topic_ids: topics are named by id (Fetch v13 and later)
    replica_id: -1 for a consumer
    """

    session_id: int
    epoch: int
    partitions: Mapping[Partition, Position] = field(default_factory=dict)
    forgotten: tuple[Partition, ...] = ()
    topic_ids: bool = True
    replica_id: int = -1


@dataclass(slots=True, frozen=True)
class FetchResponse:
    """The part of a Fetch response that concerns sessions. error: of the whole response."""

    error: int = 0
    session_id: int = 0
    partitions: Mapping[Partition, Result] = field(default_factory=dict)
    throttle_ms: int = 0
