"""DescribeProducers v0 (KIP-664): the producers in a partition's log, and the first offsets of their transactions."""

from typing import Any

from kcli.broker.partition import NOT_HOSTED, Partition
from kcli.broker.request import Request
from kcli.schemas.errors import error_code
from kcli.topic_names import name_fault

UNKNOWN = error_code("UNKNOWN_TOPIC_OR_PARTITION")


def handle(request: Request) -> dict[str, Any]:
    return {
        "topics": [
            {"name": topic["name"], "partitions": [row(request, topic["name"], at) for at in topic["partitionIndexes"]]}
            for topic in request.body["topics"]
        ]
    }


def row(request: Request, topic: str, index: int) -> dict[str, Any]:
    partition, code = request.led_partition(topic, index, may_follow=True)
    message = NOT_HOSTED if partition is None and code == UNKNOWN else None
    if code == UNKNOWN and (fault := name_fault(topic)):
        code, message = error_code("INVALID_TOPIC_EXCEPTION"), fault
    producers = producers_of(partition) if partition is not None and not code else []
    return {"partitionIndex": index, "errorCode": code, "errorMessage": message, "activeProducers": producers}


def producers_of(partition: Partition) -> list[dict[str, Any]]:
    """Return the rows of a partition's producers."""
    log = partition.log
    rows = []
    for producer_id, known in log.producers.known.items() if log is not None else ():
        last = known.batches[-1] if known.batches else None
        rows.append(
            {
                "producerId": producer_id,
                "producerEpoch": known.epoch,
                "lastSequence": last.last_sequence if last else -1,
                "lastTimestamp": known.last_timestamp,
                "coordinatorEpoch": known.coordinator_epoch,
                "currentTxnStartOffset": known.transaction_start,
            }
        )
    return rows
