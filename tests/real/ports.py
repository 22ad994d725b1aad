"""Free ports, and what listens on them."""

import contextlib
import os
import random
import socket
import struct
from collections.abc import Iterator

__all__ = ["connects", "free_ports", "known_brokers"]

FIRST_PORT, PORTS, PROCESSES = 18000, 14000, 8


def free_ports(count: int) -> Iterator[int]:
    """Ports nobody listens on, below the range the system hands out to outgoing connections.

    Each process of a parallel run has ports of its own: two could find the same one free.
    """
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % PROCESSES
    first = FIRST_PORT + worker * PORTS // PROCESSES
    found: set[int] = set()
    while len(found) < count:
        port = random.SystemRandom().randrange(first, first + PORTS // PROCESSES)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            found.add(port)
    return iter(sorted(found))


def connects(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 2).close()
    except OSError:
        return False
    return True


def known_brokers(port: int) -> int:
    """How many brokers a node tells of in a Metadata v0 response; -1 while it is not up."""
    name = b"no such name"  # a name that can't be a topic's: asking for none would mean all
    body = struct.pack(">hhih3sih", 3, 0, 1, 3, b"lab", 1, len(name)) + name
    try:
        with socket.create_connection(("127.0.0.1", port), 2) as link, link.makefile("rb") as answer:
            link.settimeout(5)
            link.sendall(struct.pack(">i", len(body)) + body)
            head = answer.read(12)
    except OSError:
        return -1
    return int(struct.unpack(">i", head[8:])[0]) if len(head) == 12 else -1
