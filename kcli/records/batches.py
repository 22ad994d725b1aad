"""Record batches as Python values: the header is decoded at once, the records on demand.

Kafka classes: RecordBatch, DefaultRecordBatch (magic 2), AbstractLegacyRecordBatch (magic 0 and 1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from kcli.core.records import batches as core
from kcli.core.records import record_values
from kcli.core.records.problems import REASONS
from kcli.errors import DecodeError, InputError
from kcli.notebook import card, quoted
from kcli.records.codecs import CODECS, decompress

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from kcli.records.damage import Damage

LAST_SEQUENCE = 0x7FFF_FFFF  # the next sequence is 0
NO_EPOCH = -1  # the leader epoch that a producer writes
CODEC_MASK, APPEND_TIME, TRANSACTIONAL, CONTROL, HORIZON = 7, 8, 16, 32, 64


class Record(NamedTuple):
    """A record of any magic. timestamp: ms since 1970, -1 for none; headers: (key, value) pairs, in order."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]

    def __repr__(self) -> str:
        headers = f", {len(self.headers)} headers" if self.headers else ""
        return f"<Record {self.offset} at {self.timestamp} ms: {text_of(self.key)}: {text_of(self.value)}{headers}>"


def text_of(data: bytes | None) -> str:
    """Format a key or value. Of a secret, which records of the metadata log may have, only the size is shown."""
    from kcli.records.secrets import is_secret_value

    if data is None:
        return "null"
    return f"{len(data)} bytes, a secret" if is_secret_value(data) else quoted(data)


_record: Callable[[record_values.Row], Record] = partial(tuple.__new__, Record)


