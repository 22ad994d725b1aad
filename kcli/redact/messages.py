"""Replaces names and leaves out data in Kafka's frames, byte for byte in place: every size stays.

A frame begins blank, and only fields that the grammar has read are written into it: numbers and lengths unchanged,
everything else by the rule of its field (`kcli.redact.rules`). A frame that can't be decoded stays blank, since a
number that was read before the error may be a part of a name. A request still keeps its API and version if kcli knows
both; a response keeps its correlation id if the request has the same, and can be decoded.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from kcli.capture.kafka.bodies import Bodies
from kcli.errors import DecodeError, SchemaError
from kcli.grammar import messages
from kcli.grammar.codec import MessageCodec
from kcli.grammar.request_start import api_of
from kcli.grammar.words.trace import INDEX, Span
from kcli.records.control import MESSAGES as CONTROL_MESSAGES
from kcli.redact.batches import BLANK, FILL, BatchRedactor
from kcli.redact.logins import Login
from kcli.redact.pseudonyms import Pseudonyms, is_address
from kcli.redact.rewriters import rewriter_of
from kcli.redact.rules import NO_RULE, FieldRule, Method, rules_of, stays
from kcli.schemas.apikeys import ENVELOPE
from kcli.schemas.field_codes import ConfigResource, CoordinatorType
from kcli.schemas.model import SIZED

if TYPE_CHECKING:
    from kcli.core.codec.rewriting import FrameRewriter

SHARE_KEY = re.compile(rb"(.*):([A-Za-z0-9_-]{22}):(\d+)", re.DOTALL)  # group:topic id:partition (KIP-932)
FIXED = 8  # bytes of a request's API key, version and correlation id
API = 4  # bytes of its API key and version
NUMBER = slice(API, FIXED)  # its correlation id
UNNUMBERED = b"\x7f\xff\xff\xff"  # the correlation id of a request that can't be decoded, and of its response
LEVELS = frozenset({ConfigResource.BROKER, ConfigResource.BROKER_LOGGER})  # resources whose name is a broker's number
KIND_OF_KEY: Mapping[int, str] = {CoordinatorType.GROUP: "groups", CoordinatorType.TRANSACTION: "transactions"}


class Around(NamedTuple):
    """The surroundings of a message. request: the request inside the envelope that the message answers. login: the
    login of the request's connection.
    """

    request: bytes = b""
    login: Login | None = None


class RedactedField(NamedTuple):
    """A field whose content is replaced. numbers: the int8 values of the same message, by path."""

    rule: FieldRule
    path: str
    numbers: Mapping[str, int]
    around: Around


NOTHING_AROUND = Around()


class FrameRedactor:
    """Redacts frames, given without their length. keep: kinds of names that stay."""

    def __init__(self, names: Pseudonyms, keep: frozenset[str], bodies: Bodies) -> None:
        self.names, self.keep, self.bodies = names, keep, bodies
        self.batches = BatchRedactor(self.control_value)
        self.rewriters: dict[tuple[int, int, bool], FrameRewriter | None] = {}
        self.blanked = 0  # frames, or ends of frames, that could not be decoded
        self.redactors: dict[Method, Callable[[bytes, RedactedField], bytes]] = {
            "name": self.name,
            "host": self.host,
            "principal": self.principal,
            "resource": self.resource,
            "coordinator": self.coordinator,
            "address": self.address,
            "mechanism": self.mechanism,
            "login": lambda data, field: (field.around.login or Login()).redacted(data, self.user),
            "inside": lambda data, field: self.inside(data, field.rule.inside),
            "frame": self.frame_inside,
            "records": lambda data, field: self.batches.records(data),
            "text": lambda data, field: FILL * len(data),
            "nothing": lambda data, field: bytes(len(data)),
        }

    # Frames

    def rewriter(self, api_key: int, version: int, is_response: bool) -> FrameRewriter | None:
        """Return the core's redactor for such frames; None if it has none."""
        which = api_key, version, is_response
        if which not in self.rewriters:
            known = self.bodies.knows(api_key, version)
            self.rewriters[which] = rewriter_of(self, *which) if known else None
        return self.rewriters[which]

    def rewritten(self, frame: bytes, api_key: int, version: int, is_response: bool) -> bytes | None:
        """Redact a frame in the core; None if it can't."""
        rewriter = self.rewriter(api_key, version, is_response)
        return None if rewriter is None else rewriter.rewritten(frame)

    def request(self, frame: bytes, login: Login | None = None) -> bytes:
        """Return a request's frame redacted. login: the login of its connection; a SaslHandshake changes it."""
        made = self.readable_request(frame, login)
        if made is not None:
            return made
        self.blanked += 1
        known = len(frame) >= FIXED and self.bodies.knows(*api_of(frame))
        return ((frame[:API] if known else BLANK * API) + UNNUMBERED + BLANK * len(frame))[: len(frame)]

    def response(self, frame: bytes, api_key: int, version: int, request: bytes = b"") -> bytes:
        """Return a response's frame redacted. api_key, version: of its request. request: the frame of the request, if
        known.
        """
        made = self.rewritten(frame, api_key, version, True)
        if made is None:
            made = self.interpreted_response(frame, api_key, version, request)
        if made is not None:
            return made
        self.blanked += 1
        number = frame[:API] if request[NUMBER] == frame[:API] and self.is_numbered(request) else BLANK * API
        return (number + BLANK * len(frame))[: len(frame)]

    def is_numbered(self, request: bytes) -> bool:
        """Return whether a request keeps its correlation id, which it does if it can be decoded."""
        return self.readable_request(request, None) is not None

    def readable_request(self, frame: bytes, login: Login | None) -> bytes | None:
        """Redact a request's frame; None if it can't be decoded."""
        if len(frame) < FIXED:
            return None
        made = self.rewritten(frame, *api_of(frame), False)
        return self.interpreted_request(frame, login) if made is None else made

    def interpreted_request(self, frame: bytes, login: Login | None = None) -> bytes | None:
        """Redact a request's frame field by field; None if it can't be decoded."""
        if not self.bodies.knows(*api_of(frame)):
            return None
        out = bytearray(BLANK * len(frame))
        header, body = self.bodies.codecs(frame)
        with contextlib.suppress(DecodeError):
            self.message(header, frame, 0, out)
            self.message(body, frame, header.skip(frame), out, Around(login=login))
            return bytes(out)
        return None

    def interpreted_response(self, frame: bytes, api_key: int, version: int, request: bytes) -> bytes | None:
        """Redact a response's frame field by field; None if it can't be decoded."""
        out = bytearray(BLANK * len(frame))
        with contextlib.suppress(DecodeError, SchemaError):
            body, start = self.bodies.response_codec(frame, api_key, version)
            self.message(messages.response_header(api_key, version, self.bodies.dialect), frame, 0, out)
            inside = self.bodies.read_request(request)["requestData"] if api_key == ENVELOPE and request else b""
            self.message(body, frame, start, out, Around(inside))
            return bytes(out)
        return None

    # Messages

    def message(
        self, codec: MessageCodec, data: bytes, start: int, out: bytearray, around: Around = NOTHING_AROUND
    ) -> None:
        """Write the message at `start` redacted into `out`. Raises DecodeError; in that case nothing was written."""
        rules = rules_of(codec.name, self.bodies.dialect)
        spans: list[Span] = []
        MessageCodec.spans(codec, data, start, spans, secrets=True)  # without the fields of the message in an envelope
        end = spans[-1].end if spans else start
        if codec.guarded and codec.is_damage(data[end:]):  # any number may be a part of a secret
            raise DecodeError("", end, f"{len(data) - end} bytes after the message", what=codec.name)
        numbers = {span.path: span.value for span in spans if span.type == "int8"}
        for span in spans:
            self.write(span, rules, numbers, data, out, around)

    def write(
        self,
        span: Span,
        rules: Mapping[str, FieldRule],
        numbers: Mapping[str, int],
        data: bytes,
        out: bytearray,
        around: Around,
    ) -> None:
        """Write one value into `out`."""
        kind = span.type.rpartition(" ")[2]
        if kind == "uuid":
            rule = rules.get(INDEX.sub("", span.path), NO_RULE)
            out[span.start : span.end] = self.uuid(data[span.start : span.end], rule)
        elif kind in SIZED:
            at = content_at(span, data)
            out[span.start : at] = data[span.start : at]
            if at < span.end:
                rule = rules.get(INDEX.sub("", span.path), NO_RULE)
                out[at : span.end] = self.content(data[at : span.end], RedactedField(rule, span.path, numbers, around))
        elif span.type != "unknown tagged field":
            out[span.start : span.end] = data[span.start : span.end]

    def content(self, data: bytes, field: RedactedField) -> bytes:
        """Return the replacement of a string's or bytes' content."""
        return data if stays(field.rule, self.keep) else self.redactors[field.rule.method](data, field)

    def replaced(self, rule: FieldRule, data: bytes) -> bytes:
        """Return the replacement of a field's content, for rules that need only the content."""
        return self.content(data, RedactedField(rule, "", {}, NOTHING_AROUND))

    def name(self, data: bytes, field: RedactedField) -> bytes:
        """Replace a name; words of Kafka itself stay."""
        return data if data.decode("latin-1") in field.rule.words else self.names.name(data)

    def mechanism(self, data: bytes, field: RedactedField) -> bytes:
        """Replace the mechanism of the tokens that follow, and record it in the login."""
        if field.around.login is not None:
            field.around.login.mechanism = data
        return self.name(data, field)

    def principal(self, data: bytes, _field: RedactedField) -> bytes:
        """Replace the name in TYPE:NAME; the type of Kafka's own authorizer (User) stays."""
        kind, colon, name = data.partition(b":")
        return kind + colon + self.user(name) if kind == b"User" else self.names.name(data)

    def address(self, data: bytes, _field: RedactedField) -> bytes:
        """Replace the bytes of an IP address."""
        return self.names.address(data) if len(data) in (4, 16) else BLANK * len(data)

    def user(self, name: bytes) -> bytes:
        """Replace the name of a principal."""
        return name if "principals" in self.keep else self.names.name(name)

    def frame_inside(self, data: bytes, field: RedactedField) -> bytes:
        """Redact a message with its header that is inside an envelope."""
        if field.path == "requestData":
            return self.request(data)
        request = field.around.request
        return self.response(data, *api_of(request), request) if len(request) >= FIXED else BLANK * len(data)

    def uuid(self, data: bytes, rule: FieldRule) -> bytes:
        """Replace the 16 bytes of an id."""
        return data if rule.kind in self.keep else self.names.uuid(data)

    def host(self, data: bytes, _field: RedactedField) -> bytes:
        """Replace a host, unless this kind is kept: names and addresses are separate kinds."""
        return data if ("addresses" if is_address(data) else "hosts") in self.keep else self.names.host(data)

    def resource(self, data: bytes, field: RedactedField) -> bytes:
        """Replace the name of a resource (ConfigResource.Type, ResourceType); the name of a broker is its number, and
        stays.
        """
        kind = nearest(field.path, "resourceType", field.numbers)
        if (kind in LEVELS and data.isdigit()) or (kind == ConfigResource.TOPIC and "topics" in self.keep):
            return data
        return self.names.name(data)

    def coordinator(self, data: bytes, field: RedactedField) -> bytes:
        """Replace the key of a coordinator: a group, a transactional id, or a partition of a share group."""
        kind = nearest(field.path, "keyType", field.numbers)
        wanted = {KIND_OF_KEY[kind]} if kind is not None and kind in KIND_OF_KEY else {"groups", "transactions"}
        if found := SHARE_KEY.fullmatch(data):
            return self.share_key(*found.groups())
        return data if wanted <= self.keep else self.names.name(data)

    def share_key(self, group: bytes, topic_id: bytes, partition: bytes) -> bytes:
        """Replace the parts of the key for a partition of a share group."""
        from kcli.core.codec.values import uuid_bytes, uuid_text

        made = uuid_text(self.uuid(bytes(uuid_bytes(topic_id.decode())), FieldRule("uuid", "topics"))).encode()
        return b":".join((group if "groups" in self.keep else self.names.name(group), made, partition))

    def inside(self, data: bytes, name: str, start: int = 2) -> bytes:
        """Redact a message whose data begins with its version; the message begins at `start`. Return zeros if it can't
        be read.
        """
        out = bytearray(len(data))
        try:
            codec = messages.data(name, int.from_bytes(data[:2], "big", signed=True), self.bodies.dialect)
            if codec.skip(data, start) == len(data):
                out[:start] = data[:start]
                self.message(codec, data, start, out)
        except (DecodeError, SchemaError):
            return bytes(len(data))
        return bytes(out)

    def control_value(self, kind: int, value: bytes) -> bytes:
        """Redact the value of a KRaft control record: a message that begins with its version (kcli.records.control)."""
        name = CONTROL_MESSAGES.get(kind)
        return bytes(len(value)) if name is None else self.inside(value, name, 0)


def content_at(span: Span, data: bytes) -> int:
    """Return where the content of a string or bytes begins, after its length."""
    if "compact" not in span.type:
        return span.start + (2 if span.type.endswith("string") else 4)
    at = span.start
    while data[at] & 0x80:
        at += 1
    return at + 1


def nearest(path: str, name: str, numbers: Mapping[str, int]) -> int | None:
    """Return the number with this name in the struct of a field, or in the nearest struct around it that has one."""
    while path:
        path = path.rpartition(".")[0]
        found = numbers.get(f"{path}.{name}" if path else name)
        if found is not None:
            return found
    return None
