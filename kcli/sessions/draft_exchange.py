"""Exchanges of KIP-227's third draft (dialect kip-227-draft) as the columns of `fetch_exchange.FetchExchange`.

A session of the draft is identified by its uuid, which is its session id here. It has no epochs: a full fetch has 0
here, any other 1. Partitions are named by topic names.
"""

from collections.abc import Mapping
from typing import Any

from kcli.schemas.apikeys import FETCH, INCREMENTAL_FETCH
from kcli.schemas.catalog import catalog
from kcli.schemas.errors import ERRORS
from kcli.sessions.fetch_exchange import FetchExchange

DIALECT = "kip-227-draft"
FETCHES = (FETCH, INCREMENTAL_FETCH)  # APIs that `read_fetch` reads
FULL_VERSION = 7
# The draft has no number for its error. The dialect has one outside of Kafka's range.
UUID_MISMATCH = 30227


def error_name(code: int) -> str:
    """Return the name of an error of Kafka or of the draft."""
    return ERRORS.get(code) or catalog(DIALECT).error_name(code)


def read_fetch(
    x: FetchExchange, api_key: int, request: Mapping[str, Any], response: Mapping[str, Any] | None
) -> FetchExchange:
    """Fill in the columns of a Fetch of Apache Kafka, or of either kind of the draft's fetches."""
    if api_key == INCREMENTAL_FETCH:
        return read_incremental(x, request, response)
    if is_full(x.version, request):
        return read_full(x, request, response)
    return x.read(request, response)


def is_full(version: int, request: Mapping[str, Any]) -> bool:
    """Return whether a Fetch request is the draft's full fetch. Apache Kafka's request of that version has a session
    id.
    """
    return version == FULL_VERSION and "sessionId" not in request


def read_full(x: FetchExchange, request: Mapping[str, Any], response: Mapping[str, Any] | None) -> FetchExchange:
    """Fill in the columns of a full fetch. Raises KeyError, TypeError, ValueError if these are no messages of the
    draft.
    """
    answer = None if response is None else {**response, "sessionId": response["uuid"]}
    x.read({**request, "sessionId": 0, "sessionEpoch": 0}, answer)
    x.draft = True
    return x


def read_incremental(x: FetchExchange, request: Mapping[str, Any], response: Mapping[str, Any] | None) -> FetchExchange:
    """Fill in the columns from an IncrementalFetch of the draft, in the form of a Fetch."""
    answer = None if response is None else {**plain_response(response), "sessionId": response["uuid"]}
    x.version = FULL_VERSION
    session = {"sessionId": request["uuid"], "sessionEpoch": 1, "maxWaitMs": request["maxWaitTime"]}
    x.read({**request, **session, "topics": plain_topics(request)}, answer)
    x.draft = True
    return x


def plain_topics(request: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the topics of an IncrementalFetch request in the form of a Fetch request. The draft writes partition
    numbers as digits.
    """
    return [
        {
            "topic": topic["topicName"],
            "partitions": [
                {
                    "partition": int(part["partitionId"]),
                    "fetchOffset": part["fetchOffset"],
                    "logStartOffset": part["startOffset"],
                    "partitionMaxBytes": part["maxBytes"],
                }
                for part in topic["partitions"]
            ],
        }
        for topic in request["topics"]
    ]


def plain_response(response: Mapping[str, Any]) -> dict[str, Any]:
    """Return an IncrementalFetch response in the form of a Fetch response."""
    topics = [
        {"topic": topic["topicName"], "partitions": [plain_partition(part) for part in topic["partitions"]]}
        for topic in response["topics"]
    ]
    return {"throttleTimeMs": response["throttleTimeMs"], "errorCode": response["errorCode"], "responses": topics}


def plain_partition(part: Mapping[str, Any]) -> dict[str, Any]:
    rest = {name: value for name, value in part.items() if name != "header"}
    return {**part["header"], "partitionIndex": part["header"]["partitionId"], **rest}
