"""Judges requests in a capture by the versions that a release of Kafka accepts, by client, API and version.

Kafka 4.0 dropped the versions of clients before 2.1 (KIP-896). A release rejects a request below its versions, and an
API that it no longer has. It does not reject a client that uses a version above, if the client requests ApiVersions and
can adapt. A version as old as the captured broker's newest proves nothing either, as the client may know newer
versions. It certainly does if it names its software (KIP-511, 2.4); otherwise the capture does not show it.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kcli.capture.decoder import CaptureDecoder
from kcli.capture.kafka.events import Event, Link
from kcli.capture.kafka.exchange import Exchange, Item
from kcli.capture.sinks import Sink
from kcli.schemas.apikeys import API_VERSIONS
from kcli.schemas.lookup import Catalog
from kcli.schemas.ranges import Range
from kcli.tables.exchanges import address_of

REMEMBERED = 1 << 16  # connections
ALIKE = 1 << 10  # combinations of API and versions whose judgement is remembered


@dataclass(slots=True)
class AuditedClient:
    """A client id at an address, with the software that it names; its requests by API key and version."""

    client_id: str | None
    address: str
    software: str | None = None
    version: str | None = None
    negotiates: bool = False
    connections: int = 0
    used: Counter[tuple[int, int]] = field(default_factory=Counter)
    free: set[tuple[int, int]] = field(default_factory=set)  # used where the broker's newest is another, or unknown

    @property
    def requests(self) -> int:
        """The number of its requests, of all APIs."""
        return self.used.total()


@dataclass(frozen=True, slots=True)
class Usage:
    """One API of a client: versions -> requests, the versions that the release accepts (None: it lacks the API), the
    refused versions, and the reason. unsure: versions that the release would refuse, but the captured broker offered no
    newer one.
    """

    api_key: int
    name: str
    versions: dict[int, int]
    accepted: Range | None
    refused: tuple[int, ...]
    unsure: tuple[int, ...]
    reason: str

    def as_dict(self) -> dict[str, Any]:
        """Return the members of its object in `kcli audit --format jsonl`."""
        accepted = {"min": self.accepted.lo, "max": self.accepted.hi} if self.accepted else None
        versions = [{"version": version, "requests": count} for version, count in self.versions.items()]
        made = {"apiKey": self.api_key, "apiName": self.name, "versions": versions, "accepted": accepted}
        return made | {"refused": list(self.refused), "unsure": list(self.unsure), "reason": self.reason or None}


class Overheard(NamedTuple):
    """An exchange that is not judged, but names the client's software."""

    exchange: Exchange


class AuditSink(Sink):
    """Keeps the exchanges to audit: those that pass the filter, and all ApiVersions."""

    learns = False
    overhears = frozenset({API_VERSIONS})

    def __init__(self) -> None:
        self.found: list[Exchange | Overheard] = []

    def exchange(self, exchange: Exchange) -> None:
        self.found.append(exchange)

    def overlook(self, item: Item) -> None:
        """Keep an ApiVersions exchange that the filter leaves out: it names the client's software."""
        if isinstance(item, Exchange) and item.api_key == API_VERSIONS:
            self.found.append(Overheard(item))


def audited(
    source: CaptureDecoder[AuditSink], moved: Callable[[int], None] = lambda count: None
) -> Iterator[Exchange | Overheard]:
    """Read captures, and yield the exchanges for `audit`. Raises InputError at the end for damaged files."""
    for _ in source.read(moved):
        found, source.sink.found = source.sink.found, []
        yield from found


def audit(items: Iterable[Exchange | Event | Overheard]) -> list[AuditedClient]:
    """Return every client of a capture in order of first appearance. Requests that can't be decoded do not count."""
    clients: dict[tuple[str | None, str, str | None, str | None], AuditedClient] = {}
    profiles: dict[Link, ClientProfile] = {}
    for each in items:
        item = each.exchange if isinstance(each, Overheard) else each
        if not isinstance(item, Exchange) or not counts(item):
            continue
        profile = profiles.get(item.link)
        if profile is None:
            profile = profiles[item.link] = ClientProfile()
            if len(profiles) > REMEMBERED:
                del profiles[next(iter(profiles))]
        api_key, version = item.api_key, item.api_version
        if api_key == API_VERSIONS:
            profile.learn(item)
        if item is not each:
            continue
        key = item.client_id, address_of(item.link.client), profile.software, profile.version
        client = clients.get(key)
        if client is None:
            client = clients[key] = AuditedClient(*key)
        client.negotiates = client.negotiates or profile.negotiates
        client.connections += profile.client != key
        profile.client = key
        used = api_key, version
        client.used[used] += 1
        if profile.offered.get(api_key) != version:
            client.free.add(used)
    return merge(clients.values())


