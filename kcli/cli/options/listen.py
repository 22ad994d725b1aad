"""The address on which a command listens: HOST:PORT."""

from __future__ import annotations

from kcli.client.address import Address
from kcli.errors import UsageError


def listen_address(option: str, text: str) -> Address:
    """Parse HOST:PORT, an IPv6 host in brackets; without a host all addresses of the machine. Raises UsageError."""
    host, colon, port = text.strip().rpartition(":")
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    known = port.isascii() and port.isdecimal() and len(port) <= 5 and int(port) < 1 << 16
    if not colon or not known or (":" in bare) != (bare != host):
        raise UsageError(f"{option} {text}: HOST:PORT expected (an IPv6 host in brackets: [::1]:9192)")
    return Address(bare, int(port))
