"""AddPartitionsToTxn v0-v5 (KIP-98, KIP-588): for one transaction; from v4 on brokers send several (KIP-890).

If one of the partitions has an error, none is added, and the others get OPERATION_NOT_ATTEMPTED. With verifyOnly a
partition that is not in the transaction gets TRANSACTION_ABORTABLE.
"""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from kcli.broker.partition import Key
from kcli.broker.request import Request
from kcli.broker.transactions.attempts import attempt
from kcli.schemas.acl_codes import Operation, Resource
from kcli.schemas.errors import error_code

FENCED_SINCE, SEVERAL_SINCE = 2, 4
Codes = Mapping[Key, int]


def handle(request: Request) -> dict[str, Any]:
    body = request.body
    if request.version >= SEVERAL_SINCE:
        if not request.may(Operation.CLUSTER_ACTION):
            return {"errorCode": error_code("CLUSTER_AUTHORIZATION_FAILED"), "resultsByTransaction": []}
        rows = [transaction_row(request, each) for each in body["transactions"]]
        return {"errorCode": 0, "resultsByTransaction": rows}
    producer = body["v3AndBelowTransactionalId"], body["v3AndBelowProducerId"], body["v3AndBelowProducerEpoch"]
    topics = body["v3AndBelowTopics"]
    return {"resultsByTopicV3AndBelow": topic_rows(topics, add(request, producer, topics))}


def transaction_row(request: Request, wanted: Mapping[str, Any]) -> dict[str, Any]:
    producer = wanted["transactionalId"], wanted["producerId"], wanted["producerEpoch"]
    codes = (verify if wanted["verifyOnly"] else add)(request, producer, wanted["topics"])
    return {"transactionalId": producer[0], "topicResults": topic_rows(wanted["topics"], codes)}


def add(request: Request, producer: tuple[str, int, int], topics: Iterable[Mapping[str, Any]]) -> Codes:
    """Add all partitions to a transaction, or none. Returns their error codes."""
    keys = keys_of(topics)
    if faults := {key: code for key in keys if (code := fault(request, key))}:
        return dict.fromkeys(keys, error_code("OPERATION_NOT_ATTEMPTED")) | faults
    code, _ = attempt(
        request, lambda: request.transactions.add(*producer, keys), fenced_since=FENCED_SINCE, name=producer[0]
    )
    return dict.fromkeys(keys, code)


def verify(request: Request, producer: tuple[str, int, int], topics: Iterable[Mapping[str, Any]]) -> Codes:
    """Return an error code for each partition: 0 if the producer's open transaction has it."""

    def code(key: Key) -> int:
        check = partial(request.transactions.check, *producer, key, abortable=True)
        return attempt(request, check, fenced_since=0, name=producer[0])[0]

    return {key: code(key) for key in keys_of(topics)}


def keys_of(topics: Iterable[Mapping[str, Any]]) -> list[Key]:
    return [(topic["name"], index) for topic in topics for index in topic["partitions"]]


def topic_rows(topics: Iterable[Mapping[str, Any]], codes: Codes) -> list[dict[str, Any]]:
    return [
        {
            "name": topic["name"],
            "resultsByPartition": [
                {"partitionIndex": index, "partitionErrorCode": codes[topic["name"], index]}
                for index in topic["partitions"]
            ],
        }
        for topic in topics
    ]


def fault(request: Request, key: Key) -> int:
    """Return the error code of a partition that can't be added; 0 if it can."""
    if request.topics.find(key) is None:
        return request.denial(Resource.TOPIC, key[0]) or error_code("UNKNOWN_TOPIC_OR_PARTITION")
    return request.fault(*key)
