"""WriteTxnMarkers v0-v2 (KIP-98, KIP-664): it ends transactions in the named partitions, regardless of the state of
their coordinator. `kafka-transactions abort` uses it to end a hanging transaction.

* INVALID_PRODUCER_EPOCH for a producer epoch below that in the partition; from transaction version 2 on (v2) also for
  the same epoch. TRANSACTION_COORDINATOR_FENCED for an older coordinator epoch.
* The client needs ALTER or CLUSTER_ACTION on the cluster.
"""

from typing import Any

from kcli.broker.partition import Partition
from kcli.broker.request import Request
from kcli.broker.transactions.markers import end_in
from kcli.broker.transactions.transaction import BUMPING
from kcli.schemas.acl_codes import Operation
from kcli.schemas.errors import error_code
from kcli.topic_names import CONSUMER_OFFSETS


def handle(request: Request) -> dict[str, Any]:
    return {"markers": [answer(request, each) for each in request.body["markers"]]}


def answer(request: Request, marker: dict[str, Any]) -> dict[str, Any]:
    topics = [
        {
            "name": topic["name"],
            "partitions": [
                {"partitionIndex": index, "errorCode": write(request, marker, topic["name"], index)}
                for index in topic["partitionIndexes"]
            ],
        }
        for topic in marker["topics"]
    ]
    return {"producerId": marker["producerId"], "topics": topics}


def write(request: Request, marker: dict[str, Any], topic: str, index: int) -> int:
    """Write a marker to a partition; return the error code, 0 if it was written."""
    if not request.may(Operation.ALTER) and not request.may(Operation.CLUSTER_ACTION):
        return error_code("CLUSTER_AUTHORIZATION_FAILED")
    partition, code = request.led_partition(topic, index)
    if partition is None or code:
        return code
    if code := check(marker, partition):
        return code
    producer_id, commit = marker["producerId"], marker["transactionResult"]
    producer = producer_id, marker["producerEpoch"]
    end_in(request.replicas, partition, producer, marker["coordinatorEpoch"], commit=commit)
    if topic == CONSUMER_OFFSETS:
        request.groups.end_transaction(producer_id, commit=commit)
    return 0


def check(marker: dict[str, Any], partition: Partition) -> int:
    """Return the error code of a marker with an old producer or coordinator epoch, else 0 (ProducerAppendInfo)."""
    log = partition.log
    known = None if log is None else log.producers.known.get(marker["producerId"])
    if known is None:
        return 0
    if marker["producerEpoch"] < known.epoch + (marker.get("transactionVersion", 0) >= BUMPING):
        return error_code("INVALID_PRODUCER_EPOCH")
    return error_code("TRANSACTION_COORDINATOR_FENCED") if marker["coordinatorEpoch"] < known.coordinator_epoch else 0
