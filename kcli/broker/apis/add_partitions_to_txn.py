"""AddPartitionsToTxn v0-v3 (KIP-98, KIP-588): those of clients; later ones are brokers' own, for several transactions.

Where one of the partitions is not there, none is added: the others are answered with OPERATION_NOT_ATTEMPTED.
"""

from __future__ import annotations

from typing import Any

from kcli.broker.codes import error_code
from kcli.broker.partition import Key
from kcli.broker.request import Request
from kcli.broker.transactions.attempts import attempt

FENCED_SINCE = 2


def handle(request: Request) -> dict[str, Any]:
    body = request.body
    asked = body["v3AndBelowTopics"]
    keys = [(topic["name"], index) for topic in asked for index in topic["partitions"]]
    faults = {key: code for key in keys if (code := fault(request, key))}
    if faults:
        others = error_code("OPERATION_NOT_ATTEMPTED")
    else:
        who = body["v3AndBelowTransactionalId"], body["v3AndBelowProducerId"], body["v3AndBelowProducerEpoch"]
        others, _ = attempt(request, lambda: request.transactions.add(*who, keys), fenced_since=FENCED_SINCE)
    rows = [
        {
            "name": topic["name"],
            "resultsByPartition": [
                {"partitionIndex": index, "partitionErrorCode": faults.get((topic["name"], index), others)}
                for index in topic["partitions"]
            ],
        }
        for topic in asked
    ]
    return {"resultsByTopicV3AndBelow": rows}


def fault(request: Request, key: Key) -> int:
    """Why a partition can't be added; 0: it can."""
    if request.topics.find(key) is None:
        return error_code("UNKNOWN_TOPIC_OR_PARTITION")
    return request.fault(*key)
