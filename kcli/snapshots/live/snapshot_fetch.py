"""Fetching one snapshot from a KRaft quorum (KIP-630), without sockets.

    find      Fetch at offset 0: the leader answers with the id of its latest snapshot where its log begins later
              (no snapshot id, no error: the next of PROBES; after the last: failed, none there) -> download
    download  FetchSnapshot from the position reached, until the whole size has come -> done
    done      the file is whole
    (failed)  SnapshotFetchError

For another leader, another epoch and errors see `quorum_reader`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kcli.snapshots.live.fetch_messages import Body, find_body, offered_id
from kcli.snapshots.live.quorum_reader import Endpoint, QuorumReader, Restart, SnapshotFetchError
from kcli.snapshots.reading.names import SnapshotId

# (offset, epoch of the record before it; None: the leader's) to ask for, until the leader would rather have the asker
# begin with a snapshot: where the log begins later; where it begins at 0 with a snapshot of epoch 0 (that of the
# bootstrap records); where its oldest snapshot is of a later epoch (Kafka's `ReplicatedLog.validateOffsetAndEpoch`).
PROBES: tuple[tuple[int, int | None], ...] = ((0, 0), (0, None), (1, 0))


class SnapshotFetch(QuorumReader):
    """Fetches one snapshot from the quorum; see the module's table.

    bootstrap: controllers to ask first; wanted: this snapshot and no other; max_bytes: of one answer
    state: "find", "download" or "done"; id, size: once known; position: bytes that are safe; leader, epoch: if known
    """

    FETCHING = "find"

    def __init__(
        self,
        bootstrap: Sequence[Endpoint],
        *,
        wanted: SnapshotId | None = None,
        cluster_id: str | None = None,
        max_bytes: int = 1 << 20,
    ) -> None:
        super().__init__(bootstrap, cluster_id=cluster_id, max_bytes=max_bytes)
        self.id = self.wanted = wanted
        self.probe = 0  # index into PROBES

    def fetch_body(self, version: int) -> Body:
        """Return the body of a Fetch that makes the leader name a snapshot."""
        return find_body(version, self.epoch, *PROBES[self.probe])

    def take_fetch(self, partition: Mapping[str, Any]) -> None:
        """Take in the snapshot's id."""
        self.learn_leader(partition)
        self.refusals = 0
        offered = offered_id(partition)
        if self.wanted is None and offered is None:
            self.look_further(partition)
        else:
            self.download(self.wanted or offered)

    def look_further(self, partition: Mapping[str, Any]) -> None:
        """Ask next for an offset that only a snapshot can serve: the log reaches back to the one asked for.

        Raises SnapshotFetchError.
        """
        self.probe += 1
        if self.probe == len(PROBES):
            begin = partition.get("logStartOffset")
            raise SnapshotFetchError(f"{self.asked} has no snapshot to offer: its log begins at {begin}")

    def take_whole(self) -> None:
        """End the fetch."""
        self.state = "done"

    def gone(self) -> Restart:
        """Find a newer snapshot: this one was deleted. Raises SnapshotFetchError if this one alone was wanted."""
        if self.wanted is not None:
            raise SnapshotFetchError(f"{self.asked} does not have snapshot {self.wanted} (any more)")
        self.probe = 0
        return super().gone()

    def resume(self, position: int) -> None:
        """Continue behind the first `position` bytes, which an earlier run has of this snapshot from this leader."""
        assert self.state == "download"
        self.position = position
