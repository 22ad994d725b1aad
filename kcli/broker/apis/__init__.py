"""The APIs this broker has: a module for each, with `handle(call)` and what it says of its versions on top.

A module is imported when its API is first called.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from kcli.broker.request import HangUpError, Outcome, Request
from kcli.broker.version_filter import shape
from kcli.errors import SchemaError
from kcli.grammar import messages
from kcli.grammar.codec import MessageCodec
from kcli.schemas.apikeys import API_VERSIONS, INCREMENTAL_FETCH
from kcli.schemas.catalog import catalog
from kcli.schemas.ranges import Range

__all__ = ["APIS", "Implemented", "Route", "offered", "route"]


class Implemented(NamedTuple):
    module: str
    versions: Range


APIS: Mapping[int, Implemented] = {
    0: Implemented("produce", Range(0, 13)),
    1: Implemented("fetch", Range(0, 18)),
    2: Implemented("list_offsets", Range(0, 11)),
    3: Implemented("metadata", Range(0, 13)),
    8: Implemented("offset_commit", Range(0, 10)),
    9: Implemented("offset_fetch", Range(0, 10)),
    10: Implemented("find_coordinator", Range(0, 6)),
    11: Implemented("join_group", Range(0, 9)),
    12: Implemented("heartbeat", Range(0, 4)),
    13: Implemented("leave_group", Range(0, 5)),
    14: Implemented("sync_group", Range(0, 5)),
    15: Implemented("describe_groups", Range(0, 6)),
    16: Implemented("list_groups", Range(0, 5)),
    18: Implemented("api_versions", Range(0, 5)),
    19: Implemented("create_topics", Range(0, 7)),
    20: Implemented("delete_topics", Range(0, 6)),
    21: Implemented("delete_records", Range(0, 2)),
    22: Implemented("init_producer_id", Range(0, 6)),
    23: Implemented("offset_for_leader_epoch", Range(0, 4)),
    32: Implemented("describe_configs", Range(0, 4)),
    33: Implemented("alter_configs", Range(0, 2)),
    37: Implemented("create_partitions", Range(0, 3)),
    42: Implemented("delete_groups", Range(0, 3)),
    43: Implemented("elect_leaders", Range(0, 2)),
    44: Implemented("incremental_alter_configs", Range(0, 1)),
    45: Implemented("alter_partition_reassignments", Range(0, 1)),
    46: Implemented("list_partition_reassignments", Range(0, 0)),
    47: Implemented("offset_delete", Range(0, 0)),
    59: Implemented("fetch_snapshot", Range(0, 1)),
    60: Implemented("describe_cluster", Range(0, 2)),
    75: Implemented("describe_topic_partitions", Range(0, 0)),
}

# What only a dialect has.
DRAFTS: Mapping[int, Implemented] = {INCREMENTAL_FETCH: Implemented("incremental_fetch", Range(0, 0))}


class Route:
    """An API in one version: its codecs and its handler.

    known: False for ApiVersions in a version that the broker does not have, which is answered all the same (KIP-511).
    """

    def __init__(self, api_key: int, version: int, dialect: str | None, known: bool) -> None:
        self.api_key, self.version, self.dialect, self.known = api_key, version, dialect, known
        api = catalog(dialect).known(api_key)
        self.name = api.name
        answered = version if known else 0
        self.request_header: MessageCodec = messages.request_header(api_key, version, dialect)
        self.request: MessageCodec = messages.request(api_key, answered, dialect)
        self.response: MessageCodec = messages.response(api_key, answered, dialect)
        self.answered_version = answered
        self.flexible = answered in api.flexible
        self._tail = b"\0" if api.response_header_version(answered) else b""
        module = (APIS.get(api_key) or DRAFTS[api_key]).module
        self.module = importlib.import_module(f"{__name__}.{module}")
        self.handle: Callable[[Request], Outcome] = self.module.handle

    def header(self, correlation: int) -> bytes:
        return correlation.to_bytes(4, "big", signed=True) + self._tail

    def encode(self, value: dict[str, Any]) -> bytes:
        """A response body's bytes; fields that this version lacks are left out."""
        return self.response.write(shape(self.api_key, self.answered_version, value, self.dialect))


@lru_cache(maxsize=1024)
def route(api_key: int, version: int, dialect: str | None, release: str | None) -> Route:
    """HangUpError: the broker has no such API or version; Kafka closes the connection then."""
    versions = offered(dialect, release).get(api_key)
    if versions is not None and version in versions:
        try:
            return Route(api_key, version, dialect, True)
        except SchemaError as error:
            raise HangUpError(str(error)) from None
    if api_key == API_VERSIONS:
        return Route(api_key, version, dialect, False)
    if versions is None:
        raise HangUpError(f"api key {api_key} is none that this broker has")
    raise HangUpError(f"{catalog(dialect).known(api_key).name} v{version}: this broker has v{versions}")


@lru_cache(maxsize=32)
def offered(dialect: str | None, release: str | None) -> Mapping[int, Range]:
    """Versions by api key: all that are implemented, or of those what brokers of a release had."""
    made = {key: each.versions for key, each in APIS.items()}
    if release is not None:
        theirs = catalog(None).release_versions(release)
        common = {key: overlap(lo_hi, theirs[key]) for key, lo_hi in made.items() if key in theirs}
        made = {key: each for key, each in common.items() if each}
    if dialect is not None:
        made |= {key: each.versions for key, each in DRAFTS.items() if catalog(dialect).api(key) is not None}
    return made


def overlap(one: Range, other: Range) -> Range:
    return Range(max(one.lo, other.lo), min(one.hi, other.hi))
