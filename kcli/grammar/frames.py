"""Frames: a header and a message, as they stand behind the four bytes of length on a connection."""

from __future__ import annotations

from typing import Any, NamedTuple

from kcli.errors import DecodeError, EncodeError, SchemaError
from kcli.grammar import messages
from kcli.grammar.codec import MessageCodec
from kcli.schemas.catalog import catalog
from kcli.schemas.model import API_VERSIONS

__all__ = [
    "Request",
    "Response",
    "decode_request",
    "decode_response",
    "encode_request",
    "encode_response",
    "request_codec",
    "request_codecs",
    "response_codec",
]

UNSUPPORTED_VERSION = 35
NAME_OF_KEY = "requestApiKeyName"

Buffer = bytes | bytearray | memoryview


class Request(NamedTuple):
    """A request's header and body. `start`: where the body begins; all offsets are those of the buffer given."""

    header: dict[str, Any]
    codec: MessageCodec
    body: dict[str, Any]
    start: int

    @property
    def api_key(self) -> int:
        return int(self.header["requestApiKey"])

    @property
    def api_version(self) -> int:
        return int(self.header["requestApiVersion"])


class Response(NamedTuple):
    header: dict[str, Any]
    codec: MessageCodec
    body: dict[str, Any]
    start: int


def request_codecs(data: Buffer, start: int = 0, dialect: str | None = None) -> tuple[MessageCodec, MessageCodec]:
    """(header, body) of the request frame at `start`: read from its own key and version.

    A message that the tables don't have gets the codec of an unknown one: all its bytes are kept.
    """
    left = len(data) - start
    if left < 4:
        raise DecodeError("requestApiKey", start, f"needs 4 bytes of api key and version at {start:#x}, {left} left")
    api_key = int.from_bytes(data[start : start + 2], "big", signed=True)
    version = int.from_bytes(data[start + 2 : start + 4], "big", signed=True)
    return messages.request_header(api_key, version, dialect), request_codec(api_key, version, dialect)


def request_codec(api_key: int, version: int, dialect: str | None = None) -> MessageCodec:
    try:
        return messages.request(api_key, version, dialect)
    except SchemaError:
        return messages.unknown("request", api_key, version)


def decode_request(data: Buffer, start: int = 0, dialect: str | None = None) -> Request:
    """Header and body of the request frame that the rest of `data` is, without its length prefix. DecodeError."""
    header_codec, codec = request_codecs(data, start, dialect)
    header, body_start = header_codec.read(data, start)
    known = catalog(dialect).api(header["requestApiKey"])
    header[NAME_OF_KEY] = known.log_name if known else None
    return Request(header, codec, codec.read_whole(data, body_start), body_start)


def decode_response(data: Buffer, api_key: int, version: int, start: int = 0, dialect: str | None = None) -> Response:
    """Header and body of the response to a request of that key and version. DecodeError."""
    header, body_start = messages.response_header(api_key, version, dialect).read(data, start)
    codec = response_codec(data, body_start, api_key, version, dialect)
    return Response(header, codec, codec.read_whole(data, body_start), body_start)


def response_codec(data: Buffer, start: int, api_key: int, version: int, dialect: str | None = None) -> MessageCodec:
    """The codec of a response's body at `start`: that of its request's version.

    But for one: ApiVersions in a version that a broker doesn't know is answered in version 0, error 35 (KIP-511).
    """
    if api_key == API_VERSIONS and version != 0 and bytes(data[start : start + 2]) == b"\0\x23":
        oldest = messages.response(api_key, 0, dialect)
        try:
            if oldest.skip(data, start) == len(data):
                return oldest
        except DecodeError:
            pass
    try:
        return messages.response(api_key, version, dialect)
    except SchemaError:
        return messages.unknown("response", api_key, version)


def encode_request(header: dict[str, Any], body: dict[str, Any], dialect: str | None = None) -> bytes:
    """The frame, without its length prefix. The header names api key and version. EncodeError."""
    header = {name: value for name, value in header.items() if name != NAME_OF_KEY}
    api_key, version = (header_int(header, name) for name in ("requestApiKey", "requestApiVersion"))
    written = messages.request_header(api_key, version, dialect).write(header)
    return written + request_codec(api_key, version, dialect).write(body)


def encode_response(
    header: dict[str, Any], api_key: int, version: int, body: dict[str, Any], dialect: str | None = None
) -> bytes:
    written = messages.response_header(api_key, version, dialect).write(header)
    return written + body_codec(api_key, version, body, dialect).write(body)


def body_codec(api_key: int, version: int, body: dict[str, Any], dialect: str | None) -> MessageCodec:
    """The reverse of `response_codec`: error 35 and no field that version 0 lacks mean version 0."""
    if api_key == API_VERSIONS and isinstance(body, dict) and body.get("errorCode") == UNSUPPORTED_VERSION:
        oldest = messages.response(api_key, 0, dialect)
        if {name for name in body if not name.startswith("_")} <= {field.name for field in oldest.grammar.fields}:
            return oldest
    return response_codec(b"", 0, api_key, version, dialect)


def header_int(header: dict[str, Any], name: str) -> int:
    value = header.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise EncodeError(f"requestHeader.{name}", f"needs an int16, not {value!r}")
    return value
