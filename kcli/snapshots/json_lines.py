"""A snapshot's or log segment's records as JSON lines, in Kafka's form."""

from base64 import b64encode
from collections.abc import Iterable, Iterator
from typing import Any

from kcli.core.snapshots.snapshot_json import JsonLines
from kcli.errors import DecodeError, InputError
from kcli.grammar.secrets import redacted
from kcli.jsontext import dumps
from kcli.records.control import CONTROL_TYPES
from kcli.records.secrets import holds_secret
from kcli.schemas.field_codes import RecordType
from kcli.schemas.secrets import secret_fields
from kcli.snapshots.reading.decoding import Decoder
from kcli.snapshots.reading.framing import Batch, Fault, batches, checksum, release
from kcli.snapshots.reading.walk import PROBLEMS, SOFT, Row, opened, walk

CHUNK = 1 << 20
COVERED = "the batch's checksum is wrong, and any of its records may be a secret (--show-secrets shows them)"


NAMED = {
    RecordType.TOPIC: (RecordType.TOPIC, "topicId"),
    RecordType.REMOVE_TOPIC: (RecordType.TOPIC, "topicId"),
    RecordType.ACL: (RecordType.ACL, "id"),
    RecordType.REMOVE_ACL: (RecordType.ACL, "id"),
}


