"""The policy of a proxy: allowed networks and APIs, limits on connections, and fault rules; it may be in a file."""

import ipaddress
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from kcli.capture.name_choice import api_keys
from kcli.errors import InputError, UsageError
from kcli.schemas.apikeys import API_VERSIONS, SASL_AUTHENTICATE, SASL_HANDSHAKE
from kcli.schemas.catalog import catalog

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
ALWAYS = frozenset({API_VERSIONS, SASL_HANDSHAKE, SASL_AUTHENTICATE})  # every client needs them
LONGEST_FILE = 1 << 20  # bytes


@dataclass(frozen=True)
class Policy:
    """A policy. networks: of clients, () for all. apis: keys, empty for all. connections, per_address: the most open
    connections in all and of one address, None for no limit. faults: rules (`kcli.broker.faults`); seed: for their
    random choices.
    """

    networks: tuple[Network, ...] = ()
    apis: frozenset[int] = frozenset()
    connections: int | None = None
    per_address: int | None = None
    faults: tuple[str, ...] = ()
    seed: int | None = field(default=None, compare=False)

    def admits(self, host: str) -> bool:
        """Return whether clients of an address may connect."""
        if not self.networks:
            return True
        address = ipaddress.ip_address(host.partition("%")[0])
        mapped = getattr(address, "ipv4_mapped", None) or address
        return any(mapped in each for each in self.networks)

    def allows(self, api_key: int) -> bool:
        """Return whether requests of an API pass."""
        return not self.apis or api_key in self.apis


OPEN = Policy()


def networks_of(texts: Iterable[str]) -> tuple[Network, ...]:
    """Parse networks such as "10.0.0.0/8" or "fd00::/8", or single addresses. Raises UsageError for others."""
    made = []
    for text in texts:
        try:
            made.append(ipaddress.ip_network(text.strip()))
        except ValueError as error:
            raise UsageError(f"network {text}: ADDRESS/BITS expected, as 10.0.0.0/8 ({error})") from None
    return tuple(made)


def apis_of(texts: Iterable[str], dialect: str | None = None) -> frozenset[int]:
    """Return the API keys of lists such as "Produce,Fetch" or "!DeleteTopics", with those that every client needs;
    empty for all. Raises UsageError for an unknown API.
    """
    found = api_keys([*texts], catalog(dialect))
    return found | ALWAYS if found else found


def number_of(value: Any, name: str) -> int:
    if type(value) is not int or value < 1:
        raise UsageError(f"{name}: a number of 1 or more expected")
    return value


def texts_of(value: Any, name: str) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise UsageError(f'{name}: a list of texts expected, as ["..."]')
    return value


def read_policy(path: str, base: Policy, dialect: str | None = None) -> Policy:
    """Read a policy from a TOML file, whose keys override those of `base`.

    Raises InputError, OSError.
    """
    with Path(path).open("rb") as file:
        data = file.read(LONGEST_FILE + 1)
    if len(data) > LONGEST_FILE:
        raise InputError(f"more than {LONGEST_FILE:,} bytes", file=path)
    try:
        values = tomllib.loads(data.decode())
    except (ValueError, RecursionError) as error:
        raise InputError(f"not TOML: {error}", file=path) from None
    try:
        return replace(base, **policy_values(values, dialect))
    except UsageError as error:
        raise InputError(str(error), file=path) from None


def policy_values(values: Mapping[str, Any], dialect: str | None) -> dict[str, Any]:
    """Return the fields of a policy in a file. Raises UsageError for an unknown key or an invalid value."""
    readers: dict[str, tuple[str, Callable[[Any, str], Any]]] = {
        "allow-networks": ("networks", lambda value, name: networks_of(texts_of(value, name))),
        "allow-apis": ("apis", lambda value, name: apis_of(texts_of(value, name), dialect)),
        "max-connections": ("connections", number_of),
        "max-connections-per-address": ("per_address", number_of),
        "faults": ("faults", lambda value, name: tuple(texts_of(value, name))),
        "seed": ("seed", number_of),
    }
    unknown = [name for name in values if name not in readers]
    if unknown:
        raise UsageError(f"{unknown[0]} is unknown; there are {', '.join(readers)}")
    return {readers[name][0]: readers[name][1](value, name) for name, value in values.items()}
