"""What Fetch, Produce and ShareFetch say of each partition, and the rows that come of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from kcli.capture.kafka.exchange import Exchange
from kcli.capture.kafka.record_fields import partitions_in
from kcli.core.records import batches as core
from kcli.records.batches import Batch
from kcli.schemas.errors import error_name

LAZY_CHUNK = 128 * 1024
MAGIC_2_SINCE, MAGIC_1_SINCE = 4, 2  # Fetch versions that take batches of magic 2 and 1 (KIP-98, KIP-31)
MIB = 1 << 20

Put = Callable[[str, tuple[Any, ...]], None]


@dataclass(slots=True)
class Answer:
    """One partition of an exchange. `asked` and `answered` are its parts of request and response; None: it has none."""

    topic: str | None
    topic_id: str | None
    partition: int
    asked: dict[str, Any] | None = None
    answered: dict[str, Any] | None = None
    records: Any = None
    batches: list[Batch] = field(default_factory=list)

    @property
    def key(self) -> tuple[str | None, int]:
        """What a request and its response name the partition by: topic id or name, and index."""
        return self.topic_id or self.topic, self.partition

    @property
    def error(self) -> int:
        """The partition's error code; 0 without one."""
        return int(self.answered["errorCode"]) if self.answered is not None else 0

    def scan(self) -> None:
        """Read the headers of the batches in `records`."""
        if self.records:
            self.batches = [Batch(memoryview(self.records), frame) for frame in core.frames(self.records)[0]]


def of_fetch(item: Exchange) -> list[Answer]:
    """Every partition asked for, in order, then those answered without."""
    found: dict[tuple[str | None, int], Answer] = {}
    for name, topic_id, each in partitions_in(item, item.request, "topics", "partitions"):
        answer = Answer(name, topic_id, each["partition"], asked=each)
        found[answer.key] = answer
    for name, topic_id, each in partitions_in(item, item.response, "responses", "partitions"):
        key = (topic_id or name, each["partitionIndex"])
        answer = found.get(key) or found.setdefault(key, Answer(name, topic_id, key[1]))
        answer.answered, answer.records = each, each.get("records")
        answer.topic = answer.topic or name
        answer.scan()
    return list(found.values())


def of_produce(item: Exchange) -> list[Answer]:
    """Every partition that was produced to, with its answer where there is one."""
    found: dict[tuple[str | None, int], Answer] = {}
    for name, topic_id, each in partitions_in(item, item.request, "topicData", "partitionData"):
        answer = Answer(name, topic_id, each["index"], asked=each, records=each.get("records"))
        answer.scan()
        found[answer.key] = answer
    for name, topic_id, each in partitions_in(item, item.response, "responses", "partitionResponses"):
        key = (topic_id or name, each["index"])
        if key in found:
            found[key].answered = each
    return list(found.values())


def of_share_fetch(item: Exchange) -> list[Answer]:
    """Every partition that was answered about (KIP-932)."""
    made = []
    for name, topic_id, each in partitions_in(item, item.response, "responses", "partitions"):
        answer = Answer(name, topic_id, each["partitionIndex"], answered=each, records=each.get("records"))
        answer.scan()
        made.append(answer)
    return made


def put_fetch(put: Put, wanted: frozenset[str], item: Exchange, who: tuple[Any, ...], answers: list[Answer]) -> None:
    """Put the rows of one Fetch: `fetch_partitions`, `record_batches`, `down_conversions`, `remote_fetches`."""
    request = item.request or {}
    session = request.get("sessionId", 0), request.get("sessionEpoch", -1)
    if "fetch_partitions" in wanted:
        for answer in answers:
            put("fetch_partitions", (*who, *session, answer.topic, answer.topic_id, answer.partition, *fetched(answer)))
    put_batches(put, wanted, "FETCH", who, answers)
    if item.api_version < MAGIC_2_SINCE:
        put_conversions(put, item.api_version, who, answers)
    for answer in answers:
        row = far_behind(answer)
        if row is not None:
            put("remote_fetches", (*who, answer.topic, answer.topic_id, answer.partition, *row))


def fetched(answer: Answer) -> tuple[Any, ...]:
    asked, answered = answer.asked or {}, answer.answered or {}
    last = answer.batches[-1].last_offset if answer.batches else None
    error = error_name(answer.error) if answer.error else None
    return (
        answer.asked is not None,
        answer.answered is not None,
        asked.get("fetchOffset"),
        asked.get("partitionMaxBytes"),
        error,
        answered.get("highWatermark"),
        answered.get("lastStableOffset"),
        answered.get("logStartOffset"),
        len(answer.records or b"") if answer.answered is not None else None,
        len(answer.batches),
        last,
    )


def put_produce(put: Put, wanted: frozenset[str], item: Exchange, who: tuple[Any, ...], answers: list[Answer]) -> None:
    """Put the rows of one Produce: `produce_partitions`, `record_batches`."""
    request = item.request or {}
    if "produce_partitions" in wanted:
        promised = request["acks"], request["timeoutMs"]
        for answer in answers:
            where = answer.topic, answer.topic_id, answer.partition
            put("produce_partitions", (*who, *promised, *where, *produced(answer)))
    put_batches(put, wanted, "PRODUCE", who, answers)


def produced(answer: Answer) -> tuple[Any, ...]:
    answered = answer.answered or {}
    return (
        answer.answered is not None,
        error_name(answer.error) if answer.error else None,
        answered.get("baseOffset"),
        answered.get("logAppendTimeMs"),
        answered.get("logStartOffset"),
        len(answer.records or b""),
        len(answer.batches),
    )


def put_batches(put: Put, wanted: frozenset[str], api: str, who: tuple[Any, ...], answers: Iterable[Answer]) -> None:
    """Put rows of `record_batches`."""
    if "record_batches" not in wanted:
        return
    for answer in answers:
        for batch in answer.batches:
            put("record_batches", (*who, api, answer.topic, answer.topic_id, answer.partition, *described(batch)))


def described(batch: Batch) -> tuple[Any, ...]:
    return (
        batch.base_offset, batch.last_offset, batch.magic, batch.compression, batch.timestamp_type,
        batch.is_transactional, batch.is_control, batch.partition_leader_epoch, batch.producer_id,
        batch.producer_epoch, batch.base_sequence, batch.base_timestamp, batch.max_timestamp, batch.count,
        batch.size, batch.crc, batch.crc_valid,
    )  # fmt: skip


def put_conversions(put: Put, version: int, who: tuple[Any, ...], answers: Iterable[Answer]) -> None:
    magic = 1 if version >= MAGIC_1_SINCE else 0
    for answer in answers:
        if answer.batches:
            size = len(answer.records)
            lazy = min(size, max(LAZY_CHUNK, answer.batches[0].size))
            row = (magic, len(answer.batches), size, size, lazy)
            put("down_conversions", (*who, answer.topic, answer.topic_id, answer.partition, *row))


def far_behind(answer: Answer) -> tuple[Any, ...] | None:
    """For `remote_fetches`: at least one more answer as big as the request allows lies behind this one."""
    asked, answered = answer.asked, answer.answered
    if asked is None or answered is None or not answer.batches:
        return None
    size, last, start = len(answer.records), answer.batches[-1].last_offset, asked["fetchOffset"]
    behind, limit = answered["highWatermark"] - last - 1, asked["partitionMaxBytes"]
    records = last + 1 - answer.batches[0].base_offset
    if behind <= 0 or records <= 0 or behind * size < limit * records:
        return None
    return start, answered["highWatermark"], behind, limit, size, size / MIB, size / (4 * MIB)
