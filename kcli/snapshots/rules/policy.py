"""KIP-630's rules as plain functions: when to take a snapshot, where the log may begin, which snapshots may be deleted.

Offsets follow Apache Kafka: a snapshot's id has its end offset E, so that it includes E - 1. The KIP's draft used the
last included offset. Its "a snapshot includes X - 1" is E >= X here, and "below LBO - 1" is E < LBO.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from kcli.counting import counted
from kcli.snapshots.reading.names import SnapshotId

WEEK = 7 * 24 * 60 * 60 * 1000  # ms
MAX_BYTES = "metadata.log.max.record.bytes.between.snapshots"
MAX_INTERVAL = "metadata.log.max.snapshot.interval.ms"
MIN_RECORDS, MAX_LAG = "controller.snapshot.minimum.records", "max.replication.lag.ms"
# The configs of a metadata log and its snapshots, with their defaults. Apache Kafka lacks the last two.
DEFAULTS = {
    MAX_BYTES: 20 << 20,
    MAX_INTERVAL: 60 * 60 * 1000,
    "metadata.log.segment.bytes": 1 << 30,
    "metadata.log.segment.ms": WEEK,
    "metadata.max.retention.bytes": 100 << 20,
    "metadata.max.retention.ms": WEEK,
    MIN_RECORDS: 0,  # 0: no such rule
    MAX_LAG: WEEK,
}


@dataclass(frozen=True, slots=True)
class Policy:
    """minimum_records          MIN_RECORDS, None: no such rule
    max_bytes                MAX_BYTES, None: no such rule
    max_interval_ms          MAX_INTERVAL, None: no such rule
    max_replication_lag_ms   MAX_LAG: after that time the log's begin ignores the slowest replica
    """

    minimum_records: int | None = None
    max_bytes: int | None = DEFAULTS[MAX_BYTES]
    max_interval_ms: int | None = DEFAULTS[MAX_INTERVAL]
    max_replication_lag_ms: int = DEFAULTS[MAX_LAG]

    @classmethod
    def of(cls, config: Callable[[str], int]) -> "Policy":
        """Make the policy of a node. config: returns its value of a config in DEFAULTS."""
        return cls(config(MIN_RECORDS) or None, config(MAX_BYTES), config(MAX_INTERVAL) or None, config(MAX_LAG))


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision, and the figures behind it as texts."""

    yes: bool
    reasons: tuple[str, ...]


def due(policy: Policy, *, records: int, size: int, age_ms: int | None) -> Decision:
    """Return whether a snapshot is due. records, size (bytes): committed since the latest snapshot; age_ms: of that
    snapshot.
    """
    reasons = []
    if policy.minimum_records is not None and records > policy.minimum_records:
        reasons.append(f"{counted(records, 'record')} since the latest snapshot, more than {policy.minimum_records:,}")
    if policy.max_bytes is not None and size >= policy.max_bytes:
        reasons.append(f"{counted(size, 'byte')} since the latest snapshot, the limit is {policy.max_bytes:,}")
    if policy.max_interval_ms is not None and age_ms is not None and records and age_ms >= policy.max_interval_ms:
        reasons.append(
            f"the latest snapshot is {age_ms / 1000:,.0f} s old, the limit is {policy.max_interval_ms / 1000:,.0f} s"
        )
    if reasons:
        return Decision(True, tuple(reasons))
    return Decision(False, (f"{counted(records, 'record')} and {counted(size, 'byte')} since the latest snapshot",))


def advance(
    policy: Policy,
    *,
    log_begin: int,
    snapshots: Sequence[SnapshotId],
    replicas: Mapping[int, int],
    log_begin_age_ms: int | None = None,
) -> int:
    """Return the highest offset that the log may begin at.

    replicas: {id: the offset up to which it has replicated} of every live voter and observer but the leader

    log_begin_age_ms: how long ago the log began at `log_begin`; None: unknown, treated as recent
    """
    reach = max((each.end_offset for each in snapshots), default=log_begin)
    waited = log_begin_age_ms is not None and log_begin_age_ms >= policy.max_replication_lag_ms
    if replicas and not waited:
        reach = min(reach, *replicas.values())
    return max(reach, log_begin)


def followed(log_begin: int, leader_begin: int, snapshots: Sequence[SnapshotId]) -> int:
    """Return the offset at which a follower's log can begin if its leader's begins at `leader_begin`: that offset, if a
    snapshot of the follower covers the records before it; else its present begin.
    """
    covered = any(each.end_offset >= leader_begin for each in snapshots)
    return max(log_begin, leader_begin) if covered else log_begin


def deletable(snapshots: Sequence[SnapshotId], log_begin: int) -> list[SnapshotId]:
    """Return the snapshots that the log no longer needs, which are those that end before it begins."""
    return [each for each in sorted(snapshots) if each.end_offset < log_begin]


def violations(snapshots: Sequence[SnapshotId], log_begin: int, high_watermark: int) -> list[str]:
    """Return a text if KIP-630's invariant does not hold, else []: a log that begins past 0 needs a snapshot that ends
    between its begin and the high watermark.
    """
    if log_begin <= 0:
        return []
    if any(log_begin <= each.end_offset <= high_watermark for each in snapshots):
        return []
    known = ", ".join(str(each) for each in sorted(snapshots)) or "none"
    broken = (
        f"the log begins at {log_begin} and has no snapshot that ends from there to the high watermark {high_watermark}"
    )
    return [f"{broken} (there are: {known}): a replica takes such a log as empty and starts over"]


def vote(snapshots: Sequence[SnapshotId], log_begin: int, high_watermark: int, end: int, epoch: int) -> tuple[int, int]:
    """Return (last offset, its epoch) that a voter sends as a candidate: its log's, or (-1, -1), as with an empty log,
    if a snapshot that it needs is missing or unfinished.
    """
    if violations(snapshots, log_begin, high_watermark):
        return -1, -1
    return end - 1, epoch if end > 0 else -1


@dataclass(frozen=True, slots=True)
class Replication:
    """The cost of one broker's loss for the metadata log, in bytes.

    changed       written into each log, if every partition's ISR change is a record
    changed_sent  these bytes, replicated to every other broker
    fenced          one fence record instead
    fenced_sent     replicated to every other broker
    """

    partitions: int
    brokers: int
    changed: int
    changed_sent: int
    fenced: int
    fenced_sent: int


def estimate(partitions: int, brokers: int) -> Replication:
    """Compute KIP-630's estimate. An IsrChange takes 40 bytes (partition 4, topic id 16, ISR 8, leader 4, epoch 4,
    apiKey 2, version 2), a FenceBroker 8. brokers: the number of others, which replicate it.
    """
    changed, fenced = 40 * partitions, 8
    return Replication(partitions, brokers, changed, changed * brokers, fenced, fenced * brokers)
