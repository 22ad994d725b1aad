"""A connection to a broker. Requests are sent without waiting for earlier responses, which arrive in order.

Kafka answers the requests of a connection in order (the correlation ids are checked), so that waiting requests are a
queue. If the connection fails, all of them fail with the same error.
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
# The most responses of a listener with SASL before it closes a connection without a login: twice ApiVersions.
NEGOTIATION = 2


class Waiter(NamedTuple):
    """A request that waits for its response. correlation: its id, None for any; deadline: of the loop's clock; read:
    decodes the frame for the future, None for the frame itself; doubt: why there may be no response.
    """

    future: asyncio.Future[Any]
    correlation: int | None
    request_name: str
    deadline: float
    seconds: float
    read: Callable[[Frame], Any] | None
    doubt: str | None


class BrokerConnection:
    """A connection, made by `await BrokerConnection.open(address, config)`; then `exchange` frames, and `close` it.

    error: why it ended, None while it is open. wants_login: the listener has SASL, and the client is not configured for
    a login. (ApiVersions is answered without one.)
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
        """Connect, with TLS by `security.protocol`. Raises NetworkError, and UsageError for invalid configs."""
        connection = cls(address, config)
        await dial(address, config, lambda: connection._protocol)
        return connection

    def next_correlation(self) -> int:
        """Return the next correlation id, from 0 on; 0 follows the largest int32."""
        correlation = self._correlation
        self._correlation = (correlation + 1) & 0x7FFF_FFFF
        return correlation

    def exchange(
        self,
        frame: bytes,
        correlation: int | None,
        request_name: str,
        *,
        seconds: float | None = None,
        read: Callable[[Frame], Any] | None = None,
    ) -> asyncio.Future[Any]:
        """Send a frame; return the future of the response's frame, or of the result of `read` for it.

        seconds: the timeout, None for request.timeout.ms; request_name: the request's name in errors. The future fails
        with NetworkError, also for a KcliError of `read`, or with any other error of `read`.
        """
        future = self.expect(correlation, request_name, seconds=seconds, read=read)
        if self.error is None:
            self._protocol.send(frame)
        return future

    def expect(
        self,
        correlation: int | None,
        request_name: str,
        *,
        seconds: float | None = None,
        read: Callable[[Frame], Any] | None = None,
        doubt: str | None = None,
    ) -> asyncio.Future[Any]:
        """Return the future of the next frame, without sending anything; arguments as for `exchange`.

        doubt: why the broker may close the connection instead, for the error; None if that is unknown.
        """
        future: asyncio.Future[Any] = self._loop.create_future()
        if self.error is not None:
            future.set_exception(self.error)
            return future
        seconds = self._timeout if seconds is None else seconds
        now = self.last_used = self._loop.time()
        self._waiters.append(Waiter(future, correlation, request_name, now + seconds, seconds, read, doubt))
        if self._timer is None:
            self._timer = self._loop.call_at(now + seconds, self._check_deadline)
        return future

    def send_raw(self, data: bytes) -> None:
        """Send bytes without a length. No response is expected. Raises NetworkError if the connection has ended."""
        if self.error is not None:
            raise self.error
        self._protocol.send_raw(data)

    def send_only(self, frame: bytes) -> None:
        """Send a frame without a response (Produce with acks 0). Raises NetworkError if the connection has ended."""
        self.send_raw(len(frame).to_bytes(4, "big") + frame)

    async def drain(self) -> None:
        """Wait until the socket accepts more bytes. Raises NetworkError if the connection has ended."""
        await self._protocol.drain()
        if self.error is not None:
            raise self.error

    @property
    def ends(self) -> tuple[tuple[str, int], tuple[str, int]]:
        """The (address, port) of this side, and of the broker."""
        return self._protocol.ends

    @property
    def waiting(self) -> int:
        """Number of requests without a response."""
        return len(self._waiters)

    async def close(self) -> None:
        """Close the connection; waiting requests fail."""
        if self.error is None:
            self.error = NetworkError(f"broker {self.address}: the connection was closed on this side")
        self._fail_waiters(self.error)
        await self._protocol.close()

    # --- called by the protocol

    def _take_frame(self, frame: Frame) -> None:
        """Pass a frame to the oldest waiting request. A frame that can't be decoded fails the request, not the
        connection; one with another correlation id ends the connection.
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
            text = f"its response to {waiter.request_name} has {len(frame)} bytes (4 or more expected)"
            self._protocol.abort(NetworkError(text))
            return False
        got = int.from_bytes(frame[:4], "big", signed=True)
        if got != waiter.correlation:
            self._protocol.abort(
                NetworkError(f"it answered {waiter.request_name} with correlation id {got}, not {waiter.correlation}")
            )
            return False
        return True

    def _take_loss(self, error: Exception | None) -> None:
        if self.error is None:
            self.error = self._describe_loss(error)
        self._fail_waiters(self.error)

    def _describe_loss(self, error: Exception | None) -> NetworkError:
        """Return the error of a lost connection for its waiters. If no request was answered, it names the config that
        is probably wrong.
        """
        start = f"broker {self.address}"
        if isinstance(error, NetworkError):
            return NetworkError(f"{start}: {error}")
        if error is not None and not isinstance(error, (ConnectionError, ssl.SSLEOFError)):
            return describe_failure(self.address, error)
        text = f"{start} closed the connection"
        if self._waiters:
            text += f" instead of answering {self._waiters[0].request_name}"
            if self._waiters[0].doubt:
                text += f": {self._waiters[0].doubt}"
            elif self._answers <= (NEGOTIATION if self.wants_login else 0):
                protocol = self.config["security.protocol"]
                cert = self.config["ssl.keystore.location"] or self.config["ssl.keystore.certificate.chain"]
                if protocol.endswith("SSL"):  # TLS 1.3 refuses a client's certificate after the handshake
                    text += f" (does it want {'another' if cert else 'a'} client certificate, ssl.keystore.location?)"
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
                NetworkError(f"no response to {first.request_name} within {first.seconds:g} s (request.timeout.ms)")
            )
        else:
            self._timer = self._loop.call_at(first.deadline, self._check_deadline)
