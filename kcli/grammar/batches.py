"""The grammar of record batches: message sets of magic 0 and 1, batches of magic 2, control records.

An entry of a log segment or a records field is a message in magic 0 and 1, whose value may be a compressed message set.
In magic 2 it is a header and the records, which may be compressed together. KIP-98 defines magic 2, KIP-32 magic 1.
"""

from typing import Any

from kcli.errors import DecodeError, EncodeError
from kcli.grammar.words.scalars import LengthPrefixed, Primitive
from kcli.grammar.words.source import ByteSource
from kcli.grammar.words.structs import Struct
from kcli.grammar.words.trace import DecodeTrace, child, element
from kcli.grammar.words.varints import Zigzag
from kcli.grammar.words.word import Word

VARINT, VARLONG = Zigzag(32), Zigzag(64)


class ZigzagBytes(Word):
    """Bytes with their length as a varint in front; if null is allowed, any negative length is null."""

    least = 1
    type = "bytes"

    def __init__(self, nullable: bool = True) -> None:
        super().__init__()
        self.nullable = nullable

    def parse_word(self, source: ByteSource, trace: DecodeTrace, path: str) -> bytes | None:
        start, inner = source.tell(), DecodeTrace()
        size = VARINT.parse_word(source, inner, path)
        if size < 0 and not self.nullable:
            raise source.short(size, path)
        value = None if size < 0 else source.take(size, path)
        if inner.encodings or size < -1:
            end = source.tell()
            source.seek(start)
            trace.encodings[path] = source.read(end - start)
        trace.note(path, start, source.tell(), self.type, value)
        return value

    def build_word(self, value: Any, out: bytearray, trace: DecodeTrace, path: str) -> None:
        if value is None and self.nullable:
            out += self.kept(value, path, trace) or VARINT.bytes_for(-1)
            return
        if not isinstance(value, (bytes, bytearray, memoryview)):
            raise EncodeError(path, f"needs bytes, not {value!r}")
        out += self.kept(bytes(value), path, trace) or VARINT.bytes_for(len(value)) + bytes(value)


class Headers(Word):
    """The headers of a record, with their number in front."""

    least = 1
    type = "headers"
    zero = ()
    header = Struct(key=ZigzagBytes(nullable=False), value=ZigzagBytes())

    def parse_word(self, source: ByteSource, trace: DecodeTrace, path: str) -> list[dict[str, Any]]:
        count = VARINT.parse_word(source, trace, f"{path}#count")
        if not 0 <= count <= source.left():
            at = source.tell()
            raise DecodeError(path, at, f"says {count} headers at {at:#x}, {source.left()} bytes are left")
        return [self.header.parse_word(source, trace, element(path, index)) for index in range(count)]

    def build_word(self, value: Any, out: bytearray, trace: DecodeTrace, path: str) -> None:
        if not isinstance(value, (list, tuple)):
            raise EncodeError(path, f"needs a list of headers, not {value!r}")
        VARINT.build_word(len(value), out, trace, f"{path}#count")
        for index, header in enumerate(value):
            self.header.build_word(header, out, trace, element(path, index))


class Record(Word):
    """A record of magic 2: its length, and fields that have exactly this length."""

    least = 7
    type = "record"
    body = Struct(
        attributes=Primitive("int8"),
        timestampDelta=VARLONG,
        offsetDelta=VARINT,
        key=ZigzagBytes(),
        value=ZigzagBytes(),
        headers=Headers(),
    )

    def parse_word(self, source: ByteSource, trace: DecodeTrace, path: str) -> dict[str, Any]:
        place = child(path, "length")
        start = source.tell()
        size = VARINT.parse_word(source, trace, place)
        if not 0 <= size <= source.left():
            raise DecodeError(place, start, f"says {size} bytes at {start:#x}, {source.left()} left")
        begin = source.tell()
        value = self.body.parse_word(source, trace, path)
        if source.tell() - begin != size:
            raise DecodeError(place, start, f"says {size} bytes at {start:#x}, the fields take {source.tell() - begin}")
        return value

    def build_word(self, value: Any, out: bytearray, trace: DecodeTrace, path: str) -> None:
        body = bytearray()
        self.body.build_word(value, body, trace, path)
        VARINT.build_word(len(body), out, trace, child(path, "length"))
        out += body


RECORD = Record()

# Magic 2 (DefaultRecordBatch): the header, then the records. batchLength counts the bytes after itself; the crc is a
# CRC-32C of the bytes from `attributes` on. Attributes: bits 0-2 codec, 3 LogAppendTime, 4 transactional, 5 control, 6
# delete horizon (KIP-534: then the base timestamp is the horizon).
BATCH_HEADER = Struct(
    baseOffset=Primitive("int64"),
    batchLength=Primitive("int32"),
    partitionLeaderEpoch=Primitive("int32"),
    magic=Primitive("int8"),
    crc=Primitive("uint32"),
    attributes=Primitive("uint16"),
    lastOffsetDelta=Primitive("int32"),
    baseTimestamp=Primitive("int64"),
    maxTimestamp=Primitive("int64"),
    producerId=Primitive("int64"),
    producerEpoch=Primitive("int16"),
    baseSequence=Primitive("int32"),
    recordCount=Primitive("int32"),
)

# Magic 0 and 1 (LegacyRecord): the crc is a CRC-32 of the bytes from `magic` on. Attributes: bits 0-2 codec, in magic 1
# bit 3 LogAppendTime. A wrapper's `offset` is that of its last message; inner offsets are absolute in magic 0, and
# relative in magic 1.
_FRONT = {
    "offset": Primitive("int64"),
    "messageSize": Primitive("int32"),
    "crc": Primitive("uint32"),
    "magic": Primitive("int8"),
}
_BACK = {"key": LengthPrefixed("bytes", True, False), "value": LengthPrefixed("bytes", True, False)}
MESSAGE_HEADS = (
    Struct(**_FRONT, attributes=Primitive("int8")),
    Struct(**_FRONT, attributes=Primitive("int8"), timestamp=Primitive("int64")),
)
MESSAGES = tuple(Struct(*head.fields, *(name / word for name, word in _BACK.items())) for head in MESSAGE_HEADS)

# Control records (ControlRecordType, EndTransactionMarker). The values of other types are messages of Kafka's schemas.
CONTROL_KEY = Struct(version=Primitive("int16"), type=Primitive("int16"))
END_TRANSACTION_MARKER = Struct(version=Primitive("int16"), coordinatorEpoch=Primitive("int32"))
