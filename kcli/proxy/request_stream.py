"""A client's requests that pass to the broker: where each begins, and which response belongs to it.

The bytes pass as they arrive; only the first bytes of each request are read.
"""

from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from kcli.broker.faults import Plan
from kcli.capture.kafka.frames import LARGEST, acks_of
from kcli.client.framing import describe_first_bytes
from kcli.errors import NetworkError
from kcli.grammar.request_start import HEAD, PREFIX
from kcli.schemas.apikeys import PRODUCE
from kcli.schemas.catalog import catalog

LARGEST_HELD = 100 << 20  # the most bytes of a held message: the default of socket.request.max.bytes
# The most bytes up to Produce's acks: a header, and the transactional id, which have strings of int16 length.
LONGEST_HEAD = 1 << 17
USUAL_HEAD = 1 << 9  # bytes that are enough for most requests
LARGEST_KEY, LARGEST_VERSION = 1 << 10, 1 << 6  # limits by which a frame counts as a request; dialects add API keys


class Awaited(NamedTuple):
    """A request that waits for its response. correlation_id: None if any frame is the response.

    plan: the effects of fault rules on the response. answer: the proxy's own response with its length, to a request
    that the broker does not get; b"" for no response. more: rows to add to the broker's response.
    """

    api_key: int
    version: int
    correlation_id: int | None
    plan: Plan | None = None
    answer: bytes | None = None
    more: dict[str, Any] | None = None


TOKEN = Awaited(-1, -1, None)  # a SASL message without a request header, as after SaslHandshake v0 and in Kafka 0.9


class RequestStream:
    """One connection's requests. awaited: gets an entry for each request with a response, in order. allows: returns
    whether an API key may pass.
    """

    def __init__(
        self,
        awaited: deque[Awaited],
        dialect: str | None = None,
        allows: Callable[[int], bool] = lambda api_key: True,
    ) -> None:
        self.awaited, self.dialect, self.allows = awaited, dialect, allows
        self._rest = b""  # an incomplete head
        self._skip = 0  # the bytes to come of a request whose head was read

    @property
    def is_between(self) -> bool:
        """Return whether the last request has been passed completely."""
        return not self._rest and not self._skip

    def close(self) -> None:
        """Drop held bytes, as the connection has ended."""
        self._rest = b""

    def feed(self, data: bytes) -> bytes:
        """Read the heads of requests in these bytes, and return the bytes, which all pass to the broker.

        Raises NetworkError if this is not Kafka's protocol, or a request is not allowed.
        """
        self._read_heads(data)
        return data

    def _read_heads(self, data: bytes) -> None:
        """Read the heads of requests and skip the rest of each. Raises NetworkError for an invalid length, or an API
        that is not allowed.
        """
        data = self._rest + data if self._rest else data
        start = min(self._skip, len(data))
        self._skip -= start
        while len(data) - start >= PREFIX:
            size = int.from_bytes(data[start : start + PREFIX], "big", signed=True)
            if not 0 <= size <= LARGEST or looks_foreign(data[start : start + PREFIX]):
                raise NetworkError(describe_first_bytes(data[start : start + 16], LARGEST))
            body = start + PREFIX
            head = data[body : body + min(size, USUAL_HEAD)]
            if not self._read(head, size == len(head)):
                head = data[body : body + min(size, LONGEST_HEAD)]
                if not self._read(head, len(head) == min(size, LONGEST_HEAD)):
                    break
            start = min(body + size, len(data))
            self._skip = body + size - start
        self._rest = data[start:]

    def _read(self, head: bytes, whole: bool) -> bool:
        """Queue the expected response of a request. Returns False if more of its head is needed."""
        if len(head) < HEAD.size:
            if whole:
                self.awaited.append(TOKEN)
            return whole
        api_key, version, correlation_id = HEAD.unpack_from(head)
        if not (api_key >= 0 and 0 <= version < LARGEST_VERSION and self._may_be_key(api_key)):
            self.awaited.append(TOKEN)
            return True
        if not self.allows(api_key):
            known = catalog(self.dialect).api(api_key)
            raise NetworkError(f"{known.name if known else f'API {api_key}'} is not allowed here")
        if api_key == PRODUCE and catalog(self.dialect).knows(api_key, version):
            acks = acks_of(head, self.dialect)
            if acks is None and not whole:
                return False
            if acks == 0:
                return True
        self.awaited.append(Awaited(api_key, version, correlation_id))
        return True

    def _may_be_key(self, api_key: int) -> bool:
        return api_key < LARGEST_KEY or catalog(self.dialect).api(api_key) is not None


def looks_foreign(start: bytes) -> bool:
    """Return whether the bytes of a length are the start of TLS, HTTP or SSH."""
    return start[:3] in (b"\x16\x03\x00", b"\x16\x03\x01", b"\x16\x03\x03") or start in (b"GET ", b"POST", b"SSH-")
