"""Where the columns of a Fetch are that the kernel reads: layouts out of the message tables, version by version."""

from __future__ import annotations

from collections.abc import Mapping

from kcli.schemas.catalog import catalog
from kcli.schemas.model import WIDTHS, Field, Message

__all__ = ["Layout", "layout"]

FIXED, UUID, TEXT, BYTES, NESTED, EMPTY, TAGS = range(7)
# The kernel's columns, by the fields' names.
REQUEST = {"sessionId": 0, "sessionEpoch": 1, "maxBytes": 2, "isolationLevel": 3, "replicaId": 4}
ASKED = {
    "partition": 0,
    "fetchOffset": 1,
    "logStartOffset": 2,
    "partitionMaxBytes": 3,
    "currentLeaderEpoch": 4,
    "lastFetchedEpoch": 5,
}
RESPONSE = {"sessionId": 0, "errorCode": 1, "throttleTimeMs": 2}
TOLD = {
    "partitionIndex": 0,
    "errorCode": 1,
    "highWatermark": 2,
    "lastStableOffset": 3,
    "logStartOffset": 4,
    "preferredReadReplica": 5,
    "records": 6,
}
SESSIONS_SINCE = 7

Entry = tuple[int, int, int]
# (flexible, request, response), each side as (message, topic, partition)
Layout = tuple[bool, list[list[Entry]], list[list[Entry]]]


def layout(version: int, dialect: str | None = None) -> Layout | None:
    """What the kernel has to know of a Fetch version; None where it cannot read it."""
    known = catalog(dialect)
    request, response = known.message("FetchRequest"), known.message("FetchResponse")
    if version < SESSIONS_SINCE or version not in request.versions or version not in response.versions:
        return None
    if not any(field.name == "sessionId" and version in field.versions for field in request.fields):
        return None
    sides = side(request, version, "topics", (REQUEST, ASKED)), side(response, version, "responses", (RESPONSE, TOLD))
    if sides[0] is None or sides[1] is None:
        return None
    return request.is_flexible(version), sides[0], sides[1]


def side(
    message: Message, version: int, topics: str, columns: tuple[Mapping[str, int], Mapping[str, int]]
) -> list[list[Entry]] | None:
    flexible = message.is_flexible(version)
    topic = next(field for field in message.fields if field.name == topics)
    partition = next(field for field in topic.fields if field.name == "partitions")
    made = [
        entries(message.fields, version, flexible, columns[0], topics),
        entries(topic.fields, version, flexible, {}, "partitions"),
        entries(partition.fields, version, flexible, columns[1], ""),
    ]
    whole = [each for each in made if each is not None]
    starts_well = len(whole) == 3 and len(whole[1]) in (2, 3) and whole[1][0][0] in (FIXED, TEXT)
    if flexible and starts_well:
        # Tags of a partition in a response report diverging logs and new leaders: not the steady way.
        whole[2][-1] = (TAGS, 0, int(topics == "responses"))
    return whole if starts_well else None


def entries(
    fields: tuple[Field, ...], version: int, flexible: bool, columns: Mapping[str, int], nested: str
) -> list[Entry] | None:
    """(what it is, bytes, column or -1) of each field, in order; None when there is one that the kernel can't read."""
    made: list[Entry] = []
    for field in fields:
        if version not in field.versions or version in field.tagged:
            continue
        column = columns.get(field.name, -1)
        if field.name == nested:
            made.append((NESTED, 4, -1))
        elif field.type in WIDTHS:
            made.append((FIXED, WIDTHS[field.type], column))
        elif field.type == "string":
            made.append((TEXT, 2, column))
        elif field.type in ("records", "bytes"):
            made.append((BYTES, 4, column))
        elif field.type.startswith("[]"):
            made.append((EMPTY, 4, column))
        else:
            return None
    if flexible:
        made.append((TAGS, 0, 0))
    return made
