"""Following the metadata log of a live quorum, as an observer that has no vote (KIP-595, KIP-630), without sockets.

    follow     Fetch from the offset reached: whole batches below the high watermark; where the leader's log begins
               later, the id of a snapshot -> download
    download   FetchSnapshot; when the snapshot is whole -> follow, from its end

For another leader, another epoch and errors see `quorum_reader`. Fetches have replica id -1, as consumers' have: a
leader counts no such replica, for votes or for the high watermark.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from kcli.snapshots.live.fetch_messages import Body, find_body, offered_id
from kcli.snapshots.live.quorum_reader import Committed, Endpoint, QuorumReader, SnapshotFetchError, StepResult
from kcli.snapshots.reading.framing import Batch, batches

MOST_BYTES = 8 << 20  # bytes of one response


class LogFollower(QuorumReader):
    """Follows the log from an offset.

    offset: the next one to fetch; last_epoch: of the record before it; high_watermark: from the leader's last response,
    -1 before the first; wait_ms: how long the leader may wait for new records
    """

    FETCHING = "follow"

    def __init__(self, bootstrap: Sequence[Endpoint]) -> None:
        super().__init__(bootstrap, max_bytes=MOST_BYTES)
        self.offset = self.last_epoch = 0
        self.high_watermark = -1
        self.wait_ms = 0

    @property
    def is_caught_up(self) -> bool:
        """Return whether everything below the high watermark was read."""
        return self.state == "follow" and 0 <= self.high_watermark <= self.offset

    def fetch_body(self, version: int) -> Body:
        """Return the body of a Fetch from the offset reached."""
        body = find_body(version, self.epoch, self.offset, self.last_epoch)
        body |= {"maxWaitMs": self.wait_ms, "minBytes": 1, "maxBytes": self.max_bytes}
        body["topics"][0]["partitions"][0]["partitionMaxBytes"] = self.max_bytes
        return body

    def take(self, body: Mapping[str, Any]) -> StepResult:
        """Process the response to `request()`. While a quorum has no leader, its nodes are asked again for as long as
        one of them responds.
        """
        if self.refusals:
            self.turns = 0
        return super().take(body)

    def take_fetch(self, partition: Mapping[str, Any]) -> Committed | None:
        """Process batches of the log. Raises SnapshotFetchError if records that were read are not in the leader's
        log.
        """
        offered = offered_id(partition)
        diverging = partition.get("divergingEpoch") or {}
        if diverging.get("endOffset", -1) >= 0 and offered is None:
            raise SnapshotFetchError(
                f"{self.addressee} has no record {self.offset - 1} of epoch {self.last_epoch}: its log has epoch "
                f"{diverging['epoch']} up to {diverging['endOffset']} (is it another quorum?)"
            )
        self.learn_leader(partition)
        self.refusals = 0
        if offered is not None:
            self.start_over()
            self.download(offered)
            return None
        self.turns = 0
        self.high_watermark = max(self.high_watermark, partition["highWatermark"])
        return self.committed(bytes(partition["records"] or b""))

    def take_whole(self) -> None:
        """Go on with the log from the snapshot's end."""
        assert self.id is not None
        self.state, self.offset, self.last_epoch = "follow", *self.id

    def committed(self, data: bytes) -> Committed:
        """Return the whole batches of a response that are committed and were not returned before."""
        begin, first = None, self.offset
        end = 0
        for batch in batches(memoryview(data)):
            if not isinstance(batch, Batch) or batch.last_offset >= self.high_watermark:
                break
            if batch.last_offset >= self.offset:
                begin = batch.position if begin is None else begin
                end, self.offset, self.last_epoch = batch.end, batch.last_offset + 1, batch.leader_epoch
        return Committed(first, data[begin:end] if begin is not None else b"")
