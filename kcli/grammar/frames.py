"""Frames: a header and a message, as they stand behind the four bytes of length on a connection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kcli.errors import DecodeError, EncodeError, SchemaError
from kcli.grammar import messages
from kcli.grammar.codec import MessageCodec
from kcli.schemas.catalog import catalog
from kcli.schemas.model import API_VERSIONS

__all__ = ["Request", "Response", "decode_request", "decode_response", "encode_request", "encode_response"]

UNSUPPORTED_VERSION = 35
NAME_OF_KEY = "requestApiKeyName"

Buffer = bytes | bytearray | memoryview


@dataclass(frozen=True, slots=True)
class Request:
    """A request's header and body; `start` is where the body begins, bytes from the start of the frame."""

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


@dataclass(frozen=True, slots=True)
class Response:
    header: dict[str, Any]
    codec: MessageCodec
    body: dict[str, Any]
    start: int


def request_codecs(frame: Buffer, dialect: str | None = None) -> tuple[MessageCodec, MessageCodec]:
    """(header, body): read from the frame's own key and version. SchemaError: the tables have no such message."""
    if len(frame) < 4:
        raise DecodeError("requestApiKey", 0, f"needs 4 bytes of api key and version at 0x0, {len(frame)} left")
    api_key = int.from_bytes(frame[:2], "big", signed=True)
    version = int.from_bytes(frame[2:4], "big", signed=True)
    return messages.request_header(api_key, version, dialect), messages.request(api_key, version, dialect)


def decode_request(frame: Buffer, dialect: str | None = None) -> Request:
    """Header and body of a request, without its length prefix. DecodeError, or SchemaError for an unknown message."""
    header_codec, codec = request_codecs(frame, dialect)
    header, start = header_codec.read(frame)
    known = catalog(dialect).apis[header["requestApiKey"]]
    return Request(header | {NAME_OF_KEY: known.log_name}, codec, codec.read_whole(frame, start), start)


def decode_response(frame: Buffer, api_key: int, version: int, dialect: str | None = None) -> Response:
    """Header and body of the response to a request of that key and version."""
    header, start = messages.response_header(api_key, version, dialect).read(frame)
    codec = response_codec(frame, start, api_key, version, dialect)
    return Response(header, codec, codec.read_whole(frame, start), start)


def response_codec(frame: Buffer, start: int, api_key: int, version: int, dialect: str | None = None) -> MessageCodec:
    """The codec of a response's body: that of its request's version, but for a broker's "I don't know this version".

    It answers such an ApiVersions request in version 0, with error 35 (KIP-511).
    """
    refused = api_key == API_VERSIONS and version > 0 and bytes(frame[start : start + 2]) == b"\0\x23"
    if refused:
        oldest = messages.response(api_key, 0, dialect)
        try:
            if oldest.skip(frame, start) == len(frame):
                return oldest
        except DecodeError:
            pass
    return messages.response(api_key, version, dialect)


def encode_request(header: dict[str, Any], body: dict[str, Any], dialect: str | None = None) -> bytes:
    """The frame, without its length prefix. The header names api key and version; EncodeError, SchemaError."""
    header = {name: value for name, value in header.items() if name != NAME_OF_KEY}
    api_key, version = (header_int(header, name) for name in ("requestApiKey", "requestApiVersion"))
    written = messages.request_header(api_key, version, dialect).write(header)
    return written + messages.request(api_key, version, dialect).write(body)


def encode_response(
    header: dict[str, Any], api_key: int, version: int, body: dict[str, Any], dialect: str | None = None
) -> bytes:
    written = messages.response_header(api_key, version, dialect).write(header)
    return written + body_codec(api_key, version, body, dialect).write(body)


def body_codec(api_key: int, version: int, body: dict[str, Any], dialect: str | None) -> MessageCodec:
    """The reverse of `response_codec`: error 35 and no field that version 0 lacks mean version 0."""
    if (
        api_key == API_VERSIONS
        and version > 0
        and isinstance(body, dict)
        and body.get("errorCode") == UNSUPPORTED_VERSION
    ):
        oldest = messages.response(api_key, 0, dialect)
        if {name for name in body if not name.startswith("_")} <= {field.name for field in oldest.grammar.fields}:
            return oldest
    try:
        return messages.response(api_key, version, dialect)
    except SchemaError as error:
        raise SchemaError(f"response: {error.text}") from None


def header_int(header: dict[str, Any], name: str) -> int:
    value = header.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise EncodeError(f"requestHeader.{name}", f"needs an int16, not {value!r}")
    return value
