"""What clients log in with, without what is secret: of PLAIN and SCRAM the user's name stays, as another name."""

from __future__ import annotations

import re
from collections.abc import Callable

PLAIN = re.compile(rb"([^\0]*)\0([^\0]+)\0([^\0]*)", re.DOTALL)  # RFC 4616
SCRAM = re.compile(rb"([ny],)(a=)?([^,]*)(,n=)([^,]+)(,r=)(.*)", re.DOTALL)  # RFC 5802, client-first-message
HIDDEN = b"x"


def redacted_login(token: bytes, name: Callable[[bytes], bytes]) -> bytes:
    """A token of SaslAuthenticate, as long as it was. name: replaces a user's name."""
    if found := PLAIN.fullmatch(token):
        acting, user, password = found.groups()
        return b"\0".join((name(acting), name(user), HIDDEN * len(password)))
    if found := SCRAM.fullmatch(token):
        flag, mark, acting, before, user, behind, rest = found.groups()
        return b"".join((flag, mark or b"", name(acting), before, name(user), behind, HIDDEN * len(rest)))
    return HIDDEN * len(token)
