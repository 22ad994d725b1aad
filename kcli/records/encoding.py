"""Batches from their JSON form: the reverse of `batches_json`.

Fields that are left out are computed from the records. A row may have the stored payload (`_payload`, or `_entry` for a
whole message of unusual form). If that still has the row's records, it is used unchanged, so that a decoded batch is
encoded to the same bytes. Edited records are written and compressed again.
"""

import base64
import binascii
from collections.abc import Iterable, Sequence
from typing import Any

from kcli.core.codec.values import NOT_HERE
from kcli.core.records import record_values
from kcli.errors import EncodeError
from kcli.jsontext import loads
from kcli.records.batches import APPEND_TIME, CODEC_MASK, CONTROL, HORIZON, TRANSACTIONAL
from kcli.records.builder import OldRow, build_message_set, write_rows
from kcli.records.codecs import codec_id, compress
from kcli.records.text import batches_json

Row = dict[str, Any]
TIMESTAMP_TYPES = {"CreateTime": 0, "LogAppendTime": APPEND_TIME, "NoTimestampType": 0}
# The names of a batch's and a record's fields as `decode batch` prints them, except those that begin with "_".
BATCH = frozenset(
    [
        "baseOffset",
        "lastOffset",
        "magic",
        "compression",
        "timestampType",
        "isTransactional",
        "isControl",
        "partitionLeaderEpoch",
        "producerId",
        "producerEpoch",
        "baseSequence",
        "baseTimestamp",
        "maxTimestamp",
        "count",
        "sizeInBytes",
        "crc",
        "crcValid",
        "records",
    ]
)
RECORD = frozenset(["offset", "timestamp", "key", "value", "headers"])
# A stored payload is used if it agrees with its row in these fields.
HELD = ("records", "count", "baseOffset", "lastOffset")


def encode_batches(rows: Iterable[Row], level: int | None = None) -> bytes:
    """Return the bytes of a list of batches, and of the events among them, which have their bytes in base64. Raises
    EncodeError.
    """
    parts = []
    for index, row in enumerate(rows):
        try:
            parts.append(encode_batch(row, level))
        except EncodeError as error:
            path = f"batches[{index}]" + (f".{error.path}" if error.path else "")
            raise EncodeError(path, error.reason) from None
    return b"".join(parts)


def encode_batch(row: Row, level: int | None = None) -> bytes:
    """Encode one batch in kcli's JSON form; of magic 0 and 1 a message with its wrapped messages. Raises
    EncodeError.
    """
    if not isinstance(row, dict):
        raise EncodeError("", "an object expected")
    if "event" in row:
        return unbase64(row.get("base64"), "base64")
    check_names(row, BATCH)
    magic = whole(row, "magic", 2)
    if not 0 <= magic <= 127:
        raise EncodeError("magic", f"{magic}: 0, 1 or 2 expected")
    if "_entry" in row:
        entry = unbase64(row["_entry"], "_entry")
        if holds(entry, row):
            return entry
    if "records" not in row and "_payload" not in row:
        raise EncodeError("records", "missing (decode with --records full gives them)")
    return encode_records(row, magic, level) if magic >= 2 else encode_messages(row, magic, level)


def holds(data: bytes, row: Row) -> bool:
    """Return whether these bytes decode to the row's records."""
    found = loads(batches_json(data, secrets=True))
    return len(found) == 1 and all(found[0].get(name) == row[name] for name in HELD if name in row)


def check_names(row: Row, known: frozenset[str]) -> None:
    """Raise EncodeError for an unknown field. Names that begin with "_" are ignored."""
    if row.keys() <= known:
        return
    for name in row:
        if name not in known and not name.startswith("_"):
            raise EncodeError(name, f"no such field (there are: {', '.join(sorted(known))})")


def attributes_of(row: Row, known: int) -> int:
    kind = row.get("timestampType") or "CreateTime"
    if kind not in TIMESTAMP_TYPES:
        raise EncodeError("timestampType", f"{kind!r}: {', '.join(TIMESTAMP_TYPES)} expected")
    flags = (
        codec_of(row)
        | TIMESTAMP_TYPES[kind]
        | TRANSACTIONAL * bool(row.get("isTransactional"))
        | CONTROL * bool(row.get("isControl"))
        | HORIZON * ("_deleteHorizonMs" in row)
    )
    return flags & known | whole(row, "_attributes", 0) & ~known


def codec_of(row: Row) -> int:
    name = row.get("compression") or "none"
    if isinstance(name, str) and name.startswith("unknown-") and name[8:] in ("5", "6", "7"):
        return int(name[8:])
    return codec_id(name)


# ---- magic 2


def encode_records(row: Row, magic: int, level: int | None) -> bytes:
    """Encode a batch of magic 2 from its JSON. A stored `_payload` is kept if it has the records of the row. Raises
    EncodeError.
    """
    attributes = attributes_of(row, 0x7F)
    rows = record_rows(row)
    base_offset = whole(row, "baseOffset", rows[0][0] if rows else 0)
    base_timestamp = whole(row, "baseTimestamp", first_timestamp(row, rows))
    if attributes & APPEND_TIME:
        rows = [
            (offset, wrap(base_timestamp + whole(record, "_timestampDelta", 0)), key, value, headers)
            for (offset, _time, key, value, headers), record in zip(rows, row.get("records") or (), strict=True)
        ]

    def make(payload: bytes, count: int) -> bytes:
        last = whole(row, "lastOffset", rows[-1][0] if rows else base_offset)
        try:
            return record_values.write_header(
                base_offset,
                whole(row, "partitionLeaderEpoch", -1),
                magic,
                attributes,
                last_delta(last, base_offset),
                base_timestamp,
                whole(row, "maxTimestamp", max((time for _, time, *_ in rows), default=-1)),
                whole(row, "producerId", -1),
                whole(row, "producerEpoch", -1),
                whole(row, "baseSequence", -1),
                count,
                payload,
                row.get("crc") if row.get("crcValid") is False else None,
            )
        except (OverflowError, TypeError) as error:
            raise EncodeError("", str(error)) from None

    if "_payload" in row:
        batch = make(unbase64(row["_payload"], "_payload"), whole(row, "count", len(rows)))
        if "records" not in row or holds(batch, row):
            return batch
    codec = attributes & CODEC_MASK
    if codec > 4:
        raise EncodeError("compression", f"{row['compression']}: no codec of this id")
    data = write_rows(rows, base_offset, base_timestamp) if rows else b""
    return make(compress(codec, data, magic, level) if rows else data, len(rows))


