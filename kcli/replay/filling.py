"""Fills topics with the records that a capture shows, at their offsets, so that fetches find them.

A client can't write everything. Made-up records replace control records, offsets that compaction has emptied, records
that the capture does not show, and those before them. Producer ids and transactional flags are left out. Only an empty
partition can be filled.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from kcli.broker.rebuilt.capture_history import CaptureHistory
from kcli.broker.rebuilt.captured_topics import SeenPartition
from kcli.broker.rebuilt.record_spans import CutBatch
from kcli.broker.storage.headers import HEADER
from kcli.client.cluster import Client
from kcli.client.producing.sender import NEWEST_BY_NAME
from kcli.client.properties import ClientConfig
from kcli.client.topics import Replicas, create_topics, is_missing, list_offsets
from kcli.core.records.batches import CRC_AT, CRC_START, HEADER_SIZE
from kcli.core.records.crc import crc32c
from kcli.counting import counted
from kcli.errors import BrokerError, DecodeError
from kcli.records.batches import APPEND_TIME, TRANSACTIONAL, Batch, scan
from kcli.records.builder import build_batch
from kcli.records.codecs import CODECS
from kcli.replay.produced_batches import IDEMPOTENT
from kcli.schemas.apikeys import PRODUCE
from kcli.schemas.errors import error_name
from kcli.topic_names import INTERNAL, name_fault

MOST_MADE_UP = 1_000_000  # records of a partition, at most
BATCH = 10_000  # the most records of a made-up batch
LEAST_RECORD = 7  # bytes of a record without key and value, in a short batch
Row = tuple[int, bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]


class FillBatch(NamedTuple):
    """A batch to write. records: their number; made_up: how many of them the capture does not show."""

    data: bytes
    records: int
    made_up: int


@dataclass
class Filled:
    """The outcome of filling topics. left: partitions that were not empty, or would need too many made-up records."""

    partitions: int = 0
    records: int = 0
    made_up: int = 0
    left: int = 0

    def __str__(self) -> str:
        text = f"filled {counted(self.partitions, 'partition')} with {counted(self.records, 'record')}"
        if self.made_up:
            text += f", {self.made_up:,} of them made up: the capture does not show them, or a client can't write them"
        if self.left:
            text += f"; {counted(self.left, 'partition')} left: not empty, or too much to make up"
        return text


async def fill(
    client: Client,
    history: CaptureHistory,
    live_name: Callable[[str], str],
    sizes: Mapping[str, int],
    until: Callable[[str, int], int | None],
    replicas: Replicas = MappingProxyType({}),
) -> Filled:
    """Create the missing topics, and write the captured records of each partition. Raises NetworkError.

    live_name: returns the live name of a captured topic; sizes: {live topic: partitions that it must have}; only these
    are filled; until: returns the offset from which on the capture's own requests write records (of a captured topic
    and index), None if there are none; replicas: of topics that are created, as for `create_topics`
    """
    await client.refresh(sizes)
    missing = {name: size for name, size in sizes.items() if is_missing(client, name) and not name_fault(name)}
    if missing:
        await create_topics(client, missing, replicas)
    for name in missing:
        await client.describe_topic(name)
    done = Filled()
    for seen in history.topics.values():
        name = live_name(seen.name)
        if name not in sizes or name in INTERNAL:
            continue
        for index, partition in seen.partitions.items():
            limit = until(seen.name, index)
            end = partition.end if limit is None else min(limit, partition.end)
            if end > 0 and client.leader(name, index) is not None:
                await fill_partition(client, history, partition, name, index, end, done)
    return done


async def fill_all(
    config: ClientConfig, history: CaptureHistory, live_name: Callable[[str], str], sizes: Mapping[str, int]
) -> Filled:
    """Fill the topics of a cluster with all captured records, and close the history. Raises NetworkError."""
    try:
        async with Client(config) as client:
            return await fill(client, history, live_name, sizes, lambda *_: None)
    finally:
        history.close()


async def fill_partition(
    client: Client, history: CaptureHistory, seen: SeenPartition, name: str, index: int, end: int, done: Filled
) -> None:
    bounds = (await list_offsets(client, [(name, index)]))[name, index]
    end = reachable(seen, end)
    if bounds.latest or not end:
        done.left += 1
        return
    done.partitions += 1
    for piece in pieces(seen, lambda each: history.spool.read(each), end):
        await write(client, name, index, piece.data)
        done.records += piece.records
        done.made_up += piece.made_up


def reachable(seen: SeenPartition, end: int) -> int:
    """Return the offset up to which a partition can be filled, before too many records would have to be made up."""
    at, left = 0, MOST_MADE_UP
    for each in seen.in_order():
        gap = each.first - at
        if each.first >= end or gap > left:
            break
        left -= max(gap, 0)
        at = max(at, each.last + 1)
    return end if at < end <= at + left else min(at, end)


async def write(client: Client, topic: str, index: int, data: bytes) -> None:
    """Write one batch to a partition. Raises NetworkError."""

    async def work() -> None:
        leader = client.known_leader(topic, index)
        parts = [{"index": index, "records": data}]
        body = {"acks": -1, "timeoutMs": 30_000, "topicData": [{"name": topic, "partitionData": parts}]}
        answer = await client.call(PRODUCE, body, node=leader, high=NEWEST_BY_NAME)
        code = answer["responses"][0]["partitionResponses"][0]["errorCode"]
        if code:
            raise BrokerError(code, error_name(code), f"{topic}[{index}] can't be filled")

    await client.retrying(work)


def pieces(seen: SeenPartition, read: Callable[..., bytes], end: int) -> Iterator[FillBatch]:
    """Yield the batches of a partition from offset 0 up to `end`, without a gap. read: returns the bytes of a captured
    batch.
    """
    at = 0
    for each in seen.in_order():
        if each.first >= end:
            break
        if each.first < at:
            continue
        yield from made_up(at, each.first, seen.cut)
        yield writable(read(each), each.first, each.last)
        at = each.last + 1
    yield from made_up(at, end, seen.cut)


def made_up(at: int, end: int, cut: Mapping[int, CutBatch]) -> Iterator[FillBatch]:
    """Yield made-up records for the offsets from `at` to `end`. They are as large as the captured batch there, if only
    its beginning was captured.
    """
    now = round(time.time() * 1000)
    while at < end:
        begun = cut.get(at)
        count = min(end - at, BATCH)
        if begun is not None and at <= begun.last < at + count:
            count = begun.last - at + 1
        size = 0 if begun is None else (begun.size - HEADER_SIZE) // count - LEAST_RECORD
        yield FillBatch(build_batch([(now, None, bytes(max(size, 0)), ())] * count), count, count)
        at += count


def writable(data: bytes, first: int, last: int) -> FillBatch:
    """Return a stored batch in a form that a client may write: a record for each of its offsets, without a producer."""
    batches = list(scan(data, damages=[]))
    if is_plain(batches, first, last):
        return FillBatch(without_producer(data), last - first + 1, 0)
    rows: dict[int, Row] = {}
    try:
        for batch in batches:
            if not batch.is_control:
                rows |= {row.offset: (row.timestamp, row.key, row.value, row.headers) for row in batch.records()}
    except DecodeError:
        rows = {}
    stand_in: Row = (max((row[0] for row in rows.values()), default=-1), None, b"", ())
    codec = CODECS[batches[0].codec] if batches and rows else "none"
    made = [rows.get(offset, stand_in) for offset in range(first, last + 1)]
    return FillBatch(build_batch(made, codec=codec), len(made), len(made) - len(rows))


def is_plain(batches: list[Batch], first: int, last: int) -> bool:
    """Return whether a stored batch is one sound batch of magic 2 with a record for each of its offsets."""
    if len(batches) != 1 or batches[0].magic != 2 or batches[0].is_control or batches[0].delete_horizon is not None:
        return False
    return bool(batches[0].crc_valid) and batches[0].count == last - first + 1


def without_producer(data: bytes) -> bytes:
    """Return a batch of magic 2 from offset 0 on, without producer and transaction, and with its own timestamps."""
    out = bytearray(data)
    head = HEADER.unpack_from(out)[HEADER.names.index("attributes")]
    values = {"baseOffset": 0, "attributes": head & ~(TRANSACTIONAL | APPEND_TIME)}
    for name, value in (values | dict.fromkeys(IDEMPOTENT, -1)).items():
        HEADER.single[name].pack_into(out, HEADER.offsets[name], value)
    out[CRC_AT:CRC_START] = crc32c(memoryview(out)[CRC_START:]).to_bytes(4, "big")
    return bytes(out)