class RecordLines:
    """Writes the records of files as JSON lines.

    problems: texts that begin with a position in the file or a record's offset. With `names` it remembers topics and
    ACLs, over several files, so that the line of a removal shows more of the removed object than its id: `_topicName`
    of a topic, `_removed` with the whole ACL.
    """

    def __init__(self, dialect: str | None = None, secrets: bool = False, names: bool = False) -> None:
        """Write lines of records. dialect: as `catalog` takes it; secrets: show them; names: as the class says."""
        self.decoder = Decoder(dialect)
        self.secrets, self.names = secrets, names
        self.known: dict[tuple[int, str], bytes] = {}  # (type, id) -> the JSON shown for it in the line of its removal
        self.problems: list[str] = []
        self.kernel = JsonLines(self.node, CHUNK, secrets)  # knows the nodes of every type and version
        self.records = 0
        self.damaged = False  # the current batch's checksum is wrong
        self.covered = False  # and a secret may be anywhere in the batch
        self.batch = b""  # the part of each line after the offset, the same in a batch

    def lines(self, data: memoryview, mapped: object = None, *, log: bool = False) -> Iterator[bytes | memoryview]:
        """Yield text in pieces of whole lines. A memoryview is valid until the next piece is taken.

        mapped: the object that maps the file into memory, None without one. log: add the time and the leader epoch of
        each record's batch; in a snapshot these say only when it was written.
        """
        for batch in batches(data):
            self.batch = batch_text(batch) if log and isinstance(batch, Batch) else b""
            if isinstance(batch, Fault):
                self.problems.append(f"at byte {batch.position}: {batch.reason}")
                yield fault_line(batch)
                return
            yield from self.batch_lines(data, batch, mapped)
            release(mapped, batch.position, batch.end)

    def batch_lines(self, data: memoryview, batch: Batch, mapped: object) -> Iterator[bytes | memoryview]:
        """Yield the lines of a batch's records. An unreadable record is a line, too, and is added to `problems`."""
        self.damaged = batch.magic == 2 and checksum(data, batch, mapped) != batch.crc
        if self.damaged:
            self.problems.append(f"at byte {batch.position}: the batch's checksum is wrong")
        try:
            if batch.magic != 2:
                raise InputError(f"a batch of magic {batch.magic} (2 expected)")
            records = opened(data, batch)
        except InputError as error:
            self.problems.append(f"at byte {batch.position}: {error}")
            yield unread_batch_line(batch, str(error))
            return
        self.covered = self.damaged and not self.secrets and holds_secret(records)
        self.records += max(batch.record_count, 0)
        for piece in self.pieces(records, batch, mapped is not None):
            yield self.row_line(piece, records, batch) if isinstance(piece, tuple) else piece

    def pieces(self, records: memoryview, batch: Batch, mapped: bool) -> Iterable[memoryview | bytes | Row]:
        """Yield finished text for the records that the kernel formats, and rows for the others."""
        if batch.is_control or self.covered:
            return walk(records, batch)
        mapped = mapped and batch.compression == "none"
        made: Iterable[memoryview | Row] = self.kernel.lines(
            records, batch.base_offset, batch.record_count, mapped, self.batch
        )
        return made

    def node(self, key: int, version: int) -> tuple[bytes, Any] | None:
        """Return the start of lines of a type and version, and the compiled codec for the kernel; None if the
        interpreted grammar has to read them.
        """
        codec = self.decoder.codec(key, version)
        if codec is None or codec.compiled is None or (self.names and key in NAMED):
            return None
        return head(self.decoder.type_names[key], version), codec.compiled

    def row_line(self, row: Row, records: memoryview, batch: Batch) -> bytes:
        """Return the line of one record, read by the interpreted grammar."""
        offset, key, version, start, end, problem = row
        data = records[start:end]
        if self.covered:
            return self.unknown_line(offset, key, version, data, COVERED)
        if key is None or version is None or (problem and problem not in SOFT):
            return self.unread_line(offset, key, version, data, PROBLEMS[problem])
        try:
            line = self.control_line(offset, key, data) if batch.is_control else self.line(offset, key, version, data)
        except DecodeError as error:
            return self.unread_line(offset, key, version, data, str(error))
        if problem:
            self.problems.append(f"record {offset}: {PROBLEMS[problem]}")
            return line[:-2] + b',"reason":' + dumps(PROBLEMS[problem]).encode() + b"}\n"
        return line

    def line(self, offset: int, key: int, version: int, data: memoryview) -> bytes:
        """Return the line of a metadata record. Raises DecodeError."""
        codec = self.decoder.codec(key, version)
        if codec is None:
            raise DecodeError("", 0, self.decoder.why_unknown(key, version))
        value = self.decoder.read(key, version, data)  # refuses records that end too early or too late
        text, _ = codec.json(data, whole=True, secrets=self.secrets)
        if self.names and key in NAMED:
            text = self.with_name(key, value, text)
        return b'{"offset":%d%s%s%s}\n' % (offset, self.batch, head(self.decoder.type_names[key], version), text)

    def with_name(self, key: int, value: dict[str, Any], text: bytes) -> bytes:
        """Return the JSON of a record, for a removal with the object that it removes. A topic or ACL is remembered."""
        kind, field = NAMED[key]
        if key == RecordType.TOPIC:
            self.known[kind, value[field]] = b',"_topicName":' + dumps(value["name"]).encode()
        elif key == RecordType.ACL:
            self.known[kind, value[field]] = b',"_removed":' + text
        else:
            return text[:-1] + self.known.get((kind, value[field]), b"") + b"}"
        return text

    def control_line(self, offset: int, kind: int, data: memoryview) -> bytes:
        """Return the line of a control record. Raises DecodeError."""
        codec = self.decoder.control_codec(kind, data)
        if codec is None:
            raise DecodeError("", 0, self.decoder.why_unknown_control(kind, data))
        self.decoder.read_control(kind, data)
        text, _ = codec.json(data)
        version = int.from_bytes(data[:2], signed=True)
        return b'{"offset":%d%s%s%s}\n' % (offset, self.batch, head(CONTROL_TYPES[kind], version), text)

    def unread_line(self, offset: int, key: int | None, version: int | None, data: memoryview, reason: str) -> bytes:
        """Return the line of a record that can't be decoded, with its bytes and the reason."""
        self.problems.append(f"record {offset}: {reason}")
        return self.unknown_line(offset, key, version, data, reason)

    def unknown_line(self, offset: int, key: int | None, version: int | None, data: memoryview, reason: str) -> bytes:
        """Return the line of a record of no known type."""
        form = {"offset": offset, "type": None, "apiKey": int32(key), "version": int32(version)}
        return dumps({**form, "data": self.base64(key, data), "reason": reason}).encode() + b"\n"

    def base64(self, key: int | None, data: memoryview) -> dict[str, Any]:
        """Return the bytes of an undecoded record in base64, or only their number if its type has secrets or is not
        known for sure.
        """
        secret = key is None or self.damaged or secret_fields(self.decoder.names.get(key, ""))
        if secret and len(data) and not self.secrets:
            return redacted(len(data))
        return {"base64": b64encode(data).decode()}


def head(name: str, version: int) -> bytes:
    return b',"type":"%s","version":%d,"data":' % (name.encode(), version)


def batch_text(batch: Batch) -> bytes:
    return b',"timestamp":%d,"leaderEpoch":%d' % (batch.append_timestamp, batch.leader_epoch)


def fault_line(fault: Fault) -> bytes:
    event = {"event": "unreadable", "position": fault.position, "bytes": fault.left, "reason": fault.reason}
    return dumps(event).encode() + b"\n"


def unread_batch_line(batch: Batch, reason: str) -> bytes:
    event = {"event": "unreadable", "position": batch.position, "bytes": batch.size, "reason": reason}
    return dumps(event).encode() + b"\n"


def int32(value: int | None) -> int | None:
    """Return a varint's value as Kafka's ByteUtils.readUnsignedVarint returns it: the lower 32 bits, signed."""
    return None if value is None else (value + (1 << 31)) % (1 << 32) - (1 << 31)
