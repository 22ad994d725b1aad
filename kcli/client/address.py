"""The address of a broker: HOST:PORT, an IPv6 host in brackets."""

import ipaddress
import re
from collections.abc import Iterable
from typing import NamedTuple

from kcli.errors import UsageError
from kcli.legible import host_port, without_login

# As in Kafka's bootstrap.servers, an optional protocol is ignored.
FORM = re.compile(r"(?:[A-Za-z0-9_]+://)?(?:\[([0-9A-Fa-f:.%\w]+)\]|([^\s:\[\]/]+)):(\d{1,5})")
# Hosts of listeners that listen on every address of the machine.
WILDCARDS = ("", "0.0.0.0", "::")


class Address(NamedTuple):
    """The host (a name or an IP address) and the port of a broker."""

    host: str
    port: int

    def __str__(self) -> str:
        return host_port(self.host, self.port)


def is_ip_address(text: str) -> bool:
    """Return whether a host is an IP address, not a name."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def parse_address(text: str) -> Address:
    """Return the address in "HOST:PORT" or "[IPV6]:PORT". Raises UsageError if it is neither."""
    match = FORM.fullmatch(text.strip())
    if match is None or not 0 < int(match[3]) < 65_536:
        raise UsageError(f"{without_login(text)!r} is not HOST:PORT (an IPv6 host in brackets: [::1]:9092)")
    return Address(match[1] or match[2], int(match[3]))


def parse_bootstrap(texts: Iterable[str]) -> tuple[Address, ...]:
    """Return the bootstrap addresses. Raises UsageError if there are none or one is invalid."""
    addresses = tuple(parse_address(text) for text in texts)
    if not addresses:
        raise UsageError("no broker to talk to: --bootstrap HOST:PORT, or bootstrap.servers in --config")
    return addresses
