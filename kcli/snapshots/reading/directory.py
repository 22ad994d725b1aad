"""Reads the small files beside a metadata log, and sorts the names in a partition's directory.

quorum-state (KIP-595, KIP-853), leader-epoch-checkpoint, partition.metadata; snapshots and segments by name.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from kcli import jsontext
from kcli.errors import DecodeError, InputError
from kcli.grammar.files.checkpoints import LEADER_EPOCH_CHECKPOINT, PARTITION_METADATA
from kcli.grammar.words.structs import Struct
from kcli.snapshots.reading.names import (
    SMALL_FILES,
    TOO_LARGE,
    SnapshotId,
    SnapshotName,
    is_beyond,
    parse_snapshot_name,
    segment_offset,
)

Severity = Literal["error", "note"]
NO_TARGET = "a link to nothing"
QUORUM_STATE_VERSIONS = (0, 1)


class EpochEntry(NamedTuple):
    """A leader epoch and its first offset."""

    epoch: int
    start_offset: int


@dataclass(frozen=True, slots=True)
class QuorumState:
    """A node's state of elections, from the file quorum-state.

    leader_id, voted_id: -1 for no node; voters: ids, only in data version 0 (with 1 the voters are in the log)
    """

    leader_id: int
    leader_epoch: int
    voted_id: int
    data_version: int
    voters: tuple[int, ...] = ()
    cluster_id: str = ""


@dataclass(slots=True)
class Listing:
    """File names of a partition's directory, by kind.

    refused: (name, reason) of those that Kafka does not start with, whatever is in them; odd: (severity, name, text)
    of others that are no files
    """

    snapshots: list[tuple[str, SnapshotName]] = field(default_factory=list)
    unfinished: list[tuple[str, SnapshotName]] = field(default_factory=list)
    misnamed: list[tuple[str, SnapshotName]] = field(default_factory=list)
    segments: list[tuple[str, int]] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    refused: list[tuple[str, str]] = field(default_factory=list)
    odd: list[tuple[Severity, str, str]] = field(default_factory=list)

    @property
    def newest(self) -> tuple[SnapshotId, str] | None:
        """The newest finished snapshot as (id, file name); None without any."""
        return max(((name.id, file) for file, name in self.snapshots), default=None)


def list_directory(names: Iterable[str]) -> Listing:
    """Sort a directory's file names into a Listing, snapshots and segments by offset."""
    listing = Listing()
    for name in sorted(names):
        snapshot, base = parse_snapshot_name(name), segment_offset(name)
        if snapshot is not None:
            ready = listing.snapshots if snapshot.exact else listing.misnamed
            (ready if snapshot.state == "ready" else listing.unfinished).append((name, snapshot))
        elif base is not None:
            listing.segments.append((name, base))
        elif is_beyond(name):
            listing.refused.append((name, TOO_LARGE))
        else:
            listing.others.append(name)
    return listing


def note_odd(listing: Listing, name: str, kind: str) -> None:
    """Note in the listing a name of something that is no file, but a `kind`, if Kafka would open a file of that name.

    Kafka takes every snapshot's name for a snapshot's (KafkaMetadataLog), but only files for segments (LogLoader).
    """
    snapshot = parse_snapshot_name(name)
    is_snapshot = snapshot is not None and snapshot.exact and snapshot.state == "ready"
    if segment_offset(name) is not None:
        listing.odd.append(("note", name, f"{kind}: Kafka does not read it"))
    elif is_snapshot and kind == NO_TARGET:
        listing.odd.append(("error", name, f"{kind}: Kafka counts on a snapshot of that name"))
    elif name in SMALL_FILES and kind == NO_TARGET:
        listing.odd.append(("error", name, f"{kind}: for Kafka it is missing"))
    elif is_snapshot or name in SMALL_FILES:
        listing.refused.append((name, f"{kind} (a file expected)"))


def parse_quorum_state(text: str) -> QuorumState:
    """Parse the file `quorum-state`. Raises InputError with the missing or wrong field."""
    raw = jsontext.loads(text, what="a quorum-state file")
    if not isinstance(raw, dict):
        raise InputError("not a quorum-state file: a JSON object expected")
    version = whole(raw, "data_version")
    if version not in QUORUM_STATE_VERSIONS:
        raise InputError(f"quorum-state: data_version {version} (0 or 1 expected)")
    voters = raw.get("currentVoters") or ()
    if not isinstance(voters, list | tuple) or not all(isinstance(each, dict) for each in voters):
        raise InputError("quorum-state: currentVoters is not a list of voters")
    return QuorumState(
        leader_id=whole(raw, "leaderId"),
        leader_epoch=whole(raw, "leaderEpoch"),
        voted_id=whole(raw, "votedId"),
        data_version=version,
        voters=tuple(whole(each, "voterId") for each in voters),
        cluster_id=str(raw.get("clusterId") or ""),
    )


def whole(raw: dict[str, object], name: str) -> int:
    value = raw.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise InputError(f"quorum-state: {name} is {'missing' if value is None else repr(value)} (a number expected)")
    return value


def parse_leader_epochs(text: str) -> tuple[EpochEntry, ...]:
    """Parse the file `leader-epoch-checkpoint`. Raises InputError with the line."""
    found = parse_text(LEADER_EPOCH_CHECKPOINT, text, "leader-epoch-checkpoint")
    return tuple(EpochEntry(entry["epoch"], entry["startOffset"]) for entry in found["entries"])


def parse_partition_metadata(text: str) -> str:
    """Return the topic id in the file `partition.metadata`. Raises InputError."""
    return str(parse_text(PARTITION_METADATA, text, "partition.metadata")["topicId"])


def parse_text(grammar: Struct, text: str, name: str) -> Any:
    try:
        return grammar.parse(text.encode("utf-8", "surrogateescape"))
    except DecodeError as error:
        raise DecodeError(error.path, error.offset, error.reason, what=name) from None
