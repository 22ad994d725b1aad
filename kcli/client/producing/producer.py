"""A producer with batches, idempotence (KIP-98) and retries. New leaders are found by hints (KIP-951) or metadata.

async with Producer(client, "orders") as producer:
    await producer.send(key, value)
producer.statistics
"""

import asyncio
import time
from typing import Self

from kcli.client.cluster import Client
from kcli.client.producing.accumulator import Accumulator, Headers
from kcli.client.producing.partitioner import Partitioner
from kcli.client.producing.sender import Sender
from kcli.client.producing.statistics import Statistics
from kcli.errors import BrokerError, InputError, NetworkError, UsageError
from kcli.schemas.apikeys import INIT_PRODUCER_ID
from kcli.schemas.errors import error_name

DISCOVERIES = ("hints", "metadata")


class Producer:
    """A producer for one topic. Entering it fetches the topic's leaders, which may create the topic, and a producer id.

    discovery: "hints" uses the new leader in an error response and retries at once; "metadata" backs off and fetches
    metadata, as before KIP-951. Leaving it sends all records. The first permanent error is raised there or by `send`.
    """

    def __init__(self, client: Client, topic: str, *, discovery: str = "hints") -> None:
        config = client.config
        self.client, self.topic = client, topic
        self.idempotent = is_idempotent(client)
        self.partitioner = Partitioner(1, config["batch.size"])
        in_flight = config["max.in.flight.requests.per.connection"]
        self.accumulator = Accumulator(
            config["batch.size"], config.seconds("linger.ms"), in_flight, idempotent=self.idempotent
        )
        self.sender = Sender(client, topic, self.accumulator, discovery)
        self.buffer = config["buffer.memory"]
        self._loop = asyncio.get_running_loop()
        self._sending: asyncio.Task[None] | None = None

    @property
    def statistics(self) -> Statistics:
        """The counts of sent and acknowledged records so far."""
        return self.sender.statistics

    async def __aenter__(self) -> Self:
        await self.client.describe_topic(self.topic, create=True)
        self.partitioner = Partitioner(
            self.client.metadata.topics[self.topic].partitions, self.client.config["batch.size"]
        )
        if self.idempotent:
            await self.client.retrying(self._init_producer_id)
        self._sending = asyncio.create_task(self.sender.run())
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                await self.flush()
        finally:
            if self._sending is not None:
                self._sending.cancel()
                await asyncio.gather(self._sending, return_exceptions=True)
            await self.sender.leaders.close()

    async def _init_producer_id(self) -> None:
        body = {"transactionalId": None, "transactionTimeoutMs": 60_000, "producerId": -1, "producerEpoch": -1}
        answer = await self.client.call(INIT_PRODUCER_ID, body)
        code = answer["errorCode"]
        if code:
            raise BrokerError(code, error_name(code), "no producer id")
        self.sender.producer_id = answer["producerId"], answer["producerEpoch"]

    async def send(
        self,
        key: bytes | None,
        value: bytes | None,
        partition: int | None = None,
        *,
        timestamp: int | None = None,
        headers: Headers = (),
    ) -> None:
        """Add a record. timestamp: ms, None for now. It waits while `buffer.memory` is full. Raises the error that
        ended the producer, InputError for a record above max.request.size, and NetworkError after max.block.ms.
        """
        if self.sender.error is not None:
            raise self.sender.error
        if self.accumulator.bytes >= self.buffer:
            await self._wait_for_room()
        if len(key or b"") + len(value or b"") > self.client.config["max.request.size"]:
            size = len(key or b"") + len(value or b"")
            raise InputError(f"a record of {size} bytes is more than max.request.size")
        index = self.partitioner.choose(key) if partition is None else partition
        ns = time.perf_counter_ns()
        row = (time.time_ns() // 1_000_000 if timestamp is None else timestamp, key, value, headers)
        began, full = self.accumulator.append((self.topic, index), row, ns, self._loop.time())
        if key is None and partition is None:
            self.partitioner.turn() if full else self.partitioner.count_sticky(len(value or b""))
        if began or full:
            self.sender.wake.set()
        if full:
            # Let the batch be sent; with acks=0 wait here until the brokers accept more.
            await asyncio.sleep(0)
            for session in self.sender.leaders.sessions.values() if self.sender.acks == 0 else ():
                await session.connection.drain()

    async def _wait_for_room(self) -> None:
        seconds = self.client.config.seconds("max.block.ms")
        try:
            async with asyncio.timeout(seconds):
                while self.accumulator.bytes >= self.buffer and self.sender.error is None:
                    self.sender.room.clear()
                    self.sender.wake.set()
                    await self.sender.room.wait()
        except TimeoutError:
            raise NetworkError(f"buffer.memory stayed full for {seconds:g} s (max.block.ms)") from None
        if self.sender.error is not None:
            raise self.sender.error

    async def flush(self) -> None:
        """Send all records and wait for their acknowledgements. Raises the error that ended the producer."""
        self.accumulator.flushing = True
        while not self.accumulator.is_empty and self.sender.error is None:
            self.sender.room.clear()
            self.sender.wake.set()
            await self.sender.room.wait()
        self.accumulator.flushing = False
        if self.sender.error is not None:
            raise self.sender.error


def is_idempotent(client: Client) -> bool:
    """Return whether the producer is idempotent, by Kafka's rule: unless it is off or the other configs prevent it.
    Raises UsageError if it was set, and they prevent it.
    """
    config = client.config
    possible = config["acks"] in ("all", "-1") and config["max.in.flight.requests.per.connection"] <= 5
    is_required = "enable.idempotence" in config.set_names and config["enable.idempotence"]
    if is_required and not (possible and config["retries"] > 0):
        raise UsageError(
            "enable.idempotence needs acks=all, retries above 0 and max.in.flight.requests.per.connection of at most 5"
        )
    return bool(config["enable.idempotence"] and possible and config["retries"] > 0)
