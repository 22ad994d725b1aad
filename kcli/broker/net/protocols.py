"""The listeners of a node, each with a name, a security protocol and a port, and their advertised addresses."""

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
    """A listener. protocol: its index in PROTOCOLS; port: 0 for any free one."""

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
    """Parse listeners such as "SSL", "SSL:9093", or with a name "INTERNAL=SSL:9093". Raises UsageError."""
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
    """Parse advertised.listeners; return (host, port) by the listener's name. Raises ValueError."""
    made = {}
    for each in filter(None, (part.strip() for part in text.split(","))):
        found = ADVERTISED.fullmatch(each)
        if found is None or int(found[3]) > 65535:
            raise ValueError("LISTENER://HOST:PORT,... expected")
        made[found[1].upper()] = found[2].strip("[]"), int(found[3])
    return made


def advertised(text: str, listeners: Iterable[ListenerOptions]) -> Mapping[str, tuple[str, int]]:
    """Return (host, port) of advertised.listeners by listener. If there is one listener and one address, any name will
    do.

    Raises UsageError if an address belongs to no listener.
    """
    found, names = read_advertised(text), [each.name for each in listeners]
    if len(names) == len(found) == 1:
        return dict(zip(names, found.values(), strict=True))
    if strangers := found.keys() - names:
        raise UsageError(f"advertised.listeners: {', '.join(sorted(strangers))}: the listeners are {', '.join(names)}")
    return found


def protocol_map(listeners: Iterable[ListenerOptions]) -> str:
    """Return the value of listener.security.protocol.map for these listeners."""
    return ",".join(f"{each.name}:{PROTOCOLS[each.protocol]}" for each in listeners)
