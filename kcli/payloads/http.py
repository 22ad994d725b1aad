"""Reads HTTP from a connection's bytes, by h11: the requests of the client and the responses of the server, in
pairs.
"""

import zlib
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import h11

MOST_BYTES = 4 << 20  # of a message's body, also decompressed; and of all that is held
MOST_WAITING = 1000  # requests without a response
HOST = [("Host", "-")]
UNPACKED = {b"gzip": 31, b"deflate": 15}  # zlib's window bits


class HttpRequest(NamedTuple):
    """A request. method, path: as text; the path has no query."""

    method: str
    path: str
    body: bytes


class HttpResponse(NamedTuple):
    """A response. kind: X-Registry-ArtifactType, "" without one."""

    status: int
    body: bytes
    kind: str


Pair = Callable[[HttpRequest, HttpResponse], None]


class HttpMessage:
    """A message that is still being read."""

    def __init__(self, reader: h11.Connection) -> None:
        self.reader, self.body = reader, bytearray()
        self.head: h11.Request | h11.Response | None = None

    def receive(self, data: bytes) -> bytes | None:
        """Add bytes. Returns those after the message's end; None if it is incomplete. Raises ValueError,
        h11.ProtocolError.
        """
        self.reader.receive_data(data)
        while (event := self.reader.next_event()) is not h11.NEED_DATA:
            if isinstance(event, (h11.Request, h11.Response)):
                self.head = event
            elif isinstance(event, h11.Data):
                self.body += event.data
                if len(self.body) > MOST_BYTES:
                    raise ValueError("a body that is too large")
            elif isinstance(event, h11.EndOfMessage):
                return bytes(self.reader.trailing_data[0])
            elif not isinstance(event, h11.InformationalResponse):
                raise ValueError("no message")
        return None


class HttpExchanges:
    """Takes the bytes of both directions, and calls `pair` with each exchange. failed: the bytes are no HTTP that can
    be read; later ones are ignored.
    """

    def __init__(self, pair: Pair) -> None:
        self.pair = pair
        self.reading: dict[bool, HttpMessage | None] = {True: None, False: None}  # by whether it is the client's
        self.requests = deque[HttpRequest]()
        self.failed = False

    @property
    def size(self) -> int:
        """The number of bytes that are held."""
        held = sum(len(each.body) for each in self.reading.values() if each is not None)
        return held + sum(len(each.body) + len(each.path) for each in self.requests)

    def receive(self, from_client: bool, data: bytes) -> None:
        """Add bytes of one direction. Bytes that are no HTTP raise no error."""
        rest: bytes | None = data
        try:
            while rest and not self.failed:
                message = self.reading[from_client] or HttpMessage(self.reader(from_client))
                rest = message.receive(rest)
                self.reading[from_client] = message if rest is None else None
                if rest is not None:
                    self.take(message)
        except (h11.ProtocolError, zlib.error, ValueError):
            self.fail()

    def fail(self) -> None:
        """Drop all messages, because the bytes after them can't be read."""
        self.failed = True
        self.requests.clear()
        self.reading = {True: None, False: None}

    def reader(self, from_client: bool) -> h11.Connection:
        """Return a reader of one message. A response's reader gets the request's method, on which the length
        depends.
        """
        if from_client:
            return h11.Connection(h11.SERVER)
        reader = h11.Connection(h11.CLIENT)
        reader.send(h11.Request(method=self.requests[0].method if self.requests else "GET", target="/", headers=HOST))
        reader.send(h11.EndOfMessage())
        return reader

    def take(self, message: HttpMessage) -> None:
        """Process a whole message: a request waits for its response."""
        head, body = message.head, bytes(message.body)
        if isinstance(head, h11.Request):
            path = head.target.decode("ascii", "replace").partition("?")[0]
            self.requests.append(HttpRequest(head.method.decode("ascii", "replace"), path, body))
            if len(self.requests) > MOST_WAITING or self.size > MOST_BYTES:
                self.fail()
        elif isinstance(head, h11.Response) and self.requests:
            named = {bytes(name).lower(): bytes(value) for name, value in head.headers}
            kind = named.get(b"x-registry-artifacttype", b"").decode("ascii", "replace")
            answer = HttpResponse(head.status_code, unpacked(body, named.get(b"content-encoding", b"")), kind)
            self.pair(self.requests.popleft(), answer)


def unpacked(body: bytes, coding: bytes) -> bytes:
    """Return a body without its content coding. Raises ValueError if it is too large, or of an unknown coding."""
    if not coding or coding == b"identity":
        return body
    if coding not in UNPACKED:
        raise ValueError("an unsupported coding")
    made = zlib.decompressobj(UNPACKED[coding]).decompress(body, MOST_BYTES + 1)
    if len(made) > MOST_BYTES:
        raise ValueError("a body that is too large")
    return made
