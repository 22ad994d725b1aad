"""A node of a quorum by its log directory: its identity, its log by epochs, and the voters that it knows."""

import re
from base64 import urlsafe_b64decode
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from kcli.core.codec.values import uuid_text
from kcli.errors import InputError
from kcli.java_properties import read_properties
from kcli.small_files import read_small
from kcli.snapshots.quorum.startup import Cut, EpochRun, Gap, Refusal, recovered, refusal
from kcli.snapshots.quorum.voters import VoterKey, logged_voters
from kcli.snapshots.reading.directory import Listing, QuorumState, parse_quorum_state
from kcli.snapshots.reading.files import listing_of, log_directory, metadata_directory, open_file
from kcli.snapshots.reading.names import META_PROPERTIES, NOTHING
from kcli.snapshots.rules.verification import verify

# {version of the file: name of the property with the node's id} (Kafka's MetaProperties)
NODE_NAMES = {0: "broker.id", 1: "node.id"}
RESERVED = 100  # uuids below this number are reserved, and name no directory (Kafka's DirectoryId)


class Identity(NamedTuple):
    """A node's identity by its meta.properties; None for a missing property. refusal: why no node starts with this
    file.
    """

    node_id: int | None = None
    directory_id: str | None = None
    cluster_id: str | None = None
    refusal: str | None = None


@dataclass(frozen=True, slots=True)
class QuorumNode:
    """A node's files. path: as the user wrote it; runs: its log by epochs, in which a snapshot that ends after the log
    is an empty run; logged: the voters in the log; cut: where recovery cuts the log; refusal: the file that keeps the
    node from starting; gaps: offsets that the log lacks after its newest snapshot, or after its beginning.
    """

    path: str
    identity: Identity
    runs: tuple[EpochRun, ...]
    logged: tuple[VoterKey, ...]
    state: QuorumState | None = None
    cut: Cut | None = None
    refusal: Refusal | None = None
    gaps: tuple[Gap, ...] = ()

    @property
    def id(self) -> int | None:
        """Its node.id."""
        return self.identity.node_id

    @property
    def name(self) -> str:
        """The node's name in texts: "node 3", or its path."""
        return f"node {self.id}" if self.id is not None else self.path

    @property
    def end(self) -> int:
        """The offset after the log's last record."""
        return self.runs[-1].end if self.runs else 0

    @property
    def epoch(self) -> int:
        """The leader epoch of the log's last record; -1 if it has none."""
        return self.runs[-1].epoch if self.runs else -1

    @property
    def known_epoch(self) -> int:
        """The newest leader epoch that the node knows when it starts, by its log or its quorum-state."""
        return max(self.epoch, self.state.leader_epoch if self.state else -1)

    def leads(self, node_id: int | None) -> bool:
        """Return whether by this node's quorum-state a node leads the newest epoch that it knows."""
        return self.state is not None and self.state.leader_id == node_id and self.state.leader_epoch >= self.epoch

    @property
    def place(self) -> tuple[int, int]:
        """The end of the log as elections compare it: the last epoch, then the end offset."""
        return self.epoch, self.end

    @property
    def is_empty(self) -> bool:
        """Return whether the log has no record yet, as after `kafka-storage format`."""
        return self.end == 0

    @property
    def voters(self) -> tuple[VoterKey, ...]:
        """The voters that the node knows: those in its log or, below kraft.version 1, those in its quorum-state."""
        if self.logged:
            return self.logged
        return tuple(VoterKey(each) for each in self.state.voters) if self.state else ()


def identity_of(log_dir: Path) -> Identity:
    """Read the meta.properties of a log directory."""
    try:
        known = read_properties(log_dir / META_PROPERTIES)
    except InputError as error:
        return Identity(refusal=error.text)
    if not known and not (log_dir / META_PROPERTIES).exists():
        return Identity()
    directory, cluster = directory_in(known.get("directory.id")), known.get("cluster.id") or None
    version = number_in(known.get("version", "0").strip())  # the one property that Kafka trims
    name = NODE_NAMES.get(-1 if version is None else version)
    if name is None:
        return Identity(None, directory, cluster, f"version {known['version']!r} (0 or 1 expected)")
    node = number_in(known.get(name, ""))
    if node is None and name in known:
        return Identity(None, directory, cluster, f"{name} {known[name]!r} (a number without white space expected)")
    if node is None or "cluster.id" not in known:
        missing = name if node is None else "cluster.id"
        return Identity(None, directory, cluster, f"no {missing}, which version {version} needs")
    if directory is None and "directory.id" in known:
        text = f"directory.id {known['directory.id']!r} (a uuid that is not reserved expected, by Kafka 3.7 and later)"
        return Identity(None, None, cluster, text)
    return Identity(node, directory, cluster)


