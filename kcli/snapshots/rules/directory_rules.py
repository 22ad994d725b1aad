"""Rules about a partition's directory: whether its files agree.

Snapshots and segments come as evidence, quorum-state and leader-epoch-checkpoint as parsed values. A finding names the
wrong file.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from kcli.snapshots.quorum.node import Identity
from kcli.snapshots.quorum.voters import VoterKey, last_voters
from kcli.snapshots.reading.directory import EpochEntry, Listing, QuorumState
from kcli.snapshots.reading.framing import Batch
from kcli.snapshots.reading.names import NOTHING, SnapshotId
from kcli.snapshots.rules.evidence import Evidence
from kcli.snapshots.rules.findings import SnapshotFinding, registering
from kcli.snapshots.rules.policy import violations
from kcli.snapshots.survey_json import instant
from kcli.topic_names import METADATA_ID

CLOCKS = 60_000  # ms by which clocks of two nodes may differ
NO_SNAPSHOT = SnapshotId(-1, -1)
COMMIT = 1000  # ms; a batch is committed by then, unless its leader has lost its followers or hangs


@dataclass(slots=True)
class DirectoryEvidence:
    """The evidence of a directory.

    segments: in order, with the batches where snapshots end (`Evidence.ends`); epochs, quorum, topic_id: None where the
    file is missing; unread: (file, reason); identity: from the meta.properties in the parent directory
    """

    listing: Listing
    snapshots: list[Evidence] = field(default_factory=list)
    segments: list[Evidence] = field(default_factory=list)
    epochs: tuple[EpochEntry, ...] | None = None
    quorum: QuorumState | None = None
    topic_id: str | None = None
    unread: list[tuple[str, str]] = field(default_factory=list)
    identity: Identity = field(default_factory=Identity)

    @property
    def ids(self) -> list[SnapshotId]:
        """Ids of the finished snapshots, in order."""
        return sorted(name.id for _, name in self.listing.snapshots)

    @property
    def log_begin(self) -> int | None:
        """The first segment's base offset, at or after which the log begins; None without segments."""
        return self.listing.segments[0][1] if self.listing.segments else None

    @property
    def log_end(self) -> int | None:
        """The offset after the log's last record; if the last segment is empty, the base offset in its name. None
        without segments.
        """
        if not self.segments:
            return None
        last = self.segments[-1]
        return last.end_offset if last.end_offset is not None else last.base

    @property
    def voters(self) -> tuple[VoterKey, ...]:
        """The voters by the last record about them (KIP-853); () below kraft.version 1."""
        newest = max(self.snapshots, key=lambda each: each.name.id if each.name else NO_SNAPSHOT, default=None)
        files = [*self.segments]
        if newest is not None:
            is_last = newest.name is not None and newest.name.id.end_offset >= (self.log_end or 0)
            files.insert(len(files) if is_last else 0, newest)
        return last_voters((each.kind, each.value) for file in files for each in file.controls if each.value)

    def epoch_starts(self) -> list[tuple[int, int]]:
        """Return [(epoch, first offset)] of the leader epochs in the log."""
        starts: list[tuple[int, int]] = []
        for segment in self.segments:
            for epoch, first in segment.epochs.items():
                if not starts or epoch > starts[-1][0]:
                    starts.append((epoch, first.base_offset))
        return starts


Rule = Callable[[DirectoryEvidence], Iterator[SnapshotFinding]]
DIRECTORY_RULES: dict[str, Rule] = {}


rule = registering(DIRECTORY_RULES)


def judge_directory(found: DirectoryEvidence) -> Iterator[SnapshotFinding]:
    """Yield findings on files of a directory that do not agree, not on each file by itself."""
    for function in DIRECTORY_RULES.values():
        yield from function(found)


