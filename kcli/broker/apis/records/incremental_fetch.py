"""The third draft of KIP-227 (dialect kip-227-draft): Fetch v7-draft is the full fetch, IncrementalFetch v0 each
fetch after it.

* A full fetch registers its partitions for its fetcher (a replica by its id, a consumer by its client id), and its
  response has a new random uuid.
* An incremental fetch has that uuid and the partitions that it changes; the response has only partitions with changes.
  Any uuid but the latest is refused with INCREMENTAL_FETCH_UUID_MISMATCH, after which the client sends a full fetch.
* In the draft partition ids are decimal strings in requests and numbers in responses.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

from kcli.broker.apis.records.fetch import aborted_rows
from kcli.broker.fetch.fetching import Work, by_topic, positions, undisturbed
from kcli.broker.fetch.partition_reads import PartitionRead
from kcli.broker.fetch.purgatory import draft_key
from kcli.broker.fetch.records_slot import RecordsSlots
from kcli.broker.partition import Key
from kcli.broker.request import Request
from kcli.broker.response import Answer, EncodedBody, HangUpError
from kcli.sessions.draft import NO_UUID, DraftBroker, DraftRequest, DraftResponse
from kcli.sessions.values import Position

# Makes a response's body from the partitions that the draft's session includes, and the reads of them.
Respond = Callable[[DraftResponse, Mapping[Key, PartitionRead], RecordsSlots], dict[str, Any]]


def handle_full(request: Request) -> Answer | Awaitable[Answer]:
    body = request.body
    with undisturbed(sum(len(each["partitions"]) for each in body["topics"])):
        moved = positions(body["topics"], "topic", full_position)
        wanted = DraftRequest(None, body["replicaId"], moved, request.client_id)
        return fetch(request, wanted, full_response, body["maxWaitMs"])


def handle(request: Request) -> Answer | Awaitable[Answer]:
    body = request.body
    moved = positions(body["topics"], "topicName", moved_position)
    wanted = DraftRequest(body["uuid"], body["replicaId"], moved, request.client_id)
    if code := request.fault() or request.node.drafts.begin(wanted):
        return {"errorCode": code, "uuid": NO_UUID, "topics": []}
    return fetch(request, wanted, incremental_response, body["maxWaitTime"])


def fetch(request: Request, wanted: DraftRequest, respond: Respond, max_wait_ms: int) -> Answer | Awaitable[Answer]:
    drafts = request.node.drafts

    def encode(reads: dict[Key, PartitionRead], _throttle_ms: int) -> EncodedBody:
        slots = RecordsSlots()
        response = drafts.answer(wanted, {key: read.result for key, read in reads.items()})
        return request.api.encode_with(respond(response, reads, slots), slots.filled)

    return Work(request, InDraft(drafts, wanted), encode, max_wait_ms=max_wait_ms).begin()


class InDraft:
    """A fetch as a conversation of `Work`, by the rules of the draft."""

    def __init__(self, broker: DraftBroker, wanted: DraftRequest) -> None:
        self.broker, self.wanted = broker, wanted

    def candidates(self) -> Iterable[tuple[Key, Position]]:
        return self.broker.candidates(self.wanted)

    def mark(self, key: Key) -> None:
        self.broker.mark_for(self.wanted, key)

    def watched(self) -> Sequence[Hashable]:
        if self.wanted.uuid is None:
            return tuple(self.wanted.partitions)
        return (draft_key(self.wanted.fetcher),)


def full_position(row: Mapping[str, Any]) -> tuple[int, Position]:
    return row["partition"], Position(row["fetchOffset"], row["logStartOffset"], row["partitionMaxBytes"])


def moved_position(row: Mapping[str, Any]) -> tuple[int, Position]:
    text = row["partitionId"]
    if not (text.isascii() and text.isdigit()):
        raise HangUpError(f"IncrementalFetch: partition id {text!r}: decimal digits expected")
    return int(text), Position(row["fetchOffset"], row["startOffset"], row["maxBytes"])


def full_response(response: DraftResponse, reads: Mapping[Key, PartitionRead], slots: RecordsSlots) -> dict[str, Any]:
    rows = (
        (
            key,
            {"partitionIndex": key[1], "abortedTransactions": aborted_rows(reads[key])}
            | {"records": slots.field(reads[key].records)}
            | offsets(reads[key]),
        )
        for key in response.partitions
    )
    return {"throttleTimeMs": 0, "uuid": response.uuid, "responses": by_topic("topic", rows)}


def incremental_response(
    response: DraftResponse, reads: Mapping[Key, PartitionRead], slots: RecordsSlots
) -> dict[str, Any]:
    rows = ((key, incremental_row(key[1], reads[key], slots)) for key in response.partitions)
    return {"errorCode": response.error, "uuid": response.uuid, "topics": by_topic("topicName", rows)}


def incremental_row(index: int, read: PartitionRead, slots: RecordsSlots) -> dict[str, Any]:
    aborted = [{"producerKey": each.producer_id, "firstOffset": each.first_offset} for each in read.aborted]
    header = {"partitionId": index, "aborted": aborted} | offsets(read)
    return {"header": header, "records": slots.field(read.records)}


def offsets(read: PartitionRead) -> dict[str, int]:
    return {
        "errorCode": read.result.error,
        "highWatermark": read.result.high_watermark,
        "lastStableOffset": read.result.last_stable_offset,
        "logStartOffset": read.result.log_start_offset,
    }
