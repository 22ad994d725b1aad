"""Produce v0-v13 (KIP-98, KIP-360, KIP-467, KIP-890, KIP-951, KIP-516 for topic ids in v13).

* Each partition has its own error. Batches are checked, get their offsets, and are otherwise written as they came
  (`storage.incoming`). Those of an idempotent producer are checked by their sequence numbers, too
  (`storage.producers`).
* v3 and later carry magic 2 by the rules of `kcli.records.acceptance`; v0 to v2 carry magic 0 and 1.
* After a leader moved or a fault refused a batch, a producer's second batch may arrive before its first. If it were
  appended, the first would be refused for ever. So in such a partition a producer without a batch has to begin with
  sequence 0, unless records were deleted. From v12 on that holds in every transaction, as in Kafka
  (ProducerAppendInfo); Kafka 4.5 requires it for empty partitions (KAFKA-15591).
* A transactional batch without a transactional id refuses the whole request (KafkaApis).
* With acks 0 there is no response: after an error the connection is closed, so that the client notices. acks 1 and -1
  mean the same here, since the leader's log is the only copy; -1 also checks min.insync.replicas.
* INVALID_TOPIC_EXCEPTION for internal topics, except for the client id __admin_client (ReplicaManager).
* From v8 on INVALID_RECORD and INVALID_TIMESTAMP name the wrong records (KIP-467). What the log itself refuses has the
  log's start offset, and of a wrong sequence or epoch no text (ReplicaManager.appendToLocalLog).
* A duplicate has the append time of the first copy, which is its latest timestamp (UnifiedLog.append).
* From v10 on NOT_LEADER_OR_FOLLOWER comes with the leader's id and address.
"""

from typing import Any

from kcli.broker.acceptance import produce_refusal
from kcli.broker.metadata.leaders import Hints
from kcli.broker.partition import Partition, Topic
from kcli.broker.request import Request
from kcli.broker.response import Answer, HangUpError
from kcli.broker.storage.incoming import Incoming, read_incoming, recoded, upgraded
from kcli.broker.storage.log import Log
from kcli.broker.storage.producers import DUPLICATE, FENCED, AppendedBatch
from kcli.records.acceptance import MAGIC_2_SINCE, RefusedError, TimeLimits
from kcli.schemas.acl_codes import Resource
from kcli.schemas.errors import error_code, error_name
from kcli.schemas.field_codes import NO_PRODUCER

ABORTABLE_SINCE, ADDING_SINCE, TOPIC_IDS_SINCE = 11, 12, 13
# A client with this client id may write to internal topics (Kafka's AdminUtils).
ADMIN = "__admin_client"
WITHOUT_TEXT = frozenset(["OUT_OF_ORDER_SEQUENCE_NUMBER", "INVALID_PRODUCER_EPOCH"])
REFUSED_BY_LOG = WITHOUT_TEXT | {"INVALID_RECORD", "INVALID_TIMESTAMP"}


def handle(request: Request) -> Answer:
    if refused := produce_refusal(request.body):
        return answer_all(request, error_code(refused.error))
    name = request.body.get("transactionalId")
    if name is not None and (code := request.denial(Resource.TRANSACTIONAL_ID, name)):
        return answer_all(request, code)
    hints = Hints(request)
    rows = [topic_row(request, each, hints) for each in request.body["topicData"]]
    if request.body["acks"] == 0:
        failed = [one["errorCode"] for each in rows for one in each["partitionResponses"] if one["errorCode"]]
        if failed:
            raise HangUpError(f"Produce with acks=0 failed: {error_name(failed[0])}")
        return None
    return {"responses": rows, **hints.endpoints()}


def answer_all(request: Request, code: int) -> dict[str, Any]:
    rows = []
    for each in request.body["topicData"]:
        parts = [{"index": part["index"], "errorCode": code, "baseOffset": -1} for part in each["partitionData"]]
        rows.append({"partitionResponses": parts, **naming(each)})
    return {"responses": rows}


def naming(each: dict[str, Any]) -> dict[str, Any]:
    return {name: each[name] for name in ("name", "topicId") if name in each}


def topic_row(request: Request, data: dict[str, Any], hints: Hints) -> dict[str, Any]:
    topics = request.topics
    by_id = request.version >= TOPIC_IDS_SINCE
    topic = topics.by_id.get(data["topicId"]) if by_id else topics.by_name.get(data["name"])
    missing = error_code("UNKNOWN_TOPIC_ID" if by_id else "UNKNOWN_TOPIC_OR_PARTITION")
    if topic is None and not by_id:
        missing = request.denial(Resource.TOPIC, data["name"]) or missing
    parts = []
    for part in data["partitionData"]:
        row: dict[str, Any] = {
            "index": part["index"],
            "errorCode": 0,
            "baseOffset": -1,
            "logAppendTimeMs": -1,
            "logStartOffset": -1,
        }
        try:
            row.update(partition_row(request, topic, part, hints) if topic else {"errorCode": missing})
        except RefusedError as refused:
            row |= refused.row()
            if refused.error in WITHOUT_TEXT:
                row["errorMessage"] = None
            if topic is not None and refused.error in REFUSED_BY_LOG and not refused_by_coordinator(request, refused):
                row["logStartOffset"] = topic.partitions[part["index"]].start_offset
            row["recordErrors"] = [
                {"batchIndex": number, "batchIndexErrorMessage": text} for number, text in refused.records.items()
            ]
        except OSError as error:
            request.services.note(f"{data.get('name') or data.get('topicId')}-{part['index']}: {error.strerror}")
            row.update(errorCode=error_code("KAFKA_STORAGE_ERROR"), errorMessage=error.strerror)
        parts.append(row)
    return {"partitionResponses": parts, **naming(data)}


