"""Fetch v0-v18 (KIP-74, KIP-227 sessions, KIP-320 epochs, KIP-516 topic ids, KIP-595 divergence, KIP-951 hints).

* Sessions from v7 on (`kcli.sessions`); topics go by id from v13 on. A fetch in a session looks only at what moved.
* The answer waits until there are min_bytes, an error, a divergence, or max_wait_ms are over; a fetch of nothing
  does not wait. While it waits nothing runs: what is written wakes it (`waiting`).
* Records are slices of segment files (`splicing`), in the magic in which they were produced.
* v0-v2: the response ends in the middle of a batch where max_bytes says so, and there is no limit of the whole.
* The draft of KIP-227 (dialect kip-227-draft): v7 is its full fetch, answered by `incremental_fetch`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Mapping
from typing import Any

from kcli.broker.calls import Answer, Call, Spliced
from kcli.broker.leaders import Hints
from kcli.broker.reading import Limits, Read, Reader
from kcli.broker.splicing import INLINE, MARK, splice
from kcli.broker.storage.segment import Slice
from kcli.broker.topics import Key
from kcli.broker.waiting import Watch
from kcli.sessions.broker import Fetch
from kcli.sessions.rules import EPOCH_MISMATCH, FINAL_EPOCH, ID_NOT_FOUND, NO_SESSION, TOPIC_ID_MISMATCH
from kcli.sessions.values import FetchRequest, FetchResponse, Position, Result

WHOLE_FIRST_SINCE, SESSIONS_SINCE, TOPIC_IDS_SINCE = 3, 7, 13
NO_LIMIT = (1 << 31) - 1
SESSION_ERRORS = frozenset([EPOCH_MISMATCH, ID_NOT_FOUND, TOPIC_ID_MISMATCH])


def handle(call: Call) -> Answer | Awaitable[Answer]:
    if code := call.fault(among=SESSION_ERRORS):
        return {"errorCode": code, "responses": []}
    fetch = call.node.sessions.begin(request_of(call), call.broker.now())
    if fetch.error:
        return {"errorCode": fetch.error, "responses": []}
    work = Work(call, fetch)
    work.look()
    return work.answer() if work.is_done() else work.wait()


def request_of(call: Call) -> FetchRequest:
    """The request as far as sessions go."""
    body = call.body
    by_id = call.version >= TOPIC_IDS_SINCE
    field = "topicId" if by_id else "topic"
    return FetchRequest(
        body.get("sessionId", NO_SESSION),
        body.get("sessionEpoch", FINAL_EPOCH),
        positions(body["topics"], field),
        tuple((each[field], index) for each in body.get("forgottenTopicsData", ()) for index in each["partitions"]),
        by_id,
        replica_of(body),
    )


def replica_of(body: Mapping[str, Any]) -> int:
    state = body.get("replicaState")
    replica: int = state["replicaId"] if state else body.get("replicaId", -1)
    return replica


def positions(topics: Iterable[Mapping[str, Any]], field: str) -> dict[Key, Position]:
    made: dict[Key, Position] = {}
    for topic in topics:
        name = topic[field]
        for each in topic["partitions"]:
            get = each.get
            made[name, each["partition"]] = Position(
                each["fetchOffset"],
                get("logStartOffset", -1),
                each["partitionMaxBytes"],
                get("currentLeaderEpoch", -1),
                get("lastFetchedEpoch", -1),
            )
    return made


class Work:
    """One fetch on its way to an answer."""

    def __init__(self, call: Call, fetch: Fetch) -> None:
        self.call, self.fetch = call, fetch
        body = call.body
        most = call.broker.configs.int("fetch.max.bytes")
        wanted = body.get("maxBytes", NO_LIMIT)
        whole_first = call.version >= WHOLE_FIRST_SINCE
        self.limits = Limits(
            min(wanted, most) if whole_first else NO_LIMIT, whole_first, body.get("isolationLevel") == 1
        )
        self.min_bytes = min(body["minBytes"], most)
        self.reads: dict[Key, Read] = {}
        self.bytes = 0

    def look(self) -> None:
        """Read what may have something to tell."""
        by_id = self.fetch.request.topic_ids
        reader = Reader(self.call.broker.topics, self.call.node.id, by_id, self.limits)
        self.reads = reader.read_all(self.fetch.candidates())
        if self.call.broker.faults.rules:
            self.add_faults()
        self.bytes = reader.bytes

    def add_faults(self) -> None:
        for key, read in self.reads.items():
            topic = self.call.broker.topics.get(key[0])
            if topic is not None and (code := self.call.fault(topic.name, key[1])):
                self.reads[key] = Read(Result(error=code), partition=read.partition)

    def is_done(self) -> bool:
        if (
            self.bytes >= self.min_bytes
            or self.call.body["maxWaitMs"] <= 0
            or self.call.connection.half_closed.is_set()
        ):
            return True
        session = self.fetch.session
        if not (session.partitions if session is not None else self.fetch.request.partitions):
            return True
        return any(read.result.error or read.result.diverging for read in self.reads.values())

    async def wait(self) -> Answer:
        """Look again whenever enough was written, until it is done or its time is up."""
        node = self.call.node
        loop = node.loop
        until = loop.time() + self.call.body["maxWaitMs"] / 1000
        session = self.fetch.session
        keys = [session.id] if session is not None else list(self.fetch.request.partitions)
        while not self.is_done() and loop.time() < until:
            watch = Watch(keys, self.min_bytes - self.bytes)
            node.watches.add(watch)
            self.call.connection.on_half_closed(watch.woken)
            try:
                async with asyncio.timeout_at(until):
                    await watch.woken.wait()
            except TimeoutError:
                pass
            finally:
                node.watches.remove(watch)
            self.look()
        return self.answer()

    def answer(self) -> Spliced | dict[str, Any]:
        results = {key: read.result for key, read in self.reads.items()}
        response = self.fetch.answer(results, self.call.broker.now())
        return encode(self.call, response, self.reads)


def encode(call: Call, response: FetchResponse, reads: Mapping[Key, Read]) -> Spliced | dict[str, Any]:
    """The response's body, records spliced in."""
    hints = Hints(call)
    rows = Rows(call.version, hints, call.body.get("isolationLevel") == 1)
    for key in response.partitions:
        rows.add(key, reads[key])
    body: dict[str, Any] = {"responses": rows.topics}
    if call.version >= SESSIONS_SINCE:
        body |= {"errorCode": response.error, "sessionId": response.session_id}
    body |= hints.endpoints()
    encoded = call.route.response.write(body)
    if not rows.slices and len(encoded) < INLINE:
        return Spliced([encoded])
    return splice(encoded, rows.slices, call.route.flexible)


