"""Frames: a header and a message, which follow a length of four bytes on a connection."""

import re
from dataclasses import dataclass, field
from typing import Any

from kcli.arguments import bytes_like, need
from kcli.core.codec.varints import Buffer
from kcli.errors import DecodeError, EncodeError, KcliError, SchemaError, UnknownFieldError, UsageError
from kcli.grammar import messages
from kcli.grammar.codec import MessageCodec, guarded
from kcli.grammar.request_start import PREFIX, api_of, starts_with_length
from kcli.jsontext import dumps
from kcli.schemas.apikeys import API_VERSIONS
from kcli.schemas.catalog import catalog

UNSUPPORTED_VERSION = 35  # the error in a response of the oldest version (KIP-511)
KEY, VERSION, NAME_OF_KEY = "requestApiKey", "requestApiVersion", "requestApiKeyName"


@dataclass(slots=True, repr=False)
class Message:
    """A header and a body, as dicts with Kafka's field names; both may be changed before `encode` writes them.

    dialect: laid over the tables. start: the body's offset in the frame that was decoded.
    """

    header: dict[str, Any]
    body: dict[str, Any]
    dialect: str | None = field(default=None, kw_only=True)
    start: int = field(default=0, kw_only=True)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.title}, correlation id {self.header.get('correlationId')}>"

    def _repr_html_(self) -> str:
        """Show header and body in notebooks as JSON, cut to some thousand characters."""
        from kcli.notebook import card

        return card(f"{self.title} {type(self).__name__.lower()}", self.header, {"body": self.text()})

    @property
    def api_key(self) -> int:
        """The API's number."""
        raise NotImplementedError

    @property
    def api_version(self) -> int:
        """The API's version."""
        raise NotImplementedError

    @property
    def codec(self) -> MessageCodec:
        """The body's codec."""
        raise NotImplementedError

    @property
    def api(self) -> str:
        """The API's name as in Kafka's documentation ("Fetch"), or its number if the key is unknown."""
        known = catalog(self.dialect).api(self.api_key)
        return known.name if known else str(self.api_key)

    @property
    def version(self) -> int:
        """The API's version."""
        return self.api_version

    @property
    def title(self) -> str:
        """The API and its version in words: "Fetch v12"."""
        try:
            return f"{self.api} v{self.version}"
        except EncodeError as error:
            return f"that can't be encoded ({error})"

    def text(self) -> str:
        """Return the body as kcli's JSON, with records by size, and without secrets; or the reason why it cannot be
        encoded.
        """
        try:
            known = catalog(self.dialect).api(self.api_key)
            codec = self.codec if known and self.api_version in known.versions else guarded(self.codec)
            return dumps(codec.json_value(self.body))
        except (KcliError, AttributeError, KeyError, TypeError, ValueError) as error:
            return f"this body can't be shown: {type(error).__name__}: {error}"


@dataclass(slots=True, repr=False)
class Request(Message):
    """A request. Its header has requestApiKey (or an API's name), requestApiVersion, correlationId and clientId."""

    @property
    def api_key(self) -> int:
        """The API's number in the header. Raises EncodeError if there is none."""
        return header_int(self.header, KEY, self.dialect)

    @property
    def api_version(self) -> int:
        """The API's version in the header. Raises EncodeError if there is none."""
        return header_int(self.header, VERSION, self.dialect)

    @property
    def codec(self) -> MessageCodec:
        """The body's codec."""
        return request_codec(self.api_key, self.api_version, self.dialect)

    def encode(self) -> bytes:
        """Return the frame, without its length prefix. Raises EncodeError, UsageError."""
        return encode_request(self.header, self.body, self.dialect)


@dataclass(slots=True, repr=False)
class Response(Message):
    """A response. to: the request's API, by name or key, and version. Its header has correlationId."""

    to: tuple[int | str, int]

    @property
    def api_key(self) -> int:
        """The number of the request's API."""
        return catalog(self.dialect).api_key(self.to[0])

    @property
    def api_version(self) -> int:
        """The request's version."""
        return self.to[1]

    @property
    def codec(self) -> MessageCodec:
        """The body's codec."""
        return body_codec(self.api_key, self.api_version, self.body, self.dialect)

    def encode(self) -> bytes:
        """Return the frame, without its length prefix. Raises EncodeError."""
        return encode_response(self.header, self.api_key, self.api_version, self.body, self.dialect)


def request_codecs(data: Buffer, start: int = 0, dialect: str | None = None) -> tuple[MessageCodec, MessageCodec]:
    """Return (header, body) codecs for the request frame at `start`, by its key and version.

    The codec of a message that the tables lack keeps all its bytes.
    """
    api_key, version = api_of(data, start)
    return messages.request_header(api_key, version, dialect), request_codec(api_key, version, dialect)


def unknown_version(api_key: int, version: int, dialect: str | None = None) -> DecodeError:
    """Return the error for a message that the tables lack; it names the known versions."""
    tables = catalog(dialect)
    known = tables.api(api_key)
    if known is None:
        return DecodeError("requestApiKey", 0, f"unknown API key {api_key} (known: 0-{max(tables.apis)})")
    why = f"{known.name} has no version {version} (known: {known.versions})"
    return DecodeError("requestApiVersion", 2, why)


