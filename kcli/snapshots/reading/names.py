"""Names of the files in a KRaft partition's directory (`__cluster_metadata-0`).

A snapshot is `<offset>-<epoch>.checkpoint`, the offset in 20 digits, the epoch in 10 (Kafka's `Snapshots.java`). The
offset is the *end* offset: the first log offset that is not in the snapshot. (KIP-630's draft meant the last one that
is; no release of Apache Kafka does.) The epoch is that of the last record in the snapshot. A file being written or
fetched ends in `.checkpoint.part`, with a random number before that (`<offset>-<epoch>-<number>.checkpoint.part`). One
about to be removed ends in `.checkpoint.deleted`.
"""

import re
from typing import NamedTuple

PATTERN = re.compile(r"(\d{20})-(\d{10})(?:-\d{1,20}(?=\.checkpoint\.part))?\.checkpoint(\.part|\.deleted)?")
LENIENT = r"(\d+)-(\d+)\.checkpoint(\.part|\.deleted|\.[\w-]+)?"  # rarely needed: compiled at the first use
SEGMENT = re.compile(r"(\d{20})\.log")
OFFSETS, EPOCHS = 1 << 63, 1 << 31  # Kafka parses offsets as 64 bits with a sign, epochs as 32
TOO_LARGE = "an offset beyond 64 bits, or an epoch beyond 32, in its name"
# Small files that Kafka keeps beside a partition's log.
SMALL_FILES = ("leader-epoch-checkpoint", "quorum-state", "partition.metadata")
META_PROPERTIES = "meta.properties"  # in the parent directory: the node's identity
NOTHING = "neither a snapshot nor a log segment is here"  # a problem of a folder
STATES = {None: "ready", ".part": "part", ".deleted": "deleted"}


class SnapshotId(NamedTuple):
    """The id of a snapshot. end_offset: the first log offset that is not in it; epoch: that of the last record in
    it.
    """

    end_offset: int
    epoch: int

    @property
    def file_name(self) -> str:
        """The file's name as Kafka writes it."""
        return f"{self.end_offset:020d}-{self.epoch:010d}.checkpoint"

    def __str__(self) -> str:
        return f"{self.end_offset}-{self.epoch}"


class SnapshotName(NamedTuple):
    """A snapshot's file name. state: "ready", "part", "deleted" or "other"; exact: spelled as Kafka spells it, with all
    digits.
    """

    id: SnapshotId
    state: str
    exact: bool


def parse_snapshot_name(name: str) -> SnapshotName | None:
    """Parse a file's name; None if it is not a snapshot's."""
    found = PATTERN.fullmatch(name)
    exact = found is not None
    found = found or re.fullmatch(LENIENT, name)
    if found is None or int(found[1]) >= OFFSETS or int(found[2]) >= EPOCHS:
        return None
    state = STATES.get(found[3], "other")
    return SnapshotName(SnapshotId(int(found[1]), int(found[2])), state, exact)


def segment_offset(name: str) -> int | None:
    """Return the base offset in a log segment's name; None for other names."""
    found = SEGMENT.fullmatch(name)
    return int(found[1]) if found and int(found[1]) < OFFSETS else None


def is_beyond(name: str) -> bool:
    """Return whether a name is a snapshot's or a segment's but for a number too large for Kafka, which stops there."""
    return (SEGMENT.fullmatch(name) or PATTERN.fullmatch(name)) is not None and (
        segment_offset(name) is None and parse_snapshot_name(name) is None
    )
