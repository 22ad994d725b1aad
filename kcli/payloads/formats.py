"""Payloads without a schema: those of Kafka's own serializers, and text."""

import struct
import uuid
from collections.abc import Callable
from typing import Any, NamedTuple

from kcli.payloads.json_values import JsonCodec
from kcli.payloads.plain import json_form
from kcli.payloads.schema import PayloadError


class Format(NamedTuple):
    """A format that converts bytes to a JSON value, and back. Raises PayloadError, ValueError, TypeError or
    struct.error for bytes or values that don't fit.
    """

    decode: Callable[[bytes], Any]
    encode: Callable[[Any], bytes]


def number(form: str) -> Format:
    """Return a format of Java's numbers, big endian. form: for struct."""
    size = struct.calcsize(form)

    def decode(data: bytes) -> Any:
        if len(data) != size:
            raise PayloadError(f"{size} bytes expected, {len(data)} there")
        return json_form(struct.unpack(form, data)[0])

    return Format(decode, lambda value: struct.pack(form, float(value) if form in (">f", ">d") else value))


JSON = JsonCodec()
FORMATS: dict[str, Format] = {
    "json": Format(lambda data: JSON.decode(data, 0), JSON.encode),
    "utf8": Format(bytes.decode, str.encode),
    "hex": Format(bytes.hex, bytes.fromhex),
    "short": number(">h"),
    "int": number(">i"),
    "long": number(">q"),
    "float": number(">f"),
    "double": number(">d"),
    "uuid": Format(lambda data: str(uuid.UUID(data.decode())), lambda value: str(uuid.UUID(value)).encode()),
}
FAILURES = (ValueError, TypeError, AttributeError, struct.error)


def decoded(name: str, data: bytes) -> Any:
    """Return the value of bytes in a format. Raises PayloadError."""
    try:
        return FORMATS[name].decode(data)
    except FAILURES as error:
        raise PayloadError(f"not {name}: {' '.join(str(error).split())[:200]}") from None


def encoded(name: str, value: Any) -> bytes:
    """Return the bytes of a value in a format. Raises PayloadError."""
    try:
        return FORMATS[name].encode(value)
    except FAILURES as error:
        raise PayloadError(f"not {name}: {' '.join(str(error).split())[:200]}") from None
