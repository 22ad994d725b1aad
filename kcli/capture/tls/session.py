"""A connection that speaks TLS: records out of its two streams, and what they protect out of its records. The rules:

- The handshake says which keys; the key log has them, by the client's random, the session's id or the ticket.
- A record that its keys don't open is tried with those of the next epoch: Finished and KeyUpdate may be missing.
- A gap costs the records that it touches. The next record's header is looked for, and its number tried from the next
  one on, up to as many as fit into the gap; its tag or MAC proves both. How many bytes of data are missing follows from
  the records that are, but not in CBC, which pads them.
- A connection whose handshake is not in the capture is tried against those keys of the log that no handshake here uses.
- Without keys nothing is read, and one event says what the connection is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kcli.capture.kafka.events import Event, Kind
from kcli.capture.tls import handshake, protection
from kcli.capture.tls.ciphers import TLS_13
from kcli.capture.tls.handshake import Handshake, alert_text
from kcli.capture.tls.keylog import KeyLog
from kcli.capture.tls.protection import Protection
from kcli.capture.tls.recovery import Recovery
from kcli.capture.tls.stream import TlsEnd
from kcli.grammar.files.tls import (
    ALERT,
    ALERT_MESSAGE,
    APPLICATION_DATA,
    CHANGE_CIPHER_SPEC,
    HANDSHAKE,
    HEADER,
    is_record_header,
    record_size,
)

if TYPE_CHECKING:
    from kcli.capture.kafka.connection import CapturedConnection

MOST_VAIN = 32  # records in a row that don't open, before the first that does


class TlsSession:
    """Feed it ordered bytes of both directions; it hands what they protect on to the connection."""

    def __init__(
        self, connection: CapturedConnection, started: tuple[bool, bool], log: KeyLog, decrypted: Callable[[int], None]
    ) -> None:
        """decrypted: as for `TlsLayer`."""
        self.connection = connection
        self.log, self.effort, self.decrypted = log, log.effort, decrypted
        self.data_bytes = 0  # that were handed on
        self.ends = (TlsEnd(started[0]), TlsEnd(started[1]))
        self.agreed = Handshake()
        self.opened = 0  # how often records were
        self.recovery = Recovery(self)
        self.began = 0
        self.foreign: str | None = None  # why it can't be read

    @property
    def steady(self) -> bool:
        """Whether the keys of both ends are known, and nothing is missing."""
        return self.foreign is None and all(end.keys is not None and not end.searching for end in self.ends)

    @property
    def weight(self) -> int:
        """Bytes of memory counted for what it holds."""
        return sum(len(end.buffer) + len(end.messages.buffer) for end in self.ends)

    def is_client(self, d: int) -> bool:
        """Whether end `d` is the client."""
        return d == self.connection.client

    # What comes in

    def data(self, d: int, ns: int, data: bytes) -> None:
        """Bytes that end `d` sent."""
        end = self.ends[d]
        end.ns, end.received = ns, end.received + len(data)
        self.began = self.began or ns
        self.effort.earn(len(data))
        if self.foreign is None:
            end.buffer += data
            self.read(d, end)

    def open_records(self, d: int, ns: int, data: memoryview) -> tuple[bytes, int]:
        """See TlsEnd.open_records. The connection is steady."""
        text, used = self.ends[d].open_records(ns, data)
        self.effort.earn(used)
        self.opened += used > 0
        self.data_bytes += len(text)
        return text, used

    def lost(self, d: int, ns: int, count: int, kind: Kind, reason: str) -> None:
        """Bytes that end `d` sent and the capture lacks; 0: the number is unknown."""
        end = self.ends[d]
        end.ns = ns
        self.began = self.began or ns
        if self.foreign is not None:
            return
        end.messages.clear()
        end.loss = end.loss or (kind, reason)
        end.gap = None if not count or end.gap is None else end.gap + len(end.buffer) + count
        end.buffer.clear()
        end.searching = True

    def close(self, ns: int, why: str, extra: tuple[int, int]) -> None:
        """The end of the connection, or of the capture."""
        if not self.data_bytes:
            self.refuse(self.agreed.failures[0] if self.agreed.failures else self.why_closed(why))
        if self.foreign is not None:
            count = sum(end.received for end in self.ends) + sum(extra)
            reason = f"{self.agreed.text}: {self.foreign}"
            self.connection.emit(Event("not-kafka", str(self.connection.link), self.began or ns, 0, count, reason))
            return
        own = sum(end.received for end in self.ends) - self.data_bytes
        cut = [(d, end) for d, end in enumerate(self.ends) if end.buffer and not end.searching]
        for d, end in enumerate(self.ends):
            if end.searching:
                self.recovery.report_loss(d, end, None)
        self.connection.close(ns, why)
        for d, end in cut if self.connection.foreign is None else ():
            size = record_size(end.buffer) if len(end.buffer) >= HEADER else HEADER
            says = f"{len(end.buffer)} of {size} bytes of a TLS record: {why}"
            self.connection.event("truncated", d, self.connection.streams[d].offset, len(end.buffer), says)
            own -= len(end.buffer)
        self.decrypted(own)

    def why_closed(self, why: str) -> str:
        """Why a connection could not be read that is closed now. why: it was."""
        if not self.agreed.client_random:
            return "its handshake is not in the capture" + (", and no key of the key log opens it" if self.log else "")
        if not self.agreed.version:
            silent = not self.ends[1 - (self.connection.client or 0)].received
            return f"{'no answer to its ClientHello, as on a port without TLS' if silent else 'no ServerHello'}: {why}"
        if not any(end.sealed for end in self.ends):
            return f"its handshake is not finished: {why}"
        return "no data in it" if self.opened else self.why_no_keys

    @property
    def why_no_keys(self) -> str:
        """Why there are no keys for it."""
        return "its keys are in no key log" if self.log else "encrypted, and no key log was given"

    def refuse(self, why: str) -> None:
        """It can't be read: from now on bytes are only counted."""
        self.foreign = self.foreign or why
        for end in self.ends:
            end.buffer.clear()
            end.messages.clear()

    # Records

    def read(self, d: int, end: TlsEnd) -> None:
        """All records that are whole."""
        while self.foreign is None:
            if end.searching:
                if not self.recovery.resume(d, end):
                    return
                continue
            if len(end.buffer) < HEADER:
                return
            if not is_record_header(end.buffer):
                end.gap, end.searching = 0, True
                end.loss = end.loss or ("undecodable", "no TLS record")
                continue
            size = record_size(end.buffer)
            if len(end.buffer) < size:
                return
            header, payload = bytes(end.buffer[:HEADER]), bytes(end.buffer[HEADER:size])
            del end.buffer[:size]
            self.record(d, end, header, payload)

    def record(self, d: int, end: TlsEnd, header: bytes, payload: bytes) -> None:
        """One record, with none missing before it."""
        kind = header[0]
        if not end.sealed:
            if kind == CHANGE_CIPHER_SPEC and self.agreed.version != TLS_13:
                end.sealed = bool(self.agreed.version)
            elif kind == APPLICATION_DATA:
                self.recovery.unseen(d, end, header, payload)
            else:
                self.contents(d, end, kind, payload)
            return
        if kind == CHANGE_CIPHER_SPEC and self.agreed.version == TLS_13:
            return
        if kind == ALERT and len(payload) == ALERT_MESSAGE.sizeof():  # whoever has no keys yet says it in the clear
            self.contents(d, end, kind, payload)
            return
        if end.keys is None and not self.find_keys(d, end):
            found = None if self.agreed.client_random else self.recovery.identify(d, end, header, payload)
            if found is not None:
                self.contents(d, end, *found)
            else:
                self.pass_sealed(end)
            return
        found = self.open(d, end, header, payload)
        if found is not None:
            self.contents(d, end, *found)
        elif self.opened or self.in_handshake(end):
            self.pass_damaged(d, end, payload)
        else:
            self.pass_sealed(end)

    def open(self, d: int, end: TlsEnd, header: bytes, payload: bytes) -> tuple[int, bytes] | None:
        """A protected record's type and contents, under the keys of now or those that follow."""
        assert end.keys is not None
        found = end.keys.open(header, payload)
        if found is None and (keys := self.follow(d, end)) is not None and self.effort.spend(len(payload)):
            found = keys.open(header, payload)
            if found is not None:
                end.keys, end.following = keys, None
        if found is not None:
            self.opened += 1
            end.vain = 0
        return found

    def in_handshake(self, end: TlsEnd) -> bool:
        """Whether a direction of TLS 1.3 still has its handshake's keys."""
        return self.agreed.version == TLS_13 and end.keys is not None and not end.keys.secret

    def follow(self, d: int, end: TlsEnd) -> Protection | None:
        """The keys of the next epoch, where there may be one."""
        if end.following is None and end.keys is not None and self.agreed.version == TLS_13:
            end.following = (
                end.keys.updated()
                if end.keys.secret
                else protection.application_keys(self.agreed, self.log, self.is_client(d))
            )
        return end.following

    def find_keys(self, d: int, end: TlsEnd) -> bool:
        """Look for a direction's keys in the log."""
        if not self.log or not self.agreed.client_random:
            return False
        if self.agreed.version == TLS_13 and not end.vain:
            end.keys = protection.handshake_keys(self.agreed, self.log, self.is_client(d))
        if end.keys is None:
            end.keys = protection.application_keys(self.agreed, self.log, self.is_client(d))
        return end.keys is not None

    def pass_sealed(self, end: TlsEnd) -> None:
        """A record that can't be opened, in a connection where none could be so far."""
        end.vain += 1
        if end.vain > MOST_VAIN:  # the log may still get its keys
            known = any(each.keys is not None for each in self.ends)
            self.refuse("the key log's keys don't open it" if known else self.why_no_keys)

    def pass_damaged(self, d: int, end: TlsEnd, payload: bytes) -> None:
        """A record that is not what was sent, in a connection that can be read."""
        assert end.keys is not None
        end.keys.number += 1
        if not self.in_handshake(end):
            count = max(0, len(payload) - end.keys.cipher.overhead)
            self.connection.lost(d, end.ns, count, "undecodable", "a TLS record that its keys don't open")

    # What is in them

    def contents(self, d: int, end: TlsEnd, kind: int, text: bytes) -> None:
        """What a record brings, out of its protection."""
        if kind == APPLICATION_DATA:
            self.data_bytes += len(text)
            if text:
                self.connection.data(d, end.ns, text)
        elif kind == HANDSHAKE:
            for message, body in end.messages.add(text):
                self.message(d, end, message, body)
        elif kind == ALERT and len(text) == ALERT_MESSAGE.sizeof():
            self.alert(d, end, ALERT_MESSAGE.parse(text).description)

    def message(self, d: int, end: TlsEnd, kind: int, body: bytes) -> None:
        """A handshake message."""
        agreed = self.agreed
        if kind == handshake.CLIENT_HELLO:
            self.connection.client = d
        agreed.see(kind, body, self.is_client(d))
        if kind == handshake.CLIENT_HELLO:
            self.log.seen.add(agreed.client_random)
        elif kind == handshake.SERVER_HELLO and agreed.version == TLS_13:
            for each in self.ends:
                each.sealed = True
        elif kind == handshake.NEW_SESSION_TICKET and agreed.version != TLS_13:
            self.log.remember_ticket(agreed, body)
        elif kind in (handshake.FINISHED, handshake.KEY_UPDATE) and self.follow(d, end) is not None:
            end.keys, end.following = end.following, None

    def alert(self, d: int, end: TlsEnd, description: int) -> None:
        """An alert: the end of the connection, and maybe why."""
        if not description:
            return
        says = f"{alert_text(description)} of the {'client' if self.is_client(d) else 'server'}"
        if self.data_bytes:
            at, size = self.connection.streams[d].offset, ALERT_MESSAGE.sizeof()
            self.connection.event("not-kafka", d, at, size, f"TLS {says}", end.ns, captured=False)
        else:
            self.agreed.failures.append(f"handshake failed, {says}")
