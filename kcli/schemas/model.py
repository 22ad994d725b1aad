"""The model of a message: its name, versions and fields.

The terms are those of Kafka's message definitions (KIP-482, and the README beside them in Apache Kafka).
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from kcli.schemas.apikeys import API_VERSIONS, CONTROLLED_SHUTDOWN
from kcli.schemas.ranges import NONE, Range

# Integer types and their limits.
INTEGERS = {
    "int8": (-(1 << 7), (1 << 7) - 1),
    "int16": (-(1 << 15), (1 << 15) - 1),
    "uint16": (0, (1 << 16) - 1),
    "int32": (-(1 << 31), (1 << 31) - 1),
    "uint32": (0, (1 << 32) - 1),
    "int64": (-(1 << 63), (1 << 63) - 1),
}
# Bytes of a value, for each type with a fixed width.
WIDTHS = {"bool": 1, "int8": 1, "int16": 2, "int32": 4, "int64": 8, "uint16": 2, "uint32": 4, "float64": 8, "uuid": 16}
SIZED = ("string", "bytes", "records")  # have their length in front; of scalars, only they may be null
SCALARS = frozenset([*INTEGERS, "bool", "float64", "uuid", *SIZED])


class Field(NamedTuple):
    """One field.

    name      as in JSON: `maxWaitMs`
    type      a scalar ("int32", "string", "records", ...), the name of a struct ("ReplicaState"), or either behind "[]"
    versions  of the message that have the field
    nullable  versions in which it may be null
    tagged    versions in which it is a tagged field, with the number `tag`
    default   its value when it is not sent, as the decoded value would be: an int, str, bytes, bool, float, None for
              null, () for an array, {} for a struct (each member at its own default), a uuid as its base64 text
    fields    the members of its struct, or of its array's struct
    flexible  versions in which the field itself is flexible, if they differ from its message's; else None
    """

    name: str
    type: str
    versions: Range
    nullable: Range = NONE
    tagged: Range = NONE
    tag: int | None = None
    default: object = None
    fields: tuple[Field, ...] = ()
    flexible: Range | None = None

    @property
    def is_array(self) -> bool:
        """True if the field is an array."""
        return self.type.startswith("[]")

    @property
    def element(self) -> str:
        """The type without "[]"."""
        return self.type.removeprefix("[]")

    @property
    def is_struct(self) -> bool:
        """True if the field, or each element of its array, is a struct."""
        return self.element not in SCALARS

    def within(self, versions: Range) -> Field:
        """Return the field limited to these versions."""
        tagged = self.tagged & versions
        tag = self.tag if tagged else None
        return self._replace(
            versions=self.versions & versions, nullable=self.nullable & versions, tagged=tagged, tag=tag
        )


class Releases(NamedTuple):
    """The facts of a message in a run of releases, from `since` to `until` (both included).

    versions   its valid versions
    unstable   the newest version is enabled only with unstable.api.versions.enable
    listeners  "zkBroker", "broker", "controller": where such a request is accepted (empty before 2.8, which had none)
    """

    since: str
    until: str
    versions: Range
    unstable: bool = False
    listeners: tuple[str, ...] = ()

    @property
    def enabled(self) -> Range:
        """The versions that a node accepts by default."""
        if not self.unstable:
            return self.versions
        return Range(self.versions.lo, self.versions.hi - 1) if self.versions.hi > self.versions.lo else NONE

    def says_same(self, other: Releases) -> bool:
        """Return whether both releases have the same versions on the same listeners."""
        return (self.versions, self.unstable, self.listeners) == (other.versions, other.unstable, other.listeners)

    def starting(self, since: str) -> Releases | None:
        """Return the run without the releases before `since`; None if all are before it."""
        if release_order(self.until) < release_order(since):
            return None
        return self._replace(since=max(self.since, since, key=release_order))

    def __contains__(self, release: object) -> bool:
        """Return whether a release, as "3.9", is in the run."""
        return isinstance(release, str) and release_order(self.since) <= release_order(release) <= release_order(
            self.until
        )

    def __str__(self) -> str:
        return self.since if self.since == self.until else f"{self.since}-{self.until}"


@cache
def release_order(release: str) -> tuple[int, ...]:
    """Return a key for sorting releases: "3.10" is after "3.9"."""
    return tuple(int(part) for part in release.split("."))


class Message(NamedTuple):
    """One message in all its versions.

    kind       "request", "response", "header", "data", "metadata", "coordinator-key", "coordinator-value"
    api_key    of requests and responses; the record type of metadata and coordinator records; else None
    versions   the versions of all releases
    flexible   versions with compact lengths and tagged fields (KIP-482)
    releases   the versions in each run of releases
    variants   other layouts that old releases had under the same version numbers
    component  the part of Kafka that defines it: "clients", "metadata", "group", "transaction", "share", "raft"
    aliases    names that it had in old releases
    """

    name: str
    kind: str
    api_key: int | None
    versions: Range
    flexible: Range
    fields: tuple[Field, ...]
    releases: tuple[Releases, ...] = ()
    variants: tuple[Variant, ...] = ()
    component: str = ""
    aliases: tuple[str, ...] = ()

    def is_flexible(self, version: int) -> bool:
        """Return whether a version has compact lengths and tagged fields (KIP-482)."""
        return version in self.flexible


class Variant(NamedTuple):
    """Another layout of the same versions of a message, in the releases before `before`."""

    before: str
    versions: Range
    message: Message

    @property
    def name(self) -> str:
        """The name in JSON messages: "before 3.0"."""
        return f"before {self.before}"


class Api(NamedTuple):
    """A pair of request and response.

    name      "ListOffsets"
    log_name  "LIST_OFFSETS", as in a broker's request log
    request, response  the names of their messages
    versions  the versions of all releases
    flexible  versions with compact lengths and tagged fields
    aliases   names that it had in old releases, or has in a draft
    """

    key: int
    name: str
    log_name: str
    request: str
    response: str
    versions: Range
    flexible: Range
    aliases: tuple[str, ...] = ()

    def request_header_version(self, version: int) -> int:
        """Return the header's version: 2 if the request's version is flexible, else 1; 0 for ControlledShutdown 0,
        which has no client id (ApiKeys.requestHeaderVersion).
        """
        if version in self.flexible:
            return 2
        return 0 if self.key == CONTROLLED_SHUTDOWN and version == 0 else 1

    def response_header_version(self, version: int) -> int:
        """Return the header's version: 1 if the response's version is flexible, else 0. ApiVersions always has 0, so
        that any client can read the response (KIP-511).
        """
        return 1 if version in self.flexible and self.key != API_VERSIONS else 0
