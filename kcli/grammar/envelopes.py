"""Envelopes (KIP-590): a broker forwards a client's whole request to the controller, and gets the whole response back.

JSON and spans show the header and body of the message inside, and hide only its own secrets. Bytes that are not one
whole message of the tables are hidden entirely, and so is an envelope in an envelope, which Kafka rejects.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Unpack

from kcli.core.codec.varints import Buffer
from kcli.errors import DecodeError
from kcli.grammar.codec import Hook, JsonOptions, MessageCodec
from kcli.grammar.request_start import api_of
from kcli.grammar.secrets import Hidden, redacted
from kcli.grammar.words.structs import Struct
from kcli.grammar.words.trace import Span
from kcli.jsontext import dumps, loads
from kcli.schemas.apikeys import ENVELOPE
from kcli.schemas.catalog import catalog

if TYPE_CHECKING:
    from kcli.core.codec.messages import Node

CodecOf = Callable[[str, int, str | None], MessageCodec]

# Message -> its field that holds a frame without length prefix.
FIELDS = {"EnvelopeRequest": "requestData", "EnvelopeResponse": "responseData"}


class EnvelopeCodec(MessageCodec):
    """The codec of an envelope. For a response, `answering` chooses the request inside, as the bytes do not name it."""

    def __init__(
        self,
        name: str,
        version: int,
        grammar: Struct,
        dialect: str | None,
        codec_of: CodecOf,
        inner: tuple[int, int] | None = None,
    ) -> None:
        """Make a codec. codec_of: returns the codec of a message, by name, version and dialect (`messages.data`).
        inner: API key and version of the request to which the message inside is the response.
        """
        super().__init__(name, version, grammar)
        self.field, self.dialect, self.codec_of, self.inner = FIELDS[name], dialect, codec_of, inner

    @cached_property
    def compiled(self) -> Node:
        """The core's node, whose JSON includes the message inside. A response inside is read as one to the request that
        the node read last.
        """
        from kcli.grammar.native import to_native

        node = to_native(self.grammar, {self.field: self.nodes_inside}, True)
        node.fallback = self.interpreted
        return node

    def nodes_inside(self, key: int, version: int) -> tuple[Node, Node, bytes] | None:
        """Return the core's nodes for header and body of a message inside, and the JSON text between them; None as
        `codecs_inside`.
        """
        found = self.codecs_inside(key, version)
        nodes = () if found is None else (found[0].node, found[1].node)
        if found is None or None in nodes:
            return None
        between = '},"response":'
        if self.field == "requestData":
            name = catalog(self.dialect).apis[key].log_name
            between = f',"requestApiKeyName":{dumps(name)}}},"request":'
        return *nodes, between.encode()

    def codecs_inside(self, key: int, version: int) -> tuple[MessageCodec, MessageCodec] | None:
        """Return the codecs of header and body; None if an envelope must not hold such a message, or its layout is
        unknown.
        """
        api = catalog(self.dialect).api(key)
        if api is None or key == ENVELOPE or version not in api.versions:
            return None
        if self.field == "requestData":
            header, body = ("RequestHeader", api.request_header_version(version)), api.request
        else:
            header, body = ("ResponseHeader", api.response_header_version(version)), api.response
        found = self.codec_of(*header, self.dialect), self.codec_of(body, version, self.dialect)
        return None if found[1].variants else found

    def answering(self, request: dict[str, Any]) -> EnvelopeCodec:
        """Return the codec of the response to this envelope, which holds the response to the request inside."""
        data = request.get("requestData")
        if not isinstance(data, bytes) or len(data) < 4:
            return self
        return EnvelopeCodec(self.name, self.version, self.grammar, self.dialect, self.codec_of, api_of(data))

    def json(self, data: Buffer, offset: int = 0, **options: Unpack[JsonOptions]) -> tuple[bytes, int]:
        """Return the same as MessageCodec, with {"requestHeader": ..., "request": ...} as the field (in a response
        likewise), and its bytes as "base64", or as "redacted" if they have a secret.
        """
        try:
            text, end = self.interpreted.json(data, offset, **options)
        except DecodeError as error:
            raise self.named(error) from None
        if options.get("secrets"):
            return text, end
        inside = self.read(data, offset)[0][self.field]
        return dumps(loads(text) | self.shown(inside)).encode(), end

    def json_value(
        self, value: dict[str, Any], *, records: str = "none", hook: Hook | None = None, secrets: bool = False
    ) -> dict[str, Any]:
        """Return the same as MessageCodec.json_value, with the field as in `json`."""
        made = super().json_value(value, records=records, hook=hook, secrets=secrets)
        return made if secrets else made | self.shown(value.get(self.field))

    def shown(self, inside: Any) -> dict[str, Any]:
        """Return the JSON of the field as {name: value}; {} if the bytes must stay hidden."""
        if not isinstance(inside, bytes | bytearray | memoryview):
            return {}
        frame = bytes(inside)
        try:
            header, body, start = self.open(frame)
            value = body.json(frame, start, whole=True)[0]
            raw, exact = (
                body.json(frame, start, whole=True, records="raw", secrets=shown)[0] for shown in (False, True)
            )
            header_json = header.json_value(header.read(frame)[0])
        except DecodeError:
            return {}
        made: dict[str, Any] = {"base64": base64.b64encode(frame).decode()} if raw == exact else redacted(len(frame))
        if self.inner is None:
            api = catalog(self.dialect).api(header_json["requestApiKey"])
            header_json["requestApiKeyName"] = api.log_name if api else None
        side = "response" if self.inner else "request"
        return {self.field: {f"{side}Header": header_json, side: loads(value), **made}}

    def open(self, frame: bytes) -> tuple[MessageCodec, MessageCodec, int]:
        """Return (header, body, start of the body) for the frame inside. Raises DecodeError if there is none, or if it
        does not end with the bytes.
        """
        known = self.inner or (api_of(frame) if self.field == "requestData" else None)
        found = None if known is None else self.codecs_inside(*known)
        if found is None:
            raise DecodeError(self.field, 0, "nothing that may stand in an envelope")
        header, body = found
        start = header.skip(frame)
        if body.skip(frame, start) != len(frame):
            raise DecodeError(self.field, start, "not one message to its last byte")
        return header, body, start

    def spans(self, data: Buffer, offset: int = 0, into: list[Span] | None = None, secrets: bool = False) -> list[Span]:
        """Return the same as MessageCodec, with spans for the values inside; the field's own span is only its
        length.
        """
        spans = super().spans(data, offset, into, secrets)
        for at, span in enumerate(spans):
            if span.path == self.field and span.value is not None:
                size = span.value.size if isinstance(span.value, Hidden) else len(span.value)
                start = span.end - size
                try:
                    inside = self.spans_inside(bytes(data[start : span.end]), start, secrets)
                except DecodeError:
                    break
                spans[at : at + 1] = [span._replace(end=start, type="length", value=size), *inside]
                break
        return spans

    def spans_inside(self, frame: bytes, offset: int, secrets: bool) -> list[Span]:
        """Return the spans of the frame inside. offset: its start in the envelope."""
        header, body, start = self.open(frame)
        return [
            span._replace(path=f"{self.field}.{span.path}", start=span.start + offset, end=span.end + offset)
            for span in (*header.spans(frame), *body.spans(frame, start, secrets=secrets))
        ]
