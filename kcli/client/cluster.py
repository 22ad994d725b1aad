"""A client of a whole cluster: bootstrap, a connection for each broker, metadata, retries."""

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Self, TypeVar

from kcli.client.address import Address, parse_bootstrap
from kcli.client.calls import call
from kcli.client.handshake import Session, connect
from kcli.client.metadata import Leader, MetadataCache
from kcli.client.properties import ClientConfig
from kcli.errors import BrokerError, NetworkError
from kcli.schemas.apikeys import METADATA
from kcli.schemas.errors import error_code, error_name, is_retriable

# The part of a login's lifetime after which the client connects again (KIP-368).
LIFETIME_PART = 0.85

T = TypeVar("T")
JITTER = 0.2


class Client:
    """`async with Client(config) as client`: entering it connects to the first bootstrap broker that answers.

    metadata: of the cluster, as far as it was fetched. In calls the node None means any broker.
    dialect: used with each broker that supports it. notify: called with a line about the first broker that does not.
    """

    def __init__(
        self, config: ClientConfig, dialect: str | None = None, notify: Callable[[str], None] = lambda _: None
    ) -> None:
        self.config, self.dialect, self.notify = config, dialect, notify
        self.metadata = MetadataCache()
        self.bootstrap = parse_bootstrap(config["bootstrap.servers"])
        self.retry: Backoff = retry_backoff(config)
        self._reconnect: Backoff = reconnect_backoff(config)
        self._failures: dict[Address, tuple[int, float]] = {}
        self._sessions: dict[Address, Session] = {}
        self._opening: dict[Address, asyncio.Task[Session]] = {}
        self._ends: dict[Address, float] = {}
        self._refreshed = float("-inf")
        self._background: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        try:
            await self.any_session()
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Cancel connection attempts and background tasks, and close all connections."""
        for task in (*self._opening.values(), *self._background):
            task.cancel()
        sessions, self._sessions = list(self._sessions.values()), {}
        await asyncio.gather(*(each.connection.close() for each in sessions))

    # --- connections

    async def any_session(self) -> Session:
        """Return a connection to any broker: an open one, else to the first known or bootstrap broker that answers.

        Raises NetworkError if none does.
        """
        for address, session in self._sessions.items():
            if session.connection.error is None and not self._is_over(address):
                return session
        failure: NetworkError | None = None
        for address in dict.fromkeys((*self.metadata.nodes.values(), *self.bootstrap)):
            try:
                return await self.session_at(address)
            except NetworkError as error:
                failure = failure or error
        assert failure is not None
        raise failure

    async def session(self, node: int | None = None) -> Session:
        """Return the connection to a broker by its id, None for any. Raises NetworkError also for an unknown id."""
        return await (self.any_session() if node is None else self.session_at(await self.address(node)))

    async def address(self, node: int) -> Address:
        """Return the address of a broker. Raises NetworkError if the cluster has none with this id."""
        if node not in self.metadata.nodes:
            await self.refresh()
        if node not in self.metadata.nodes:
            raise NetworkError(f"the cluster has no broker {node} now (it has {sorted(self.metadata.nodes)})")
        return self.metadata.nodes[node]

    async def session_at(self, address: Address) -> Session:
        """Return the connection to an address; open it if there is none. Callers share one attempt."""
        session = self._sessions.get(address)
        if session is not None and session.connection.error is None and not self._is_over(address):
            return session
        task = self._opening.get(address)
        if task is None:
            task = self._opening[address] = asyncio.ensure_future(self._open(address))
            task.add_done_callback(lambda _: self._opening.pop(address, None))
        return await asyncio.shield(task)

    def _is_over(self, address: Address) -> bool:
        """Return whether a new connection is needed: the login expires soon, or connections.max.idle.ms are over."""
        now = asyncio.get_running_loop().time()
        connection = self._sessions[address].connection
        idle = self.config.seconds("connections.max.idle.ms")
        is_idle = 0 <= idle < now - connection.last_used and not connection.waiting
        return is_idle or now > self._ends.get(address, float("inf"))

    async def _open(self, address: Address) -> Session:
        """Connect to an address, after the backoff of earlier failures, and keep the session. Raises BrokerError for a
        refused login, which causes no backoff, and NetworkError.
        """
        loop = asyncio.get_running_loop()
        failures, last = self._failures.get(address, (0, 0.0))
        if failures:
            await asyncio.sleep(last + self._reconnect.delay(failures) - loop.time())
        try:
            session = await connect(address, self.config, self.dialect)
        except BrokerError:
            raise
        except NetworkError:
            self._failures[address] = (failures + 1, loop.time())
            raise
        self._failures.pop(address, None)
        if session.dialect != self.dialect:
            self._notify_stock(address)
        former = self._sessions.get(address)
        if former is not None and former.connection.error is None and not former.connection.waiting:
            await former.connection.close()
        self._sessions[address] = session
        self._ends.pop(address, None)
        if session.lifetime is not None:
            self._ends[address] = loop.time() + session.lifetime * LIFETIME_PART
        return session

    def _notify_stock(self, address: Address) -> None:
        self.notify(f"broker {address} does not speak the dialect {self.dialect}: Apache Kafka's own messages are sent")
        self.notify = lambda _: None

    # --- calls

    async def call(
        self,
        api_key: int,
        body: Mapping[str, Any],
        *,
        node: int | None = None,
        version: int | None = None,
        high: int = 32_767,
        seconds: float | None = None,
    ) -> dict[str, Any]:
        """Send one request, in `version` or the newest up to `high` that both sides have; return the response's body.

        Raises NetworkError. Error codes in the response are left to the caller.
        """
        session = await self.session(node)
        chosen = session.versions.best(api_key, high=high) if version is None else version
        return await call(session.connection, api_key, chosen, body, dialect=session.dialect, seconds=seconds)

    async def retrying(self, work: Callable[[], Awaitable[T]]) -> T:
        """Call `work` until it succeeds, with backoff, for at most default.api.timeout.ms and `retries` retries.

        It retries after a NetworkError, but after a BrokerError only if its code is retriable. Raises the last error.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + self.config.seconds("default.api.timeout.ms")
        failures = 0
        while True:
            try:
                return await work()
            except NetworkError as error:
                failures += 1
                hopeless = isinstance(error, BrokerError) and not is_retriable(error.code)
                delay = self.retry.delay(failures)
                if hopeless or failures > self.config["retries"] or loop.time() + delay > until:
                    raise
            await asyncio.sleep(delay)

    # --- metadata

    async def refresh(self, topics: Iterable[str] | None = (), *, create: bool = False) -> MetadataCache:
        """Fetch metadata from any broker and return it. topics: () for none, None for all; create: missing topics, if
        allow.auto.create.topics.
        """
        self._refreshed = asyncio.get_running_loop().time()
        session = await self.any_session()
        version = session.versions.best(METADATA)
        names = None if topics is None else [{"name": name} for name in topics]
        if version == 0:
            # In version 0 an empty list means all topics; there is no way to request none.
            names = names or []
        body = {"topics": names, "allowAutoTopicCreation": create and self.config["allow.auto.create.topics"]}
        answer = await call(session.connection, METADATA, version, body, dialect=session.dialect)
        self.metadata.update(answer)
        return self.metadata

    def refresh_soon(self, topics: Iterable[str]) -> None:
        """Refresh metadata of topics in the background, without an error."""
        task = asyncio.ensure_future(self._refresh_quietly(list(topics)))
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def _refresh_quietly(self, topics: list[str]) -> None:
        with contextlib.suppress(NetworkError):
            await self.refresh(topics)

    def is_stale(self) -> bool:
        """Return whether metadata is older than metadata.max.age.ms."""
        return asyncio.get_running_loop().time() - self._refreshed > self.config.seconds("metadata.max.age.ms")

    async def describe_topic(self, name: str, *, create: bool = False) -> None:
        """Fetch metadata of a topic until each partition has a leader. Raises BrokerError if there is no such topic, or
        a leader is missing for too long.
        """

        async def work() -> None:
            await self.refresh([name], create=create)
            topic = self.metadata.topics.get(name)
            code = error_code("UNKNOWN_TOPIC_OR_PARTITION") if topic is None else topic.error
            if not code and topic is not None and len(topic.leaders) < topic.partitions:
                code = error_code("LEADER_NOT_AVAILABLE")
            if code:
                raise BrokerError(code, error_name(code), f"topic {name}")

        await self.retrying(work)

    def leader(self, topic: str, partition: int) -> Leader | None:
        """Return the leader of a partition by the metadata; None if it is unknown."""
        return self.metadata.leader(topic, partition)

    def known_leader(self, topic: str, partition: int) -> int:
        """Return the id of the node that leads a partition. Raises NetworkError if there is none or it is unknown."""
        leader = self.leader(topic, partition)
        if leader is None:
            raise NetworkError(f"{topic}[{partition}] has no leader now")
        return leader.node

    def known_id(self, topic: str, version: int) -> str:
        """Return a topic's id, which a Fetch of that version needs. Raises NetworkError if it is unknown."""
        topic_id = self.metadata.topic_id(topic)
        if topic_id is None:
            raise NetworkError(f"topic {topic} has no id on the cluster, and Fetch v{version} needs topic ids")
        return topic_id


class Backoff:
    """The waits before retries. first, longest: seconds without jitter."""

    def __init__(self, first: float, longest: float, chance: random.Random | None = None) -> None:
        self.first, self.longest = first, max(first, longest)
        self._chance = chance or random.Random()

    def delay(self, failures: int) -> float:
        """Return the seconds to wait after that many failures in a row (1 or more): 0.8 to 1.2 times the nominal
        wait.
        """
        nominal = min(self.first * 2.0 ** min(failures - 1, 63), self.longest)
        return nominal * self._chance.uniform(1 - JITTER, 1 + JITTER)


def retry_backoff(config: ClientConfig) -> Backoff:
    """Return the backoff between attempts of a request: retry.backoff.ms, up to retry.backoff.max.ms."""
    return Backoff(config.seconds("retry.backoff.ms"), config.seconds("retry.backoff.max.ms"))


def reconnect_backoff(config: ClientConfig) -> Backoff:
    """Return the backoff between attempts to connect: reconnect.backoff.ms, up to reconnect.backoff.max.ms."""
    return Backoff(config.seconds("reconnect.backoff.ms"), config.seconds("reconnect.backoff.max.ms"))
