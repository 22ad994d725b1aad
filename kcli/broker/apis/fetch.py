"""Fetch v0-v18 (KIP-74, KIP-227 sessions, KIP-320 epochs, KIP-516 topic ids, KIP-595 divergence, KIP-951 hints).

* Sessions from v7 on (`kcli.sessions`); topics go by id from v13 on. A fetch in a session looks only at what moved.
* The answer waits until there are min_bytes, an error, a divergence, or max_wait_ms are over; a fetch of nothing does
  not wait. While it waits nothing runs: what is written wakes it (`purgatory`).
* Records are slices of segment files (`records_slot`), in the magic in which they were produced; below v4 in one that
  the version knows (`conversion`, KIP-283).
* v0-v2: the response ends in the middle of a batch where max_bytes says so, and there is no limit of the whole.
* The metadata log is fetched by its name or id, in no list; who asks below its begin is told of its latest snapshot
  (KIP-630). In the dialect kip-630-draft v12 tells it the draft's way (`draft_snapshot`).
* In the dialect kip-1018 v18 says how much of a partition may come from remote storage (`tiering`).
* In the dialect kip-227-draft v7 is the draft's full fetch (`incremental_fetch`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Hashable, Iterable, Mapping, Sequence
from typing import Any

from kcli.broker.apis import incremental_fetch
from kcli.broker.draft_snapshot import draft_partition, is_draft
from kcli.broker.fetching import Records, Work, positions, replica_of, undisturbed
from kcli.broker.leaders import Hints
from kcli.broker.partition_reads import PartitionRead
from kcli.broker.records_slot import fill_slots
from kcli.broker.request import Answer, EncodedBody, Request
from kcli.broker.topics import Key, Partition
from kcli.sessions.broker import Fetch
from kcli.sessions.rules import EPOCH_MISMATCH, FINAL_EPOCH, ID_NOT_FOUND, NO_SESSION, TOPIC_ID_MISMATCH
from kcli.sessions.values import FetchRequest, FetchResponse, Position

WHOLE_FIRST_SINCE, SESSIONS_SINCE, TOPIC_IDS_SINCE = 3, 7, 13
SESSION_ERRORS = frozenset([EPOCH_MISMATCH, ID_NOT_FOUND, TOPIC_ID_MISMATCH])


def handle(request: Request) -> Answer | Awaitable[Answer]:
    if incremental_fetch.is_draft(request):
        return incremental_fetch.handle_full(request)
    if code := request.fault(among=SESSION_ERRORS):
        return refused(request, code)
    with undisturbed(sum(len(each["partitions"]) for each in request.body["topics"])):
        return serve(request, wanted_of(request))


def serve(request: Request, wanted: FetchRequest) -> Answer | Awaitable[Answer]:
    fetch = request.node.sessions.begin(wanted, request.broker.now())
    if fetch.error:
        return refused(request, fetch.error)

    def encode(reads: dict[Key, PartitionRead]) -> EncodedBody:
        return answer(request, fetch, reads)

    kip74 = request.version >= WHOLE_FIRST_SINCE
    wait = request.body["maxWaitMs"]
    work = Work(request, InSession(fetch), encode, by_id=wanted.topic_ids, whole_first=kip74, max_wait_ms=wait)
    return work.begin()


def refused(request: Request, code: int) -> dict[str, Any]:
    return {"errorCode": code, "topics" if is_draft(request) else "responses": []}


class InSession:
    """A fetch as the session machine sees it."""

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
    """The request as far as sessions go."""
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
        get("currentLeaderEpoch", -1),
        get("lastFetchedEpoch", -1),
        get("remotePartitionMaxBytes", -1),
    )


def answer(request: Request, fetch: Fetch, reads: dict[Key, PartitionRead]) -> EncodedBody:
    """What the session machine lets through, encoded, with records spliced in."""
    records = Records(request)
    if request.version < SESSIONS_SINCE:
        asked = fetch.request.partitions
        reads = {key: records.older(read, asked[key].fetch_offset) for key, read in reads.items()}
    body: dict[str, Any]
    response = fetch.answer({key: read.result for key, read in reads.items()}, request.broker.now())
    hints = Hints(request)
    if is_draft(request):
        body = {"topics": draft_rows(request, response, reads, records)}
    else:
        body = {"responses": rows(request, response, reads, records, hints)}
    if request.version >= SESSIONS_SINCE:
        body |= {"errorCode": response.error, "sessionId": response.session_id}
    body |= hints.endpoints() if request.version >= TOPIC_IDS_SINCE else {}
    return fill_slots(request.route.response.write(body), records.spliced, request.route.flexible)


def rows(
    request: Request, response: FetchResponse, reads: Mapping[Key, PartitionRead], records: Records, hints: Hints
) -> list[dict[str, Any]]:
    """Rows by topic, neighbours of one topic together."""
    field = "topicId" if request.version >= TOPIC_IDS_SINCE else "topic"
    committed = request.body.get("isolationLevel") == 1

    def row(key: Key) -> dict[str, Any]:
        read = reads[key]
        made = partition_row(request.version, key[1], read, records, committed)
        if read.partition is not None:
            made |= leader_row(request.version, read.partition, read.result.error, hints)
        return made

    return incremental_fetch.by_topic(field, ((key, row(key)) for key in response.partitions))


def draft_rows(
    request: Request, response: FetchResponse, reads: Mapping[Key, PartitionRead], records: Records
) -> list[dict[str, Any]]:
    committed = request.body["isolationLevel"] == 1
    told = ((key, draft_partition(key[1], reads[key], records, committed)) for key in response.partitions)
    return incremental_fetch.by_topic("name", told)


def partition_row(version: int, index: int, read: PartitionRead, records: Records, committed: bool) -> dict[str, Any]:
    result = read.result
    row: dict[str, Any] = {
        "partitionIndex": index,
        "errorCode": result.error,
        "highWatermark": result.high_watermark,
        "records": records.field(read.records),
    }
    if version >= 4:
        row["lastStableOffset"] = result.last_stable_offset
        row["abortedTransactions"] = aborted_rows(read) if committed else None
    if version >= 5:
        row["logStartOffset"] = result.log_start_offset
    if version >= 12 and read.diverging is not None:
        row["divergingEpoch"] = {"epoch": read.diverging[0], "endOffset": read.diverging[1]}
    if version >= 12 and read.snapshot is not None:
        row["snapshotId"] = {"endOffset": read.snapshot.end_offset, "epoch": read.snapshot.epoch}
    return row


def leader_row(version: int, partition: Partition, error: int, hints: Hints) -> dict[str, Any]:
    """Who leads: told with some errors (KIP-951), and always of the metadata log (KIP-595)."""
    if version >= 12 and partition.topic.name in partition.topic.owner.hidden:
        return {"currentLeader": {"leaderId": partition.leader, "leaderEpoch": partition.epoch}}
    return hints.about(partition, error) if error else {}


def aborted_rows(read: PartitionRead) -> list[dict[str, int]]:
    return [{"producerId": each.producer_id, "firstOffset": each.first_offset} for each in read.aborted]
