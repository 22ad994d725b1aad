"""Requests as values: they are encoded and sent, and their responses decoded."""

import asyncio
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from kcli.client.connection import BrokerConnection, Frame
from kcli.grammar import frames, messages
from kcli.schemas.apikeys import API_VERSIONS
from kcli.schemas.catalog import catalog


class Call:
    """An API in one version, with its codecs. fields: the names of the request's top-level fields."""

    def __init__(self, api_key: int, version: int, dialect: str | None) -> None:
        self.api_key, self.version, self.dialect = api_key, version, dialect
        self.name = f"{catalog(dialect).apis[api_key].name} v{version}"
        self.request_header = messages.request_header(api_key, version, dialect)
        self.request = messages.request(api_key, version, dialect)
        self.response_header = messages.response_header(api_key, version, dialect)
        self.response = messages.response(api_key, version, dialect)
        grammar = self.request.grammar
        self.fields = frozenset(field.name for field in (*grammar.fields, *grammar.tagged))
        self.plain_header = len(self.response_header.write({"correlationId": 0})) == 4

    def encode(self, correlation: int, client_id: str | None, body: Mapping[str, Any]) -> bytes:
        """Return the frame of a request, without its length. Raises EncodeError with the wrong field."""
        header = {
            "requestApiKey": self.api_key,
            "requestApiVersion": self.version,
            "correlationId": correlation,
            "clientId": client_id,
        }
        return self.request_header.write(header) + self.request.write(dict(body))

    def body_start(self, frame: Frame) -> int:
        """Return the position of the body in a response's frame."""
        if self.plain_header:
            return 4
        # An empty tag section is one zero byte; any other is decoded.
        return 5 if frame[4:5] == b"\0" else self.response_header.read(frame)[1]

    def decode(self, frame: Frame) -> dict[str, Any]:
        """Return the body of a response. Raises DecodeError with the wrong field."""
        if self.api_key == API_VERSIONS:
            return frames.decode_response(frame, self.api_key, self.version, dialect=self.dialect).body
        return self.response.read_whole(frame, self.body_start(frame))


@lru_cache(maxsize=512)
def call_of(api_key: int, version: int, dialect: str | None = None) -> Call:
    """Return the call of an API in a version. Raises SchemaError if there is no such API or version."""
    return Call(api_key, version, dialect)


def call(
    connection: BrokerConnection,
    api_key: int,
    version: int,
    body: Mapping[str, Any],
    *,
    dialect: str | None = None,
    seconds: float | None = None,
) -> asyncio.Future[dict[str, Any]]:
    """Send one request; return the future of its response's body (as decoded by MessageCodec.read).

    The request is sent at once, so that calls without awaiting are pipelined. seconds: the timeout, None for
    request.timeout.ms.
    Top-level fields that the version does not have are left out.
    """
    made = call_of(api_key, version, dialect)
    correlation = connection.next_correlation()
    present_fields = {name: value for name, value in body.items() if name in made.fields}
    frame = made.encode(correlation, connection.config["client.id"], present_fields)
    return connection.exchange(frame, correlation, made.name, seconds=seconds, read=made.decode)