@rule("files")
def judge_files(found: DirectoryEvidence) -> Iterator[SnapshotFinding]:
    for name, _ in found.listing.unfinished:
        yield SnapshotFinding("note", "files", "left over: Kafka deletes it when it starts", None, name)
    for name, each in found.listing.misnamed:
        yield SnapshotFinding("error", "name", f"not spelled as Kafka does: {each.id.file_name} expected", None, name)
    for name, reason in found.listing.refused:
        yield SnapshotFinding("error", "files", f"{reason}: Kafka does not start with it", None, name)
    for severity, name, text in found.listing.odd:
        yield SnapshotFinding(severity, "files", text, None, name)
    for name, reason in found.unread:
        yield SnapshotFinding("error", "files", reason, None, name)
    if found.topic_id is not None and found.topic_id != METADATA_ID:
        text = f"topic id {found.topic_id}, {METADATA_ID} expected for __cluster_metadata"
        yield SnapshotFinding("error", "files", text, None, "partition.metadata")
    if not found.listing.segments and not found.listing.snapshots:
        yield SnapshotFinding("error", "files", NOTHING, None, "")


@rule("invariant")
def judge_invariant(found: DirectoryEvidence) -> Iterator[SnapshotFinding]:
    """Check KIP-630: a log that begins past 0 has a snapshot that ends between there and the high watermark (or its
    end).

    A copy of a running node's folder can lack it, if the node wrote the snapshot and deleted the log before it between
    the copying of snapshots and of segments. Such a copy is of no use to a replica either.
    """
    begin, end = found.log_begin, found.log_end
    if begin is None or end is None:
        return
    newest = max((each.end_offset for each in found.ids), default=-1)
    for text in violations(found.ids, begin, max(end, newest)):
        text = f"{text}; so it is with some copies of a running node's folder"
        yield SnapshotFinding("error", "invariant", text, None, found.listing.segments[0][0])


@rule("log-order")
def judge_segments(found: DirectoryEvidence) -> Iterator[SnapshotFinding]:
    """Check that each segment begins where the one before it ended."""
    for before, segment in zip(found.segments, found.segments[1:], strict=False):
        if before.end_offset is not None and segment.base != before.end_offset:
            text = f"begins at offset {segment.base}, the segment before it ends at {before.end_offset}"
            yield SnapshotFinding("error", "log-order", text, 0, segment.file)
        if before.last and segment.first and segment.first.leader_epoch < before.last.leader_epoch:
            text = f"begins in epoch {segment.first.leader_epoch}, the one before it ends in {before.last.leader_epoch}"
            yield SnapshotFinding("error", "log-order", text, 0, segment.file)


@rule("continuation")
def judge_continuation(found: DirectoryEvidence) -> Iterator[SnapshotFinding]:
    """Check that the log after a snapshot continues it: by offset, and in its epoch or a later one."""
    begin, end = found.log_begin, found.log_end
    if begin is None or end is None:
        return
    for snapshot in found.ids:
        offset, name = snapshot.end_offset, snapshot.file_name
        if offset > end:
            text = f"ends at {offset}, the log at {end}: Kafka restarts its log from here"
            yield SnapshotFinding("note", "continuation", text, None, name)
        elif offset < begin:
            yield SnapshotFinding(
                "note", "continuation", f"ends at {offset}, before the log begins ({begin})", None, name
            )
        elif offset > begin and (epoch := epoch_at(found, offset - 1)) is not None and epoch != snapshot.epoch:
            text = f"its last record, {offset - 1}, is of epoch {epoch} in the log, the name says {snapshot.epoch}"
            yield SnapshotFinding("error", "continuation", text, None, name)
        elif (epoch := epoch_at(found, offset)) is not None and epoch < snapshot.epoch:
            text = f"the log continues at {offset} in epoch {epoch}, the snapshot's is {snapshot.epoch}"
            yield SnapshotFinding("error", "continuation", text, None, name)


def epoch_at(found: DirectoryEvidence, offset: int) -> int | None:
    """Return the leader epoch of a log offset; None if the log does not have the offset."""
    begin, end = found.log_begin, found.log_end
    if begin is None or end is None or not begin <= offset < end:
        return None
    epoch = None
    for each, start in found.epoch_starts():
        if start <= offset:
            epoch = each
    return epoch


