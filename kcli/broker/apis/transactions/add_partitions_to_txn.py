"""AddPartitionsToTxn v0-v5 (KIP-98, KIP-588): of a client; from v4 on of several transactions (KIP-890).

Where one of the partitions is not there, none is added: the others are answered with OPERATION_NOT_ATTEMPTED. Who only
verifies gets TRANSACTION_ABORTABLE for a partition that is not part of the transaction.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kcli.broker.partition import Key
from kcli.broker.request import Request
from kcli.broker.transactions.attempts import attempt
from kcli.records.acceptance import RefusedError
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
    who = body["v3AndBelowTransactionalId"], body["v3AndBelowProducerId"], body["v3AndBelowProducerEpoch"]
    asked = body["v3AndBelowTopics"]
    return {"resultsByTopicV3AndBelow": topic_rows(asked, add(request, who, asked))}


def transaction_row(request: Request, wanted: Mapping[str, Any]) -> dict[str, Any]:
    who = wanted["transactionalId"], wanted["producerId"], wanted["producerEpoch"]
    codes = (verify if wanted["verifyOnly"] else add)(request, who, wanted["topics"])
    return {"transactionalId": who[0], "topicResults": topic_rows(wanted["topics"], codes)}


def add(request: Request, who: tuple[str, int, int], asked: Iterable[Mapping[str, Any]]) -> Codes:
    """Make partitions part of a transaction, all or none; return their error codes."""
    keys = keys_of(asked)
    if faults := {key: code for key in keys if (code := fault(request, key))}:
        return dict.fromkeys(keys, error_code("OPERATION_NOT_ATTEMPTED")) | faults
    code, _ = attempt(request, lambda: request.transactions.add(*who, keys), fenced_since=FENCED_SINCE, name=who[0])
    return dict.fromkeys(keys, code)


def verify(request: Request, who: tuple[str, int, int], asked: Iterable[Mapping[str, Any]]) -> Codes:
    """Return for each partition why a producer may not write to it in its transaction; 0: it may."""

    def check(key: Key) -> None:
        try:
            request.transactions.check(*who, key)
        except RefusedError as refused:
            if refused.error == "INVALID_TXN_STATE":
                refused.error = "TRANSACTION_ABORTABLE"
            raise

    def code(key: Key) -> int:
        return attempt(request, lambda: check(key), fenced_since=0, name=who[0])[0]

    return {key: code(key) for key in keys_of(asked)}


def keys_of(asked: Iterable[Mapping[str, Any]]) -> list[Key]:
    return [(topic["name"], index) for topic in asked for index in topic["partitions"]]


def topic_rows(asked: Iterable[Mapping[str, Any]], codes: Codes) -> list[dict[str, Any]]:
    return [
        {
            "name": topic["name"],
            "resultsByPartition": [
                {"partitionIndex": index, "partitionErrorCode": codes[topic["name"], index]}
                for index in topic["partitions"]
            ],
        }
        for topic in asked
    ]


def fault(request: Request, key: Key) -> int:
    """Return why a partition can't be added; 0: it can."""
    if request.topics.find(key) is None:
        return request.denial(Resource.TOPIC, key[0]) or error_code("UNKNOWN_TOPIC_OR_PARTITION")
    return request.fault(*key)