def directory_in(text: str | None) -> str | None:
    """Return a directory's uuid as logs write it; None for text that Kafka's `Uuid.fromString` refuses, and for
    reserved uuids.
    """
    if text is None or not re.fullmatch("[A-Za-z0-9_-]{22}(==)?", text):
        return None
    data = urlsafe_b64decode(text[:22] + "==")  # the unused bits of the last letter are ignored
    low = int.from_bytes(data[8:], signed=True)
    return None if data[:8] == bytes(8) and low < RESERVED else uuid_text(data)


def number_in(text: str) -> int | None:
    """Return the number in a property as Java parses it; None if it is negative or no number."""
    return int(text) if re.fullmatch("[+]?[0-9]{1,10}", text) else None


def read_node(path: str, dialect: str | None = None) -> QuorumNode:
    """Read a node's log directory, or the partition's directory in it. Raises InputError, OSError.

    A meta.properties without a metadata log is a node, too: it starts with an empty log, and votes.
    """
    folder = metadata_directory(path)
    listing = listing_of(folder)
    segments = [str(folder / name) for name, _ in listing.segments]
    newest = listing.newest
    identity = identity_of(Path(path) if (Path(path) / META_PROPERTIES).is_file() else log_directory(folder))
    if newest is None and not segments and identity == Identity():
        raise InputError(NOTHING, file=path)
    runs, cut, stopper, gaps = recovered(segments)
    logged = logged_voters(logged_files(folder, listing, runs[-1].end if runs else 0), dialect, cut)
    if newest is not None and newest[0].end_offset > (runs[-1].end if runs else 0):  # then Kafka drops the log
        end = newest[0].end_offset
        runs = [EpochRun(newest[0].epoch, end, end)]
    stopper = stopper or refusal(folder, listing)
    covered = newest[0].end_offset if newest is not None else 0
    gaps = tuple(gap for gap in gaps if gap.end > covered)
    return QuorumNode(path, identity, tuple(runs), logged, quorum_state(folder), cut, stopper, gaps)


def damage_of_newest(node: QuorumNode, dialect: str | None) -> tuple[str, str] | None:
    """Return the name of a node's newest snapshot and the first error that `verify` finds in it; None without a
    snapshot or an error.
    """
    folder = metadata_directory(node.path)
    newest = listing_of(folder).newest
    if newest is None:
        return None
    try:
        with open_file(str(folder / newest[1])) as file:
            first = next(iter(verify(file.data, newest[1], dialect=dialect, mapped=file.mapped)), None)
    except FileNotFoundError:  # a running node deletes the old one once it has a newer one
        return None
    return (newest[1], first.message) if first and first.is_error else None


def logged_files(folder: Path, listing: Listing, log_end: int) -> list[str]:
    """Return the segments of a folder and its newest snapshot, in the order of the log."""
    files = [str(folder / name) for name, _ in listing.segments]
    newest = listing.newest
    if newest is not None:
        files.insert(len(files) if newest[0].end_offset >= log_end else 0, str(folder / newest[1]))
    return files


def quorum_state(folder: Path) -> QuorumState | None:
    """Return quorum-state; None if the file is missing or can't be read, which `verify` reports."""
    path = folder / "quorum-state"
    try:
        return parse_quorum_state(read_small(path)) if path.is_file() else None
    except InputError:
        return None


def common_end(first: QuorumNode, second: QuorumNode) -> int:
    """Return the offset up to which two logs have the same epochs: where they diverge, or where the shorter one
    ends.
    """
    mine, yours = ({run.epoch: run for run in node.runs} for node in (first, second))
    shared = [epoch for epoch in mine if epoch in yours]
    if not shared:
        return max(min(first.runs[0].start if first.runs else 0, second.runs[0].start if second.runs else 0), 0)
    last = max(shared)
    return min(mine[last].end, yours[last].end)
