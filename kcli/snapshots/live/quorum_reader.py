"""Reading the metadata log of a KRaft quorum as a state machine without sockets (KIP-630, KIP-595, KIP-853).

A reader sends Fetch to the leader until a response names a snapshot, then FetchSnapshot until it has all its bytes. The
fields of Fetch, and the steps after the snapshot, are in `snapshot_fetch` and `follow`. Common to both:

    answer                                  to a Fetch                   to a FetchSnapshot
    NOT_LEADER_OR_FOLLOWER, BROKER_NOT_     ask the leader that the      -> Fetch: another node's file with the same id
      AVAILABLE, a lost connection          answer names, else the next  may hold the records in another order
    FENCED_ or UNKNOWN_LEADER_EPOCH         again with the epoch given   again with the epoch given
    SNAPSHOT_NOT_FOUND, -1 (see below)      -                            -> Fetch, from nothing: a newer one is there
    POSITION_OUT_OF_RANGE                   -                            from nothing, once; then -> Fetch
    anything else                           failed                       failed

The caller sends `request(version)` of `api_key` to `target`, passes the response to `take`, and writes the bytes that
it returns at their position.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from kcli.errors import NetworkError
from kcli.schemas.apikeys import FETCH, FETCH_SNAPSHOT
from kcli.schemas.errors import error_code, error_name
from kcli.snapshots.live.fetch_messages import Body, download_body, first_partition, offered_id
from kcli.snapshots.reading.names import SnapshotId

OTHER_LEADER = (error_code("NOT_LEADER_OR_FOLLOWER"), error_code("BROKER_NOT_AVAILABLE"))
OTHER_EPOCH = (error_code("FENCED_LEADER_EPOCH"), error_code("UNKNOWN_LEADER_EPOCH"))
SNAPSHOT_NOT_FOUND, POSITION_OUT_OF_RANGE = error_code("SNAPSHOT_NOT_FOUND"), error_code("POSITION_OUT_OF_RANGE")
# The error of 3.9 to 4.4 for a deleted snapshot: they fail to write the response with SNAPSHOT_NOT_FOUND.
SERVER_ERROR = error_code("UNKNOWN_SERVER_ERROR")
MOST_TURNS = 60  # responses in a row without a byte of progress


class SnapshotFetchError(NetworkError):
    """The quorum refuses a request, does not respond, or sent what can't be used."""


class Endpoint(NamedTuple):
    """The host and port of a node of the quorum."""

    host: str
    port: int


@dataclass(frozen=True, slots=True)
class Write:
    """Bytes to write at this position of the current snapshot's file."""

    position: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Restart:
    """The written part of the current file is to be deleted. reason: a text for the user."""

    reason: str


@dataclass(frozen=True, slots=True)
class Committed:
    """Whole batches from `base_offset` on, all below the high watermark. data: b"" if nothing is new."""

    base_offset: int
    data: bytes


StepResult = Write | Restart | Committed | None


