"""Reads topics of a live cluster as rows of records: up to the present end, or without end.

    async for row in live_rows(client, LiveChoice("orders", last=10), problem): row["offset"], row["value"]

Records of aborted transactions are left out with isolation.level=read_committed.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from kcli.capture.name_choice import is_pattern, matches
from kcli.client.cluster import Client
from kcli.client.consumer import ISOLATION, Consumer
from kcli.client.topics import ask_offsets, is_missing
from kcli.errors import NetworkError
from kcli.records.rows import field_rows
from kcli.records.unfolding import Unfolding
from kcli.schemas.field_codes import OffsetTime
from kcli.sessions.values import Partition

PATIENCE = 10.0  # seconds to wait for a record before the end
FARTHER = 4  # the factor of the next distance, if there are fewer records than offsets

Row = dict[str, Any]
Offsets = Mapping[Partition, int]


@dataclass(frozen=True, slots=True)
class LiveChoice:
    """A choice of live records. topic: a name, a list or a pattern.

    offset: the first one. since: the time (ms) of the first record. last: how many of each partition. follow: continue
    after the present end."""

    topic: str
    partition: int | None = None
    offset: int | None = None
    since: int | None = None
    last: int | None = None
    follow: bool = False
    secrets: bool = False


async def live_rows(client: Client, choice: LiveChoice, problem: Callable[[str], None]) -> AsyncIterator[Row]:
    """Yield records with their topic and partition, in order within a partition. problem: called with texts of
    problems.

    Raises NetworkError if there is no such topic or partition."""
    partitions = await partitions_of(client, choice)
    isolation = ISOLATION[client.config["isolation.level"]]

    async def offsets_at(when: int) -> dict[Partition, int]:
        return await client.retrying(lambda: ask_offsets(client, partitions, when, isolation))

    earliest, ends = await offsets_at(OffsetTime.EARLIEST), await offsets_at(OffsetTime.LATEST)
    reader = LiveReader(client, choice.secrets, problem)
    starts = dict(earliest)
    if choice.offset is not None:
        starts = {key: min(max(choice.offset, first), ends[key]) for key, first in earliest.items()}
    if choice.since is not None:
        found = await offsets_at(choice.since)
        starts = {key: max(start, found[key]) if found[key] >= 0 else ends[key] for key, start in starts.items()}
    if choice.last is not None:
        async for row in reader.last(starts, ends, choice.last):
            yield row
        starts = ends
    async for row in reader.between(starts, None if choice.follow else ends):
        yield row


async def partitions_of(client: Client, choice: LiveChoice) -> list[Partition]:
    """Return the chosen partitions, by topic. Raises NetworkError if there are none."""
    names = [choice.topic]
    if not is_pattern(choice.topic):
        await client.refresh(names)
        if is_missing(client, choice.topic):
            raise NetworkError(f"the cluster has no topic {choice.topic}")
    else:
        known = (await client.refresh(None)).topics
        names = sorted(name for name in known if matches(name, choice.topic))
        if not names:
            raise NetworkError(f"the cluster has no topic like {choice.topic}")
    made: list[Partition] = []
    for name in names:
        await client.describe_topic(name)
        made += [(name, index) for index in range(client.metadata.topics[name].partitions)]
    wanted = [key for key in made if choice.partition in (None, key[1])]
    if not wanted:
        raise NetworkError(f"{', '.join(names)}: no partition {choice.partition}")
    return wanted


class LiveReader:
    """Reads records between offsets."""

    def __init__(self, client: Client, secrets: bool, problem: Callable[[str], None]) -> None:
        self.client, self.secrets, self.problem = client, secrets, problem

    async def between(self, starts: Offsets, ends: Offsets | None) -> AsyncIterator[Row]:
        """Yield the records from `starts` on, below `ends`; without end for None."""
        left = {key: start for key, start in starts.items() if ends is None or start < ends[key]}
        if not left:
            return
        parts = aiter(Consumer(self.client, left))
        while left:
            try:
                async with asyncio.timeout(None if ends is None else PATIENCE):
                    part = await anext(parts)
            except TimeoutError:
                key, start = next(iter(left.items()))
                self.problem(f"{key[0]}[{key[1]}]: no record arrived from offset {start} on in {PATIENCE:g} s")
                return
            key = part.topic, part.partition
            if key not in left:
                continue
            for row in self.rows(key, part.records, part.aborted, left[key]):
                if ends is None or row["offset"] < ends[key]:
                    yield row
            left[key] = part.next_offset
            if ends is not None and left[key] >= ends[key]:
                del left[key]

    async def last(self, starts: Offsets, ends: Offsets, count: int) -> AsyncIterator[Row]:
        """Yield the last records of each partition. If offsets have no records, the read is repeated from farther
        back.
        """
        kept: dict[Partition, deque[Row]] = {}
        distance, waiting = count, dict(starts)
        while waiting:
            begun = {key: max(start, ends[key] - distance) for key, start in waiting.items()}
            kept |= {key: deque(maxlen=count) for key in waiting}
            async for row in self.between(begun, ends):
                if "_control" not in row:
                    kept[row["topic"], row["partition"]].append(row)
            waiting = {key: starts[key] for key in waiting if len(kept[key]) < count and begun[key] > starts[key]}
            distance *= FARTHER
        for rows in kept.values():
            for row in rows:
                yield row

    def rows(self, key: Partition, data: bytes, aborted: Iterable[tuple[int, int]], first: int) -> Iterable[Row]:
        """Yield the records of a fetched field from the offset `first` on, as a batch may begin before it."""
        wrong: list[str] = []
        place = {"topic": key[0], "partition": key[1]}
        seen = {"api": None, "client_id": None, "connection": None, "file": None}
        field = memoryview(data)
        for row in field_rows(field, wrong, aborted=aborted, secrets=self.secrets, unfold=Unfolding(shared=True)):
            if row["offset"] >= first and not row.get("aborted"):
                yield place | row | seen
        for text in wrong:
            self.problem(f"{key[0]}[{key[1]}]: {text}")