@rule("contradiction")
def judge_contradiction(found: DirectoryEvidence) -> Iterator[SnapshotFinding]:
    """Check that a snapshot ends between two batches of the log, and that its header has the time of the batch before.

    Nothing but the header shows that a snapshot with a fitting name is of another state or cluster, because no record
    has a cluster's id.
    """
    logged = {offset: batch for segment in found.segments for offset, batch in segment.ends.items()}
    for snapshot in found.snapshots:
        end = snapshot.name.id.end_offset if snapshot.name else -1
        batch = logged.get(end)
        if batch is None:
            continue
        if batch.last_offset + 1 != end:
            text = f"ends at {end}, inside the log's batch of {batch.base_offset} to {batch.last_offset}"
            yield SnapshotFinding("error", "contradiction", text, None, snapshot.file)
        elif snapshot.logged_at is not None and not is_time_of(snapshot.logged_at, batch, found):
            was, expected = instant(snapshot.logged_at), instant(batch.append_timestamp)
            text = (
                f"its last record was written at {was or snapshot.logged_at} by its header, and in the log the record "
                f"{batch.last_offset} at {expected or batch.append_timestamp}: another state, or another cluster's"
            )
            yield SnapshotFinding("error", "contradiction", text, None, snapshot.file)


def is_time_of(logged_at: int, batch: Batch, found: DirectoryEvidence) -> bool:
    """Return whether a header of a snapshot that ends with this batch of the log may have that time (ms).

    A leader's header may have a later time, because the leader reads a batch's time when the batch is committed, from
    memory that has been reused since (BatchAccumulator.CompletedBatch.appendTimestamp, after its release; up to 4.4):
    for a later batch, or to write an earlier snapshot. These may be gone if the commit was quick. If a transaction
    begins after the snapshot, the time is that of the batch that begins it (MetadataBatchLoader).
    """
    if logged_at <= batch.max_timestamp:
        return logged_at == batch.max_timestamp
    return (
        logged_at <= batch.max_timestamp + COMMIT
        or any(segment.timed.get((logged_at, batch.leader_epoch), -1) > batch.last_offset for segment in found.segments)
        or any(is_within(logged_at, each) for each in found.snapshots if ends_before(each, batch))
        or is_of_lost(logged_at, batch, found)
    )


def ends_before(snapshot: Evidence, batch: Batch) -> bool:
    """Return whether the snapshot lacks the last record of the batch."""
    return snapshot.name is not None and snapshot.name.id.end_offset <= batch.last_offset


def is_within(time: int, snapshot: Evidence) -> bool:
    """Return whether a time is one at which the snapshot was being written."""
    first, last = snapshot.first, snapshot.last
    return first is not None and last is not None and first.max_timestamp <= time <= last.max_timestamp


def is_of_lost(time: int, batch: Batch, found: DirectoryEvidence) -> bool:
    """Return whether it may be the time of a batch that is not in the log: lost with the leader that wrote this batch,
    or not written yet. Such a time is not before the log's last of the epoch, and not after the next epoch's first, by
    other nodes' clocks.
    """
    lasts = filter(None, (segment.last_of(batch.leader_epoch) for segment in found.segments))
    firsts = (first for segment in found.segments for first in segment.epochs.values())
    later = [first for first in firsts if first.leader_epoch > batch.leader_epoch]
    since = max((last.max_timestamp for last in lasts), default=batch.max_timestamp)
    until = min(later, key=lambda first: first.base_offset).max_timestamp + CLOCKS if later else time
    return since <= time <= until


@rule("leader-epochs")
def judge_epochs(found: DirectoryEvidence) -> Iterator[SnapshotFinding]:
    """Check that epochs and offsets in leader-epoch-checkpoint grow, and agree with the log.

    A node that moves the log's start, to the end of a snapshot, drops earlier epochs from the file at once, but whole
    segments later.
    """
    if found.epochs is None:
        return
    for text in (*unordered(found.epochs), *wrong_starts(found, found.epochs), *early_epochs(found, found.epochs)):
        yield SnapshotFinding("error", "leader-epochs", text, None, "leader-epoch-checkpoint")


