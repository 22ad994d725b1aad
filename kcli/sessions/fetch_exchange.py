"""Fetch exchanges of a capture as plain columns, from decoded messages, for `tracker`.

A message dict is as `kcli.grammar` reads it, as a line of `kcli decode pcap --format jsonl` has it, or as a broker's
request log prints it. These differ only in the field with the size of records.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any, Self

from kcli.schemas.definition import ZERO_UUID

SESSIONS_SINCE = 7
TOPIC_IDS_SINCE = 13

# A partition: (id of its topic, or its name before v13; index).
Key = tuple[str, int]
# Fetch offset, log start offset, max bytes, leader epoch, last fetched epoch; -1 where a version has no such field.
Asked = tuple[int, int, int, int, int]
# Error code, high watermark, last stable offset, log start offset, bytes of records, preferred replica, diverging.
Reported = tuple[int, int, int, int, int, int, bool]


class FetchExchange:
    """One Fetch request and, unless it was lost, its response.

    server, connection: as in the capture ("address:port", "server-client")
    ns, response_ns: since 1970 (0: unknown); response_ns: None without a response
    request_bytes, response_bytes: on the wire with header and length; 0 if unknown
    asked, forgotten: the request's partitions; reported: the response's; topics in the order of the message
    draft: it is of KIP-227's third draft (see `draft_exchange`)
    seated: if the kernel has added the partitions already, their number in each topic; seated_records: their bytes of
      records
    """

    __slots__ = (
        "answered",
        "asked",
        "client_id",
        "connection",
        "correlation_id",
        "draft",
        "error",
        "forgotten",
        "granted",
        "isolation",
        "max_bytes",
        "ns",
        "replica_id",
        "reported",
        "request_bytes",
        "response_bytes",
        "response_ns",
        "seated",
        "seated_records",
        "server",
        "session_epoch",
        "session_id",
        "throttle_ms",
        "version",
    )

    def __init__(
        self, server: str, connection: str, header: Mapping[str, Any], ns: int, response_ns: int | None
    ) -> None:
        self.server = server
        self.connection = connection
        self.version: int = header["requestApiVersion"]
        self.correlation_id: int = header["correlationId"]
        self.client_id: str = header.get("clientId") or ""
        self.ns = ns
        self.response_ns = response_ns
        self.request_bytes = 0
        self.response_bytes = 0
        self.asked: list[tuple[Key, Asked]] = []
        self.forgotten: list[Key] = []
        self.reported: list[tuple[Key, Reported]] = []
        self.answered = self.draft = False
        self.error = self.granted = self.throttle_ms = 0
        self.seated: list[tuple[str, int]] | None = None
        self.seated_records = 0

    def read(self, request: Mapping[str, Any], response: Mapping[str, Any] | None) -> FetchExchange:
        """Fill in the columns. Raises KeyError, TypeError if these are no Fetch messages."""
        get = request.get
        self.session_id: int = get("sessionId", 0)
        self.session_epoch: int = get("sessionEpoch", -1)
        self.max_bytes: int = get("maxBytes", 2**31 - 1)
        self.isolation: int = get("isolationLevel", 0)
        state = get("replicaState")
        self.replica_id: int = get("replicaId", -1) if state is None else state["replicaId"]
        self.asked = read_asked(request["topics"])
        if get("forgottenTopicsData"):
            self.forgotten = keys_of(request["forgottenTopicsData"])
        if response is not None:
            self.answered = True
            self.error = response.get("errorCode", 0)
            self.granted = response.get("sessionId", 0)
            self.throttle_ms = response.get("throttleTimeMs", 0)
            self.reported = read_reported(response["responses"])
        return self

    def take(self, request: tuple[Any, ...], response: tuple[Any, ...], answered: bool) -> FetchExchange:
        """Fill in the columns from the kernel's (see kcli.core.sessions.fetches.Kernel.columns)."""
        self.session_id, self.session_epoch, self.max_bytes, self.isolation, self.replica_id, self.asked = request
        self.answered = answered
        if answered:
            self.throttle_ms, self.error, self.granted, self.reported = response
        return self


class Captured(FetchExchange):
    """A captured fetch with its limits: the longest wait (ms), and sizes (bytes)."""

    __slots__ = ("max_wait_ms", "min_bytes")

    def read(self, request: Mapping[str, Any], response: Mapping[str, Any] | None) -> Self:
        self.max_wait_ms: int = request.get("maxWaitMs", 0)
        self.min_bytes: int = request.get("minBytes", 0)
        super().read(request, response)
        return self


def require_types(x: FetchExchange) -> None:
    """Check the types in a line of JSON. Raises TypeError for another type than a number or a name."""
    head = (x.version, x.correlation_id, x.session_id, x.session_epoch, x.max_bytes, x.isolation, x.replica_id)
    tail = (x.error, x.granted, x.throttle_ms, x.request_bytes, x.response_bytes)
    keys = [*(key for key, _ in x.asked), *x.forgotten, *(key for key, _ in x.reported)]
    values = chain.from_iterable(values for _, values in chain(x.asked, x.reported))
    for stray in set(map(type, chain(head, tail, values, (index for _, index in keys)))) - {int, bool}:
        raise TypeError(f"a {stray.__name__} where a number is expected")
    for stray in {type(x.client_id), *(type(topic) for topic, _ in keys)} - {str}:
        raise TypeError(f"a {stray.__name__} where a name is expected")


def topic_of(topic: Mapping[str, Any]) -> str:
    """Return a topic's id, or its name in versions before topic ids."""
    uuid: str | None = topic.get("topicId")
    if uuid is not None and uuid != ZERO_UUID:
        return uuid
    name: str = topic.get("topic", ZERO_UUID)
    return name


def keys_of(topics: list[dict[str, Any]]) -> list[Key]:
    """Return the partitions of a list of forgotten topics."""
    return [(topic_of(topic), index) for topic in topics for index in topic["partitions"]]


def read_asked(topics: list[dict[str, Any]]) -> list[tuple[Key, Asked]]:
    made: list[tuple[Key, Asked]] = []
    for topic in topics:
        name = topic_of(topic)
        for part in topic["partitions"]:
            get = part.get
            asked = (
                part["fetchOffset"],
                get("logStartOffset", -1),
                part["partitionMaxBytes"],
                get("currentLeaderEpoch", -1),
                get("lastFetchedEpoch", -1),
            )
            made.append(((name, part["partition"]), asked))
    return made


def read_reported(topics: list[dict[str, Any]]) -> list[tuple[Key, Reported]]:
    made: list[tuple[Key, Reported]] = []
    for topic in topics:
        name = topic_of(topic)
        for part in topic["partitions"]:
            get = part.get
            reported = (
                part["errorCode"],
                part["highWatermark"],
                get("lastStableOffset", -1),
                get("logStartOffset", -1),
                records_size(part),
                get("preferredReadReplica", -1),
                "divergingEpoch" in part and part["divergingEpoch"]["epoch"] >= 0,
            )
            made.append(((name, part["partitionIndex"]), reported))
    return made


def records_size(part: Mapping[str, Any]) -> int:
    """Return the bytes of records in a partition, in any of the forms of a message."""
    records = part.get("records")
    if records is None:
        size: int = part.get("recordsSizeInBytes", 0)
        return size
    if isinstance(records, dict):
        size = records.get("sizeInBytes", -1)
        return size if size >= 0 else len(records.get("base64", "")) * 3 // 4 + len(records.get("batches", ()))
    return len(records)
