"""A producer: batches, idempotence (KIP-98), retries, and leaders found by hints (KIP-951) or by metadata.

async with Producer(client, "orders") as producer:
    await producer.send(key, value)
producer.statistics
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Mapping
from functools import partial
from typing import Any, Self

from kcli.client.calls import call, call_of
from kcli.client.cluster import Client
from kcli.client.handshake import Session
from kcli.client.producing.accumulator import Accumulator, Queue, Waiting
from kcli.client.producing.partitioner import Partitioner
from kcli.client.producing.statistics import Statistics
from kcli.errors import BrokerError, InputError, NetworkError, UsageError
from kcli.records import build_batch
from kcli.schemas.apikeys import INIT_PRODUCER_ID, PRODUCE
from kcli.schemas.errors import error_name, is_retriable

__all__ = ["DISCOVERIES", "Producer"]

# Topics go by name up to here, by id from v13 on.
NEWEST_BY_NAME = 12
MOVED = (6, 74)  # NOT_LEADER_OR_FOLLOWER, FENCED_LEADER_EPOCH
OUT_OF_ORDER, DUPLICATE = 45, 46
ACKS = {"all": -1, "-1": -1, "0": 0, "1": 1}
LEVELS = {"gzip": "compression.gzip.level", "lz4": "compression.lz4.level", "zstd": "compression.zstd.level"}
DISCOVERIES = ("hints", "metadata")


class Producer:
    """Entering it finds the topic's leaders (making the topic where brokers do) and, if idempotent, a producer id.

    discovery: "hints" takes a newer leader from an error and retries at once; "metadata" backs off and asks, as before
    KIP-951. Leaving it sends all that is left; the first error that can't be healed is raised there or by `send`.
    """

    def __init__(self, client: Client, topic: str, *, discovery: str = "hints") -> None:
        config = client.config
        self.client, self.topic, self.discovery = client, topic, discovery
        self.acks = ACKS[config["acks"]]
        self.idempotent = is_idempotent(client)
        self.statistics = Statistics()
        self.partitioner = Partitioner(1, config["batch.size"])
        in_flight = config["max.in.flight.requests.per.connection"]
        self.accumulator = Accumulator(
            config["batch.size"], config.seconds("linger.ms"), in_flight, idempotent=self.idempotent
        )
        self.max_in_flight = in_flight
        self.buffer = config["buffer.memory"]
        self.delivery = config.seconds("delivery.timeout.ms")
        self.error: NetworkError | None = None
        self._id = (-1, -1)
        self._loop = asyncio.get_running_loop()
        self._wake, self._room = asyncio.Event(), asyncio.Event()
        self._under_way: dict[int, int] = {}
        self._opening: dict[int, asyncio.Task[None]] = {}
        self._sessions: dict[int, Session] = {}
        self._refreshing: asyncio.Task[None] | None = None
        self._sender: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        await self.client.describe_topic(self.topic, create=True)
        self.partitioner = Partitioner(
            self.client.metadata.topics[self.topic].partitions, self.client.config["batch.size"]
        )
        if self.idempotent:
            await self.client.retrying(self._init_producer_id)
        self._sender = asyncio.create_task(self._run())
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                await self.flush()
        finally:
            tasks = [task for task in (self._sender, self._refreshing, *self._opening.values()) if task]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _init_producer_id(self) -> None:
        body = {"transactionalId": None, "transactionTimeoutMs": 60_000, "producerId": -1, "producerEpoch": -1}
        answer = await self.client.call(INIT_PRODUCER_ID, body)
        code = answer["errorCode"]
        if code:
            raise BrokerError(code, error_name(code), "no producer id")
        self._id = answer["producerId"], answer["producerEpoch"]

    # --- records in

    async def send(self, key: bytes | None, value: bytes | None, partition: int | None = None) -> None:
        """Hand over a record; waits while `buffer.memory` is full, raises what made the producer give up."""
        if self.error is not None:
            raise self.error
        if self.accumulator.bytes >= self.buffer:
            await self._wait_for_room()
        if len(key or b"") + len(value or b"") > self.client.config["max.request.size"]:
            size = len(key or b"") + len(value or b"")
            raise InputError(f"a record of {size} bytes is more than max.request.size")
        index = self.partitioner.choose(key) if partition is None else partition
        ns = time.perf_counter_ns()
        row = (time.time_ns() // 1_000_000, key, value, ())
        began, full = self.accumulator.append((self.topic, index), row, ns, self._loop.time())
        if key is None and partition is None:
            self.partitioner.turn() if full else self.partitioner.given(len(value or b""))
        if began or full:
            self._wake.set()
        if full:
            # Let the batch go, and with acks=0 wait here while the brokers take nothing more.
            await asyncio.sleep(0)
            for session in self._sessions.values() if self.acks == 0 else ():
                await session.connection.drain()

    async def _wait_for_room(self) -> None:
        seconds = self.client.config.seconds("max.block.ms")
        try:
            async with asyncio.timeout(seconds):
                while self.accumulator.bytes >= self.buffer and self.error is None:
                    self._room.clear()
                    self._wake.set()
                    await self._room.wait()
        except TimeoutError:
            raise NetworkError(f"buffer.memory stayed full for {seconds:g} s (max.block.ms)") from None
        if self.error is not None:
            raise self.error

    async def flush(self) -> None:
        """Send all that waits and await its answers."""
        self.accumulator.flushing = True
        while not self.accumulator.is_empty and self.error is None:
            self._room.clear()
            self._wake.set()
            await self._room.wait()
        self.accumulator.flushing = False
        if self.error is not None:
            raise self.error

    # --- batches out

    async def _run(self) -> None:
        while self.error is None:
            self._wake.clear()
            try:
                wait = self._send_ready()
            except Exception as error:  # a bug, or a record that can't be encoded: end instead of hanging
                self._give_up(error if isinstance(error, NetworkError) else NetworkError(f"produce: {error}"))
                raise
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await self._wake.wait()

    def _send_ready(self) -> float | None:
        """Send what may go; seconds until time lets more go."""
        now = self._loop.time()
        if self.client.is_stale():
            self._refresh()
        while by_node := self._take_ready(now):
            for node, batches in by_node.items():
                self._send_batches(node, batches, now)
        return self.accumulator.next_wait(now) or (0.05 if self._opening or self._refreshing else None)

    def _take_ready(self, now: float) -> dict[int, list[Waiting]]:
        """At most one batch of each partition, by leader, where the leader can be written to now."""
        by_node: dict[int, list[Waiting]] = {}
        sizes: dict[int, int] = {}
        for queue in self.accumulator.sendable(now):
            node = self._node_for(queue, now)
            if node is None:
                continue
            size = sizes.get(node, 0) + queue.waiting[0].size
            if node in by_node and size > self.client.config["max.request.size"]:
                continue
            sizes[node] = size
            by_node.setdefault(node, []).append(self.accumulator.take(queue))
        return by_node

    def _node_for(self, queue: Queue, now: float) -> int | None:
        first = queue.waiting[0]
        if now - first.created > self.delivery:
            self._give_up(
                NetworkError(f"{name_of(queue)}: not delivered within {self.delivery:g} s (delivery.timeout.ms)")
            )
            return None
        leader = self.client.leader(*queue.partition)
        if leader is None:
            self._refresh()
            return None
        session = self._sessions.get(leader.node)
        if session is None or session.connection.error is not None:
            self._open(leader.node)
            return None
        return leader.node if self._under_way.get(leader.node, 0) < self.max_in_flight else None

    def _send_batches(self, node: int, batches: list[Waiting], now: float) -> None:
        session = self._sessions[node]
        version = session.versions.best(PRODUCE, low=3, high=NEWEST_BY_NAME)
        data = [{"index": batch.partition[1], "records": self._encode(batch)} for batch in batches]
        for batch in batches:
            self._note_leader(batch, now)
        body = {
            "acks": self.acks,
            "timeoutMs": self.client.config["request.timeout.ms"],
            "topicData": [{"name": self.topic, "partitionData": data}],
        }
        if self.acks == 0:
            self._send_unanswered(session, version, body, batches)
            return
        future = call(session.connection, PRODUCE, version, body)
        self._under_way[node] = self._under_way.get(node, 0) + 1
        future.add_done_callback(partial(self._answered, node, batches))

    def _send_unanswered(self, session: Session, version: int, body: Mapping[str, Any], batches: list[Waiting]) -> None:
        connection = session.connection
        frame = call_of(PRODUCE, version).encode(connection.next_correlation(), connection.config["client.id"], body)
        connection.send_only(frame)
        for batch in batches:
            self._succeed(batch)

    def _encode(self, batch: Waiting) -> bytes:
        if batch.encoded is None:
            config = self.client.config
            codec = config["compression.type"]
            level = config[LEVELS[codec]] if LEVELS.get(codec) in config.set_names else None
            batch.encoded = build_batch(
                batch.rows,
                codec=codec,
                level=level,
                producer_id=self._id[0],
                producer_epoch=self._id[1],
                base_sequence=batch.sequence,
            )
        return batch.encoded

    # --- answers

    def _answered(self, node: int, batches: list[Waiting], future: asyncio.Future[dict[str, Any]]) -> None:
        self._under_way[node] -= 1
        self._wake.set()
        if future.cancelled():
            return
        failure = future.exception()
        if isinstance(failure, NetworkError):
            for batch in batches:
                self._retry(batch)
            self._refresh()
        elif failure is not None:
            self._give_up(NetworkError(f"produce: {failure}"))
        else:
            self._take_response(future.result(), {batch.partition[1]: batch for batch in batches})

    def _take_response(self, response: Mapping[str, Any], batches: dict[int, Waiting]) -> None:
        endpoints = response.get("nodeEndpoints", ())
        for topic in response["responses"]:
            for part in topic["partitionResponses"]:
                self._take_part(batches[part["index"]], part, endpoints)

    def _take_part(self, batch: Waiting, part: Mapping[str, Any], endpoints: Any) -> None:
        code = part["errorCode"]
        if code in (0, DUPLICATE):
            self._succeed(batch)
        elif code in MOVED:
            queue = self.accumulator.queues[batch.partition]
            queue.refused_epoch = max(batch.leader_epoch, -1 if queue.refused_epoch is None else queue.refused_epoch)
            if self.discovery == "hints":
                self.client.metadata.take_hint(*batch.partition, part.get("currentLeader", {}), endpoints)
            at_once = self._leader_is_newer(batch)
            self._retry(batch, at_once=at_once)
            self.statistics.hinted += at_once
            self._refresh()
        elif is_retriable(code) or (code == OUT_OF_ORDER and not self.accumulator.is_first(batch)):
            # Out of order behind a batch that failed: it goes again after that one.
            self._retry(batch, at_once=code == OUT_OF_ORDER)
        else:
            text = part.get("errorMessage") or ""
            where = f"{batch.partition[0]}[{batch.partition[1]}]"
            self._give_up(BrokerError(code, error_name(code), f"{where}: {text}" if text else where))

    def _note_leader(self, batch: Waiting, now: float) -> None:
        """To whom the batch goes; after a move, how long it took to find the new leader."""
        leader = self.client.leader(*batch.partition)
        batch.leader_epoch = -1 if leader is None else leader.epoch
        queue = self.accumulator.queues[batch.partition]
        if queue.refused_epoch is not None and batch.leader_epoch > queue.refused_epoch:
            self.statistics.client_waits.add(round((now - (queue.refused_at or now)) * 1e9))
            queue.refused_epoch = queue.refused_at = None

    def _leader_is_newer(self, batch: Waiting) -> bool:
        """Is a leader known, by a hint or by metadata, that is newer than the one that refused the batch?

        Then there is nothing to wait for; another try at the same leader epoch backs off (KIP-951).
        """
        leader = self.client.leader(*batch.partition)
        return self.discovery == "hints" and leader is not None and leader.epoch > batch.leader_epoch

    def _succeed(self, batch: Waiting) -> None:
        self.accumulator.finish(batch, self._loop.time())
        size = sum(len(row[1] or b"") + len(row[2] or b"") for row in batch.rows)
        self.statistics.add(batch.sent_ns, time.perf_counter_ns(), size)
        self._room.set()

    def _retry(self, batch: Waiting, *, at_once: bool = False) -> None:
        delay = 0.0 if at_once else self.client.retry.delay(batch.attempts)
        if batch.attempts > self.client.config["retries"]:
            self._give_up(NetworkError(f"{batch.partition[0]}[{batch.partition[1]}]: refused {batch.attempts} times"))
        self.statistics.retries += 1
        self.accumulator.retry(batch, self._loop.time(), delay)

    def _give_up(self, error: NetworkError) -> None:
        self.error = self.error or error
        self.statistics.failed = sum(
            len(batch.rows)
            for queue in self.accumulator.queues.values()
            for batch in (*queue.waiting, *queue.in_flight)
        )
        self._room.set()
        self._wake.set()

    # --- leaders

    def _open(self, node: int) -> None:
        if node not in self._opening:
            self._opening[node] = asyncio.create_task(self._open_session(node))

    async def _open_session(self, node: int) -> None:
        try:
            self._sessions[node] = await self.client.session(node)
        except BrokerError as error:
            self._give_up(error)
        except NetworkError:
            self._refresh()
            await asyncio.sleep(self.client.retry.delay(1))
        finally:
            del self._opening[node]
            self._wake.set()

    def _refresh(self) -> None:
        """Ask for metadata in the background, not more often than retry.backoff.ms."""
        if self._refreshing is None:
            self._refreshing = asyncio.create_task(self._refresh_quietly())

    async def _refresh_quietly(self) -> None:
        with contextlib.suppress(NetworkError):
            await self.client.refresh([self.topic])
            for queue in self.accumulator.queues.values():
                if queue.retrying and queue.waiting and self._leader_is_newer(queue.waiting[0]):
                    queue.not_before = 0.0
        self._wake.set()
        await asyncio.sleep(self.client.retry.first)
        self._refreshing = None
        self._wake.set()


def name_of(queue: Queue) -> str:
    return f"{queue.partition[0]}[{queue.partition[1]}]"


def is_idempotent(client: Client) -> bool:
    """As Kafka decides: on unless switched off or made impossible; asked for and impossible is an error."""
    config = client.config
    possible = config["acks"] in ("all", "-1") and config["max.in.flight.requests.per.connection"] <= 5
    asked = "enable.idempotence" in config.set_names and config["enable.idempotence"]
    if asked and not (possible and config["retries"] > 0):
        raise UsageError(
            "enable.idempotence needs acks=all, retries above 0 and max.in.flight.requests.per.connection of at most 5"
        )
    return bool(config["enable.idempotence"] and possible and config["retries"] > 0)
