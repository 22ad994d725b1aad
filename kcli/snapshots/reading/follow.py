"""Following the metadata log of a live quorum, as an observer that has no vote (KIP-595, KIP-630), without sockets.

    follow     Fetch from the offset reached: whole batches below the high watermark; where the leader's log begins
               later, the id of a snapshot -> download
    download   FetchSnapshot, as `fetch` does it; when it is whole -> follow, from its end

Fetches have replica id -1, as consumers' have: a leader counts no such replica, for votes or for the high watermark.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from kcli.schemas.apikeys import FETCH
from kcli.snapshots.live.fetch import Endpoint, Restart, SnapshotFetch, SnapshotFetchError, Write
from kcli.snapshots.live.fetch_messages import Body, find_body, offered_id
from kcli.snapshots.reading.framing import Batch, batches

MOST_BYTES = 8 << 20  # of one answer
ERRORS = (6, 8, 74, 75)  # that name another leader or epoch


@dataclass(frozen=True, slots=True)
class Committed:
    """Whole batches behind those before, all below the high watermark; data: empty where there is nothing new."""

    base_offset: int
    data: bytes


class LogFollower(SnapshotFetch):
    """Follows the log from an offset. offset: the next one to read; last_epoch: of the record before it;
    high_watermark: as the leader says, -1 until it does. wait_ms: how long the leader may wait for something new."""

    def __init__(
        self,
        bootstrap: Sequence[Endpoint],
        *,
        cluster_id: str | None = None,
        wait_ms: int = 0,
        max_bytes: int = MOST_BYTES,
    ) -> None:
        super().__init__(bootstrap, cluster_id=cluster_id, max_bytes=max_bytes)
        self.state = "follow"
        self.offset = self.last_epoch = 0
        self.high_watermark = -1
        self.wait_ms = wait_ms

    @property
    def is_caught_up(self) -> bool:
        """Whether everything below the high watermark was read."""
        return self.state == "follow" and 0 <= self.high_watermark <= self.offset

    @property
    def api_key(self) -> int:
        """The API of the next request: Fetch, or FetchSnapshot while a snapshot comes."""
        return FETCH if self.state == "follow" else super().api_key

    def request(self, version: int) -> Body:
        """Return the body of the next request, in this version of `api_key`."""
        if self.state != "follow":
            return super().request(version)
        body = find_body(version, self.epoch, self.offset, self.last_epoch)
        body |= {"maxWaitMs": self.wait_ms, "minBytes": 1, "maxBytes": self.max_bytes}
        body["topics"][0]["partitions"][0]["partitionMaxBytes"] = self.max_bytes
        return body | ({"clusterId": self.cluster_id} if self.cluster_id else {})

    def take(self, body: Mapping[str, Any]) -> Write | Restart | Committed | None:  # type: ignore[override]
        """Process the response to `request()`. Write: bytes of a snapshot; Restart: it begins anew.

        A quorum without a leader is asked for as long as a node of it answers. Raises SnapshotFetchError: nothing more
        can be read.
        """
        self.turns = 0 if self.refusals else self.turns
        taken = super().take(body)
        if self.state == "done":
            assert self.id is not None
            self.state, self.offset, self.last_epoch = "follow", *self.id
        elif self.state == "find":
            self.state = "follow"
        return taken

    def take_download(self, partition: Mapping[str, Any]) -> Write | Restart | Committed | None:  # type: ignore[override]
        """Take in an answer: of a FetchSnapshot, or of a Fetch of the log."""
        return self.take_log(partition) if self.state == "follow" else super().take_download(partition)

    def take_log(self, partition: Mapping[str, Any]) -> Restart | Committed | None:
        """Take in the answer to a Fetch of the log."""
        code = partition["errorCode"]
        if code in ERRORS:
            return self.follow(partition) if code in ERRORS[:2] else self.learn_epoch(partition)
        offered = offered_id(partition)
        diverging = partition.get("divergingEpoch") or {}
        if code or (diverging.get("endOffset", -1) >= 0 and offered is None):
            self.refuse(partition, code, diverging)
        self.learn_leader(partition)
        self.refusals = 0
        if offered is not None:
            self.id, self.position, self.size, self.state = offered, 0, None, "download"
            return None
        self.turns = 0
        self.high_watermark = max(self.high_watermark, partition["highWatermark"])
        return self.committed(bytes(partition["records"] or b""))

    def refuse(self, partition: Mapping[str, Any], code: int, diverging: Mapping[str, Any]) -> NoReturn:
        """Raise SnapshotFetchError: an error that no other leader mends, or records that were read and are gone."""
        if code:
            super().take_find(partition)
        raise SnapshotFetchError(
            f"{self.asked} has no record {self.offset - 1} of epoch {self.last_epoch}: its log has epoch "
            f"{diverging['epoch']} up to {diverging['endOffset']} (is it another quorum?)"
        )

    def committed(self, data: bytes) -> Committed:
        """Return the whole batches of a response that are committed and new."""
        begin, first = None, self.offset
        end = 0
        for batch in batches(memoryview(data)):
            if not isinstance(batch, Batch) or batch.last_offset >= self.high_watermark:
                break
            if batch.last_offset >= self.offset:
                begin = batch.position if begin is None else begin
                end, self.offset, self.last_epoch = batch.end, batch.last_offset + 1, batch.leader_epoch
        return Committed(first, data[begin:end] if begin is not None else b"")