def counts(exchange: Exchange) -> bool:
    """Return whether to judge a request: it decodes, or it has a client id and an API that the tables lack."""
    if exchange.bodies.api(exchange.api_key) is None:
        return exchange.client_id is not None
    return exchange.bodies.request_decodes(exchange.request_frame)


@dataclass(slots=True)
class ClientProfile:
    """The profile of a connection by its ApiVersions: the client's software, and the newest version offered of each
    API.
    """

    software: str | None = None
    version: str | None = None
    negotiates: bool = False
    offered: dict[int, int] = field(default_factory=dict)
    client: tuple[str | None, ...] | None = None

    def learn(self, exchange: Exchange) -> None:
        """Take the client's software and the broker's highest versions from an ApiVersions exchange."""
        self.negotiates = True
        body = exchange.request or {}
        if body.get("clientSoftwareName"):
            self.software, self.version = body["clientSoftwareName"], body.get("clientSoftwareVersion")
        for api in (exchange.response or {}).get("apiKeys", ()):
            self.offered[api["apiKey"]] = api["maxVersion"]


def merge(clients: Iterable[AuditedClient]) -> list[AuditedClient]:
    """Merge clients without a software name into the same client id and address with one, if there is exactly one."""
    groups: dict[tuple[str | None, str], list[AuditedClient]] = {}
    found = list(clients)
    for client in found:
        groups.setdefault((client.client_id, client.address), []).append(client)
    merged: set[int] = set()
    for same in groups.values():
        named = [each for each in same if each.software is not None]
        for client in same if len(named) == 1 else ():
            if client.software is None and not client.negotiates:
                named[0].used += client.used
                named[0].free |= client.free
                named[0].connections += client.connections
                merged.add(id(client))
    return [client for client in found if id(client) not in merged]


class Judge:
    """Judges clients by the versions that a release accepts; raises UsageError if the tables lack the release.

    Clients of one program use the same versions equally often, so the judgement of one is reused for the next.
    """

    def __init__(self, catalog: Catalog, release: str) -> None:
        self.catalog, self.release = catalog, release
        self.accepted = catalog.release_versions(release)
        self._known: dict[object, tuple[Usage, ...]] = {}

    def accepts(self, key: int, version: int) -> bool:
        """Return whether the release accepts a request of this version from any client."""
        versions = self.accepted.get(key)
        return key == API_VERSIONS or (versions is not None and version in versions)

    def usages(self, client: AuditedClient) -> tuple[Usage, ...]:
        """Return the judgement of each API that the client used, by key."""
        alike = frozenset(client.used.items()), frozenset(client.free), client.negotiates, client.software is None
        found = self._known.get(alike)
        if found is None:
            if len(self._known) >= ALIKE:
                self._known.clear()
            found = self._known[alike] = tuple(self._usages(client))
        return found

    def _usages(self, client: AuditedClient) -> Iterator[Usage]:
        release, catalog = self.release, self.catalog
        by_key: dict[int, dict[int, int]] = {}
        for (key, version), count in sorted(client.used.items()):
            by_key.setdefault(key, {})[version] = count
        for key, versions in by_key.items():
            taken = self.accepted.get(key)
            api = catalog.api(key)
            negotiates = client.negotiates and api is not None  # no release of Kafka offers an API that it lacks
            bad = [each for each in versions if is_refused(key, each, taken, negotiates, release, catalog)]
            refused = tuple(each for each in bad if api is None or (key, each) in client.free)
            unsure = tuple(each for each in bad if each not in refused and client.software is None)
            reason = why(taken, release) if refused or unsure else ""
            yield Usage(key, api.name if api else f"key {key}", versions, taken, refused, unsure, reason)


def is_refused(
    key: int, version: int, versions: Range | None, negotiates: bool, release: str, catalog: Catalog
) -> bool:
    if key == API_VERSIONS:
        return False  # a broker responds to any version, at worst with error 35 and its versions
    if versions is None:
        return not negotiates or was_removed(key, release, catalog)
    return version < versions.lo or (version > versions.hi and not negotiates)


def was_removed(key: int, release: str, catalog: Catalog) -> bool:
    """Return whether an API that the release lacks was in an older release."""
    releases = catalog.releases
    return any(key in catalog.release_versions(older) for older in releases[: releases.index(catalog.release(release))])


def why(versions: Range | None, release: str) -> str:
    return f"{release} has no such API" if versions is None else f"{release} takes {versions.lo}-{versions.hi}"
