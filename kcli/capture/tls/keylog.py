"""Key logs: the secrets of TLS connections, in the form of NSS's SSLKEYLOGFILE.

A line is `LABEL CLIENT_RANDOM SECRET` in hex. For TLS 1.2, brokers write `RSA Session-ID:ID Master-Key:SECRET` instead,
with the ServerHello's session id. Key logs are never shown: no repr and no error has a secret.
"""

from __future__ import annotations

import contextlib
import re
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from construct import ConstructError

from kcli.errors import InputError, unreadable
from kcli.extras import is_there, require
from kcli.grammar.files.tls import SESSION_TICKET_12

if TYPE_CHECKING:
    from kcli.capture.tls.handshake import Handshake

CLIENT_TRAFFIC, SERVER_TRAFFIC = "CLIENT_TRAFFIC_SECRET_0", "SERVER_TRAFFIC_SECRET_0"
MOST = 100_000  # secrets that are remembered
MOST_TICKETS = 10_000
LONGEST = 4096  # most bytes of a line
DERIVATION = 1 << 13  # the cost of deriving keys, as bytes that could be decrypted meanwhile
SIZES = (32, 48)  # bytes of a secret: SHA-256's, SHA-384's and TLS 1.2's


class Effort:
    """A budget of bytes that may be decrypted in vain: a total, and some for each byte that is read."""

    def __init__(self, budget: int = 1 << 28) -> None:
        self.left = self.most = budget

    def spend(self, count: int) -> bool:
        """Account for an attempt on `count` bytes; return whether it is still allowed."""
        self.left -= count + 256
        return self.left > 0

    @property
    def is_ample(self) -> bool:
        """True if a long search may continue; half of the budget is reserved for short ones."""
        return self.left > self.most // 2

    def derive(self) -> bool:
        """Account for the derivation of keys from a secret; return whether it is still allowed."""
        return self.spend(DERIVATION)

    def earn(self, count: int) -> None:
        """Enlarge the budget after `count` more bytes were read."""
        self.left = min(self.left + 4 * count, self.most)


BEGUN = r"[A-Za-z][\w-]*(?:\s|$)"  # the label, or a part of it


