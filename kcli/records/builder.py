"""Builds record batches from values: batches of producers, control batches, and messages of magic 0 and 1."""

from collections.abc import Iterable, Mapping, Sequence

from kcli.core.records import record_values
from kcli.errors import EncodeError
from kcli.records.batches import APPEND_TIME, CONTROL, TRANSACTIONAL
from kcli.records.codecs import codec_id, compress
from kcli.records.control import end_transaction_key, end_transaction_value

NO_PRODUCER_ID = -1
Headers = Sequence[tuple[str | bytes, bytes | None]] | Mapping[str, bytes | None]
# (timestamp in ms, key, value, headers)
NewRecord = tuple[int, bytes | None, bytes | None, Headers]
OldRow = tuple[int, int, bytes | None, bytes | None, Sequence[tuple[bytes, bytes | None]]]


def build_batch(  # noqa: PLR0913
    records: Iterable[NewRecord],
    base_offset: int = 0,
    *,
    codec: str = "none",
    level: int | None = None,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    transactional: bool = False,
    control: bool = False,
    partition_leader_epoch: int = -1,
    append_time: int | None = None,
    offsets: Sequence[int] | None = None,
) -> bytes:
    """Build one batch of magic 2 from (timestamp ms, key, value, headers); offsets run on from base_offset.

    append_time: the broker's time of all records (LogAppendTime), in ms; offsets: absolute ones, with gaps as after
    compaction. Raises EncodeError for no record, or more than a batch can hold.
    """
    rows = [
        (base_offset + index if offsets is None else offsets[index], time, key, value, header_rows(headers))
        for index, (time, key, value, headers) in enumerate(records)
    ]
    if not rows:
        raise EncodeError("records", "a batch needs at least one record")
    base_timestamp = rows[0][1]
    number = codec_id(codec)
    payload = compress(number, write_rows(rows, base_offset, base_timestamp), 2, level)
    attributes = number | TRANSACTIONAL * transactional | CONTROL * control | APPEND_TIME * (append_time is not None)
    return record_values.write_header(
        base_offset,
        partition_leader_epoch,
        2,
        attributes,
        rows[-1][0] - base_offset,
        base_timestamp,
        max(row[1] for row in rows) if append_time is None else append_time,
        producer_id,
        producer_epoch,
        base_sequence,
        len(rows),
        payload,
    )


def write_rows(rows: Iterable[OldRow], base_offset: int, base_timestamp: int) -> bytes:
    """Write records of magic 2 from rows. Raises EncodeError for a number out of range."""
    try:
        return record_values.write_records(rows, base_offset, base_timestamp)
    except OverflowError as error:
        raise EncodeError("records", str(error)) from None


def header_rows(headers: Headers) -> list[tuple[bytes, bytes | None]]:
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    return [(key.encode("utf-8", "surrogateescape") if isinstance(key, str) else key, value) for key, value in pairs]


def build_control_batch(
    records: Iterable[tuple[bytes, bytes]], timestamp: int, base_offset: int = 0, *, partition_leader_epoch: int = -1
) -> bytes:
    """Build a control batch without a producer (leader change, snapshot header and footer, KRaft's) from (key, value)
    pairs.
    """
    rows: list[NewRecord] = [(timestamp, key, value, ()) for key, value in records]
    return build_batch(rows, base_offset, control=True, partition_leader_epoch=partition_leader_epoch)


def build_marker(
    commit: bool,
    timestamp: int,
    base_offset: int,
    producer_id: int,
    producer_epoch: int,
    coordinator_epoch: int,
    *,
    partition_leader_epoch: int = -1,
) -> bytes:
    """Build the control batch that ends a transaction (EndTransactionMarker)."""
    record: NewRecord = (timestamp, end_transaction_key(commit), end_transaction_value(coordinator_epoch), ())
    return build_batch(
        [record],
        base_offset,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        transactional=True,
        control=True,
        partition_leader_epoch=partition_leader_epoch,
    )


def build_message_set(
    records: Iterable[tuple[int, bytes | None, bytes | None]],
    base_offset: int = 0,
    *,
    magic: int = 1,
    codec: str = "none",
    append_time: int | None = None,
    offsets: Sequence[int] | None = None,
) -> bytes:
    """Build messages of magic 0 or 1 from (timestamp ms, key, value): one after another, or wrapped in a compressed
    message.

    Inner offsets are absolute in magic 0, and relative from 0 on in magic 1 (KIP-31); the wrapper's offset is that of
    the last one. Raises EncodeError.
    """
    number = codec_id(codec)
    if number > 3:
        raise EncodeError("compression", f"{codec} needs magic 2, magic {magic} has none, gzip, snappy and lz4")
    rows = list(records)
    places = range(base_offset, base_offset + len(rows)) if offsets is None else offsets
    flag = APPEND_TIME if append_time is not None and magic == 1 else 0
    times = [time if append_time is None else append_time for time, _, _ in rows]
    first = places[0] if number and magic == 1 and rows else 0
    inner = b"".join(
        record_values.write_message(place - first, magic, flag, time, key, value)
        for place, time, (_, key, value) in zip(places, times, rows, strict=True)
    )
    if number == 0 or not rows:
        return inner
    compressed = compress(number, inner, magic, None)
    return record_values.write_message(places[-1], magic, flag | number, max(times), None, compressed)
