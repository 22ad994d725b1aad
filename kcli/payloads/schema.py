"""Schemas as registries and files have them, and the codecs that read payloads by them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from kcli.errors import InputError

AVRO, PROTOBUF, JSON = "AVRO", "PROTOBUF", "JSON"
TYPES = (AVRO, PROTOBUF, JSON)
LONGEST = 1 << 20  # bytes of a schema's text, with what it refers to
FAILURES = (ArithmeticError, AttributeError, EOFError, LookupError, RecursionError, TypeError, ValueError)


class PayloadError(InputError):
    """A payload that its schema can't read, or a schema that can't be used."""


@dataclass(frozen=True, slots=True)
class Schema:
    """A schema's text. references: (name, text) of what it refers to, each behind what it refers to itself.

    descriptors: of Protobuf, a compiled FileDescriptorSet instead of text; the last file has the messages. local: it is
    the user's own. message: of Protobuf, the message that is meant.
    """

    type: str
    text: str = ""
    references: tuple[tuple[str, str], ...] = ()
    descriptors: bytes | None = field(default=None, repr=False)
    local: bool = False
    message: str | None = None

    def __post_init__(self) -> None:
        if len(self.text) + sum(len(text) for _, text in self.references) > LONGEST:
            raise PayloadError(f"a schema of more than {LONGEST >> 20} MiB")


class Codec(Protocol):
    """Reads and writes the payloads of one schema."""

    def decode(self, data: bytes, start: int) -> Any:
        """Return the value as JSON has it. PayloadError."""

    def encode(self, value: Any) -> bytes:
        """Return the bytes of such a value. PayloadError."""


def codec_of(schema: Schema, reader: Schema | None = None) -> Codec:
    """Make the codec of a schema. reader: of Avro, the schema whose fields the values shall have. PayloadError."""
    return CODECS[schema.type](schema, reader)


def avro_codec(schema: Schema, reader: Schema | None) -> Codec:
    from kcli.payloads.avro import AvroCodec

    return AvroCodec(schema, reader)


def protobuf_codec(schema: Schema, _reader: Schema | None) -> Codec:
    from kcli.payloads.protobuf import ProtobufCodec

    return ProtobufCodec(schema)


def json_codec(schema: Schema, _reader: Schema | None) -> Codec:
    from kcli.payloads.json_values import JsonCodec

    return JsonCodec(schema)


CODECS: dict[str, Callable[[Schema, Schema | None], Codec]] = {
    AVRO: avro_codec,
    PROTOBUF: protobuf_codec,
    JSON: json_codec,
}
