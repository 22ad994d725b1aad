"""Sends a producer's batches to the leaders of their partitions, and processes the responses (KIP-98, KIP-951)."""

import asyncio
import contextlib
import time
from collections.abc import Mapping
from functools import partial
from typing import Any

from kcli.client.calls import call, call_of
from kcli.client.cluster import Client
from kcli.client.handshake import Session
from kcli.client.metadata import MOVED
from kcli.client.producing.accumulator import Accumulator, Queue, Waiting
from kcli.client.producing.leaders import Leaders
from kcli.client.producing.statistics import Statistics
from kcli.errors import BrokerError, NetworkError
from kcli.records import build_batch
from kcli.schemas.apikeys import PRODUCE
from kcli.schemas.errors import error_code, error_name, is_retriable

# The last version with topic names; from v13 on it has topic ids.
NEWEST_BY_NAME = 12
OUT_OF_ORDER, DUPLICATE = error_code("OUT_OF_ORDER_SEQUENCE_NUMBER"), error_code("DUPLICATE_SEQUENCE_NUMBER")
ACKS = {"all": -1, "-1": -1, "0": 0, "1": 1}
LEVELS = {"gzip": "compression.gzip.level", "lz4": "compression.lz4.level", "zstd": "compression.zstd.level"}


class Sender:
    """Sends the batches of one topic. wake: set by callers when there may be a batch to send; room: set when a response
    frees memory, or the sender gives up.

    error: why it gave up; None while it sends. producer_id: id and epoch, -1 each if the producer is not idempotent;
    discovery: see `Producer`.
    """

    def __init__(self, client: Client, topic: str, accumulator: Accumulator, discovery: str) -> None:
        self.client, self.topic, self.accumulator, self.discovery = client, topic, accumulator, discovery
        self.acks = ACKS[client.config["acks"]]
        self.max_in_flight = client.config["max.in.flight.requests.per.connection"]
        self.delivery = client.config.seconds("delivery.timeout.ms")
        self.statistics = Statistics()
        self.error: NetworkError | None = None
        self.producer_id = (-1, -1)
        self.wake, self.room = asyncio.Event(), asyncio.Event()
        self.leaders = Leaders(client, topic, refreshed=self._hasten_moved, changed=self.wake.set, fail=self.give_up)
        self._loop = asyncio.get_running_loop()
        self._in_flight: dict[int, int] = {}  # requests without an answer, by node

    async def run(self) -> None:
        """Send batches when they are due, until the sender gives up or is cancelled."""
        while self.error is None:
            self.wake.clear()
            try:
                wait = self._send_ready()
            except Exception as error:  # a bug, or a record that can't be encoded: end instead of hanging
                self.give_up(error if isinstance(error, NetworkError) else NetworkError(f"produce: {error}"))
                raise
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await self.wake.wait()

    def _send_ready(self) -> float | None:
        """Send the batches that may be sent. Returns the seconds until the next one may be, None if no time decides
        that.
        """
        now = self._loop.time()
        if self.client.is_stale():
            self.leaders.refresh()
        while by_node := self._take_ready(now):
            for node, batches in by_node.items():
                self._send_batches(node, batches, now)
        return self.accumulator.next_wait(now) or (0.05 if self.leaders.is_busy else None)

    def _take_ready(self, now: float) -> dict[int, list[Waiting]]:
        """Take at most one batch of each partition, up to max.request.size a leader, for leaders with an open
        connection.
        """
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
            self.give_up(
                NetworkError(f"{name_of(queue)}: not delivered within {self.delivery:g} s (delivery.timeout.ms)")
            )
            return None
        node = self.leaders.node_of(*queue.partition)
        return node if node is not None and self._in_flight.get(node, 0) < self.max_in_flight else None

    def _send_batches(self, node: int, batches: list[Waiting], now: float) -> None:
        session = self.leaders.sessions[node]
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
        self._in_flight[node] = self._in_flight.get(node, 0) + 1
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
                producer_id=self.producer_id[0],
                producer_epoch=self.producer_id[1],
                base_sequence=batch.sequence,
            )
        return batch.encoded

    # --- answers

    def _answered(self, node: int, batches: list[Waiting], future: asyncio.Future[dict[str, Any]]) -> None:
        self._in_flight[node] -= 1
        self.wake.set()
        if future.cancelled():
            return
        failure = future.exception()
        if isinstance(failure, NetworkError):
            for batch in batches:
                self._retry(batch)
            self.leaders.refresh()
        elif failure is not None:
            self.give_up(NetworkError(f"produce: {failure}"))
        else:
            self._take_response(future.result(), {batch.partition[1]: batch for batch in batches})

    def _take_response(self, response: Mapping[str, Any], batches: dict[int, Waiting]) -> None:
        endpoints = response.get("nodeEndpoints", ())
        for topic in response["responses"]:
            for part in topic["partitionResponses"]:
                self._take_part(batches[part["index"]], part, endpoints)

    def _take_part(self, batch: Waiting, part: Mapping[str, Any], endpoints: Any) -> None:
        """Process the response for a batch: it is finished, sent again (at once if a newer leader is known), or given
        up.
        """
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
            self.leaders.refresh()
        elif is_retriable(code) or (code == OUT_OF_ORDER and not self.accumulator.is_first(batch)):
            # Out of order because an earlier batch failed: send it again after that one.
            self._retry(batch, at_once=code == OUT_OF_ORDER)
        else:
            text = part.get("errorMessage") or ""
            where = f"{batch.partition[0]}[{batch.partition[1]}]"
            self.give_up(BrokerError(code, error_name(code), f"{where}: {text}" if text else where))

    def _note_leader(self, batch: Waiting, now: float) -> None:
        """Set the leader epoch to which a batch is sent; after a move count the time that it took to find the
        leader.
        """
        leader = self.client.leader(*batch.partition)
        batch.leader_epoch = -1 if leader is None else leader.epoch
        queue = self.accumulator.queues[batch.partition]
        if queue.refused_epoch is not None and batch.leader_epoch > queue.refused_epoch:
            self.statistics.client_waits.add(round((now - (queue.refused_at or now)) * 1e9))
            queue.refused_epoch = queue.refused_at = None

    def _leader_is_newer(self, batch: Waiting) -> bool:
        """Return whether the metadata has a newer leader than the one that refused the batch.

        Then the batch is sent again at once; another attempt at the same leader epoch backs off (KIP-951).
        """
        leader = self.client.leader(*batch.partition)
        return self.discovery == "hints" and leader is not None and leader.epoch > batch.leader_epoch

    def _succeed(self, batch: Waiting) -> None:
        self.accumulator.finish(batch, self._loop.time())
        size = sum(len(row[1] or b"") + len(row[2] or b"") for row in batch.rows)
        self.statistics.add(batch.sent_ns, time.perf_counter_ns(), size)
        self.room.set()

    def _retry(self, batch: Waiting, *, at_once: bool = False) -> None:
        delay = 0.0 if at_once else self.client.retry.delay(batch.attempts)
        if batch.attempts > self.client.config["retries"]:
            self.give_up(NetworkError(f"{batch.partition[0]}[{batch.partition[1]}]: refused {batch.attempts} times"))
        self.statistics.retries += 1
        self.accumulator.retry(batch, self._loop.time(), delay)

    def give_up(self, error: NetworkError) -> None:
        """Stop sending. The first error is kept, and unacknowledged records count as failed."""
        self.error = self.error or error
        self.statistics.failed = sum(
            len(batch.rows)
            for queue in self.accumulator.queues.values()
            for batch in (*queue.waiting, *queue.in_flight)
        )
        self.room.set()
        self.wake.set()

    def _hasten_moved(self) -> None:
        """Send waiting retries at once if the metadata has a newer leader."""
        for queue in self.accumulator.queues.values():
            if queue.retrying and queue.waiting and self._leader_is_newer(queue.waiting[0]):
                queue.not_before = 0.0


def name_of(queue: Queue) -> str:
    return f"{queue.partition[0]}[{queue.partition[1]}]"
