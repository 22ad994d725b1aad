"""Reads a connection with TLS: records from its two streams, and their decrypted contents. The rules:

- The handshake determines the keys; the key log has them, by the client's random, the session's id or the ticket.
- A record that the current keys don't decrypt is tried with those of the next epoch, as Finished and KeyUpdate may be
  missing.
- A gap loses the records that it touches. The next record's header is searched for, and its number is tried from the
  next one on, up to as many as fit into the gap; its tag or MAC proves both. The number of missing records gives the
  number of missing bytes of data, except in CBC, which pads records.
- A connection without a captured handshake is tried with those keys of the log that no captured handshake uses.
- Keys may arrive later than their records, as from a live client. Records of both ends then wait in order, within a
  limit of bytes and the memory limit. The log is read at growing intervals.
- Without keys nothing is read, and one event describes the connection.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

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
    is_hello,
    is_record_header,
    record_size,
)

if TYPE_CHECKING:
    from kcli.capture.kafka.connection import CapturedConnection

MOST_VAIN = 32  # records in a row that fail before the first that can be decrypted
MOST_HELD = 1 << 22  # bytes of a connection's records that wait for keys
RECORD_SIZE = 128  # bytes of memory counted for such a record besides its payload
SOON = 10_000_000  # ns until the log is read again


class HeldRecord(NamedTuple):
    """A record that waits for keys. ns: when it was complete."""

    sender: int
    ns: int
    header: bytes
    payload: bytes


class TlsSession:
    """Decrypts a connection: it receives ordered bytes of both directions, and passes the decrypted bytes to the
    connection.
    """

    def __init__(
        self, connection: CapturedConnection, started: tuple[bool, bool], log: KeyLog, decrypted: Callable[[int], None]
    ) -> None:
        """Begin a session. decrypted: as for `TlsLayer`."""
        self.connection = connection
        self.log, self.effort, self.decrypted = log, log.effort, decrypted
        self.data_bytes = 0  # bytes of data passed on
        self.ends = (TlsEnd(started[0]), TlsEnd(started[1]))
        self.agreed = Handshake()
        self.opened = 0  # number of decrypted records
        self.recovery = Recovery(self)
        self.began = 0
        self.foreign: str | None = None  # the reason why it can't be read
        self.held: deque[HeldRecord] = deque()  # records that wait for keys
        self.held_size = 0  # bytes of memory counted for them
        self.asked = self.ask_at = 0  # the times (ns) of the first failed search for keys, and of the next one

    @property
    def steady(self) -> bool:
        """True if the keys of both ends are known, and nothing is missing."""
        if self.foreign is not None or self.held:
            return False
        return all(end.keys is not None and not end.searching and not self.in_handshake(end) for end in self.ends)

    @property
    def weight(self) -> int:
        """The memory counted for held data, in bytes."""
        return sum(len(end.buffer) + len(end.messages.buffer) for end in self.ends) + self.held_size

    def is_client(self, d: int) -> bool:
        """Return whether end `d` is the client."""
        return d == self.connection.client

    # Input

    def data(self, d: int, ns: int, data: bytes) -> None:
        """Read bytes that end `d` sent."""
        end = self.ends[d]
        if end.searching and not end.received and is_hello(data):
            # the stream begins here, though no SYN was captured
            end.searching, self.connection.streams[d].synced = False, True
        end.ns, end.received = ns, end.received + len(data)
        self.began = self.began or ns
        self.effort.earn(len(data))
        if self.foreign is None:
            end.buffer += data
            self.read(d, end)

    def open_records(self, d: int, ns: int, data: memoryview) -> tuple[bytes, int]:
        """Decrypt records of a steady connection; see TlsEnd.open_records."""
        text, used = self.ends[d].open_records(ns, data)
        self.effort.earn(used)
        self.opened += used > 0
        self.data_bytes += len(text)
        return text, used

    def lost(self, d: int, ns: int, count: int, kind: Kind, reason: str) -> None:
        """Note that bytes of end `d` are missing from the capture. count: their number, 0 if unknown."""
        end = self.ends[d]
        end.ns = ns
        self.began = self.began or ns
        if self.foreign is not None:
            return
        if self.held:
            self.read_held(last=True)
        end.messages.clear()
        end.loss = end.loss or (kind, reason)
        end.gap = None if not count or end.gap is None else end.gap + len(end.buffer) + count
        end.buffer.clear()
        end.searching = True

    def close(self, ns: int, why: str, extra: tuple[int, int]) -> None:
        """End the connection, or the capture."""
        if self.held:
            self.read_held(last=True)
        if not self.data_bytes:
            failed = self.agreed.failures and not self.is_unanswered
            self.refuse(self.agreed.failures[0] if failed else self.why_closed(why))
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
        for d, end in enumerate(self.ends) if self.connection.foreign is None else ():
            if end.lacking:
                why_not = f"TLS records: {self.why_no_keys}"
                self.connection.event("undecodable", d, self.connection.streams[d].offset, end.lacking, why_not)
                own -= end.lacking
        for d, end in cut if self.connection.foreign is None else ():
            size = record_size(end.buffer) if len(end.buffer) >= HEADER else HEADER
            text = f"{len(end.buffer)} of {size} bytes of a TLS record: {why}"
            self.connection.event("truncated", d, self.connection.streams[d].offset, len(end.buffer), text)
            own -= len(end.buffer)
        self.decrypted(own)

    def why_closed(self, why: str) -> str:
        """Return why a closed connection could not be read. why: why it closed."""
        if not self.agreed.client_random:
            return "its handshake is not in the capture" + (", and no key of the key log opens it" if self.log else "")
        if not self.agreed.version:
            text = "no answer to its ClientHello, as on a port without TLS" if self.is_unanswered else "no ServerHello"
            return f"{text}: {why}"
        if not any(end.sealed for end in self.ends):
            return f"its handshake is not finished: {why}"
        return "no data in it" if self.opened else self.why_no_keys

    @property
    def is_unanswered(self) -> bool:
        """True if the server has sent no byte."""
        return bool(self.agreed.client_random) and not self.ends[1 - (self.connection.client or 0)].received

    @property
    def why_no_keys(self) -> str:
        """The reason why there are no keys for the session."""
        if self.agreed.unread:
            return self.agreed.unread
        has = [protection.application_keys(self.agreed, self.log, from_client) for from_client in (True, False)]
        if has.count(None) == 1:
            return f"the key log has the secret of the {'server' if has[0] is None else 'client'}'s direction alone"
        return "its keys are in no key log" if self.log else "encrypted, and no key log was given"

    def refuse(self, why: str) -> None:
        """Reject the connection for this reason; from now on bytes are only counted."""
        self.foreign = self.foreign or why
        self.held.clear()
        self.held_size = 0
        for end in self.ends:
            end.buffer.clear()
            end.messages.clear()

    # Records

    def read(self, d: int, end: TlsEnd) -> None:
        """Read all whole records."""
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
            if self.held:
                self.hold(HeldRecord(d, end.ns, header, payload))
                self.read_held()
            elif self.lacks_keys(d, end, header, payload):
                self.hold(HeldRecord(d, end.ns, header, payload))
            else:
                self.record(d, end, header, payload)

    # Records that wait for keys

    def lacks_keys(self, d: int, end: TlsEnd, header: bytes, payload: bytes) -> bool:
        """Return whether a record can't be decrypted because the log lacks its keys so far."""
        if not end.sealed or not self.log or not self.agreed.client_random or self.agreed.unread:
            return False
        if header[0] == CHANGE_CIPHER_SPEC or (header[0] == ALERT and len(payload) == ALERT_MESSAGE.sizeof()):
            return False
        if end.keys is None:
            return not (self.find_keys(d, end) or self.recovery.resumed_later(d, end, header, payload))
        if not self.in_handshake(end):
            return not self.data_bytes and not self.has_both_secrets
        if self.follow(d, end) is not None and (self.data_bytes or self.has_both_secrets):
            return False
        return header[0] == APPLICATION_DATA and end.keys.cipher.open(end.keys.number, header, payload) is None

    @property
    def has_both_secrets(self) -> bool:
        """Return whether the log has the secrets of both directions; with only one, half of the data would be
        missing.
        """
        if self.agreed.version != TLS_13:
            return True
        return all(label in self.log.traffic(self.agreed.client_random) for label in protection.TRAFFIC_LABELS)

    def hold(self, record: HeldRecord) -> None:
        """Keep a record until there are keys for it."""
        if not self.held:
            self.asked, self.ask_at = record.ns, record.ns + SOON
        self.held.append(record)
        self.held_size += RECORD_SIZE + len(record.payload)

    def read_held(self, *, last: bool = False) -> None:
        """Read the waiting records, if there are keys now. last: they wait no longer."""
        latest = [end.ns for end in self.ends]
        now = max(latest)
        if not last and self.held_size < MOST_HELD and now < self.ask_at:
            return
        self.ask_at = now + max(SOON, (now - self.asked) // 4)
        while self.held and self.foreign is None:
            d, ns, header, payload = self.held[0]
            if self.lacks_keys(d, self.ends[d], header, payload):
                break
            self.held.popleft()
            self.held_size -= RECORD_SIZE + len(payload)
            self.ends[d].ns = ns
            self.record(d, self.ends[d], header, payload)
        for end, ns in zip(self.ends, latest, strict=True):
            end.ns = ns
        if self.held and (last or self.held_size > MOST_HELD):
            self.give_up()

    def give_up(self) -> None:
        """Drop the records that wait for keys."""
        if not self.held:
            return
        if not self.data_bytes:
            self.read_alerts()
            self.refuse(self.agreed.failures[0] if self.agreed.failures else self.why_no_keys)
            return
        while self.held:
            record = self.held.popleft()
            self.ends[record.sender].lacking += len(record.header) + len(record.payload)
        self.held_size = 0

    def read_alerts(self) -> None:
        """Read waiting alerts, which may explain why there is no data."""
        for d, _, header, payload in list(self.held):
            end = self.ends[d]
            found = None if end.keys is None else end.keys.open(header, payload)
            if found is not None and found[0] != APPLICATION_DATA:
                self.contents(d, end, *found)

    # Kinds of records

    def record(self, d: int, end: TlsEnd, header: bytes, payload: bytes) -> None:
        """Read one record, with none missing before it."""
        kind = header[0]
        if not end.sealed:
            self.plain_record(d, end, header, payload)
        # an end without keys sends its alerts in the clear
        elif kind == ALERT and len(payload) == ALERT_MESSAGE.sizeof():
            self.contents(d, end, kind, payload)
        elif kind != CHANGE_CIPHER_SPEC or self.agreed.version != TLS_13:
            self.sealed_record(d, end, header, payload)

    def plain_record(self, d: int, end: TlsEnd, header: bytes, payload: bytes) -> None:
        """Read a record of an end that has not encrypted anything before."""
        if header[0] == CHANGE_CIPHER_SPEC and self.agreed.version != TLS_13:
            end.sealed = bool(self.agreed.version)
        elif header[0] == APPLICATION_DATA:
            self.recovery.unseen(d, end, header, payload)
        else:
            self.contents(d, end, header[0], payload)

    def sealed_record(self, d: int, end: TlsEnd, header: bytes, payload: bytes) -> None:
        """Read an encrypted record, or account for its bytes if it can't be decrypted."""
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
        elif self.in_unread_handshake(d, end) and end.vain < MOST_VAIN:
            end.vain += 1
        elif self.opened or self.in_handshake(end):
            self.pass_damaged(d, end, payload)
        else:
            self.pass_sealed(end)

    def open(self, d: int, end: TlsEnd, header: bytes, payload: bytes) -> tuple[int, bytes] | None:
        """Decrypt a protected record to (type, contents), with the current keys or the following ones."""
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
        """Return whether a direction of TLS 1.3 still has its handshake keys."""
        return self.agreed.version == TLS_13 and end.keys is not None and not end.keys.secret

    def in_unread_handshake(self, d: int, end: TlsEnd) -> bool:
        """Return whether a record that can't be decrypted may belong to the handshake, whose secret the log lacks. Such
        records have no number among those of data.
        """
        keys = end.keys
        if self.agreed.version != TLS_13 or keys is None or not keys.secret or keys.number or keys.updates:
            return False
        return protection.handshake_keys(self.agreed, self.log, self.is_client(d)) is None

    def follow(self, d: int, end: TlsEnd) -> Protection | None:
        """Return the keys of the next epoch, if there may be one."""
        if end.following is None and end.keys is not None and self.agreed.version == TLS_13:
            end.following = (
                end.keys.updated()
                if end.keys.secret
                else protection.application_keys(self.agreed, self.log, self.is_client(d))
            )
        return end.following

    def find_keys(self, d: int, end: TlsEnd) -> bool:
        """Look for a direction's keys in the log; return whether they were found."""
        if not self.log or not self.agreed.client_random or self.agreed.unread:
            return False
        if self.agreed.version == TLS_13 and not end.vain:
            end.keys = protection.handshake_keys(self.agreed, self.log, self.is_client(d))
        if end.keys is None:
            end.keys = protection.application_keys(self.agreed, self.log, self.is_client(d))
        return end.keys is not None

    def pass_sealed(self, end: TlsEnd) -> None:
        """Count a record that can't be decrypted, in a connection without any that can so far."""
        end.vain += 1
        if end.vain > MOST_VAIN:  # the log may still get its keys
            known = any(each.keys is not None for each in self.ends)
            self.refuse("the key log's keys don't open it" if known else self.why_no_keys)

    def pass_damaged(self, d: int, end: TlsEnd, payload: bytes) -> None:
        """Report a damaged record as lost, in a connection that can be read."""
        assert end.keys is not None
        end.keys.number += 1
        if not self.in_handshake(end):
            count = max(0, len(payload) - end.keys.cipher.overhead)
            self.connection.lost(d, end.ns, count, "undecodable", "a TLS record that its keys don't open")

    # Contents of records

    def contents(self, d: int, end: TlsEnd, kind: int, text: bytes) -> None:
        """Read a decrypted record."""
        if kind == APPLICATION_DATA:
            self.data_bytes += len(text)
            if text:
                self.connection.data(d, end.ns, text)
        elif kind == HANDSHAKE:
            for message, body in end.messages.add(text):
                self.message(d, end, message, body)
        elif kind == ALERT and len(text) == ALERT_MESSAGE.sizeof():
            self.alert(d, end, ALERT_MESSAGE.parse(text).description)
        elif kind == CHANGE_CIPHER_SPEC:
            # after a loss, or protected: a renegotiation of TLS 1.2, whose hellos were read like others
            end.sealed, end.keys = end.sealed or bool(self.agreed.version), None
            self.find_keys(d, end)

    def message(self, d: int, end: TlsEnd, kind: int, body: bytes) -> None:
        """Read a handshake message."""
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
        elif self.ends_epoch(end, kind) and self.follow(d, end) is not None:
            end.keys, end.following = end.following, None

    def ends_epoch(self, end: TlsEnd, kind: int) -> bool:
        """Return whether the keys of TLS 1.3 change after a message. A Finished among data completes the server's later
        request for a certificate (RFC 8446, 4.6.2), and changes none.
        """
        return kind == handshake.KEY_UPDATE or (kind == handshake.FINISHED and self.in_handshake(end))

    def alert(self, d: int, end: TlsEnd, description: int) -> None:
        """Read an alert: it ends the connection, and may tell why."""
        if not description:
            return
        text = f"{alert_text(description)} of the {'client' if self.is_client(d) else 'server'}"
        if self.data_bytes:
            at, size = self.connection.streams[d].offset, ALERT_MESSAGE.sizeof()
            self.connection.event("not-kafka", d, at, size, f"TLS {text}", end.ns, captured=False)
        else:
            self.agreed.failures.append(f"handshake failed, {text}")