class Batch:
    """A batch of magic 2, or a message of magic 0 or 1 with its wrapped messages.

    position, size: bytes in `data`, the scanned buffer; timestamps in ms; crc_valid: None if checksums were not
    computed. Fields that magic 0 and 1 lack are -1. Their base and last offset are both the message's own, which in a
    wrapper is usually that of its last message.
    """

    __slots__ = (
        "attributes",
        "base",
        "base_offset",
        "base_sequence",
        "base_timestamp",
        "count",
        "crc",
        "crc_valid",
        "data",
        "key_position",
        "key_size",
        "last_offset",
        "magic",
        "max_timestamp",
        "partition_leader_epoch",
        "payload_position",
        "payload_size",
        "position",
        "producer_epoch",
        "producer_id",
        "size",
    )

    def __init__(self, data: memoryview, frame: core.Frame, base: int = 0) -> None:
        """Wrap a batch. base: the position of `data` in the file of which it is a chunk."""
        self.data = data
        self.base = base
        (
            self.position,
            self.size,
            self.magic,
            self.attributes,
            self.base_offset,
            self.last_offset,
            self.partition_leader_epoch,
            self.crc,
            self.crc_valid,
            self.base_timestamp,
            self.max_timestamp,
            self.producer_id,
            self.producer_epoch,
            self.base_sequence,
            self.count,
            self.payload_position,
            self.payload_size,
            self.key_position,
            self.key_size,
        ) = frame

    def __repr__(self) -> str:
        return (
            f"<Batch at {self.file_position}: magic {self.magic}, offsets {self.base_offset}-{self.last_offset}, "
            f"{self.compression}, {self.size} bytes>"
        )

    def _repr_html_(self) -> str:
        """Show the header in notebooks."""
        facts = {
            "records": self.count if self.magic >= 2 else None,
            "compression": self.compression,
            "bytes": f"{self.size:,} at {self.file_position:,}",
            "timestamps": f"{self.base_timestamp} to {self.max_timestamp} ms, {self.timestamp_type}",
            "leader epoch": self.partition_leader_epoch if self.magic >= 2 else None,
            "producer": f"{self.producer_id}, epoch {self.producer_epoch}, sequence {self.base_sequence}"
            if self.producer_id >= 0
            else None,
            "kind": ", ".join(name for name, is_so in self._kinds().items() if is_so) or None,
            "checksum": f"{self.crc:08x}" if self.crc_valid is not False else f"{self.crc:08x} is wrong",
        }
        return card(f"Batch of magic {self.magic}, offsets {self.base_offset} to {self.last_offset}", facts)

    def _kinds(self) -> dict[str, bool]:
        return {"transactional": self.is_transactional, "control": self.is_control}

    @property
    def file_position(self) -> int:
        """The position in bytes from the start of the file or, if `base` is 0, of the scanned buffer."""
        return self.base + self.position

    @property
    def codec(self) -> int:
        """Return the number of the compression codec, 0 to 4 (attributes, bits 0 to 2)."""
        return self.attributes & CODEC_MASK

    @property
    def compression(self) -> str:
        """Return the name of the codec: "none", "gzip", "snappy", "lz4", "zstd", or "unknown-5"."""
        return CODECS[self.codec] if self.codec < len(CODECS) else f"unknown-{self.codec}"

    @property
    def is_append_time(self) -> bool:
        """Return whether the broker set the timestamps (LogAppendTime) instead of the producer (CreateTime)."""
        return self.magic > 0 and bool(self.attributes & APPEND_TIME)

    @property
    def timestamp_type(self) -> str:
        """ "CreateTime", "LogAppendTime", or "NoTimestampType" for magic 0 (Kafka's TimestampType)."""
        if self.magic == 0:
            return "NoTimestampType"
        return "LogAppendTime" if self.is_append_time else "CreateTime"

    @property
    def is_transactional(self) -> bool:
        """Return whether it is part of a transaction (KIP-98); False for magic 0 and 1."""
        return self.magic >= 2 and bool(self.attributes & TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        """Return whether its records are control records: markers of transactions, and KRaft's."""
        return self.magic >= 2 and bool(self.attributes & CONTROL)

    @property
    def delete_horizon(self) -> int | None:
        """Return the delete horizon in ms (KIP-534), which is stored as the base timestamp; None if it is not set."""
        return self.base_timestamp if self.magic >= 2 and self.attributes & HORIZON else None

    @property
    def next_offset(self) -> int:
        """Return the offset after the last record."""
        return self.last_offset + 1

    @property
    def last_sequence(self) -> int:
        """The sequence of the last record; -1 without a producer. After 2147483647 sequences continue with 0."""
        if self.base_sequence < 0 or self.magic < 2:
            return -1
        return (self.base_sequence + self.last_offset - self.base_offset) & LAST_SEQUENCE

    @property
    def bytes(self) -> memoryview:
        """Return all bytes of the batch."""
        return self.data[self.position : self.position + self.size]

    @property
    def payload(self) -> memoryview | None:
        """The stored bytes: of magic 2 the records, compressed or not; of magic 0 and 1 the value, None if it is
        null.
        """
        if self.payload_size < 0:
            return None
        return self.data[self.payload_position : self.payload_position + self.payload_size]

    def records(self) -> Iterator[Record]:
        """Yield the records, also those of a control batch. Raises DecodeError at the first unreadable one, after the
        records before it.
        """
        rows, problem = self._read()
        yield from map(_record, rows)
        if problem is not None:
            path, text = problem_text(problem)
            raise DecodeError(path, self.file_position, text, what=repr(self))

    def _read(self) -> tuple[list[record_values.Row], record_values.Problem | None]:
        payload = self.payload
        if self.magic >= 2:
            if self.count == 0:
                return [], None
            time = self.max_timestamp if self.is_append_time else self.base_timestamp
            data = decompress(self.codec, payload or b"", self.magic)
            return record_values.read_records(data, self.count, self.base_offset, time, self.is_append_time)
        if self.codec == 0:
            key = None if self.key_position < 0 else bytes(self.data[self.key_position :][: self.key_size])
            value = None if payload is None else bytes(payload)
            return [(self.base_offset, self.max_timestamp, key, value, ())], None
        if payload is None or self.codec > 3:
            code = core.LEGACY_NULL if payload is None else core.LEGACY_CODEC
            return [], (code, 0, 0, self.codec, 0)
        data = decompress(self.codec, payload, self.magic)
        return record_values.read_messages(data, self.magic, self.attributes, self.base_offset, self.max_timestamp)


def problem_text(problem: record_values.Problem) -> tuple[str, str]:
    """Return (path, text) of a fault that a kernel found in records."""
    code, record, at, declared, actual = problem
    suffix, reason = REASONS[code]
    path = "records" if suffix is None else f"records[{record}]{suffix}"
    return path, f"{reason.format(says=declared, here=actual)} (at 0x{at:x} of the records)"


def scan(data: Buffer, *, check: bool = True, damages: list[Damage] | None = None) -> Iterator[Batch]:
    """Yield the batches of a records field, or of a log segment in memory; magic 0 to 2 may be mixed.

    check: compute checksums (else `crc_valid` is None). An incomplete batch at the end ends the scan silently, as in
    Kafka. Other bytes that are not a batch are skipped up to the next sound batch and added to `damages`. Without such
    a list they raise DecodeError after the batches before them.
    """
    view = memoryview(data).cast("B")
    start = 0
    while start < len(view):
        rows, status, stopped = core.frames(view, start, check)
        for row in rows:
            yield Batch(view, row)
        if status == core.END:
            return
        from kcli.records.damage import Damage, assess  # only damage needs them

        damage = assess(view, len(view), stopped, status, True)
        assert isinstance(damage, Damage)
        if damages is not None:
            damages.append(damage)
        elif not damage.lawful:
            raise DecodeError("", damage.start, f"{damage.reason} (at 0x{damage.start:x})", what="record batches")
        start = damage.end


def is_covered(batch: Batch) -> bool:
    """Return whether all of a batch's contents are hidden, because its checksum is wrong and a secret may be anywhere
    in it.
    """
    if batch.crc_valid is not False:
        return False
    from kcli.records.secrets import holds_secret  # only damage needs it

    data: Buffer = batch.bytes
    if batch.codec:
        with suppress(InputError):  # what can't be decompressed has no records to show
            data = decompress(batch.codec, batch.payload or b"", batch.magic)
    return holds_secret(memoryview(data))
