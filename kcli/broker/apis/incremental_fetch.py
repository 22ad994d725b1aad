"""The third draft of KIP-227, in the dialect kip-227-draft: Fetch v7-draft is the full fetch, IncrementalFetch v0
the rest.

* A full fetch registers its partitions under its fetcher (the replica id; consumers by client id), and its response
  has a new random uuid.
* An incremental fetch names that uuid and what moved; only what changed is answered. Any other uuid than the latest
  is refused (INCREMENTAL_FETCH_UUID_MISMATCH): a full fetch has to follow.
* The request writes partition ids as decimal strings, the response as numbers, as the draft has them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Hashable, Iterable, Mapping, Sequence
from typing import Any

from kcli.broker.fetching import Records, Work, positions, undisturbed
from kcli.broker.partition_reads import PartitionRead
from kcli.broker.records_slot import fill_slots
from kcli.broker.request import Answer, EncodedBody, HangUpError, Request
from kcli.broker.topics import Key
from kcli.sessions.draft import NO_UUID, DraftBroker, DraftRequest
from kcli.sessions.values import Position

DRAFT_VERSION = 7
FIELD = "uuid"


def is_draft(request: Request) -> bool:
    """Whether a Fetch is the draft's: its response has a uuid."""
    if request.route.dialect is None or request.version != DRAFT_VERSION:
        return False
    return any(each.name == FIELD for each in request.route.response.grammar.fields)


class InDraft:
    """A fetch as the draft's machine sees it."""

    def __init__(self, broker: DraftBroker, wanted: DraftRequest) -> None:
        self.broker, self.request = broker, wanted

    def candidates(self) -> Iterable[tuple[Key, Position]]:
        return self.broker.candidates(self.request)

    def mark(self, key: Key) -> None:
        self.broker.mark_for(self.request, key)

    def watched(self) -> Sequence[Hashable]:
        if self.request.uuid is None:
            return tuple(self.request.partitions)
        return (watch_key(self.request.fetcher),)


def watch_key(fetcher: int | str) -> Hashable:
    """Under what a fetch of this fetcher waits."""
    return "draft", fetcher


def handle_full(request: Request) -> Answer | Awaitable[Answer]:
    with undisturbed(sum(len(each["partitions"]) for each in request.body["topics"])):
        return serve_full(request, request.body)


def serve_full(request: Request, body: Mapping[str, Any]) -> Answer | Awaitable[Answer]:
    wanted = DraftRequest(None, body["replicaId"], positions(body["topics"], "topic", full_position), request.client_id)

    def encode(reads: dict[Key, PartitionRead]) -> EncodedBody:
        response = request.node.drafts.answer(wanted, {key: read.result for key, read in reads.items()})
        records = Records(request)
        topics = by_topic("topic", ((key, full_row(key[1], reads[key], records)) for key in response.partitions))
        made = request.route.response.write({"throttleTimeMs": 0, "uuid": response.uuid, "responses": topics})
        return fill_slots(made, records.spliced, request.route.flexible)

    return Work(request, InDraft(request.node.drafts, wanted), encode, max_wait_ms=body["maxWaitMs"]).begin()


def handle(request: Request) -> Answer | Awaitable[Answer]:
    body = request.body
    moved = positions(body["topics"], "topicName", moved_position)
    wanted = DraftRequest(body["uuid"], body["replicaId"], moved, request.client_id)
    drafts = request.node.drafts
    if code := request.fault() or drafts.begin(wanted):
        return {"errorCode": code, "uuid": NO_UUID, "topics": []}

    def encode(reads: dict[Key, PartitionRead]) -> EncodedBody:
        response = drafts.answer(wanted, {key: read.result for key, read in reads.items()})
        records = Records(request)
        rows = ((key, incremental_row(key[1], reads[key], records)) for key in response.partitions)
        value = {"errorCode": response.error, "uuid": response.uuid, "topics": by_topic("topicName", rows)}
        return fill_slots(request.route.response.write(value), records.spliced, request.route.flexible)

    return Work(request, InDraft(drafts, wanted), encode, max_wait_ms=body["maxWaitTime"]).begin()


def full_position(row: Mapping[str, Any]) -> tuple[int, Position]:
    return row["partition"], Position(row["fetchOffset"], row["logStartOffset"], row["partitionMaxBytes"])


def moved_position(row: Mapping[str, Any]) -> tuple[int, Position]:
    text = row["partitionId"]
    if not (text.isascii() and text.isdigit()):
        raise HangUpError(f"IncrementalFetch: partition id {text!r}: decimal digits expected")
    return int(text), Position(row["fetchOffset"], row["startOffset"], row["maxBytes"])


def by_topic(field: str, rows: Iterable[tuple[Key, dict[str, Any]]]) -> list[dict[str, Any]]:
    """Rows under their topics, neighbours of one topic together."""
    topics: list[dict[str, Any]] = []
    for key, row in rows:
        if not topics or topics[-1][field] != key[0]:
            topics.append({field: key[0], "partitions": []})
        topics[-1]["partitions"].append(row)
    return topics


def offsets(read: PartitionRead) -> dict[str, int]:
    return {
        "errorCode": read.result.error,
        "highWatermark": read.result.high_watermark,
        "lastStableOffset": read.result.last_stable_offset,
        "logStartOffset": read.result.log_start_offset,
    }


def full_row(index: int, read: PartitionRead, records: Records) -> dict[str, Any]:
    aborted = [{"producerId": each.producer_id, "firstOffset": each.first_offset} for each in read.aborted]
    row = {"partitionIndex": index, "abortedTransactions": aborted, "records": records.field(read.records)}
    return row | offsets(read)


def incremental_row(index: int, read: PartitionRead, records: Records) -> dict[str, Any]:
    aborted = [{"producerKey": each.producer_id, "firstOffset": each.first_offset} for each in read.aborted]
    header = {"partitionId": index, "aborted": aborted} | offsets(read)
    return {"header": header, "records": records.field(read.records)}
