"""Recovers after a loss: finds the next record that can be decrypted, and the keys of a connection whose handshake was
not completely captured.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

from kcli.capture.tls import protection
from kcli.capture.tls.ciphers import TLS_13
from kcli.capture.tls.handshake import Handshake
from kcli.capture.tls.keylog import Effort, KeyLog
from kcli.capture.tls.stream import TlsEnd
from kcli.grammar.files.tls import APPLICATION_DATA, HEADER, is_record_header, next_record_header, record_size

if TYPE_CHECKING:
    from kcli.capture.kafka.connection import CapturedConnection

MOST_NUMBERS = 4096  # record numbers tried after a loss of unknown size, or without a captured handshake
FARTHEST = 1 << 24  # the highest number to try if the cipher tells likely ones
# Record numbers tried with all secrets before the next numbers.
STEPS = [range(*ends) for ends in pairwise((0, MOST_NUMBERS, 1 << 16, 1 << 18, 1 << 20, 1 << 22, FARTHEST))]
MOST_GUESSED = 4  # records of a direction without a handshake that are tried against all keys


class Session(Protocol):
    """The part of a session that recovery uses: its connection, its two ends, its handshake, and the known keys.

    opened: the number of decrypted records. data_bytes: the number of bytes passed on.
    """

    connection: CapturedConnection
    ends: tuple[TlsEnd, TlsEnd]
    agreed: Handshake
    log: KeyLog
    effort: Effort
    opened: int
    data_bytes: int
    foreign: str | None

    def is_client(self, d: int) -> bool: ...
    def find_keys(self, d: int, end: TlsEnd) -> bool: ...
    def follow(self, d: int, end: TlsEnd) -> protection.Protection | None: ...
    def contents(self, d: int, end: TlsEnd, kind: int, text: bytes) -> None: ...
    def refuse(self, why: str) -> None: ...
    def why_closed(self, why: str) -> str: ...


class Recovery:
    """Finds how a session continues if records, or its handshake, are missing."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.tried = 0  # number of secrets in the log when they were last tried

    def resume(self, d: int, end: TlsEnd) -> bool:
        """Find the next record that can be decrypted, or that may be one if there are no keys; return whether there is
        one.
        """
        at = 0
        while (at := next_record_header(end.buffer, at, end.sealed or not self.session.agreed.version)) >= 0:
            if at + HEADER > len(end.buffer):
                break
            if not is_record_header(end.buffer, at):
                at += 1
                continue
            size = record_size(end.buffer, at)
            if at + size > len(end.buffer):
                break
            header, payload = bytes(end.buffer[at : at + HEADER]), bytes(end.buffer[at + HEADER : at + size])
            found = self.searched(d, end, at, header, payload)
            if found is not None:
                del end.buffer[: at + size]
                end.searching = False
                self.session.contents(d, end, *found)
                return True
            if self.session.foreign is not None:
                return False
            at += 1
        passed = max(0, len(end.buffer) - 2) if at < 0 else at  # the last two bytes may begin a header
        del end.buffer[:passed]
        end.gap = None if end.gap is None else end.gap + passed
        return False

    def searched(self, d: int, end: TlsEnd, at: int, header: bytes, payload: bytes) -> tuple[int, bytes] | None:
        """Decrypt a record after a loss; None if no keys decrypt it."""
        gap = None if end.gap is None else end.gap + at
        if not end.sealed and self.session.agreed.version:
            if header[0] != APPLICATION_DATA:
                return header[0], payload
            end.sealed = True  # data is protected: the ChangeCipherSpec is missing
        if end.keys is None and (not end.sealed or not self.session.find_keys(d, end)):
            return self.guess(d, end, header, payload)
        assert end.keys is not None
        most = FARTHEST if gap is None else gap // (end.keys.cipher.overhead + HEADER) + 1
        for keys, is_far in ((end.keys, False), (self.session.follow(d, end), False), (end.keys, True)):
            if keys is None:
                continue
            first = keys.number
            near = first + min(most, MOST_NUMBERS) + 1
            numbers = range(near, first + min(most, FARTHEST)) if is_far else range(first, near)
            found = keys.search(header, payload, numbers, self.session.effort, is_far)
            if found is not None:
                missing = keys.number - 1 - first if keys is end.keys else None
                end.keys, end.following = keys, None if keys is not end.keys else end.following
                self.session.opened += 1
                self.report_loss(d, end, end.plain_size(gap, missing))
                return found
        return None

    def report_loss(self, d: int, end: TlsEnd, size: int | None) -> None:
        """Report a loss to the connection. size: bytes of missing data."""
        if size != 0 and self.session.data_bytes and end.loss is not None:
            self.session.connection.lost(d, end.ns, size or 0, *end.loss)
        end.loss, end.gap, end.searching = None, 0, False

    def identify(self, d: int, end: TlsEnd, header: bytes, payload: bytes) -> tuple[int, bytes] | None:
        """Decrypt a record if only the ServerHello was captured; the keys that decrypt it tell the client's random."""
        for random, _ in self.session.log.unused(b""):
            self.session.agreed.client_random = random
            if not self.session.effort.derive():
                break
            if self.session.effort.spend(len(payload)) and self.session.find_keys(d, end) and end.keys is not None:
                found = end.keys.open(header, payload)
                if found is not None:
                    self.session.log.seen.add(random)
                    self.session.opened += 1
                    return found
        self.session.agreed.client_random, end.keys = b"", None
        return None

    def resumed_later(self, d: int, end: TlsEnd, header: bytes, payload: bytes) -> bool:
        """Find the keys of a TLS 1.2 session to which the server gave no id, but a ticket. Java agents log its secret
        with the id of a later connection that resumes it. header, payload: the first protected record.
        """
        session, agreed = self.session, self.session.agreed
        if agreed.session_id or agreed.version == TLS_13 or self.tried == session.log.count:
            return False
        self.tried = session.log.count
        for master in {*session.log.sessions.values()}:
            keys = protection.of_master(agreed, master, session.is_client(d))
            if keys is None or not session.effort.is_ample or not session.effort.derive():
                break
            if keys.open(header, payload) is not None:
                session.log.secrets.setdefault(agreed.client_random, {})["CLIENT_RANDOM"] = master
                return session.find_keys(d, end)
        return False

    def unseen(self, d: int, end: TlsEnd, header: bytes, payload: bytes) -> None:
        """Read data of a connection whose handshake was not completely captured."""
        found = self.guess(d, end, header, payload)
        if found is not None:
            self.session.contents(d, end, *found)

    def guess(self, d: int, end: TlsEnd, header: bytes, payload: bytes) -> tuple[int, bytes] | None:
        """Decrypt a record with any keys of the log, and keep these for the connection."""
        end.guessed += 1
        most = 4 * MOST_GUESSED if self.session.agreed.client_random else MOST_GUESSED
        if end.guessed > most or not self.session.log:
            other = self.session.ends[1 - d]
            if other.keys is None and (other.guessed > MOST_GUESSED or end.guessed > 4 * MOST_GUESSED):
                self.session.refuse(self.session.why_closed(""))
            return None
        client = self.session.connection.client
        role = None if client is None or self.session.agreed.client_random == b"" else d == client
        opened = self.opened_by_log(header, payload, role)
        if opened is None:
            return None
        random, suite, is_client, keys, found = opened
        self.session.connection.client = d if is_client else 1 - d
        agreed = self.session.agreed
        agreed.client_random, agreed.version, agreed.suite = random, TLS_13, suite
        self.session.log.seen.add(random)
        for each in self.session.ends:
            each.sealed, each.guessed = True, 0
        other = self.session.ends[1 - d]
        other.keys, other.gap = protection.application_keys(agreed, self.session.log, not is_client), None
        end.keys, end.gap = keys, 0
        self.session.opened += 1
        return found

    def opened_by_log(
        self, header: bytes, payload: bytes, from_client: bool | None
    ) -> tuple[bytes, int, bool, protection.Protection, tuple[int, bytes]] | None:
        """Find the secret that decrypts a record, and the record's number, low ones first; return (client's random,
        suite, whether it is the client's direction, keys, (type, contents)).
        """
        session = self.session
        for step, numbers in enumerate(STEPS):
            for random, suite, is_client, keys in protection.guesses(session.agreed, session.log, from_client):
                found = keys.search(header, payload, numbers, session.effort, step > 0)
                if found is not None:
                    return random, suite, is_client, keys, found
        return None
