"""The codecs that read and write payloads by a schema, each imported at the first schema of its type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from kcli.payloads.framing import Frame
from kcli.payloads.schema import AVRO, JSON, PROTOBUF, Schema


class PayloadCodec(Protocol):
    """Reads and writes the payloads of one schema."""

    def decode(self, data: bytes, start: int) -> Any:
        """Return the value as in JSON. Raises PayloadError."""

    def encode(self, value: Any) -> bytes:
        """Return the bytes of a value as in JSON. Raises PayloadError."""

    def decode_framed(self, frame: Frame, data: bytes) -> Any:
        """Return the value of a payload after its frame, in the encoding that the frame names. Raises PayloadError."""

    def encode_like(self, value: Any, frame: Frame, data: bytes) -> bytes:
        """Return the bytes of a value after a frame, encoded like the payload there. Raises PayloadError."""


def codec_of(schema: Schema, reader: Schema | None = None) -> PayloadCodec:
    """Return a new codec of a schema. reader: for Avro, the schema into which values are resolved. Raises
    PayloadError.
    """
    return CODECS[schema.type](schema, reader)


def avro_codec(schema: Schema, reader: Schema | None) -> PayloadCodec:
    from kcli.payloads.avro import AvroCodec

    return AvroCodec(schema, reader)


def protobuf_codec(schema: Schema, _reader: Schema | None) -> PayloadCodec:
    from kcli.payloads.protobuf import ProtobufCodec

    return ProtobufCodec(schema)


def json_codec(schema: Schema, _reader: Schema | None) -> PayloadCodec:
    from kcli.payloads.json_values import JsonCodec

    return JsonCodec(schema)


CODECS: dict[str, Callable[[Schema, Schema | None], PayloadCodec]] = {
    AVRO: avro_codec,
    PROTOBUF: protobuf_codec,
    JSON: json_codec,
}
