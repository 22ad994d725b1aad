"""Fetch v0-v18 (KIP-74, KIP-227 sessions, KIP-320 epochs, KIP-516 topic ids, KIP-595 divergence, KIP-951 hints).

* From v7 on there are sessions (`kcli.sessions`), and a fetch in one reads only partitions that changed. From v13 on
  topics are named by id.
* The response is sent once it has minBytes, an error or a divergence, or after maxWaitMs. A fetch without partitions
  does not wait. A waiting fetch does not poll: writes wake it (`purgatory`).
* Records are slices of segment files (`records_slot`), in the magic in which they were produced. Before v4 they are
  converted to a magic of the version (`conversion`, KIP-283).
* v0-v2: a partition's records end at its max_bytes, also within a batch, and the response as a whole has no limit.
* The metadata log can be fetched by its name or id, although no response lists it. A fetch below its first offset gets
  the id of its latest snapshot (KIP-630).
* In v18 of the dialect kip-1018 a request limits the bytes of a partition from remote storage (`tiering`).
* Drafts have handlers of their own: `incremental_fetch`, `snapshot_draft`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

from kcli.broker.acceptance import isolation_refusal
from kcli.broker.fetch.conversion import NEWEST_MAGIC, newest_magic, older_records
from kcli.broker.fetch.fetching import Work, by_topic, positions, replica_of, undisturbed
from kcli.broker.fetch.partition_reads import UNKNOWN, PartitionRead
from kcli.broker.fetch.records_slot import RecordsSlots
from kcli.broker.metadata.leaders import Hints
from kcli.broker.partition import Key, Partition
from kcli.broker.request import Request
from kcli.broker.response import Answer, EncodedBody
from kcli.schemas.errors import error_code
from kcli.sessions.broker import Fetch
from kcli.sessions.epochs import EPOCH_MISMATCH, FINAL_EPOCH, ID_NOT_FOUND, NO_SESSION, TOPIC_ID_MISMATCH
from kcli.sessions.fetch_exchange import SESSIONS_SINCE, TOPIC_IDS_SINCE
from kcli.sessions.values import FetchRequest, FetchResponse, Position

WHOLE_FIRST_SINCE, START_OFFSET_SINCE, RAFT_SINCE = 3, 5, 12
SESSION_ERRORS = frozenset([EPOCH_MISMATCH, ID_NOT_FOUND, TOPIC_ID_MISMATCH])

Reads = Mapping[Key, PartitionRead]
# Makes the fields of a response that depend on its partitions.
Rows = Callable[[Request, FetchResponse, Reads, RecordsSlots], dict[str, Any]]


def handle(request: Request) -> Answer | Awaitable[Answer]:
    return fetch_with(request, rows, nothing={"responses": []})


def fetch_with(request: Request, rows: Rows, nothing: dict[str, Any]) -> Answer | Awaitable[Answer]:
    """Return the response or a future of it. rows: makes its topics; nothing: the topics of a refused request."""
    if code := request.fault(among=SESSION_ERRORS):
        return {"errorCode": code} | nothing
    if request.version >= SESSIONS_SINCE and (refused := isolation_refusal(request.body)):
        return {"errorCode": error_code(refused.error)} | nothing
    with undisturbed(sum(len(each["partitions"]) for each in request.body["topics"])):
        wanted = wanted_of(request)
        fetch = request.node.sessions.begin(wanted, request.now())
        if fetch.error:
            return {"errorCode": fetch.error} | nothing

        def encode(reads: dict[Key, PartitionRead], throttle_ms: int) -> EncodedBody:
            return answer(request, fetch, reads, rows, throttle_ms)

        whole_first = request.version >= WHOLE_FIRST_SINCE
        wait = request.body["maxWaitMs"]
        conversation = InSession(fetch)
        return Work(
            request, conversation, encode, by_id=wanted.topic_ids, whole_first=whole_first, max_wait_ms=wait
        ).begin()


class InSession:
    """A fetch as a conversation of `Work`: its partitions come from the fetch session, or from the request."""

    def __init__(self, fetch: Fetch) -> None:
        self.fetch = fetch

    def candidates(self) -> Iterable[tuple[Key, Position]]:
        return self.fetch.candidates()

    def mark(self, key: Key) -> None:
        session = self.fetch.session
        if session is not None and key in session.partitions:
            session.due.add(key)

    def watched(self) -> Sequence[Hashable]:
        session = self.fetch.session
        if session is not None:
            return (session.id,) if session.partitions else ()
        return tuple(self.fetch.request.partitions)


def wanted_of(request: Request) -> FetchRequest:
    """Return the request in the form of `kcli.sessions`."""
    body = request.body
    by_id = request.version >= TOPIC_IDS_SINCE
    field = "topicId" if by_id else "topic"
    return FetchRequest(
        body.get("sessionId", NO_SESSION),
        body.get("sessionEpoch", FINAL_EPOCH),
        positions(body["topics"], field, position_of),
        tuple((each[field], index) for each in body.get("forgottenTopicsData", ()) for index in each["partitions"]),
        by_id,
        replica_of(body),
    )


def position_of(row: Mapping[str, Any]) -> tuple[int, Position]:
    get = row.get
    return row["partition"], Position(
        row["fetchOffset"],
        get("logStartOffset", -1),
        row["partitionMaxBytes"],
        max(get("currentLeaderEpoch", -1), -1),  # Here any negative number is none, unlike in ListOffsets.
        get("lastFetchedEpoch", -1),
        get("remotePartitionMaxBytes", -1),
    )


def answer(
    request: Request, fetch: Fetch, reads: dict[Key, PartitionRead], rows: Rows, throttle_ms: int
) -> EncodedBody:
    """Encode the response, with the partitions that the fetch session includes."""
    if newest_magic(request.version) < NEWEST_MAGIC:
        partitions = fetch.request.partitions
        chunk_bytes = request.configs.int("message.downconversion.chunk.bytes")
        reads = {
            key: older_records(read, request.version, partitions[key].fetch_offset, chunk_bytes)
            for key, read in reads.items()
        }
    slots = RecordsSlots()
    response = fetch.answer({key: read.result for key, read in reads.items()}, request.now(), throttle_ms=throttle_ms)
    body: dict[str, Any] = {"errorCode": response.error, "sessionId": response.session_id}
    if throttle_ms:
        body["throttleTimeMs"] = throttle_ms
    body |= rows(request, response, reads, slots)
    return request.api.encode_with(body, slots.filled)


def rows(request: Request, response: FetchResponse, reads: Reads, slots: RecordsSlots) -> dict[str, Any]:
    """Return the rows of partitions grouped by topic, and the endpoints of the leaders named in them."""
    field = "topicId" if request.version >= TOPIC_IDS_SINCE else "topic"
    hints = Hints(request)

    def row(key: Key) -> dict[str, Any]:
        read = reads[key]
        made = partition_row(request.version, key[1], read, slots, request.reads_committed)
        if read.partition is not None:
            made |= leader_row(request.version, read.partition, read.result.error, hints)
        return made

    return {"responses": by_topic(field, ((key, row(key)) for key in response.partitions)), **hints.endpoints()}


def partition_row(
    version: int, index: int, read: PartitionRead, slots: RecordsSlots, committed: bool
) -> dict[str, Any]:
    result = read.result
    row: dict[str, Any] = {
        "partitionIndex": index,
        "errorCode": result.error,
        "highWatermark": result.high_watermark,
        "lastStableOffset": result.last_stable_offset,
        # Kafka has [] of partitions that it does not try to read, and null of those that it can't.
        "abortedTransactions": aborted_rows(read)
        if result.error in UNKNOWN or (committed and not result.error)
        else None,
        "records": slots.field(read.records),
    }
    # The version filter would drop the field, too, but copy each of many rows.
    if version >= START_OFFSET_SINCE:
        row["logStartOffset"] = result.log_start_offset
    if read.diverging is not None:
        row["divergingEpoch"] = {"epoch": read.diverging[0], "endOffset": read.diverging[1]}
    if read.snapshot is not None:
        row["snapshotId"] = {"endOffset": read.snapshot.end_offset, "epoch": read.snapshot.epoch}
    return row


def leader_row(version: int, partition: Partition, error: int, hints: Hints) -> dict[str, Any]:
    """Return the field with the current leader: if a row has certain errors (KIP-951), and always for the metadata log
    (KIP-595).
    """
    if version >= RAFT_SINCE and partition.is_hidden:
        return {"currentLeader": partition.current_leader}
    return hints.about(partition, error) if error else {}


def aborted_rows(read: PartitionRead) -> list[dict[str, int]]:
    """Return a partition's aborted transactions as Fetch responses name them."""
    return [{"producerId": each.producer_id, "firstOffset": each.first_offset} for each in read.aborted]
