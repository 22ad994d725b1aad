"""Requests as bytes or as JSON: the frames to send, and the decoding of their responses.

JSON is one request, or one per line, in the form of `kcli decode request`: {"requestHeader": {...}, "request": {...}}.
Parts of the header may be missing. If the API is given separately, the object may also be the body alone.
"""

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kcli.client.connection import Frame
from kcli.client.dialects import spoken
from kcli.errors import InputError, UsageError
from kcli.grammar import frames
from kcli.jsontext import dumps, loads
from kcli.schemas.apikeys import API_VERSIONS, PRODUCE
from kcli.schemas.catalog import catalog

NAMED_SINCE = 3  # the ApiVersions version from which clients must send their name (KIP-511)
Choose = Callable[[int], int]


@dataclass(frozen=True)
class Outgoing:
    """A request to send.

    data: the frame with its length
    api_key, version, correlation: of the response; None if they are unknown, so that any frame is the response
    answered: the broker sends a response (not to a Produce with acks 0)
    """

    data: bytes
    api_key: int | None
    version: int | None
    correlation: int | None
    answered: bool = True
    name: str = "the request"


@dataclass(frozen=True)
class JsonRequest:
    """A request in JSON. version: None if it has none; header: may be incomplete."""

    api_key: int
    version: int | None
    header: Mapping[str, Any]
    body: Mapping[str, Any]


def looks_like_json(data: bytes) -> bool:
    """Return whether the first character after white space is "{"."""
    return data.lstrip()[:1] == b"{"


def raw(data: bytes) -> list[Outgoing]:
    """Split bytes into frames by their lengths, also malformed ones, so that joined they are `data` again.

    The responses are decoded by the API and version in each header, if these are known.
    """
    parts: list[Outgoing] = []
    while data or not parts:
        length = int.from_bytes(data[:4], "big", signed=True)
        end = 4 + length if 8 <= length <= len(data) - 4 else len(data)
        parts.append(raw_part(data[:end]))
        data = data[end:]
    return parts


def raw_part(data: bytes) -> Outgoing:
    header = data[4:12]
    if len(header) < 8:
        return Outgoing(data, None, None, None)
    api_key, version = (int.from_bytes(header[at : at + 2], "big", signed=True) for at in (0, 2))
    if not catalog(None).knows(api_key, version):
        return Outgoing(data, None, None, None)
    correlation = int.from_bytes(header[4:8], "big", signed=True)
    return Outgoing(data, api_key, version, correlation, name=f"{catalog(None).apis[api_key].name} v{version}")


def from_bytes(data: bytes, dialect: str | None = None) -> Outgoing:
    """Read an encoded request, with or without its length. Raises DecodeError if it is no request."""
    length = int.from_bytes(data[:4], "big", signed=True)
    frame = data[4:] if len(data) >= 4 and length == len(data) - 4 else data
    request = frames.decode_request(frame, dialect=dialect)
    return outgoing(frame, request.api_key, request.api_version, request.header["correlationId"], request.body, dialect)


def from_json(data: bytes, api: str | None, version: int | None, dialect: str | None = None) -> list[JsonRequest]:
    """Read requests in JSON. api, version: override those of the header. Raises InputError for invalid JSON, and
    UsageError if the API is missing or unknown.
    """
    return [written(value, api, version, dialect) for value in list(values(data))]


def values(data: bytes) -> Iterator[Any]:
    """Yield the JSON values of a text: one, or one per line. Raises InputError."""
    try:
        json.loads(data)
    except json.JSONDecodeError as error:
        is_lines = error.msg == "Extra data"
    except (ValueError, RecursionError):
        is_lines = False
    else:
        is_lines = False
    if not is_lines:
        yield loads(data)
        return
    for number, line in enumerate(data.splitlines(), 1):
        if line.strip():
            yield loads(line, line=number)


def written(value: Any, api: str | None, version: int | None, dialect: str | None) -> JsonRequest:
    """Read a request from a JSON value: with its header, or the body alone if `api` is given. api, version: override
    those of the header. Raises InputError, UsageError.
    """
    if not isinstance(value, dict):
        raise InputError(f"a request is a JSON object, not {type(value).__name__}")
    whole = "request" in value and ("requestHeader" in value or api is None or len(value) == 1)
    header = value.get("requestHeader", {}) if whole else {}
    body = value["request"] if whole else value
    if not isinstance(header, dict) or not isinstance(body, dict):
        raise InputError('"requestHeader" and "request" are JSON objects')
    named = api if api is not None else header.get("requestApiKey", header.get("requestApiKeyName"))
    if named is None:
        raise UsageError(
            "the API is unknown: --api NAME, or requestApiKey (or requestApiKeyName) in the request's header"
        )
    api_key = catalog(dialect).api_key(str(named))
    chosen = version if version is not None else header.get("requestApiVersion")
    return JsonRequest(api_key, chosen, header, body)


def encoded(
    request: JsonRequest, choose: Choose, correlation: int, client_id: str, dialect: str | None = None
) -> Outgoing:
    """Encode a request. Missing parts are filled in: the version by `choose` (called with the API key), correlation id,
    client id, and the client's name in ApiVersions. Raises EncodeError, SchemaError.
    """
    version = request.version if request.version is not None else choose(request.api_key)
    header = {
        "correlationId": correlation,
        "clientId": client_id,
        **request.header,
        "requestApiKey": request.api_key,
        "requestApiVersion": version,
    }
    body = dict(request.body)
    if request.api_key == API_VERSIONS and version >= NAMED_SINCE:
        body = {"clientSoftwareName": "kcli", "clientSoftwareVersion": spoken(dialect)} | body
    frame = frames.encode_request(header, body, dialect)
    return outgoing(frame, request.api_key, version, header["correlationId"], request.body, dialect)


def outgoing(
    frame: bytes, api_key: int, version: int, correlation: int, body: Mapping[str, Any], dialect: str | None
) -> Outgoing:
    answered = not (api_key == PRODUCE and body.get("acks") == 0)
    known = catalog(dialect).api(api_key)
    name = f"{known.name if known else f'api key {api_key}'} v{version}"
    return Outgoing(len(frame).to_bytes(4, "big") + frame, api_key, version, correlation, answered, name)


def answer_text(
    request: Outgoing,
    frame: Frame,
    dialect: str | None = None,
    records: str = "none",
    hook: Callable[[memoryview], bytes] | None = None,
    secrets: bool = False,
) -> str:
    """Return the JSON line of a response in the form of `kcli decode response`, as base64 if its API is unknown.

    records, hook, secrets: as for MessageCodec.json. Raises DecodeError if the response can't be decoded.
    """
    if request.api_key is None or request.version is None:
        return dumps({"base64": base64.b64encode(frame).decode()})
    response = frames.decode_response(frame, request.api_key, request.version, dialect=dialect)
    body, _ = response.codec.json(frame, response.start, records=records, hook=hook, whole=True, secrets=secrets)
    return (
        f'{{"responseHeader":{dumps(response.header)},"requestApiKey":{request.api_key},'
        f'"requestApiVersion":{request.version},"response":{body.decode()}}}'
    )
