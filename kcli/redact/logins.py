"""Redacts the logins of clients: secrets are removed; of PLAIN and SCRAM the user's name stays, as a pseudonym.

The mechanism decides, not the form of a token: with a mechanism that is not listed here nothing stays.
"""

import re
from collections.abc import Callable, Mapping

HIDDEN = b"x"

Name = Callable[[bytes], bytes]  # returns the replacement of a user's name


def redacted_plain(token: bytes, name: Name) -> bytes | None:
    """Return a token of PLAIN (RFC 4616) without its password; None if it is not such a token."""
    found = re.fullmatch(rb"([^\0]*)\0([^\0]+)\0(.*)", token, re.DOTALL)
    if found is None:
        return None
    acting, user, password = found.groups()
    return b"\0".join((name(acting), name(user), HIDDEN * len(password)))


def redacted_scram(token: bytes, name: Name) -> bytes | None:
    """Return SCRAM's client-first-message (RFC 5802) without its nonce; None if it is another message."""
    found = re.fullmatch(rb"([ny],)(a=)?([^,]*)(,n=)([^,]+)(,r=)(.*)", token, re.DOTALL)
    if found is None:
        return None
    flag, mark, acting, before, user, behind, rest = found.groups()
    return b"".join((flag, mark or b"", name(acting), before, name(user), behind, HIDDEN * len(rest)))


MECHANISMS: Mapping[bytes, Callable[[bytes, Name], bytes | None]] = {
    b"PLAIN": redacted_plain,
    b"SCRAM-SHA-256": redacted_scram,
    b"SCRAM-SHA-512": redacted_scram,
}


class Login:
    """The login of a connection. mechanism: as in the latest SaslHandshake; None: there was none."""

    def __init__(self, mechanism: bytes | None = None) -> None:
        self.mechanism = mechanism

    def redacted(self, token: bytes, name: Name) -> bytes:
        """Return a client's token redacted, with the same length."""
        redact = MECHANISMS.get(self.mechanism) if self.mechanism is not None else None
        made = redact(token, name) if redact is not None else None
        return HIDDEN * len(token) if made is None else made
