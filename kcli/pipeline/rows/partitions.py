"""Partitions of Fetch, Produce and ShareFetch, for exchanges in which the core can't find them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kcli.capture.kafka.exchange import Exchange
from kcli.capture.kafka.record_fields import partitions_in
from kcli.core.codec.values import uuid_bytes
from kcli.pipeline.rows.projections import COLUMNS, FETCHED, PRODUCED, REQUESTED
from kcli.schemas.apikeys import FETCH, PRODUCE, SHARE_FETCH


@dataclass(slots=True)
class Partition:
    """One partition of an exchange. asked, returned: its parts of request and response; None if it has none."""

    topic: str | None
    topic_id: str | None
    index: int
    requested: dict[str, Any] | None = None
    returned: dict[str, Any] | None = None
    records: Any = None

    @property
    def key(self) -> tuple[str | None, int]:
        """The key by which a partition of the response is found in the request: topic id or name, and index."""
        return self.topic_id or self.topic, self.index

    def loaded(self, requested: dict[str, int], returned: dict[str, int]) -> tuple[Any, ...]:
        """Return the partition in the form that the core's `Partitions.load` needs. requested, returned: the column of
        each field.
        """
        return (
            None if self.topic is None else self.topic.encode("utf-8", "replace"),
            None if self.topic_id is None else uuid_bytes(self.topic_id),
            numbers(self.requested, requested, self.index),
            numbers(self.returned, returned, self.index),
            None if self.records is None else bytes(self.records),
        )


def numbers(part: dict[str, Any] | None, columns: dict[str, int], index: int) -> list[int | None] | None:
    """Return the numbers of one side in their columns; None if the partition has no such side."""
    if part is None:
        return None
    made: list[int | None] = [index, *[None] * (COLUMNS - 1)]
    for path, column in columns.items():
        value: Any = part
        for name in path.rstrip("?").split("."):
            value = value.get(name) if isinstance(value, dict) else None
        if value is not None:
            made[column] = value
    return made


def of_fetch(item: Exchange) -> list[Partition]:
    """Return all partitions of the request, in order, then those that only the response has."""
    found: dict[tuple[str | None, int], Partition] = {}
    for name, topic_id, each in partitions_in(item, item.request, "topics", "partitions"):
        partition = Partition(name, topic_id, each["partition"], requested=each)
        found[partition.key] = partition
    for name, topic_id, each in partitions_in(item, item.response, "responses", "partitions"):
        key = (topic_id or name, each["partitionIndex"])
        partition = found.get(key) or found.setdefault(key, Partition(name, topic_id, key[1]))
        partition.returned, partition.records = each, each.get("records")
        partition.topic = partition.topic or name
    return list(found.values())


def of_produce(item: Exchange) -> list[Partition]:
    """Return all partitions of the request, with their response if there is one."""
    found: dict[tuple[str | None, int], Partition] = {}
    for name, topic_id, each in partitions_in(item, item.request, "topicData", "partitionData"):
        partition = Partition(name, topic_id, each["index"], requested=each, records=each.get("records"))
        found[partition.key] = partition
    for name, topic_id, each in partitions_in(item, item.response, "responses", "partitionResponses"):
        key = (topic_id or name, each["index"])
        if key in found:
            found[key].returned = each
    return list(found.values())


def of_share_fetch(item: Exchange) -> list[Partition]:
    """Return all partitions of the response (KIP-932)."""
    return [
        Partition(name, topic_id, each["partitionIndex"], returned=each, records=each.get("records"))
        for name, topic_id, each in partitions_in(item, item.response, "responses", "partitions")
    ]


def session_of(request: dict[str, Any]) -> tuple[int, int]:
    """Return the id and epoch of a Fetch request's session."""
    return request.get("sessionId", 0), request.get("sessionEpoch", -1)


# By API: the function that lists the partitions, the columns of each side, and the numbers of the request itself.
Walk = tuple[Callable[[Exchange], list[Partition]], dict[str, int], dict[str, int], Callable[[Any], tuple[int, int]]]
WALKS: dict[int, Walk] = {
    FETCH: (of_fetch, REQUESTED, FETCHED, session_of),
    PRODUCE: (of_produce, {}, PRODUCED, lambda request: (request["acks"], request["timeoutMs"])),
    SHARE_FETCH: (of_share_fetch, {}, {}, lambda _request: (0, -1)),
}


def loaded(item: Exchange) -> tuple[Any, ...] | None:
    """Return the partitions of an exchange in the form that the core's `Partitions.load` needs; None if the exchange
    can't be decoded.
    """
    if item.request is None or (item.response is None and item.response_frame is not None):
        return None
    walk, requested, returned, own = WALKS[item.api_key]
    response = item.response or {}
    hints = {each["nodeId"]: f"{each['host']}:{each['port']}" for each in response.get("nodeEndpoints", ())}
    found = [each.loaded(requested, returned) for each in walk(item)]
    return own(item.request), response.get("errorCode") or 0, hints, found
