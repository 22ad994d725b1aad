"""An embedded broker beside code that is not asynchronous: it runs in a thread of its own.

with embedded(config={"num.partitions": "3"}) as server:
    producer = KafkaProducer(bootstrap_servers=server.bootstrap)
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from kcli.broker.broker import Broker

__all__ = ["Embedded", "embedded"]

T = TypeVar("T")


class Embedded:
    """A running broker. bootstrap: "127.0.0.1:port", for each node one, with commas between."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.bootstrap = ""
        self._loop = asyncio.new_event_loop()
        self._started = threading.Event()
        self._failure: BaseException | None = None
        self._end: asyncio.Event | None = None
        self._thread = threading.Thread(target=self._run, name="kcli-broker", daemon=True)

    def start(self) -> None:
        """Raises what the broker's own start raises."""
        self._thread.start()
        self._started.wait()
        if self._failure is not None:
            self._thread.join()
            raise self._failure

    def stop(self) -> None:
        if self._end is not None:
            self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join()

    def call(self, function: Callable[[Broker], T]) -> T:
        """What the function gives for the broker, called in the broker's own thread."""

        async def work() -> T:
            return function(self.broker)

        return asyncio.run_coroutine_threadsafe(work(), self._loop).result()

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            self._loop.close()

    async def _serve(self) -> None:
        self._end = asyncio.Event()
        try:
            await self.broker.start()
        except BaseException as error:
            self._failure, self._end = error, None
            self._started.set()
            return
        self.bootstrap = self.broker.bootstrap
        self._started.set()
        try:
            await self._end.wait()
        finally:
            await self.broker.stop()


@contextmanager
def embedded(broker: Broker | None = None, **options: Any) -> Iterator[Embedded]:
    """A broker for the time of the block: the one given, or a new one with these options (as Broker takes them)."""
    server = Embedded(broker if broker is not None else Broker(**options))
    server.start()
    try:
        yield server
    finally:
        server.stop()
