"""One connection to one broker: requests go out without waiting for earlier answers, answers come back in order.

Kafka answers the requests of a connection in the order they came (its correlation ids say so, and are checked), so the
requests that wait are a queue. A failure of the connection fails them all, each with the same one line.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from kcli.client.address import Address
from kcli.client.dialing import describe_failure, dial
from kcli.client.framing import FrameProtocol
from kcli.client.properties import ClientConfig
from kcli.errors import KcliError, NetworkError

Frame = bytes | bytearray

# Bytes of the longest response that is accepted: far above fetch.max.bytes.
LONGEST = 1 << 30
# Answers that a listener with SASL may give before it finds that nobody logs in: ApiVersions, and again.
NEGOTIATION = 2


class Waiter(NamedTuple):
    """correlation: None takes any; read: what to make of the frame before the future gets it; doubt: why there may be
    none.
    """

    future: asyncio.Future[Any]
    correlation: int | None
    what: str
    deadline: float
    seconds: float
    read: Callable[[Frame], Any] | None
    doubt: str | None


class BrokerConnection:
    """Made by `await Connection.open(address, config)`; then `exchange` frames, `close` at the end.

    error: why it ended, None while it lives. wants_login: whether the listener, which answers ApiVersions to everybody,
    may want a login that there is none of.
    """

    def __init__(self, address: Address, config: ClientConfig) -> None:
        self.address, self.config = address, config
        self.error: NetworkError | None = None
        self.wants_login = False
        self._timeout = config.seconds("request.timeout.ms")
        self._waiters: deque[Waiter] = deque()
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._protocol = FrameProtocol(self._take_frame, self._take_loss, LONGEST)
        self._answers = 0
        self._correlation = 0
        self.last_used = self._loop.time()

    @classmethod
    async def open(cls, address: Address, config: ClientConfig) -> BrokerConnection:
        """Connect, with TLS where `config` asks for it. Raises NetworkError."""
        connection = cls(address, config)
        await dial(address, config, lambda: connection._protocol)
        return connection

    def next_correlation(self) -> int:
        """Return a fresh correlation id, 0 first; after INT32_MAX it starts again."""
        taken = self._correlation
        self._correlation = (taken + 1) & 0x7FFF_FFFF
        return taken

    def exchange(
        self,
        frame: bytes,
        correlation: int | None,
        what: str,
        *,
        seconds: float | None = None,
        read: Callable[[Frame], Any] | None = None,
    ) -> asyncio.Future[Any]:
        """Send a frame. The future gets the response's frame, or what `read` returns for it.

        seconds: how long to wait, instead of request.timeout.ms; what: names the request in errors.
        The future fails with NetworkError, or with what `read` raises (a KcliError names the broker then).
        """
        future = self.expect(correlation, what, seconds=seconds, read=read)
        if self.error is None:
            self._protocol.send(frame)
        return future

    def expect(
        self,
        correlation: int | None,
        what: str,
        *,
        seconds: float | None = None,
        read: Callable[[Frame], Any] | None = None,
        doubt: str | None = None,
    ) -> asyncio.Future[Any]:
        """Await the next frame without sending anything.

        doubt: why the broker may close the connection instead, where that is known before.
        """
        future: asyncio.Future[Any] = self._loop.create_future()
        if self.error is not None:
            future.set_exception(self.error)
            return future
        seconds = self._timeout if seconds is None else seconds
        now = self.last_used = self._loop.time()
        self._waiters.append(Waiter(future, correlation, what, now + seconds, seconds, read, doubt))
        if self._timer is None:
            self._timer = self._loop.call_at(now + seconds, self._check_deadline)
        return future

    def send_raw(self, data: bytes) -> None:
        """Send bytes as they are: no length, no answer expected."""
        if self.error is not None:
            raise self.error
        self._protocol.send_raw(data)

    def send_only(self, frame: bytes) -> None:
        """Send a frame that has no answer (Produce with acks=0)."""
        self.send_raw(len(frame).to_bytes(4, "big") + frame)

    async def drain(self) -> None:
        """Wait until the socket accepts more bytes."""
        await self._protocol.drain()
        if self.error is not None:
            raise self.error

    @property
    def ends(self) -> tuple[tuple[str, int], tuple[str, int]]:
        """Address and port of this end, and of the broker's."""
        return self._protocol.ends

    @property
    def waiting(self) -> int:
        """Number of requests without a response."""
        return len(self._waiters)

    async def close(self) -> None:
        """End the connection; requests that wait fail."""
        if self.error is None:
            self.error = NetworkError(f"broker {self.address}: the connection was closed on this side")
        self._fail_waiters(self.error)
        await self._protocol.close()

    # --- called by the protocol

    def _take_frame(self, frame: Frame) -> None:
        """Hand a frame to the request that waits the longest. What can't be read as its response is its error, and ends
        no connection.
        """
        if not self._waiters:
            self._protocol.abort(NetworkError(f"it sent {len(frame)} bytes that answer no request"))
            return
        waiter = self._waiters[0]
        self._answers += 1
        if waiter.correlation is not None and not self._fits(frame, waiter):
            return
        self._waiters.popleft()
        if waiter.future.done():
            return
        if waiter.read is None:
            waiter.future.set_result(frame)
            return
        try:
            value = waiter.read(frame)
        except KcliError as error:
            waiter.future.set_exception(
                error if isinstance(error, NetworkError) else NetworkError(f"broker {self.address}: {error}")
            )
        except Exception as error:  # noqa: BLE001  handed to all that wait
            waiter.future.set_exception(error)  # a bug: whoever awaits gets its traceback
        else:
            waiter.future.set_result(value)

    def _fits(self, frame: Frame, waiter: Waiter) -> bool:
        if len(frame) < 4:
            text = f"its response to {waiter.what} has {len(frame)} bytes (4 or more expected)"
            self._protocol.abort(NetworkError(text))
            return False
        got = int.from_bytes(frame[:4], "big", signed=True)
        if got != waiter.correlation:
            self._protocol.abort(
                NetworkError(f"it answered {waiter.what} with correlation id {got}, not {waiter.correlation}")
            )
            return False
        return True

    def _take_loss(self, error: Exception | None) -> None:
        if self.error is None:
            self.error = self._describe_loss(error)
        self._fail_waiters(self.error)

    def _describe_loss(self, error: Exception | None) -> NetworkError:
        """Return why the connection is gone, for its waiters; where none was answered, with the likely setting that is
        wrong.
        """
        start = f"broker {self.address}"
        if isinstance(error, NetworkError):
            return NetworkError(f"{start}: {error}")
        if error is not None and not isinstance(error, (ConnectionError, ssl.SSLEOFError)):
            return describe_failure(self.address, error)
        text = f"{start} closed the connection"
        if self._waiters:
            text += f" instead of answering {self._waiters[0].what}"
            if self._waiters[0].doubt:
                text += f": {self._waiters[0].doubt}"
            elif self._answers <= (NEGOTIATION if self.wants_login else 0):
                protocol = self.config["security.protocol"]
                given = self.config["ssl.keystore.location"] or self.config["ssl.keystore.certificate.chain"]
                if protocol.endswith("SSL"):  # TLS 1.3 refuses a client's certificate when all is agreed on
                    text += f" (does it want {'another' if given else 'a'} client certificate, ssl.keystore.location?)"
                else:
                    text += f" (security.protocol is {protocol}: is that what this listener speaks?)"
        return NetworkError(text)

    def _fail_waiters(self, error: NetworkError) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        waiters, self._waiters = self._waiters, deque()
        for waiter in waiters:
            if not waiter.future.done():
                waiter.future.set_exception(error)

    def _check_deadline(self) -> None:
        self._timer = None
        if not self._waiters:
            return
        first = self._waiters[0]
        if self._loop.time() >= first.deadline:
            self._protocol.abort(
                NetworkError(f"no answer to {first.what} within {first.seconds:g} s (request.timeout.ms)")
            )
        else:
            self._timer = self._loop.call_at(first.deadline, self._check_deadline)