def partition_row(request: Request, topic: Topic, part: dict[str, Any], hints: Hints) -> dict[str, Any]:
    """Append a partition's batches and return its row of the response. Raises RefusedError, which the caller turns into
    the partition's error, and OSError.
    """
    partition = topic.partition(part["index"])
    if partition is None:
        return {"errorCode": error_code("UNKNOWN_TOPIC_OR_PARTITION")}
    if code := request.fault(topic.name, partition.index):
        if not request.denial(Resource.TOPIC, topic.name):
            partition.unsettled = True
        return {"errorCode": code, **hints.about(partition, code)}
    if topic.internal and request.client_id != ADMIN:
        raise RefusedError("INVALID_TOPIC_EXCEPTION", f"Cannot append to internal topic {topic.name}")
    if partition.leader != request.node.id:
        code = error_code("NOT_LEADER_OR_FOLLOWER")
        return {"errorCode": code, **hints.about(partition, code)}
    configs = topic.configs
    if request.body["acks"] == -1 and len(partition.isr) < configs.min_in_sync and len(request.controller.node_ids) > 1:
        reason = f"{len(partition.isr)} replicas are in sync; min.insync.replicas is {configs.min_in_sync}"
        raise RefusedError("NOT_ENOUGH_REPLICAS", reason)
    now = request.now() if configs.append_time else None
    times = TimeLimits(request.now(), *configs.timestamp_limits) if now is None else None
    most = configs.max_message_bytes
    batches = read_incoming(part["records"] or b"", most, now, request.version, times, keyed=configs.compacted)
    if request.version < MAGIC_2_SINCE and not configs.keeps_old_magic:
        batches = [upgraded(batches, now)]
    if configs.codec is not None:
        batches = [recoded(each, *configs.codec) for each in batches]
    enter_transaction(request, partition, batches[0])
    base, time = append(request, partition, batches)
    return {
        "baseOffset": base,
        "logAppendTimeMs": time if time >= 0 or now is None else now,
        "logStartOffset": partition.start_offset,
    }


def enter_transaction(request: Request, partition: Partition, first: Incoming) -> None:
    """Check that the producer's open transaction has this partition. Raises RefusedError if it does not.

    From v12 on the broker adds the partition itself (KIP-890); before, a client has to (AddPartitionsToTxn).
    """
    head, name = first.head, request.body.get("transactionalId")
    if not head.is_transactional or name is None:
        return
    key, producer = partition.keys[0], (name, head.producer_id, head.producer_epoch)
    try:
        if request.version >= ADDING_SINCE:
            request.transactions.add(*producer, [key], version=2)
        else:
            request.transactions.check(*producer, key, abortable=request.version >= ABORTABLE_SINCE)
    except RefusedError as refused:
        if refused.error == "PRODUCER_FENCED":
            refused.error = "INVALID_PRODUCER_EPOCH"
        raise


def refused_by_coordinator(request: Request, refused: RefusedError) -> bool:
    """Return whether an epoch was refused by the transaction coordinator, which comes before the log."""
    return refused.error == "INVALID_PRODUCER_EPOCH" and request.body.get("transactionalId") is not None


def append(request: Request, partition: Partition, batches: list[Incoming]) -> tuple[int, int]:
    """Append the batches. Returns the first offset and -1; of a duplicate batch its first copy's offset and latest
    timestamp (ms).
    """
    log = partition.made_log()
    adding = batches[0].head.is_transactional and request.version >= ADDING_SINCE
    known = duplicate_of(log, batches, complete=adding or (partition.unsettled and not log.start_offset))
    if known is not None:
        return known.first_offset, known.timestamp
    base = log.append(batches, partition.epoch)
    request.replicas.appended(partition, sum(len(each.data) for each in batches))
    return base, -1


def duplicate_of(log: Log, batches: list[Incoming], *, complete: bool) -> AppendedBatch | None:
    """Return the copy of a batch that was appended earlier; None if no batch is a duplicate.
    complete: a producer without batches has to begin with sequence 0.
    Raises RefusedError for a wrong sequence or producer epoch.
    """
    for each in batches:
        head = each.head
        if head.magic < 2 or head.producer_id == NO_PRODUCER:
            continue
        fault, written = log.producers.check(
            head.producer_id, head.producer_epoch, head.base_sequence, head.last_sequence, complete=complete
        )
        if fault == DUPLICATE and written is not None:
            return written
        if fault is not None:
            name = "INVALID_PRODUCER_EPOCH" if fault == FENCED else "OUT_OF_ORDER_SEQUENCE_NUMBER"
            producer_text = f"producer {head.producer_id} epoch {head.producer_epoch} sequence {head.base_sequence}"
            raise RefusedError(name, f"{producer_text}: {fault}")
    return None