def first_timestamp(row: Row, rows: Sequence[OldRow]) -> int:
    return whole(row, "_deleteHorizonMs", rows[0][1] if rows else -1)


def wrap(value: int) -> int:
    """Wrap a sum to int64, as Kafka's readers do."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def last_delta(last: int, base: int) -> int:
    delta = wrap(last - base)
    if not -(1 << 31) <= delta < 1 << 31:
        raise EncodeError("lastOffset", f"{last} is too far from the base offset {base} for one batch")
    return delta


# ---- magic 0 and 1


def encode_messages(row: Row, magic: int, level: int | None) -> bytes:
    """Encode a message set of magic 0 or 1 from its JSON: the records one by one, or one compressed message that wraps
    them. A stored `_payload` is kept if it has the records of the row. Raises EncodeError.
    """
    attributes = attributes_of(row, 0x0F if magic else 0x07)
    codec, flags = attributes & CODEC_MASK, attributes & ~CODEC_MASK
    rows = record_rows(row)
    crc = row.get("crc") if row.get("crcValid") is False else None
    append_time = whole(row, "maxTimestamp", -1) if flags & APPEND_TIME else None
    if codec == 0:
        return b"".join(
            record_values.write_message(
                offset, magic, attributes, time if append_time is None else append_time, key, value, crc
            )
            for offset, time, key, value, _ in rows
        )
    latest = max((time for _, time, *_ in rows), default=-1)
    offset = whole(row, "lastOffset", rows[-1][0] if rows else 0)
    if "_payload" in row:
        payload = unbase64(row["_payload"], "_payload")
        time = whole(row, "maxTimestamp", latest)
        message = record_values.write_message(offset, magic, attributes, time, None, payload, crc)
        if "records" not in row or holds(message, row):
            return message
    if codec > 3:
        raise EncodeError("compression", f"{row['compression']}: magic {magic} has none, gzip, snappy and lz4")
    inner = build_message_set(
        [(time, key, value) for _, time, key, value, _ in rows],
        magic=magic,
        append_time=append_time,
        offsets=[place - (rows[0][0] if magic else 0) for place, *_ in rows],
    )
    time = whole(row, "maxTimestamp", latest)
    return record_values.write_message(offset, magic, attributes, time, None, compress(codec, inner, magic, level), crc)


# ---- values


def record_rows(row: Row) -> list[OldRow]:
    """Return rows (offset, timestamp, key, value, headers) of JSON records. A missing offset is that of the record
    before plus 1. Raises EncodeError.
    """
    records = row.get("records") or []
    if not isinstance(records, list):
        raise EncodeError("records", "a list expected")
    rows: list[OldRow] = []
    offset = whole(row, "baseOffset", 0) if row.get("baseOffset") is not None else 0
    for index, record in enumerate(records):
        try:
            check_names(record, RECORD)
            offset = whole(record, "offset", offset)
            headers = [header_pair(header) for header in record.get("headers") or ()]
            time = whole(record, "timestamp", -1)
            rows.append((offset, time, content(record, "key"), content(record, "value"), headers))
        except EncodeError as error:
            raise EncodeError(f"records[{index}].{error.path}", error.reason) from None
        except (TypeError, AttributeError):
            raise EncodeError(f"records[{index}]", "an object expected") from None
        offset += 1
    return rows


def header_pair(header: Any) -> tuple[bytes, bytes | None]:
    if isinstance(header, list) and len(header) == 2:
        header = {"key": header[0], "value": header[1]}
    key = content(header, "key")
    if key is None:
        raise EncodeError("headers", "a header without a key")
    return key, content(header, "value")


def content(record: Row, name: str) -> bytes | None:
    """Return the bytes of a key or value, which is text, {"base64": ...} or null. Raises EncodeError for other
    values.
    """
    value = record.get(name)
    if value is None:
        return None
    if isinstance(value, str):
        try:
            return value.encode()
        except UnicodeEncodeError:
            raise EncodeError(name, 'text that UTF-8 has no bytes for ({"base64": ...} takes any)') from None
    if isinstance(value, dict) and set(value) == {"base64"}:
        return unbase64(value["base64"], name)
    check_redacted(value, name)
    raise EncodeError(name, 'text, {"base64": ...} or null expected')


def unbase64(value: Any, name: str) -> bytes:
    """Return the bytes of base64 text. Raises EncodeError for another value or a redacted secret."""
    try:
        return base64.b64decode(value, validate=True)
    except (TypeError, ValueError, binascii.Error):
        check_redacted(value, name)
        raise EncodeError(name, "base64 text expected") from None


def check_redacted(value: Any, name: str) -> None:
    if isinstance(value, dict) and "redacted" in value:
        raise EncodeError(name, NOT_HERE)


def whole(row: Row, name: str, default: int) -> int:
    value = row.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int):
        raise EncodeError(name, f"{value!r}: a whole number expected")
    return value
