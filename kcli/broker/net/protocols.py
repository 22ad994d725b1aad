"""The listeners of a node, each with a name, a security protocol and a port, and their advertised addresses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from kcli.errors import UsageError
from kcli.legible import without_login

# Kafka's security protocols, in the order of their numbers.
PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
ENCRYPTED, LOGS_IN = 1, 2
LISTENER = re.compile(rf"(?:([A-Za-z0-9_-]+)=)?({'|'.join(PROTOCOLS)})(?::(\d{{1,5}}))?")
ADVERTISED = re.compile(r"([A-Za-z0-9_-]+)://([^/:,\[\]]+|\[[^\],]+\]):(\d{1,5})")


class ListenerOptions(NamedTuple):
    """A listener: its name, the number of its protocol, and its port; 0: any free one."""

    name: str
    protocol: int
    port: int = 0

    @property
    def is_encrypted(self) -> bool:
        """Return whether connections begin with TLS."""
        return bool(self.protocol & ENCRYPTED)

    @property
    def logs_in(self) -> bool:
        """Return whether clients have to log in by SASL."""
        return bool(self.protocol & LOGS_IN)


def read_listeners(texts: Iterable[str]) -> list[ListenerOptions]:
    """Read listeners: "SSL", "SSL:9093", with a name of their own "INTERNAL=SSL:9093". Raises UsageError."""
    made: dict[str, ListenerOptions] = {}
    for text in texts:
        found = LISTENER.fullmatch(text)
        if found is None or int(found[3] or 0) > 65535:
            raise UsageError(
                f"listener {without_login(text)}: [NAME=]PROTOCOL[:PORT] expected, of {', '.join(PROTOCOLS)}"
            )
        name = (found[1] or found[2]).upper()
        if name in made:
            raise UsageError(f"listener {text}: there is another one called {name}")
        made[name] = ListenerOptions(name, PROTOCOLS.index(found[2]), int(found[3] or 0))
    return list(made.values())


def read_advertised(text: str) -> dict[str, tuple[str, int]]:
    """Read advertised.listeners: host and port by the listener's name. Raises ValueError."""
    made = {}
    for each in filter(None, (part.strip() for part in text.split(","))):
        found = ADVERTISED.fullmatch(each)
        if found is None or int(found[3]) > 65535:
            raise ValueError("LISTENER://HOST:PORT,... expected")
        made[found[1].upper()] = found[2].strip("[]"), int(found[3])
    return made


def advertised(text: str, listeners: Iterable[ListenerOptions]) -> Mapping[str, tuple[str, int]]:
    """Return the addresses of advertised.listeners by listener; a broker with one listener calls it as it likes.

    Raises UsageError if an address belongs to no listener.
    """
    found, names = read_advertised(text), [each.name for each in listeners]
    if len(names) == len(found) == 1:
        return dict(zip(names, found.values(), strict=True))
    if strangers := found.keys() - names:
        raise UsageError(f"advertised.listeners: {', '.join(sorted(strangers))}: the listeners are {', '.join(names)}")
    return found


def protocol_map(listeners: Iterable[ListenerOptions]) -> str:
    """Return listener.security.protocol.map of these listeners."""
    return ",".join(f"{each.name}:{PROTOCOLS[each.protocol]}" for each in listeners)