class Rows:
    """Rows by topic, neighbours of one topic together; `slices` are what the marks among them stand for."""

    def __init__(self, version: int, hints: Hints, committed: bool) -> None:
        self.version, self.hints, self.committed = version, hints, committed
        self.field = "topicId" if version >= TOPIC_IDS_SINCE else "topic"
        self.topics: list[dict[str, Any]] = []
        self.slices: list[Slice] = []

    def add(self, key: Key, read: Read) -> None:
        if not self.topics or self.topics[-1][self.field] != key[0]:
            self.topics.append({self.field: key[0], "partitions": []})
        self.topics[-1]["partitions"].append(self.row(key[1], read))

    def row(self, index: int, read: Read) -> dict[str, Any]:
        result, version = read.result, self.version
        row: dict[str, Any] = {
            "partitionIndex": index,
            "errorCode": result.error,
            "highWatermark": result.high_watermark,
            "records": self.records(read.records),
        }
        if version >= 4:
            row["lastStableOffset"] = result.last_stable_offset
            row["abortedTransactions"] = (
                [{"producerId": each.producer_id, "firstOffset": each.first_offset} for each in read.aborted]
                if self.committed
                else None
            )
        if version >= 5:
            row["logStartOffset"] = result.log_start_offset
        if version >= 12 and read.diverging is not None:
            row["divergingEpoch"] = {"epoch": read.diverging[0], "endOffset": read.diverging[1]}
        if result.error and read.partition is not None:
            row |= self.hints.about(read.partition, result.error)
        return row

    def records(self, found: Slice | None) -> bytes:
        if found is None:
            return b""
        if found.size <= INLINE:
            return found.read()
        self.slices.append(found)
        return MARK