class KeyLog:
    """Secrets by connection, and the budget for trying them."""

    def __init__(self, files: Sequence[str] = ()) -> None:
        """Read key logs. Raises InputError for a file that can't be read or has no key, UsageError without
        cryptography.
        """
        if files:
            require("--key-log", "tls")
        self.secrets: dict[bytes, dict[str, bytes]] = {}  # by the client's random
        self.sessions: dict[bytes, bytes] = {}  # master secrets of TLS 1.2, by session id
        self.tickets: dict[bytes, bytes] = {}  # ... by the ticket that resumes it
        self.seen: set[bytes] = set()  # randoms of ClientHellos
        self.files = [FollowedFile(path) for path in files]
        self.count = 0
        self.effort = Effort()
        for file in self.files:
            # The last line may be incomplete in a log that is being written.
            found = {(self.take_line(line), line.endswith("\n") or not re.match(BEGUN, line)) for line in file.lines()}
            if (False, True) in found and not any(is_key for is_key, _ in found):
                raise InputError(
                    "no line of a key log (LABEL CLIENT_RANDOM SECRET, as SSLKEYLOGFILE has them, expected)",
                    file=str(file.path),
                )

    def __bool__(self) -> bool:
        return bool(self.files or self.count)

    def add(self, block: bytes) -> None:
        """Add a part of a key log, from a Decryption Secrets Block of pcapng. Without cryptography it is ignored."""
        if is_there("tls"):
            for line in block.splitlines():
                self.take_line(text_of(line))

    def master(self, client_random: bytes, session_id: bytes, ticket: bytes) -> bytes | None:
        """Return the master secret of a TLS 1.2 connection; None if it is unknown. session_id: in the ServerHello;
        ticket: in the ClientHello.
        """
        for _ in self.versions():
            found = self.secrets.get(client_random, {}).get("CLIENT_RANDOM") or self.sessions.get(session_id)
            found = found or (self.tickets.get(ticket) if ticket else None)
            if found is not None:
                return found
        return None

    def traffic(self, client_random: bytes) -> dict[str, bytes]:
        """Return the secrets of a TLS 1.3 connection by label; {} if the logs lack them."""
        for _ in self.versions():
            if client_random in self.secrets:
                return self.secrets[client_random]
        return {}

    def remember_ticket(self, agreed: Handshake, body: bytes) -> None:
        """Note that a NewSessionTicket of TLS 1.2 resumes the session in which it was sent."""
        ticket = b"" if agreed.certified else agreed.ticket
        master = self.master(agreed.client_random, agreed.session_id, ticket)
        with contextlib.suppress(ConstructError):
            given = bytes(SESSION_TICKET_12.parse(body).ticket)
            if master is not None and given and len(self.tickets) < MOST_TICKETS:
                self.tickets[given] = master

    def unused(self, client_random: bytes) -> list[tuple[bytes, dict[str, bytes]]]:
        """Return (random, secrets) of connections without a captured handshake; only of this random if it is known."""
        if client_random:
            return [(client_random, self.traffic(client_random))]
        return [each for each in self.secrets.items() if each[0] not in self.seen]

    def versions(self) -> Iterator[None]:
        """Yield once for the known secrets, and again if the logs have grown."""
        yield
        before = self.count
        for file in self.files:
            for line in file.lines():
                self.take_line(line)
        if self.count > before:
            yield

    def take_line(self, line: str) -> bool | None:
        """Read a line; return whether it is a line of a key log, None for an empty line or a comment."""
        words = line.split()
        if not words or line.startswith("#"):
            return None
        if len(words) != 3:
            return False
        label, name, secret = words
        try:
            if name.startswith("Session-ID:") and secret.startswith("Master-Key:"):
                name, secret = name.partition(":")[2], secret.partition(":")[2]
                key, value = bytes.fromhex(name), bytes.fromhex(secret)
                if key and len(value) in SIZES and self.count < MOST:
                    self.count += key not in self.sessions
                    self.sessions[key] = value
                return True
            key, value = bytes.fromhex(name), bytes.fromhex(secret)
        except ValueError:
            return False
        if len(key) != 32 or len(value) not in SIZES:
            return False
        if self.count < MOST:
            known = self.secrets.setdefault(key, {})
            self.count += label not in known
            known[label] = value
        return True


class FollowedFile:
    """A key log that may grow while it is read. is_wide: it is UTF-16, as PowerShell's `>` writes it."""

    def __init__(self, path: str) -> None:
        self.path = Path(path)
        self.at = 0
        self.is_wide = False

    def lines(self) -> Iterator[str]:
        """Yield the whole lines that were not read yet. Raises InputError if the file can't be read."""
        try:
            if self.at and self.path.stat().st_size <= self.at:
                return
            with self.path.open("rb") as file:
                if file.seekable():
                    file.seek(self.at)
                while line := file.readline(LONGEST):
                    if not self.at:
                        self.is_wide = line.startswith((BOM_UTF16_LE, BOM_UTF16_BE))
                    if line.endswith(b"\n") or len(line) == LONGEST:
                        self.at += len(line)  # an incomplete line is read again
                    yield text_of(narrow(line) if self.is_wide else line)
        except OSError as error:
            raise unreadable(error, str(self.path)) from None


def text_of(line: bytes) -> str:
    """Return a line as text, without a byte order mark, as editors of Windows write."""
    return line.removeprefix(BOM_UTF8).decode("ascii", "replace")


def narrow(line: bytes) -> bytes:
    """Return the ASCII text of a line in UTF-16, whichever half of a unit its ends belong to."""
    return line.removeprefix(BOM_UTF16_LE).removeprefix(BOM_UTF16_BE).replace(b"\0", b"")
