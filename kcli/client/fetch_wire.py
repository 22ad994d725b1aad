"""Converts between Fetch messages of any version and the values of fetch sessions (`kcli.sessions.values`)."""

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any, NamedTuple

from kcli.sessions.fetch_exchange import SESSIONS_SINCE, TOPIC_IDS_SINCE, FetchExchange
from kcli.sessions.values import FetchRequest, FetchResponse, Partition, Position, Result

ISOLATION_SINCE, LOG_START_SINCE, LEADER_EPOCH_SINCE, RACK_SINCE, LAST_EPOCH_SINCE = 4, 5, 9, 11, 12
MAX_BYTES_SINCE, REPLICA_STATE_SINCE, REMOTE_BYTES_SINCE = 3, 15, 18


class Limits(NamedTuple):
    """The limits in a Fetch request, times in ms and sizes in bytes.

    remote_bytes: of a partition from remote storage, in the dialect kip-1018; None for other messages.
    """

    max_wait_ms: int = 500
    min_bytes: int = 1
    max_bytes: int = 52_428_800
    isolation: int = 0
    rack: str = ""
    remote_bytes: int | None = None


def request_body(request: FetchRequest, version: int, limits: Limits) -> dict[str, Any]:
    """Return the body of a Fetch request. Topics in `request` are ids from v13 on, names before."""
    body: dict[str, Any] = {"maxWaitMs": limits.max_wait_ms, "minBytes": limits.min_bytes}
    if version < REPLICA_STATE_SINCE:
        body["replicaId"] = request.replica_id
    elif request.replica_id >= 0:
        body["replicaState"] = {"replicaId": request.replica_id, "replicaEpoch": -1}
    if version >= MAX_BYTES_SINCE:
        body["maxBytes"] = limits.max_bytes
    if version >= ISOLATION_SINCE:
        body["isolationLevel"] = limits.isolation
    if version >= RACK_SINCE:
        body["rackId"] = limits.rack
    if version >= SESSIONS_SINCE:
        body["sessionId"], body["sessionEpoch"] = request.session_id, request.epoch
        body["forgottenTopicsData"] = [
            {**topic_field(topic, version), "partitions": indexes}
            for topic, indexes in by_topic((partition, partition[1]) for partition in request.forgotten)
        ]
    entries = (
        (partition, position_fields(partition[1], where, version, limits.remote_bytes))
        for partition, where in request.partitions.items()
    )
    body["topics"] = [{**topic_field(topic, version), "partitions": parts} for topic, parts in by_topic(entries)]
    return body


def by_topic(entries: Iterable[tuple[Partition, Any]]) -> Iterable[tuple[str, list[Any]]]:
    """Group only adjacent entries of a topic, as a broker reads partitions in the order of the request."""
    for topic, group in groupby(entries, key=lambda entry: entry[0][0]):
        yield topic, [entry for _, entry in group]


def topic_field(topic: str, version: int) -> dict[str, str]:
    return {"topicId" if version >= TOPIC_IDS_SINCE else "topic": topic}


def position_fields(index: int, position: Position, version: int, remote_bytes: int | None) -> dict[str, int]:
    fields = {"partition": index, "fetchOffset": position.fetch_offset, "partitionMaxBytes": position.max_bytes}
    if version >= LOG_START_SINCE:
        fields["logStartOffset"] = position.log_start_offset
    if version >= LEADER_EPOCH_SINCE:
        fields["currentLeaderEpoch"] = position.leader_epoch
    if version >= LAST_EPOCH_SINCE:
        fields["lastFetchedEpoch"] = position.last_fetched_epoch
    if version >= REMOTE_BYTES_SINCE and remote_bytes is not None:
        fields["remotePartitionMaxBytes"] = remote_bytes
    return fields


def session_response(exchange: FetchExchange) -> FetchResponse:
    """Return a Fetch response in the form of `kcli.sessions`."""
    partitions: Mapping[Partition, Result] = {
        key: Result(high, stable, start, size, error, preferred, diverging)
        for key, (error, high, stable, start, size, preferred, diverging) in exchange.reported
    }
    return FetchResponse(exchange.error, exchange.granted, partitions, exchange.throttle_ms)
