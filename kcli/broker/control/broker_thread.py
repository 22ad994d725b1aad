"""A broker in a thread of its own: it is started, called and stopped from other threads."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Self, TypeVar

from kcli.broker.broker import Broker
from kcli.broker.control.client_request import ClientRequest
from kcli.broker.control.control import Control
from kcli.errors import UsageError

T = TypeVar("T")
SHOWN = 20  # the latest requests in the text of a failed wait


class BrokerThread:
    """Runs a broker within a `with` block.

    bootstrap_servers: "" while the broker does not run. failures: errors of callbacks of `intercept`. before: how many
    requests the journal had seen before this test.
    """

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.broker.control = self.control = Control()
        self.bootstrap_servers = ""
        self.failures: list[UsageError] = []
        self.before = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._started = threading.Event()
        self._failure: BaseException | None = None
        self._end: asyncio.Event | None = None
        self._thread = threading.Thread(target=self._run, name="kcli-broker", daemon=True)

    def __enter__(self) -> Self:
        """Start the broker and wait for it. Raises the errors of `Broker.start`, and UsageError at a second start."""
        if self._thread.ident is not None:
            raise UsageError("this embedded broker has been started: embedded_broker(...) gives another")
        self._thread.start()
        self._started.wait()
        if self._failure is not None:
            self._thread.join()
            raise self._failure
        return self

    def __exit__(self, _kind: object = None, error: BaseException | None = None, _trace: object = None) -> None:
        """Stop the broker. Raises UsageError if a callback of `intercept` failed and that was not raised before.

        If the block itself raised an error, the callback's error becomes a note of that.
        """
        if self._loop is not None and self._end is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._end.set)
        if self._thread.ident is not None:
            self._thread.join()
        if error is None:
            self.raise_failure()
        else:
            for each in self.failures:
                error.add_note(str(each))

    def call(self, function: Callable[[Broker], T]) -> T:
        """Call a function with the broker in the broker's own thread, and return its result.

        Raises UsageError if the broker does not run.
        """
        if threading.current_thread() is self._thread:
            return function(self.broker)

        async def work() -> T:
            return function(self.broker)

        return self._wait_for(work)

    def call_if_running(self, function: Callable[[Broker], object]) -> None:
        """Call a function with the broker in the broker's own thread, if the broker runs."""
        if self.bootstrap_servers:
            self.call(function)

    def _wait_for(self, work: Callable[[], Awaitable[T]]) -> T:
        if self._loop is None or not self.bootstrap_servers:
            raise UsageError("the embedded broker does not run: with embedded_broker() as broker: ...")
        if threading.current_thread() is self._thread:
            raise UsageError("a callback in the broker's own thread can't wait for the broker")

        async def waited() -> T:
            return await work()

        return asyncio.run_coroutine_threadsafe(waited(), self._loop).result()

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
        except BaseException as error:  # noqa: BLE001  __enter__ raises it again
            self._failure, self._end = error, None
            self._started.set()
            return
        self.bootstrap_servers = self.broker.bootstrap
        self._started.set()
        try:
            await self._end.wait()
        finally:
            await self.broker.stop()

    def beside(self, loop: asyncio.AbstractEventLoop) -> Self:
        """Attach to a broker that runs already in this thread's event loop, for calls from other threads."""
        self._loop, self._thread = loop, threading.current_thread()
        self.bootstrap_servers = self.broker.bootstrap
        return self

    def raise_failure(self) -> None:
        """Raise the first error of a callback of `intercept` that was not raised before, in the test's next call."""
        if self.failures:
            raise self.failures.pop(0)

    def seen(self) -> list[ClientRequest]:
        """Return the test's requests that the journal still has. It works after the broker's end, too."""
        return self.control.journal.since(self.before)

    def latest(self, most: int = SHOWN, client: str = "") -> list[str]:
        """Return the latest requests as lines, of the client with this client id, or of all ("")."""
        kept = [each for each in self.seen() if not client or each.client == client]
        return [str(each) for each in kept[-most:]]
