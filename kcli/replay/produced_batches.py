"""Record batches of a captured Produce for another broker, with new producer id, epoch and sequence."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from kcli.broker.storage.headers import HEADER
from kcli.core.records.batches import CRC_AT, CRC_START
from kcli.core.records.crc import crc32c
from kcli.errors import InputError
from kcli.records.batches import Batch, scan
from kcli.records.builder import build_batch
from kcli.records.codecs import CODECS
from kcli.schemas.errors import error_code

# Errors of a partition that was not ready and wrote nothing, so that the producer sends the records again.
NOT_TAKEN = frozenset(
    map(
        error_code,
        (
            "UNKNOWN_TOPIC_OR_PARTITION", "LEADER_NOT_AVAILABLE", "NOT_LEADER_OR_FOLLOWER", "NOT_ENOUGH_REPLICAS",
            "KAFKA_STORAGE_ERROR", "UNKNOWN_TOPIC_ID", "CONCURRENT_TRANSACTIONS",
        ),
    )
)  # fmt: skip
IDEMPOTENT = ("producerId", "producerEpoch", "baseSequence")


class Numbered(NamedTuple):
    """Producer id, epoch and sequence of an idempotent producer's batch (KIP-98)."""

    producer: int
    epoch: int
    sequence: int


# Takes (fields of a captured batch, number of its records); returns the fields of the live batch.
Renumber = Callable[[Numbered, int], Numbered]


def batches_of(data: bytes | memoryview) -> list[Batch]:
    """Return the batches of a records field; damage is left out."""
    return list(scan(data, check=False, damages=[]))


def counted(data: bytes | memoryview) -> int:
    """Return the number of records in a records field, including those inside a compressed message of magic 0 or 1."""
    return sum(count_of(each) for each in batches_of(data))


def count_of(batch: Batch) -> int:
    if batch.magic >= 2 or not batch.codec:
        return batch.count
    try:
        return sum(1 for _ in batch.records())
    except InputError:  # of its grammar, or of its compressed bytes
        return batch.count


def producers_in(data: bytes | memoryview) -> set[int]:
    """Return the ids of idempotent producers in a records field."""
    return {each.producer_id for each in batches_of(data) if each.magic >= 2 and each.producer_id >= 0}


def producers_of(request: Mapping[str, Any]) -> set[int]:
    """Return the producer ids in a request of any API."""
    found = {request[name] for name in ("producerId", "v3AndBelowProducerId") if request.get(name, -1) >= 0}
    for topic in request.get("topicData") or ():
        for part in topic["partitionData"]:
            found |= producers_in(part["records"] or b"")
    return found


def renumbered(data: bytes, renumber: Renumber) -> bytes:
    """Return the batches with other producer fields. A right checksum is computed again, a wrong one stays as it is."""
    out: bytearray | None = None
    for batch in batches_of(data):
        if batch.magic < 2 or batch.producer_id < 0:
            continue
        old = Numbered(batch.producer_id, batch.producer_epoch, batch.base_sequence)
        new = renumber(old, batch.last_offset - batch.base_offset + 1)
        if new == old:
            continue
        out = bytearray(data) if out is None else out
        view = memoryview(out)[batch.position : batch.position + batch.size]
        is_sound = crc32c(view[CRC_START:]) == int.from_bytes(view[CRC_AT:CRC_START], "big")
        for name, value in zip(IDEMPOTENT, new, strict=True):
            HEADER.single[name].pack_into(view, HEADER.offsets[name], value)
        if is_sound:
            view[CRC_AT:CRC_START] = crc32c(view[CRC_START:]).to_bytes(4, "big")
    return data if out is None else bytes(out)


def to_magic_2(data: bytes) -> bytes:
    """Return one batch of magic 2 with the records of old messages, in their codec. Batches of magic 2 stay as they
    are. Raises InputError.
    """
    batches = batches_of(data)
    if not batches or batches[0].magic >= 2:
        return data
    rows = [(row.timestamp, row.key, row.value, row.headers) for each in batches for row in each.records()]
    return build_batch(rows, codec=CODECS[batches[0].codec])


def without_refused(
    topic: Mapping[str, Any], parts: Sequence[Mapping[str, Any]], response: Mapping[str, Any] | None
) -> list[Mapping[str, Any]]:
    """Return a Produce's partitions without those that the captured cluster was not ready for. The captured client sent
    these again, so that the live cluster would get their records twice.

    topic: the captured request's entry
    """
    topic_key = topic.get("topicId") or topic["name"]
    refused = {
        part["index"]
        for each in (response or {}).get("responses", ())
        if (each.get("topicId") or each["name"]) == topic_key
        for part in each["partitionResponses"]
        if part["errorCode"] in NOT_TAKEN
    }
    return [part for part in parts if part["index"] not in refused]
