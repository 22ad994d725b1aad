"""Fetching one snapshot from a KRaft quorum (KIP-630), without sockets.

    find      Fetch at offset 0: the leader responds with the id of its latest snapshot if its log begins later
              (no snapshot id, no error: the next of PROBES; after the last: failed, none there) -> download
    download  FetchSnapshot from the position reached, until all bytes are received -> done
    done      the file is whole
    (failed)  SnapshotFetchError

For another leader, another epoch and errors see `quorum_reader`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from kcli.snapshots.live.fetch_messages import Body, find_body, offered_id
from kcli.snapshots.live.quorum_reader import Endpoint, QuorumReader, Restart, SnapshotFetchError
from kcli.snapshots.reading.names import SnapshotId

# (offset, epoch of the record before it; None: the leader's) of the Fetch requests, until the leader responds with a
# snapshot's id. It does so for the first if its log begins later; for the second if its log begins at 0 with a snapshot
# of epoch 0 (that of the bootstrap records); for the third if its oldest snapshot is of a later epoch (Kafka's
# `ReplicatedLog.validateOffsetAndEpoch`).
PROBES: tuple[tuple[int, int | None], ...] = ((0, 0), (0, None), (1, 0))


class SnapshotFetch(QuorumReader):
    """Fetches one snapshot from the quorum; see the module's table.

    bootstrap: controllers to ask first; wanted: the id of the snapshot, None for the latest; max_bytes: of one response
    state: "find", "download" or "done"; id, size: once known; position: number of bytes received; leader, epoch: if
    known
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
        """Return the body of a Fetch to which a leader responds with a snapshot's id."""
        return find_body(version, self.epoch, *PROBES[self.probe])

    def take_fetch(self, partition: Mapping[str, Any]) -> None:
        """Begin to download the wanted snapshot, or the one in the response."""
        self.learn_leader(partition)
        self.refusals = 0
        offered = offered_id(partition)
        if self.wanted is None and offered is None:
            self.look_further(partition)
        else:
            self.download(self.wanted or offered)

    def look_further(self, partition: Mapping[str, Any]) -> None:
        """Take the next of PROBES, because the log reaches back to the requested offset. Raises SnapshotFetchError
        after the last.
        """
        self.probe += 1
        if self.probe == len(PROBES):
            begin = partition.get("logStartOffset")
            raise SnapshotFetchError(f"{self.addressee} has no snapshot to offer: its log begins at {begin}")

    def take_whole(self) -> None:
        """End the fetch."""
        self.state = "done"

    def gone(self) -> Restart:
        """Find a newer snapshot, because this one was deleted. Raises SnapshotFetchError if only this one was
        wanted.
        """
        if self.wanted is not None:
            raise SnapshotFetchError(f"{self.addressee} does not have snapshot {self.wanted} (any more)")
        self.probe = 0
        return super().gone()

    def resume(self, position: int) -> None:
        """Continue after the first `position` bytes, which an earlier run received of this snapshot from this
        leader.
        """
        assert self.state == "download"
        self.position = position
