"""The layer between TCP and a connection: it detects TLS, and decrypts it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kcli.capture.kafka.events import Kind
from kcli.capture.kafka.probe_result import end_trial
from kcli.grammar.files.proxy_protocol import ProxyHeader, proxy_header
from kcli.grammar.files.tls import (
    ALERT,
    ALERT_MESSAGE,
    HEADER,
    RECORD_HEADER,
    is_record_header,
    next_record_header,
    record_size,
)

if TYPE_CHECKING:
    from kcli.capture.kafka.connection import CapturedConnection
    from kcli.capture.tls.keylog import KeyLog
    from kcli.capture.tls.session import TlsSession

TYPICAL = b"\x16\x03\x01\x00\x00"  # a typical record header, whose end completes a cut one
MOST_EARLY = 1 << 16  # bytes searched for records in a connection that began before the capture
ENOUGH = HEADER + ALERT_MESSAGE.sizeof()  # bytes that suffice to detect TLS


class TlsLayer:
    """The reader that the engine uses in place of a CapturedConnection; see there for its methods.

    It also removes a header of the PROXY protocol before the client's bytes, which names the client. An end's first
    bytes are held until they are enough to detect its protocol. A connection is TLS if either end begins so; if the
    connection is plain, an end that sends TLS rejects the other end's plain bytes. A connection that began before the
    capture may begin within a record, so its first bytes are kept until two records in a row are found.
    """

    def __init__(
        self,
        make: Callable[[], CapturedConnection],
        started: tuple[bool, bool],
        log: KeyLog,
        decrypted: Callable[[int], None],
    ) -> None:
        """Prepare a connection's TLS. decrypted: called at the end of a decrypted connection, with the bytes of TLS
        itself.
        """
        self.make, self.connection = make, make()
        self.started, self.log, self.decrypted = started, log, decrypted
        self.session: TlsSession | None = None
        self.starts: list[bytes | None] = [b"", b""]  # None: the end's protocol is known
        self.early: list[tuple[int, int, bytes]] | None = None if all(started) else []
        self.early_bytes = 0
        self.refused: int | None = None  # the end that responds to a plain client with TLS
        self.refusal = b""  # the first bytes of that response
        self.refused_bytes = self.refused_ns = 0
        self.proxied: str | None = None  # the client named by a load balancer

    # Called by the engine

    @property
    def steady(self) -> bool:
        """True if nothing odd is under way, so that the core may take the connection over."""
        if self.session is not None:
            return self.session.steady and (self.connection.steady or self.connection.fresh)
        return self.refused is None and not any(self.starts) and self.connection.steady

    @property
    def fresh(self) -> bool:
        """True if the connection's first bytes are still to come."""
        return self.connection.fresh

    @property
    def sealed(self) -> bool:
        """True if the connection is TLS."""
        return self.session is not None

    @property
    def is_settled(self) -> bool:
        """True if the connection is known to be plain, or not to be Kafka's."""
        known = all(start is None for start in self.starts) or self.connection.foreign is not None
        return self.session is None and self.refused is None and known

    @property
    def reader(self) -> CapturedConnection | TlsLayer:
        """The reader of the next bytes: this layer, or the connection itself once it is known to be plain."""
        undecided = self.session is not None or self.refused is not None or self.early is not None
        return self if undecided or self.starts != [None, None] else self.connection

    @property
    def foreign(self) -> str | None:
        """The reason why the connection is no longer read; None if it is read."""
        return self.connection.foreign if self.session is None else self.session.foreign

    @property
    def weight(self) -> int:
        """The memory counted for held data, in bytes; 0 if nothing is read any more."""
        if self.foreign is not None:
            return 0
        held = (self.early_bytes if self.early else 0) + sum(len(start or b"") for start in self.starts)
        return self.connection.weight + held + (0 if self.session is None else self.session.weight)

    @property
    def began(self) -> int:
        """The time (ns) of the connection's first bytes; 0 without any."""
        return self.connection.began if self.session is None else self.session.began

    @property
    def client(self) -> int | None:
        """The number of the client's end; None if unknown."""
        return self.connection.client

    @property
    def link(self) -> Any:
        """The connection's server and client."""
        return self.connection.link

    def restore(
        self,
        spoke: bool,
        pending: list[tuple[int, int, int, int, bytes]],
        buffers: list[bytes],
        offsets: tuple[int, int],
        heard: tuple[int, int],
        *state: Any,
    ) -> None:
        """Restore a state as ConnectionState.restore does; with TLS it is that of the decrypted bytes. An end's first
        bytes are examined here all the same.
        """
        if self.session is not None:
            self.connection.restore(spoke, pending, buffers, offsets, heard, *state)
            return
        first = [b"" if offset else buffer for buffer, offset in zip(buffers, offsets, strict=True)]
        rest = [buffer if offset else b"" for buffer, offset in zip(buffers, offsets, strict=True)]
        self.connection.restore(spoke, pending, rest, offsets, heard, *state)
        for d in range(2):
            if offsets[d]:
                self.starts[d] = None
            elif first[d]:
                self.data(d, heard[d], first[d])

    def release(self) -> Any:
        """Return a steady connection's state, and forget it."""
        return self.connection.release()

    def release_records(self) -> tuple[tuple[int, int], list[bytes]]:
        """Return (protected bytes of each end, the partial records of each), before `release`."""
        assert self.session is not None
        first, second = (stream.offset + len(stream.buffer) for stream in self.connection.streams)
        records = [end.release() for end in self.session.ends]
        self.session.effort.earn(-sum(map(len, records)))
        return (first, second), records

    # Input

    def data(self, d: int, ns: int, data: bytes) -> None:
        """Read bytes that end `d` sent, inside TLS or plain."""
        if self.session is not None:
            self.session.data(d, ns, data)
        elif self.connection.foreign is not None:
            self.connection.data(d, ns, data)
        elif self.early is not None and self.found_early(d, ns, data):
            self.take_off(self.early)
        elif self.starts[d] is None:
            if self.refused == d:
                self.refused_bytes += len(data)
            else:
                self.connection.data(d, ns, data)
        else:
            self.begin(d, ns, data)

    def open_records(self, d: int, ns: int, data: memoryview) -> tuple[bytes, int]:
        """Decrypt whole records of a steady connection; return their contents and the number of read bytes."""
        assert self.session is not None
        return self.session.open_records(d, ns, data)

    def unsealed(self, d: int, ns: int, data: bytes) -> None:
        """Read bytes that end `d` sent inside records."""
        self.connection.data(d, ns, data)

    def found_early(self, d: int, ns: int, data: bytes) -> bool:
        """Keep the first bytes of a connection that began before the capture; return whether there are records among
        them.
        """
        assert self.early is not None
        self.early.append((d, ns, data))
        self.early_bytes += len(data)
        if self.connection.spoke or self.early_bytes > MOST_EARLY:
            self.early = None
            return False
        return self.starts[d] is None and has_records(b"".join(part for end, _, part in self.early if end == d))

    def take_off(self, seen: list[tuple[int, int, bytes]]) -> None:
        """Switch to TLS: read the bytes so far as TLS, from their beginning. seen: (end, ns, bytes)."""
        from kcli.capture.tls.session import TlsSession  # most captures need none

        self.early, self.starts = None, [None, None]
        before, self.connection = self.connection, self.make()
        if self.proxied:
            self.connection.client = before.client
            self.name_client()
        self.session = TlsSession(self.connection, self.started, self.log, self.decrypted)
        for each in seen:
            self.session.data(*each)

    def begin(self, d: int, ns: int, data: bytes) -> None:
        """Read the first bytes of an end."""
        start = self.starts[d]
        assert start is not None
        start = start + data if start else bytes(data)
        header = not self.connection.spoke and proxy_header(start)
        if header is True:
            self.starts[d] = start
            return
        if isinstance(header, ProxyHeader):
            self.take_proxy_header(d, ns, header)
            if start := start[header.size :]:
                self.begin(d, ns, start)
            return
        looks = is_record_header(start[:ENOUGH] + TYPICAL[len(start) :])
        if looks and len(start) < ENOUGH:
            self.starts[d] = start
            return
        self.starts[d] = None
        if not looks:
            self.connection.data(d, ns, start)
        elif self.connection.spoke:
            self.refused, self.refused_ns = d, ns
            self.refused_bytes, self.refusal = len(start), start
        elif self.early or not any(stream.received for stream in self.connection.streams):
            self.take_off(self.early or [(d, ns, start)])
        else:
            self.connection.data(d, ns, start)

    def take_proxy_header(self, d: int, ns: int, header: ProxyHeader) -> None:
        """Read a PROXY protocol header, which names the client of the end."""
        self.starts[d], self.early = b"", None
        if self.connection.client is None:
            self.connection.client = d
        by, self.proxied = self.connection.ends[d], header.client or self.proxied
        self.name_client()
        text = f"client {header.client}, by way of {by}" if header.client else f"of {by} itself, no client named"
        self.connection.pass_proxy_header(d, ns, header.size, f"PROXY protocol {header.version}: {text}")

    def name_client(self) -> None:
        """Set the connection's client to the one that the load balancer names."""
        client = self.connection.client
        if self.proxied and client is not None:
            server = self.connection.ends[1 - client]
            self.connection.ends = (server, self.proxied) if client else (self.proxied, server)

    def report_refusal(self, d: int) -> None:
        """Report that an end responds to plain bytes with TLS."""
        from kcli.capture.tls.handshake import alert_text

        header, alert = RECORD_HEADER.parse(self.refusal), ALERT_MESSAGE.parse(self.refusal[HEADER:])
        is_alert = header.type == ALERT and header.length == ALERT_MESSAGE.sizeof()
        says = f", {alert_text(alert.description)}" if is_alert else ""
        reason = f"answers in TLS{says}: a plain client on a TLS port"
        self.connection.event("not-kafka", d, 0, self.refused_bytes, reason, self.refused_ns)

    def lost(self, d: int, ns: int, count: int, kind: Kind, reason: str) -> None:
        """Note that bytes of end `d` are missing from the capture."""
        self.flush(d)
        self.early = None
        target = self.connection if self.session is None else self.session
        target.lost(d, ns, count, kind, reason)

    def give_up(self) -> None:
        """Drop the held data, to stay within the memory limit."""
        if self.session is not None:
            self.session.give_up()
        self.connection.give_up()

    def close(self, ns: int, why: str, extra: tuple[int, int] = (0, 0)) -> None:
        """End the connection, or the capture."""
        self.flush(0)
        self.flush(1)
        if self.refused is not None:
            end_trial(self.connection)
            if self.foreign is None:
                self.report_refusal(self.refused)
            else:
                extra = extra[0], extra[1] + self.refused_bytes
        if self.session is None:
            self.connection.close(ns, why, extra)
        else:
            self.session.close(ns, why, extra)

    def flush(self, d: int) -> None:
        """Pass on first bytes that were too few to detect a protocol."""
        start, self.starts[d] = self.starts[d], None
        if start:
            self.connection.data(d, self.connection.streams[d].ns, start)


def has_records(data: bytes) -> bool:
    """Return whether data has two adjacent protected records anywhere."""
    at = next_record_header(data, 0, True)
    while 0 <= at <= len(data) - HEADER:
        behind = at + record_size(data, at)
        if next_record_header(data[behind : behind + HEADER], 0, True) == 0:
            return True
        at = next_record_header(data, at + 1, True)
    return False
