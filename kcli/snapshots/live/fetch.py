"""Fetching a snapshot from a KRaft quorum (KIP-630, KIP-595, KIP-853) as a state machine without sockets.

    find      Fetch at offset 0: the leader answers with the id of its latest snapshot where its log begins later
    download  FetchSnapshot from the position reached, until the whole size has come
    done      the file is whole
    (failed)  SnapshotFetchError

What turns one state into another:

    answer                                  find                         download
    snapshot id                             -> download                  -
    bytes                                   -                            download, done at the whole size
    NOT_LEADER_OR_FOLLOWER, BROKER_NOT_     ask the leader that the      -> find: another node's file with the same id
      AVAILABLE, a lost connection          answer names, else the next  may hold the records in another order
    FENCED_ or UNKNOWN_LEADER_EPOCH         again with the epoch given   again with the epoch given
    SNAPSHOT_NOT_FOUND, -1 (see below)      -                            -> find, from nothing: a newer one is there
    POSITION_OUT_OF_RANGE                   -                            from nothing, once; then -> find
    no snapshot id, no error                the next of PROBES; after    -
                                            the last: failed, none there
    anything else                           failed                       failed

The caller sends `request(version)` of `api_key` to `target`, hands the answer to `take`, and writes
what that returns: bytes and their position.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from kcli.errors import NetworkError
from kcli.schemas.apikeys import FETCH, FETCH_SNAPSHOT
from kcli.schemas.errors import error_name
from kcli.snapshots.live.fetch_messages import Body, download_body, find_body, first_partition, offered_id
from kcli.snapshots.reading.names import SnapshotId

BROKER_NOT_AVAILABLE, NOT_LEADER = 8, 6
FENCED_EPOCH, UNKNOWN_EPOCH = 74, 75
SNAPSHOT_NOT_FOUND, POSITION_OUT_OF_RANGE = 98, 99
SERVER_ERROR = -1  # so 3.9 to 4.4 answer for a snapshot that is gone: they fail to write the response with the 98

# (offset, epoch of the record before it; None: the leader's) to ask for, until the leader would rather have the asker
# begin with a snapshot: where the log begins later; where it begins at 0 with a snapshot of epoch 0 (that of the
# bootstrap records); where its oldest snapshot is of a later epoch (Kafka's `ReplicatedLog.validateOffsetAndEpoch`).
PROBES: tuple[tuple[int, int | None], ...] = ((0, 0), (0, None), (1, 0))
MOST_TURNS = 60  # answers in a row without a byte of progress


class SnapshotFetchError(NetworkError):
    """The quorum refuses the request, or does not answer."""


class Endpoint(NamedTuple):
    """The host and port of a node of the quorum."""

    host: str
    port: int


@dataclass(frozen=True, slots=True)
class Write:
    """Bytes for the file of the current id, at this position."""

    position: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Restart:
    """Drop what was written of the current file; `reason` for the user."""

    reason: str


class SnapshotFetch:
    """Fetches one snapshot from the quorum; see the module's table.

    bootstrap: controllers to ask first; wanted: this snapshot and no other; max_bytes: of one answer
    state: "find", "download" or "done"; id, size: once known; position: bytes that are safe; leader, epoch: if known
    """

    def __init__(
        self,
        bootstrap: Sequence[Endpoint],
        *,
        wanted: SnapshotId | None = None,
        cluster_id: str | None = None,
        max_bytes: int = 1 << 20,
    ) -> None:
        self.bootstrap = list(bootstrap)
        self.wanted, self.cluster_id, self.max_bytes = wanted, cluster_id, max_bytes
        self.state = "find"
        self.id: SnapshotId | None = wanted
        self.size: int | None = None
        self.position = 0
        self.leader: int | None = None
        self.epoch = 0
        self.known: dict[int, Endpoint] = {}
        self.current = 0  # index into bootstrap, while no leader is known
        self.probe = 0  # index into PROBES
        self.turns = 0
        self.restarts = 0
        self.refusals = 0  # by nodes that don't lead, in a row

    # What to send

    @property
    def target(self) -> Endpoint:
        """The node to ask: the leader where its address is known, else the bootstrap controllers in turn."""
        if self.leader is not None and self.leader in self.known:
            return self.known[self.leader]
        return self.bootstrap[self.current % len(self.bootstrap)]

    @property
    def api_key(self) -> int:
        """The API of the next request: Fetch to find a snapshot, then FetchSnapshot."""
        return FETCH if self.state == "find" else FETCH_SNAPSHOT

    def request(self, version: int) -> Body:
        """Return the body of the next request, in this version of `api_key`."""
        if self.state == "find":
            body = find_body(version, self.epoch, *PROBES[self.probe])
        else:
            assert self.id is not None
            body = download_body(self.id, self.epoch, self.position, self.max_bytes)
        return body | ({"clusterId": self.cluster_id} if self.cluster_id else {})

    # What came

    def take(self, body: Mapping[str, Any]) -> Write | Restart | None:
        """Process the response to `request()`. Raises SnapshotFetchError: the fetch has failed."""
        self.turns += 1
        if self.turns > MOST_TURNS:
            raise SnapshotFetchError(f"no progress in {MOST_TURNS} answers; the last leader known is {self.leader}")
        self.learn_nodes(body.get("nodeEndpoints") or ())
        if body["errorCode"] == SERVER_ERROR and self.state == "download":
            return self.gone()
        if body["errorCode"]:
            raise SnapshotFetchError(f"{self.asked} refused the request: {named(body['errorCode'])}")
        partition = first_partition(body)
        if partition is None:
            raise SnapshotFetchError(f"{self.asked} answered without the metadata partition: is it a controller?")
        return self.take_find(partition) if self.state == "find" else self.take_download(partition)

    @property
    def asked(self) -> str:
        """The node that was asked, "host:port"."""
        return f"{self.target.host}:{self.target.port}"

    def lost(self) -> Restart | None:
        """Ask the next node: the connection to `target` failed, or could not be made."""
        self.turns += 1
        if self.turns > MOST_TURNS:
            raise SnapshotFetchError("no controller answers")
        return self.turn_away()

    def learn_nodes(self, nodes: Sequence[Mapping[str, Any]]) -> None:
        """Take in endpoints of nodes (NodeEndpoints, KIP-853)."""
        for node in nodes:
            if node.get("host"):
                self.known[node["nodeId"]] = Endpoint(node["host"], node["port"])

    def take_find(self, partition: Mapping[str, Any]) -> Restart | None:
        """Take in the answer to a Fetch: a snapshot id, another leader, or an error."""
        code = partition["errorCode"]
        if code in (NOT_LEADER, BROKER_NOT_AVAILABLE):
            return self.follow(partition)
        if code in (FENCED_EPOCH, UNKNOWN_EPOCH):
            return self.learn_epoch(partition)
        if code:
            raise SnapshotFetchError(f"{self.asked} does not give the metadata log: {named(code)}")
        self.learn_leader(partition)
        self.refusals = 0
        offered = offered_id(partition)
        if self.wanted is None and offered is None:
            self.look_further(partition)
            return None
        chosen = self.wanted or offered
        if chosen != self.id:
            self.id, self.position, self.size = chosen, 0, None
        self.state = "download"
        return None

    def look_further(self, partition: Mapping[str, Any]) -> None:
        """Ask next for an offset that only a snapshot can serve: the log reaches back to the one asked for."""
        self.probe += 1
        if self.probe == len(PROBES):
            begin = partition.get("logStartOffset")
            raise SnapshotFetchError(f"{self.asked} has no snapshot to offer: its log begins at {begin}")

    def take_download(self, partition: Mapping[str, Any]) -> Write | Restart | None:
        """Take in the answer to a FetchSnapshot. Restart: it begins anew, elsewhere."""
        code = partition["errorCode"]
        if code in (NOT_LEADER, BROKER_NOT_AVAILABLE):
            return self.follow(partition)
        if code in (FENCED_EPOCH, UNKNOWN_EPOCH):
            return self.learn_epoch(partition)
        if code == SNAPSHOT_NOT_FOUND:
            return self.gone()
        if code == POSITION_OUT_OF_RANGE:
            return self.overshot()
        if code:
            raise SnapshotFetchError(f"{self.asked} does not give snapshot {self.id}: {named(code)}")
        return self.take_bytes(partition)

    def take_bytes(self, partition: Mapping[str, Any]) -> Write | Restart | None:
        """Return the bytes to write. Raises SnapshotFetchError: they are not the requested ones."""
        data, position = bytes(partition["unalignedRecords"] or b""), partition["position"]
        said = offered_id(partition)
        if said != self.id or position != self.position:
            text = f"asked for snapshot {self.id} at {self.position}, it sent {said} at {position}"
            raise SnapshotFetchError(f"{self.asked}: {text}")
        size = partition["size"]
        if self.size is not None and size != self.size:
            before, self.size, self.position = self.size, None, 0
            return Restart(f"the snapshot's size changed from {before} to {size} bytes")
        self.size = size
        self.position += len(data)
        if data:
            self.turns = 0
        if self.position > size:
            raise SnapshotFetchError(f"{self.asked} sent {self.position} bytes of a snapshot of {size}")
        if self.position == size:
            self.state = "done"
        return Write(position, data)

    # Turning

    def follow(self, partition: Mapping[str, Any]) -> Restart | None:
        """Turn to the leader that the answer names, or to the next controller."""
        before, asked = self.leader, self.asked
        self.learn_leader(partition)
        if self.leader is not None and self.leader != before and self.leader in self.known:
            return self.back_to_find(f"node {self.leader} leads now")
        self.refusals += 1
        if self.leader is not None and self.leader not in self.known and self.refusals > 2 * len(self.bootstrap):
            leads = f"node {self.leader} leads (epoch {self.epoch}), at an address that {asked} does not give"
            raise SnapshotFetchError(f"{leads} (before 3.9 none does): give every controller to --bootstrap")
        return self.turn_away()

    def turn_away(self) -> Restart | None:
        """Ask the next node: this one does not lead."""
        self.leader = None
        self.current += 1
        return self.back_to_find("the leader is lost")

    def back_to_find(self, reason: str) -> Restart | None:
        """Find a snapshot again. Restart: bytes that were written are of no use."""
        began = self.state == "download" and self.position > 0
        self.state, self.position, self.size = "find", 0, None
        return Restart(f"{reason}: another node's file may differ") if began else None

    def learn_leader(self, partition: Mapping[str, Any]) -> None:
        """Take in the leader that an answer names, unless its epoch is older."""
        current = partition.get("currentLeader") or {}
        if current.get("leaderEpoch", -1) >= self.epoch:
            self.epoch = current["leaderEpoch"]
            self.leader = current["leaderId"] if current["leaderId"] >= 0 else None

    def learn_epoch(self, partition: Mapping[str, Any]) -> Restart | None:
        """Take the leader epoch of the response: the requested one was too old, or newer than this node's."""
        current = partition.get("currentLeader") or {}
        if current.get("leaderEpoch", -1) < 0:
            return self.turn_away()
        changed = self.leader is not None and current["leaderId"] != self.leader
        self.epoch = current["leaderEpoch"]
        self.leader = current["leaderId"] if current["leaderId"] >= 0 else None
        return self.back_to_find(f"node {self.leader} leads now") if changed else None

    def gone(self) -> Restart:
        """Find a newer snapshot: this one was deleted. Raises SnapshotFetchError if this one alone was wanted."""
        if self.wanted is not None:
            raise SnapshotFetchError(f"{self.asked} does not have snapshot {self.wanted} (any more)")
        lost, self.id = self.id, None
        self.state, self.position, self.size, self.probe = "find", 0, None, 0
        return Restart(f"snapshot {lost} is gone, a newer one has to be there")

    def overshot(self) -> Restart:
        """Start over: the file so far is longer than the leader's, so it is another one."""
        self.restarts += 1
        if self.restarts > 1:
            self.state = "find"
        if self.restarts > 3:
            raise SnapshotFetchError(f"{self.asked} has no byte {self.position} of snapshot {self.id}")
        at, self.position, self.size = self.position, 0, None
        return Restart(f"the leader's file has no byte {at}")

    def resume(self, position: int) -> None:
        """Continue behind the first `position` bytes, which an earlier run has of this snapshot from this leader."""
        assert self.state == "download"
        self.position = position


def named(code: int) -> str:
    return f"{error_name(code)} ({code})"