def request_codec(api_key: int, version: int, dialect: str | None = None) -> MessageCodec:
    """Return the codec of a request's body; for a message that the tables lack, it keeps all bytes."""
    try:
        return messages.request(api_key, version, dialect)
    except SchemaError:
        return messages.unknown("request", api_key, version)


def decode_request(data: Buffer, start: int = 0, dialect: str | None = None) -> Request:
    """Decode header and body of a request frame, which is the rest of `data`, without length prefix.

    A message that the tables lack has its bytes in "_trailing". Raises DecodeError with path and offset.
    """
    data = bytes_like("decode_request", data)
    header_codec, codec = request_codecs(data, start, dialect)
    header, body_start = header_codec.read(data, start)
    known = catalog(dialect).api(header[KEY])
    if (known is None or header[VERSION] not in known.versions) and starts_with_length(data, start):
        raise DecodeError("", start, f"the frame's length is still in front: pass the bytes after its first {PREFIX}")
    header[NAME_OF_KEY] = known.log_name if known else None
    return Request(header, codec.read_whole(data, body_start), dialect=dialect, start=body_start)


def decode_response(data: Buffer, api: int | str, version: int, start: int = 0, dialect: str | None = None) -> Response:
    """Decode header and body of the response to a request with this API (name or key) and version.

    Raises UsageError for an unknown API name, DecodeError with path and offset.
    """
    data = bytes_like("decode_response", data)
    need("version", version, int, "a number")
    api_key = catalog(dialect).api_key(api)
    header, body_start = messages.response_header(api_key, version, dialect).read(data, start)
    codec = response_codec(data, body_start, api_key, version, dialect)
    body = codec.read_whole(data, body_start)
    return Response(header, body, (api_key, version), dialect=dialect, start=body_start)


def response_codec(
    data: Buffer, start: int, api_key: int, version: int, dialect: str | None = None, *, strict: bool = False
) -> MessageCodec:
    """Return the codec of the response body at `start`: that of the request's version.

    ApiVersions is an exception: a broker responds in version 0, with error 35, to a version that it does not know
    (KIP-511). strict: raise DecodeError for a version that the tables lack; else the codec keeps all bytes.
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
        if strict:
            raise unknown_version(api_key, version, dialect) from None
        return messages.unknown("response", api_key, version)


def encode(message: Request | Response) -> bytes:
    """Encode the frame of a request or response, without length prefix. Raises EncodeError with the field."""
    if not isinstance(message, Request | Response):
        raise UsageError(f"encode: a Request or a Response expected, not {type(message).__name__}")
    return message.encode()


def encode_request(header: dict[str, Any], body: dict[str, Any], dialect: str | None = None) -> bytes:
    """Return the frame, without length prefix. The header has the API, by key or name, and the version.

    Raises EncodeError.
    """
    api_key, version = (header_int(header, name, dialect) for name in (KEY, VERSION))
    written = {name: value for name, value in header.items() if name != NAME_OF_KEY} | {KEY: api_key}
    codec = request_codec(api_key, version, dialect)
    return messages.request_header(api_key, version, dialect).write(written) + written_body(codec, body, dialect)


def encode_response(
    header: dict[str, Any], api_key: int, version: int, body: dict[str, Any], dialect: str | None = None
) -> bytes:
    """Return the frame of a response to a request with this API key and version, without length prefix.

    Raises EncodeError.
    """
    written = messages.response_header(api_key, version, dialect).write(header)
    return written + written_body(body_codec(api_key, version, body, dialect), body, dialect)


def written_body(codec: MessageCodec, body: dict[str, Any], dialect: str | None) -> bytes:
    """Return the bytes of a body. Raises EncodeError; for an unknown field, it names the versions that have the
    field.
    """
    try:
        return codec.write(body)
    except UnknownFieldError as error:
        fields = catalog(dialect).message(codec.name).fields
        for name in re.sub(r"\[\d+\]", "", error.path).split(".") if error.path else ():
            fields = next((each.fields for each in fields if each.name == name), ())
        have = next((str(each.versions) for each in fields if each.name == error.field), "")
        raise UnknownFieldError(error.path, error.field, error.known, versions=have, what=error.what) from None


def body_codec(api_key: int, version: int, body: dict[str, Any], dialect: str | None) -> MessageCodec:
    """Return the codec to write a response body, the reverse of `response_codec`: error 35, and only fields of version
    0, mean version 0.
    """
    if api_key == API_VERSIONS and isinstance(body, dict) and body.get("errorCode") == UNSUPPORTED_VERSION:
        oldest = messages.response(api_key, 0, dialect)
        if {name for name in body if not name.startswith("_")} <= {field.name for field in oldest.grammar.fields}:
            return oldest
    return response_codec(b"", 0, api_key, version, dialect)


def header_int(header: dict[str, Any], name: str, dialect: str | None = None) -> int:
    value = header.get(name) if isinstance(header, dict) else None
    if isinstance(value, str) and name == KEY:
        return catalog(dialect).api_key(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise EncodeError(f"requestHeader.{name}", f"needs an int16, not {value!r}")
    return value
