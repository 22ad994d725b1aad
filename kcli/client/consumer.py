"""A consumer that reads partitions without end, in a fetch session with each leader (KIP-227).

    async for part in Consumer(client, {("orders", 0): 17}): part.records, part.next_offset, part.high_watermark

The limits are the configs `fetch.*` and `max.partition.fetch.bytes`, and in the dialect kip-1018
`remote.max.partition.fetch.bytes`. If a leader moves, the consumer follows it, by the leader in the error response
(KIP-951) or by new metadata.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any, NamedTuple

from kcli.client.calls import call
from kcli.client.cluster import Client
from kcli.client.fetch_wire import Limits, request_body, session_response
from kcli.client.handshake import Session
from kcli.client.metadata import MOVED
from kcli.client.offsets import next_offset
from kcli.errors import BrokerError, NetworkError
from kcli.schemas.apikeys import FETCH
from kcli.schemas.errors import error_name, is_retriable
from kcli.schemas.field_codes import Isolation, names_of
from kcli.sessions.client import ClientSession
from kcli.sessions.fetch_exchange import SESSIONS_SINCE, TOPIC_IDS_SINCE, FetchExchange
from kcli.sessions.values import FetchRequest, Partition, Position

REMOTE_DIALECT = "kip-1018"
# By the value of isolation.level.
ISOLATION = {name.lower(): level for level, name in names_of(Isolation).items()}


class Fetched(NamedTuple):
    """The part of a Fetch response for one partition. records: batches, of which the last one may be cut off.
    aborted: (first offset, producer id) of aborted transactions in the records, with isolation.level=read_committed."""

    topic: str
    partition: int
    records: bytes
    next_offset: int
    high_watermark: int
    aborted: tuple[tuple[int, int], ...] = ()


class Consumer:
    """Yields `Fetched` without end. positions: the first offsets by (topic name, partition). Raises NetworkError."""

    def __init__(self, client: Client, positions: Mapping[Partition, int]) -> None:
        self.client, self.positions = client, dict(positions)
        config = client.config
        self.part_bytes: int = config["max.partition.fetch.bytes"]
        remote = config["remote.max.partition.fetch.bytes"]
        self.limits = Limits(
            config["fetch.max.wait.ms"],
            config["fetch.min.bytes"],
            config["fetch.max.bytes"],
            ISOLATION[config["isolation.level"]],
            config["client.rack"],
        )
        # KIP-1018: the default for remote partitions is the limit of all partitions.
        self.remote_bytes: int = self.part_bytes if remote is None else remote
        self._ready: asyncio.Queue[list[Fetched] | Exception] = asyncio.Queue(maxsize=2)
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._homes: dict[Partition, int] = {}

    async def __aiter__(self) -> AsyncIterator[Fetched]:
        try:
            await self._place(self.positions)
            while True:
                parts = await self._ready.get()
                if isinstance(parts, Exception):
                    raise parts
                for part in parts:
                    yield part
        finally:
            for task in self._tasks.values():
                task.cancel()
            await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def _place(self, partitions: Mapping[Partition, int] | list[Partition]) -> None:
        """Find the partitions' leaders, and start a task for each leader without one."""
        missing = {topic for topic, index in partitions if self.client.leader(topic, index) is None}
        for topic in missing:
            await self.client.describe_topic(topic)
        for topic, index in partitions:
            leader = self._homes[topic, index] = self.client.known_leader(topic, index)
            if leader not in self._tasks:
                self._tasks[leader] = asyncio.create_task(self._fetch_from(leader))

    async def _fetch_from(self, node: int) -> None:
        session = ClientSession()
        failures = 0
        while True:
            try:
                await self._fetch_once(node, session)
                failures = 0
            except NetworkError as error:
                failures += 1
                if (isinstance(error, BrokerError) and not is_retriable(error.code)) or failures > 10:
                    await self._ready.put(error)
                    return
                await asyncio.sleep(self.client.retry.delay(failures))
                await self.client.refresh({topic for topic, _ in self.positions})
                await self._place([key for key, home in self._homes.items() if home == node])
            except Exception as error:  # noqa: BLE001  handed to who reads
                await self._ready.put(error)
                return

    async def _fetch_once(self, node: int, session: ClientSession) -> None:
        """Send one fetch to a node, in a session if the version has sessions, and queue the records of the response.
        After an error of the session the next call begins a new one. Raises NetworkError.
        """
        if self.client.is_stale():
            self.client.refresh_soon({topic for topic, _ in self.positions})
        link = await self.client.session(node)
        version = link.versions.best(FETCH, low=4)
        keys = {self._wire_key(key, version): key for key, home in self._homes.items() if home == node}
        for live in [live for live in session.partitions if live not in keys]:
            session.forget(live)
        for live, key in keys.items():
            session.want(live, Position(self.positions[key], -1, self.part_bytes))
        in_session = version >= SESSIONS_SINCE
        request = session.build(topic_ids=version >= TOPIC_IDS_SINCE)
        if not in_session:
            session.lose(request)
            request = FetchRequest(0, -1, dict(session.partitions), topic_ids=False)
        body = request_body(request, version, self.limits_for(link))
        try:
            response = await call(link.connection, FETCH, version, body, dialect=link.dialect)
        except NetworkError:
            session.lose(request)
            raise
        if in_session:
            x = FetchExchange("", "", {"requestApiVersion": version, "correlationId": 0}, 0, 0).read(body, response)
            if not session.accept(request, session_response(x)).usable:
                return
        await self._take(response, keys)

    def limits_for(self, link: Session) -> Limits:
        """Return the limits of fetches from this broker; for remote partitions only in the dialect kip-1018."""
        return self.limits._replace(remote_bytes=self.remote_bytes if link.dialect == REMOTE_DIALECT else None)

    def _wire_key(self, key: Partition, version: int) -> Partition:
        if version < TOPIC_IDS_SINCE:
            return key
        return self.client.known_id(key[0], version), key[1]

    async def _take(self, response: Mapping[str, Any], keys: Mapping[Partition, Partition]) -> None:
        """Queue the records of a response, and move partitions whose leaders have moved to their new ones. Raises
        BrokerError for any other error.
        """
        parts: list[Fetched] = []
        moved: list[Partition] = []
        named = ((topic.get("topicId") or topic.get("topic"), topic["partitions"]) for topic in response["responses"])
        for key, part in ((keys[name, part["partitionIndex"]], part) for name, found in named for part in found):
            code = part["errorCode"]
            if code in MOVED:
                endpoints = response.get("nodeEndpoints", ())
                if not self.client.metadata.take_hint(*key, part.get("currentLeader", {}), endpoints):
                    raise BrokerError(code, error_name(code), f"{key[0]}[{key[1]}]")
                moved.append(key)
            elif code:
                raise BrokerError(code, error_name(code), f"{key[0]}[{key[1]}] at {self.positions[key]}")
            elif part["records"]:
                parts.append(self._fetched(key, part))
        if moved:
            self.client.refresh_soon({topic for topic, _ in moved})
            await self._place(moved)
        if parts:
            await self._ready.put(parts)

    def _fetched(self, key: Partition, part: Mapping[str, Any]) -> Fetched:
        """Return the records of a partition's row, and move its position after them."""
        after = self.positions[key] = next_offset(part["records"], self.positions[key])
        ended = part.get("abortedTransactions") or ()
        aborted = tuple(sorted((each["firstOffset"], each["producerId"]) for each in ended))
        return Fetched(*key, part["records"], after, part["highWatermark"], aborted)
