"""The records fields of captured exchanges: what Produce sent, and what Fetch and ShareFetch brought."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from kcli.capture.events import Exchange
from kcli.grammar.topics import NAME_FIELDS, TOPIC_NAME
from kcli.schemas.apikeys import FETCH, PRODUCE, SHARE_FETCH
from kcli.schemas.secrets import METADATA_ID
from kcli.topic_names import CLUSTER_METADATA

__all__ = ["WITH_RECORDS", "RecordField", "record_fields"]

Row = dict[str, Any]


class RecordField(NamedTuple):
    """One partition's records in an exchange.

    topic: its name; its id where the capture never names it. base_offset: of a Produce, where the broker put the first
    record; None where the answer does not say. append_time: ms, that the broker gave to all of them; None: it did not.
    aborted: of a Fetch, the first offsets of transactions that were aborted, by producer id.
    """

    topic: str
    partition: int
    data: memoryview
    base_offset: int | None = None
    append_time: int | None = None
    aborted: tuple[tuple[int, int], ...] = ()


def record_fields(exchange: Exchange) -> Iterator[RecordField]:
    """Those of an exchange that hold something; none of an API without records, or of a body that can't be decoded."""
    made = WITH_RECORDS.get(exchange.api_key)
    if made is not None:
        yield from made(exchange)


def of_produce(exchange: Exchange) -> Iterator[RecordField]:
    answers = {
        (topic, partition["index"]): partition
        for topic, partition in partitions(exchange.response, "responses", "partitionResponses")
    }
    for topic, partition in partitions(exchange.request, "topicData", "partitionData"):
        if data := partition.get("records"):
            answer = answers.get((topic, partition["index"]), {})
            stored = not answer.get("errorCode", -1) and answer.get("baseOffset", -1) >= 0
            time = answer.get("logAppendTimeMs", -1)
            yield RecordField(
                topic,
                partition["index"],
                memoryview(data),
                answer["baseOffset"] if stored else None,
                time if stored and time >= 0 else None,
            )


def of_fetch(exchange: Exchange) -> Iterator[RecordField]:
    for topic, partition in partitions(exchange.response, "responses", "partitions"):
        if data := partition.get("records"):
            aborted = partition.get("abortedTransactions") or ()
            firsts = sorted((each["firstOffset"], each["producerId"]) for each in aborted)
            yield RecordField(topic, partition["partitionIndex"], memoryview(data), aborted=tuple(firsts))


def partitions(body: Mapping[str, Any] | None, topics: str, inside: str) -> Iterator[tuple[str, Row]]:
    """(topic, partition's value) of a message."""
    for topic in (body or {}).get(topics) or ():
        names = (topic.get(field) for field in (*NAME_FIELDS, TOPIC_NAME, "topicId"))
        name = next((name for name in names if name), "")
        name = CLUSTER_METADATA if name == METADATA_ID else name
        for partition in topic.get(inside) or ():
            yield name, partition


WITH_RECORDS: Mapping[int, Callable[[Exchange], Iterator[RecordField]]] = {
    PRODUCE: of_produce,
    FETCH: of_fetch,
    SHARE_FETCH: of_fetch,
}
