"""Record batches as Kafka's Java producer writes them (MemoryRecordsBuilder, DefaultRecordBatch, DefaultRecord)."""

from collections.abc import Iterable
from typing import Any

from kcli.core.records.batches import HEADER_SIZE
from kcli.jsontext import loads
from kcli.records.codecs import codec_id, decompress
from kcli.records.encoding import encode_batch, unbase64
from kcli.records.text import batches_json

Row = dict[str, Any]
KEPT = ("compression", "isTransactional", "producerId", "producerEpoch", "baseSequence")
OF_RECORDS = ("timestamp", "key", "value", "headers")


def java_batches(data: bytes | memoryview) -> bytes:
    """Encode the batches of a producer again: offsets from 0, no leader epoch, shortest varints, no bytes after the
    records.
    """
    return java_batches_of(loads(batches_json(data, secrets=True)))


def java_batches_of(rows: Iterable[Row]) -> bytes:
    """Encode batches from their JSON in the form of `java_batches`. Raises EncodeError.

    A producer writes no control batches, and since Kafka 4.0 only magic 2. Other batches stay as they are.
    """
    return b"".join(java_batch(row) if is_of_producer(row) else encode_batch(row) for row in rows)


def is_of_producer(row: Row) -> bool:
    if not isinstance(row, dict) or row.get("magic", 2) != 2 or row.get("isControl") or "_error" in row:
        return False
    return isinstance(row.get("records"), list) and row["records"] != []


def java_batch(row: Row) -> bytes:
    records = [
        {name: each[name] for name in OF_RECORDS if name in each} if isinstance(each, dict) else each
        for each in row["records"]
    ]
    kept = {name: row[name] for name in KEPT if name in row} | {"records": records}
    if "_payload" in row and row.get("compression") not in (None, "none"):
        # The compressor and its level are no difference between messages.
        unfolded = decompress(codec_id(row["compression"]), unbase64(row["_payload"], "_payload"))
        plain = encode_batch(kept | {"compression": "none"})
        if unfolded == plain[HEADER_SIZE:]:
            [made] = loads(batches_json(plain, secrets=True))
            kept |= {"records": made["records"], "_payload": row["_payload"]}
    return encode_batch(kept)
