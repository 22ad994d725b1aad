"""An embedded broker beside code that is not asynchronous: it runs in a thread of its own.

with embedded_broker(config={"num.partitions": 3}) as broker:
    producer = KafkaProducer(bootstrap_servers=broker.bootstrap_servers)
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Self, TypeVar

from kcli.arguments import need, texts
from kcli.broker.broker import Broker
from kcli.counting import counted
from kcli.errors import InputError, UsageError

T = TypeVar("T")


class EmbeddedBroker:
    """A broker that runs for the time of a `with` block.

    bootstrap_servers: "127.0.0.1:port", for each node one, with commas between; "" while it does not run.
    """

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.bootstrap_servers = ""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._started = threading.Event()
        self._failure: BaseException | None = None
        self._end: asyncio.Event | None = None
        self._thread = threading.Thread(target=self._run, name="kcli-broker", daemon=True)

    def __repr__(self) -> str:
        return f"<EmbeddedBroker {self.bootstrap_servers or 'not running'}>"

    def __enter__(self) -> Self:
        """Raises what the broker's own start raises: NetworkError, UsageError, and OSError for its directory."""
        if self._thread.ident is not None:
            raise UsageError("this embedded broker has been started: embedded_broker(...) gives another")
        self._thread.start()
        self._started.wait()
        if self._failure is not None:
            self._thread.join()
            raise self._failure
        return self

    def __exit__(self, *_: object) -> None:
        if self._loop is not None and self._end is not None:
            self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join()

    def create_topic(self, name: str, partitions: int | None = None, *, replication: int | None = None) -> None:
        """A new topic; what is not given comes from the broker's configs. UsageError: it can't be made."""
        need("name", name, str, "text")
        for what, count in (("partitions", partitions), ("replication", replication)):
            need(what, 1 if count is None else count, int, "a number")
            if count is not None and count < 1:
                raise UsageError(f"{what} {count}: 1 or more expected")

        def create(broker: Broker) -> None:
            if broker.topics.get(name) is not None:
                raise UsageError(f"topic {name}: there is one of this name")
            if replication is not None and replication > len(broker.node_ids):
                raise UsageError(f"replication {replication}: {counted(len(broker.node_ids), 'node')} here")
            broker.create_topic(name, partitions, replication=replication)

        try:
            self.call(create)
        except InputError as error:
            raise UsageError(str(error)) from None

    def call(self, function: Callable[[Broker], T]) -> T:
        """What the function gives for the broker, called in the broker's own thread. UsageError: it does not run."""
        if self._loop is None or not self.bootstrap_servers:
            raise UsageError("the embedded broker does not run: with embedded_broker() as broker: ...")

        async def work() -> T:
            return function(self.broker)

        return asyncio.run_coroutine_threadsafe(work(), self._loop).result()

    def _run(self) -> None:
        self._loop = asyncio.new_event_loop()
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            self.bootstrap_servers = ""
            self._loop.close()

    async def _serve(self) -> None:
        self._end = asyncio.Event()
        try:
            await self.broker.start()
        except BaseException as error:  # noqa: BLE001  raised again where it was asked for
            self._failure, self._end = error, None
            self._started.set()
            return
        self.bootstrap_servers = self.broker.bootstrap
        self._started.set()
        try:
            await self._end.wait()
        finally:
            await self.broker.stop()


def embedded_broker(
    data: str | os.PathLike[str] | None = None,
    *,
    nodes: int = 1,
    host: str = "127.0.0.1",
    port: int = 0,
    config: Mapping[str, Any] | None = None,
    faults: str | Iterable[str] = (),
    seed: int | None = None,
    dialect: str | None = None,
    answers: Mapping[str, Any] | Iterable[Mapping[str, Any]] = (),
    release: str | None = None,
) -> EmbeddedBroker:
    """A broker for the time of a `with` block, on loopback and a free port by default.

    data: the directory of its logs, None: a temporary one. nodes: how many brokers. port: of the first node, the others
    follow. config: by Kafka's names ({"num.partitions": 3}). faults: rules as for `kcli broker serve --fault`.
    seed: for the random choices of these. dialect: message definitions that it speaks. answers: rules that answer
    requests, as in `kcli broker serve --answers` ({"api": "Greet", "answer": {...}}). release: take only the versions
    that brokers of that Kafka release take ("2.8").

    UsageError: an option makes no sense; NetworkError, when the block begins: it can't listen.
    """
    need("data", "" if data is None else data, (str, os.PathLike), "a directory")
    if data is not None and Path(data).exists() and not Path(data).is_dir():
        raise UsageError(f"data {os.fsdecode(data)}: a directory expected")
    need("nodes", nodes, int, "a number")
    need("port", port, int, "a number")
    if not 0 <= port < 65536:
        raise UsageError(f"port {port}: 0 to 65535 expected")
    need("config", {} if config is None else config, Mapping, "names with values")
    need("answers", answers, Iterable, "rules")
    rules = [answers] if isinstance(answers, Mapping) else list(answers)
    for rule in rules:
        need("answers", rule, Mapping, "rules")
    return EmbeddedBroker(
        Broker(
            None if data is None else Path(data),
            config={name: config_text(value) for name, value in (config or {}).items()},
            host=host,
            port=port,
            nodes=nodes,
            faults=texts("faults", faults, "rules"),
            seed=seed,
            dialect=dialect,
            answers=rules,
            release=release,
        )
    )


def config_text(value: object) -> str:
    """As Kafka's properties files have it: True as "true"."""
    return str(value).lower() if isinstance(value, bool) else str(value)