def unordered(epochs: Sequence[EpochEntry]) -> Iterator[str]:
    for before, entry in pairwise(epochs):
        if entry.epoch <= before.epoch or entry.start_offset < before.start_offset:
            yield f"entry {tuple(entry)} after {tuple(before)}"


def wrong_starts(found: DirectoryEvidence, epochs: Sequence[EpochEntry]) -> Iterator[str]:
    """Yield the epochs of the log that are missing in the file, or begin elsewhere there."""
    known = {entry.epoch: entry.start_offset for entry in epochs}
    newest = max((each.end_offset for each in found.ids), default=-1)
    dropped = epochs[0] if epochs and epochs[0].start_offset <= newest else None  # what is before it
    for epoch, start in found.epoch_starts()[1:]:
        if dropped is not None and (epoch, start) < (dropped.epoch, dropped.start_offset):
            continue
        if epoch not in known:
            yield f"lacks epoch {epoch}, which begins at {start}"
        elif known[epoch] != start:
            yield f"says that epoch {epoch} begins at {known[epoch]}; in the log it begins at {start}"


def early_epochs(found: DirectoryEvidence, epochs: Sequence[EpochEntry]) -> Iterator[str]:
    """Yield the epochs that the log does not have, and that begin before its end by the file."""
    last = max((epoch for epoch, _ in found.epoch_starts()), default=None)
    if last is None or found.log_end is None:
        return
    for entry in epochs:
        if entry.epoch > last and entry.start_offset < found.log_end:
            yield f"says that epoch {entry.epoch} begins at {entry.start_offset}; the log has epoch {last} there"


@rule("identity")
def judge_identity(found: DirectoryEvidence) -> Iterator[SnapshotFinding]:
    """Check that a node starts with its meta.properties, and that its directory id is the one that the voters have for
    its node id; otherwise it does not vote, and is never elected.
    """
    me, file = found.identity, "../meta.properties"
    if me.refusal is not None:
        yield SnapshotFinding("error", "identity", f"{me.refusal}: Kafka does not start with it", None, file)
    if me.node_id is None:
        return
    mine = next((each for each in found.voters if each.id == me.node_id), None)
    owner = next((each for each in found.voters if each.directory == me.directory_id), None)
    if mine is not None and mine.directory != me.directory_id:
        own = f"directory.id {me.directory_id} of" if me.directory_id else "no directory.id for"
        text = f"{own} node.id {me.node_id}; the log's voter {mine.id} has {mine.directory}"
        owner_text = f", and this one is voter {owner.id}'s" if owner else ""
        yield SnapshotFinding("error", "identity", f"{text}{owner_text}: the node would not be elected", None, file)
    elif mine is None and owner is not None:
        text = f"node.id {me.node_id}, with the directory.id of voter {owner.id}: the node would not be elected"
        yield SnapshotFinding("error", "identity", text, None, file)
    cluster = found.quorum.cluster_id if found.quorum else ""
    if cluster and me.cluster_id and cluster != me.cluster_id:
        text = f"cluster.id {me.cluster_id}, quorum-state is of cluster {cluster}"
        yield SnapshotFinding("error", "identity", text, None, file)


@rule("quorum-state")
def judge_quorum(found: DirectoryEvidence) -> Iterator[SnapshotFinding]:
    """Check that the epoch in quorum-state is not behind that of the log."""
    if found.quorum is None:
        return
    newest = max([epoch for epoch, _ in found.epoch_starts()] + [each.epoch for each in found.ids], default=0)
    if found.quorum.leader_epoch < newest:
        text = f"leaderEpoch {found.quorum.leader_epoch}, but the log or a snapshot has epoch {newest}"
        yield SnapshotFinding("error", "quorum-state", text, None, "quorum-state")
    if found.quorum.leader_epoch < 0 or found.quorum.leader_id < -1:
        yield SnapshotFinding("error", "quorum-state", "a negative leaderEpoch or leaderId", None, "quorum-state")