class QuorumReader(ABC):
    """Finds the leader, and downloads the snapshot that it names; see the module's table.

    FETCHING: the state in which it sends Fetch; the other state is "download"; bootstrap: controllers to ask first;
    max_bytes: of one response id, size: of the snapshot, once known; position: number of bytes received; leader, epoch:
    if known
    """

    FETCHING: str

    def __init__(self, bootstrap: Sequence[Endpoint], *, max_bytes: int, cluster_id: str | None = None) -> None:
        self.bootstrap = list(bootstrap)
        self.cluster_id, self.max_bytes = cluster_id, max_bytes
        self.state = self.FETCHING
        self.id: SnapshotId | None = None
        self.size: int | None = None
        self.position = 0
        self.leader: int | None = None
        self.epoch = 0
        self.known: dict[int, Endpoint] = {}
        self.current = 0  # index into bootstrap, while no leader is known
        self.turns = 0
        self.restarts = 0
        self.refusals = 0  # in a row, by nodes that don't lead

    # Defined by each kind of reader

    @abstractmethod
    def fetch_body(self, version: int) -> Body:
        """Return the body of a Fetch."""

    @abstractmethod
    def take_fetch(self, partition: Mapping[str, Any]) -> Committed | None:
        """Process the leader's response to a Fetch, which has no error."""

    @abstractmethod
    def take_whole(self) -> None:
        """Leave the state "download", because the snapshot is complete."""

    # Requests

    @property
    def target(self) -> Endpoint:
        """The node for the next request: the leader if its address is known, else one of the bootstrap controllers in
        turn.
        """
        if self.leader is not None and self.leader in self.known:
            return self.known[self.leader]
        return self.bootstrap[self.current % len(self.bootstrap)]

    @property
    def addressee(self) -> str:
        """The address of `target`, "host:port"."""
        return f"{self.target.host}:{self.target.port}"

    @property
    def api_key(self) -> int:
        """The API of the next request: Fetch, or FetchSnapshot in the state "download"."""
        return FETCH if self.state == self.FETCHING else FETCH_SNAPSHOT

    def request(self, version: int) -> Body:
        """Return the body of the next request, in this version of `api_key`."""
        if self.state == self.FETCHING:
            body = self.fetch_body(version)
        else:
            assert self.id is not None
            body = download_body(self.id, self.epoch, self.position, self.max_bytes)
        return body | ({"clusterId": self.cluster_id} if self.cluster_id else {})

    # Responses

    def take(self, body: Mapping[str, Any]) -> StepResult:
        """Process the response to `request()`. Returns bytes to write, or that the file has to be begun again. Raises
        SnapshotFetchError if nothing more can be read.
        """
        self.turns += 1
        if self.turns > MOST_TURNS:
            raise SnapshotFetchError(f"no progress in {MOST_TURNS} answers; the last leader known is {self.leader}")
        self.learn_nodes(body.get("nodeEndpoints") or ())
        if body["errorCode"] == SERVER_ERROR and self.state == "download":
            return self.gone()
        if body["errorCode"]:
            raise SnapshotFetchError(f"{self.addressee} refused the request: {named(body['errorCode'])}")
        partition = first_partition(body)
        if partition is None:
            raise SnapshotFetchError(f"{self.addressee} answered without the metadata partition: is it a controller?")
        code = partition["errorCode"]
        if code in OTHER_LEADER:
            return self.turn_to_leader(partition)
        if code in OTHER_EPOCH:
            return self.learn_epoch(partition)
        if self.state == "download":
            return self.take_download(partition, code)
        if code:
            raise SnapshotFetchError(f"{self.addressee} does not offer the metadata log: {named(code)}")
        return self.take_fetch(partition)

    def lost(self) -> Restart | None:
        """Turn to the next node because the connection to `target` failed, or could not be made. Raises
        SnapshotFetchError after MOST_TURNS of these.
        """
        self.turns += 1
        if self.turns > MOST_TURNS:
            raise SnapshotFetchError("no controller answers")
        return self.turn_away()

    def take_download(self, partition: Mapping[str, Any], code: int) -> Write | Restart:
        """Process the leader's response to a FetchSnapshot. Returns Restart if the download begins again. Raises
        SnapshotFetchError.
        """
        if code == SNAPSHOT_NOT_FOUND:
            return self.gone()
        if code == POSITION_OUT_OF_RANGE:
            return self.overshot()
        if code:
            raise SnapshotFetchError(f"{self.addressee} does not offer snapshot {self.id}: {named(code)}")
        return self.take_bytes(partition)

    def take_bytes(self, partition: Mapping[str, Any]) -> Write | Restart:
        """Return the bytes to write. Raises SnapshotFetchError if they are not the requested ones."""
        data, position = bytes(partition["unalignedRecords"] or b""), partition["position"]
        offered = offered_id(partition)
        if offered != self.id or position != self.position:
            text = f"asked for snapshot {self.id} at {self.position}, it sent {offered} at {position}"
            raise SnapshotFetchError(f"{self.addressee}: {text}")
        size = partition["size"]
        if self.size is not None and size != self.size:
            before, self.size, self.position = self.size, None, 0
            return Restart(f"the snapshot's size changed from {before} to {size} bytes")
        self.size = size
        self.position += len(data)
        if data:
            self.turns = 0
        if self.position > size:
            raise SnapshotFetchError(f"{self.addressee} sent {self.position} bytes of a snapshot of {size}")
        if self.position == size:
            self.take_whole()
        return Write(position, data)

    def download(self, snapshot: SnapshotId | None) -> None:
        """Fetch this snapshot; for the current one, continue from `position`."""
        if snapshot != self.id:
            self.id, self.position, self.size = snapshot, 0, None
        self.state = "download"

    # Choosing the node

    def learn_nodes(self, nodes: Sequence[Mapping[str, Any]]) -> None:
        """Remember the addresses of nodes in a response (NodeEndpoints, KIP-853)."""
        for node in nodes:
            if node.get("host"):
                self.known[node["nodeId"]] = Endpoint(node["host"], node["port"])

    def turn_to_leader(self, partition: Mapping[str, Any]) -> Restart | None:
        """Turn to the leader that the response names, or to the next controller. Raises SnapshotFetchError if no
        response has the leader's address.
        """
        before, answerer = self.leader, self.addressee
        self.learn_leader(partition)
        if self.leader is not None and self.leader != before and self.leader in self.known:
            return self.fetch_again(f"node {self.leader} leads now")
        self.refusals += 1
        if self.leader is not None and self.leader not in self.known and self.refusals > 2 * len(self.bootstrap):
            leads = f"node {self.leader} leads (epoch {self.epoch}), at an address that {answerer} does not return"
            raise SnapshotFetchError(f"{leads} (before 3.9 none does): give every controller to --bootstrap")
        return self.turn_away()

    def turn_away(self) -> Restart | None:
        """Turn to the next node because this one does not lead."""
        self.leader = None
        self.current += 1
        return self.fetch_again("the leader is lost")

    def fetch_again(self, reason: str) -> Restart | None:
        """Send Fetch again. Returns Restart if written bytes become useless by that."""
        began = self.state == "download" and self.position > 0
        self.start_over()
        return Restart(f"{reason}: another node's file may differ") if began else None

    def start_over(self) -> None:
        """Send Fetch again. A later download begins with its first byte."""
        self.state, self.position, self.size = self.FETCHING, 0, None

    def learn_leader(self, partition: Mapping[str, Any]) -> None:
        """Remember the leader that a response names, unless its epoch is older than the known one."""
        current = partition.get("currentLeader") or {}
        if current.get("leaderEpoch", -1) >= self.epoch:
            self.epoch = current["leaderEpoch"]
            self.leader = current["leaderId"] if current["leaderId"] >= 0 else None

    def learn_epoch(self, partition: Mapping[str, Any]) -> Restart | None:
        """Take the leader epoch from the response: the requested one was too old, or newer than this node's."""
        current = partition.get("currentLeader") or {}
        if current.get("leaderEpoch", -1) < 0:
            return self.turn_away()
        changed = self.leader is not None and current["leaderId"] != self.leader
        self.epoch = current["leaderEpoch"]
        self.leader = current["leaderId"] if current["leaderId"] >= 0 else None
        return self.fetch_again(f"node {self.leader} leads now") if changed else None

    def gone(self) -> Restart:
        """Find a newer snapshot, because this one was deleted."""
        lost, self.id = self.id, None
        self.start_over()
        return Restart(f"snapshot {lost} is gone, a newer one has to be there")

    def overshot(self) -> Restart:
        """Start over, because the leader's file is shorter than the part received and so another one. Raises
        SnapshotFetchError after the third time.
        """
        self.restarts += 1
        if self.restarts > 1:
            self.state = self.FETCHING
        if self.restarts > 3:
            raise SnapshotFetchError(f"{self.addressee} has no byte {self.position} of snapshot {self.id}")
        at, self.position, self.size = self.position, 0, None
        return Restart(f"the leader's file has no byte {at}")


def named(code: int) -> str:
    return f"{error_name(code)} ({code})"
