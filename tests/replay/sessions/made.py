"""Captured fetches made by hand."""

from typing import Any

from kcli.sessions.fetch_exchange import Captured

Parts = dict[tuple[str, int], int]


def fetch(
    seconds: float = 0,
    asked: Parts | None = None,
    reported: Parts | None = None,
    *,
    session: tuple[int, int] = (0, 0),
    granted: int = 0,
    error: int = 0,
    part_error: int = 0,
    forgotten: dict[str, list[int]] | None = None,
    connection: str = "s:1-c:1",
    version: int = 12,
    answered: bool = True,
    replica: int = -1,
) -> Captured:
    """asked: partition -> fetch offset; reported: partition -> bytes of records."""
    header = {"requestApiKey": 1, "requestApiVersion": version, "correlationId": 0, "clientId": "c"}
    request: dict[str, Any] = {
        "maxWaitMs": 500,
        "minBytes": 1,
        "maxBytes": 1000,
        "replicaId": replica,
        "sessionId": session[0],
        "sessionEpoch": session[1],
        "topics": [
            {"topic": topic, "partitions": [{"partition": index, "fetchOffset": offset, "partitionMaxBytes": 100}]}
            for (topic, index), offset in (asked or {}).items()
        ],
        "forgottenTopicsData": [{"topic": topic, "partitions": parts} for topic, parts in (forgotten or {}).items()],
    }
    response: dict[str, Any] = {
        "errorCode": error,
        "sessionId": granted,
        "responses": [
            {
                "topic": topic,
                "partitions": [
                    {"partitionIndex": index, "errorCode": part_error, "highWatermark": 9, "records": bytes(size)}
                ],
            }
            for (topic, index), size in (reported or {}).items()
        ],
    }
    ns = 10**18 + round(seconds * 1e9)
    made = Captured(connection.partition("-")[0], connection, header, ns, ns + 1000 if answered else None)
    return made.read(request, response if answered else None)
