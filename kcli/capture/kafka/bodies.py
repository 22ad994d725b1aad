"""Decodes frames of a capture by the grammar, to values or JSON text, and checks whether bytes fit a message."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from kcli.capture.kafka.message_starts import MessageStarts
from kcli.core.codec.messages import Names, Node, Selection
from kcli.errors import DecodeError
from kcli.grammar import frames, messages
from kcli.grammar.codec import MessageCodec, guarded
from kcli.grammar.request_start import api_of
from kcli.grammar.topic_ids import annotate, teaches
from kcli.jsontext import dumps
from kcli.schemas.apikeys import API_VERSIONS, ENVELOPE, PRODUCE
from kcli.schemas.catalog import catalog
from kcli.schemas.model import Api, Field
from kcli.schemas.secrets import secret_fields

if TYPE_CHECKING:
    from kcli.records.text import RecordsText

Texts = tuple[bytes | None, bytes | None, bytes | None]  # JSON of header, request and response
SPARE = 4  # bytes after a message that are tolerated: librdkafka sends up to three


def records_hook(form: str, secrets: bool) -> RecordsText | None:
    """Return a function that makes text of records fields within one budget for each exchange; None if text shows only
    their sizes or bytes.
    """
    if form not in ("batches", "full"):
        return None
    from kcli.records.text import RecordsText

    return RecordsText(form, secrets)


class Cut(NamedTuple):
    """Sizes on the wire (bytes) of an exchange's messages whose frames have only their first bytes, as the snapshot
    length cuts off others, or packets are missing; None: the frame is whole, or there is none. response: LOST if all
    that is known of it is that there is one, or may be.
    """

    request: int | None = None
    response: int | None = None


WHOLE = Cut()
LOST = 0


class Bodies:
    """Decodes the requests and responses of a capture under one dialect, with the topic names learned from it so far.

    Frames come without their length prefix. A message that the tables lack (an unknown key or version) raises a
    DecodeError that names the known ones.
    """

    def __init__(
        self, dialect: str | None = None, records: str = "none", annotated: bool = True, secrets: bool = False
    ) -> None:
        """Prepare the codecs. annotated: values also have topic names beside ids. secrets: text shows them; values
        always have them.
        """
        self.dialect = dialect
        self.annotated = annotated
        self.apis = catalog(dialect).apis
        self.names = Names()
        self.starts = MessageStarts(dialect)
        # by API key and version, as bytes of the header
        self.known: dict[bytes, tuple[MessageCodec, MessageCodec]] = {}
        self.answers: dict[tuple[int, int], tuple[MessageCodec, MessageCodec]] = {}  # codecs of responses
        self.naming: dict[tuple[int, int], bool] = {}  # results of `teaches` by API key and version
        self.closings: dict[bytes, bytes] = {}  # the end of a request header's text, by API key as bytes
        self.with_ids: dict[str, bool] = {}
        self.form: dict[str, Any] = {
            "records": records,
            "hook": records_hook(records, secrets),
            "names": self.names,
            "whole": True,
            "secrets": secrets,
        }

    def api(self, api_key: int) -> Api | None:
        """Return the API with this key in the tables; None if there is none."""
        return self.apis.get(api_key)

    def name(self, api_key: int) -> str | None:
        """Return an API's name as in a broker's log, "FETCH"; None for an unknown key."""
        api = self.apis.get(api_key)
        return api.log_name if api else None

    def error_name(self, code: int) -> bytes:
        """Return an error's name as JSON text."""
        return dumps(catalog(self.dialect).error_name(code)).encode()

    def errors_text(self, codes: Iterable[int] | None) -> bytes:
        """Return the end of an exchange's line: the names of the errors in its response; None: they are unknown."""
        return b',"errors":null}\n' if codes is None else b',"errors":[%b]}\n' % b",".join(map(self.error_name, codes))

    def knows(self, api_key: int, version: int) -> bool:
        """Return whether the tables have this API in this version."""
        api = self.apis.get(api_key)
        return api is not None and version in api.versions

    def codecs(self, frame: bytes) -> tuple[MessageCodec, MessageCodec]:
        """Return the codecs of a request's header and body. For an unknown version these read the fields at the start
        of every header, and the body as hidden bytes.
        """
        found = self.known.get(frame[:4])
        if found is not None:
            return found
        header, body = frames.request_codecs(frame, 0, self.dialect)
        if not self.knows(*api_of(frame)):
            return messages.data("RequestHeader", 1, self.dialect), guarded(body)
        self.known[frame[:4]] = header, body
        return header, body

    def exchange_nodes(self, api_key: int, version: int) -> tuple[Node | None, Node | None, Node | None, Node | None]:
        """Return the core's nodes of request header, request, response header and response; None if the core has none.

        Raises SchemaError if the tables lack the key or version.
        """
        found = (
            messages.request_header(api_key, version, self.dialect),
            messages.request(api_key, version, self.dialect),
            messages.response_header(api_key, version, self.dialect),
            messages.response(api_key, version, self.dialect),
        )
        return found[0].node, found[1].node, found[2].node, found[3].node

    def acks(self, version: int) -> Selection | None:
        """Return the core's program that reads the acks of a Produce request and stops after them."""
        return messages.request(PRODUCE, version, self.dialect).select(["acks?"]).head

    def teaches(self, api_key: int, version: int) -> bool:
        """Return whether exchanges of an API's version may have topic names beside topic ids."""
        found = self.naming.get((api_key, version))
        if found is None:
            sides = (messages.request, messages.response) if self.knows(api_key, version) else ()
            found = self.naming[api_key, version] = bool(sides) and (
                api_key == ENVELOPE or any(teaches(side(api_key, version, self.dialect).grammar) for side in sides)
            )
        return found

    # Values

    def read_header(self, frame: bytes) -> dict[str, Any]:
        """Return a request's header, with requestApiKeyName. Raises DecodeError."""
        header = self.codecs(frame)[0].read(frame)[0]
        return header | {"requestApiKeyName": self.name(header["requestApiKey"])}

    def read_request(self, frame: bytes) -> dict[str, Any]:
        """Return a request's body. Raises DecodeError."""
        self.check(frame)
        header, body = self.codecs(frame)
        return self.named(body, body.read_whole(frame, header.skip(frame)))

    def check(self, frame: bytes) -> None:
        """Raise DecodeError if the tables lack the API or version of this request."""
        if frame[:4] not in self.known and not self.knows(*api_of(frame)):
            raise frames.unknown_version(*api_of(frame), self.dialect)

    def read_response(self, frame: bytes, api_key: int, version: int) -> dict[str, Any]:
        """Return a response's body, by API key and version of its request. Raises DecodeError."""
        codec, start = self.response_codec(frame, api_key, version)
        return self.named(codec, codec.read_whole(frame, start))

    def named(self, codec: MessageCodec, value: dict[str, Any]) -> dict[str, Any]:
        """Learn the topic names in a value and add names beside ids, if `annotated`; return the value."""
        if self.annotated and self.has_topic_ids(codec.name):
            annotate(value, self.names)
        return value

    def has_topic_ids(self, message: str) -> bool:
        """Return whether a message has a topic id in any version; most have none and need no search."""
        found = self.with_ids.get(message)
        if found is None:
            known = message in catalog(self.dialect).names
            found = self.with_ids[message] = known and has_field(
                catalog(self.dialect).message(message).fields, "topicId"
            )
        return found

    def response_codec(self, frame: bytes, api_key: int, version: int) -> tuple[MessageCodec, int]:
        """Return the codec of a response's body, and the offset of the body."""
        found = self.answers.get((api_key, version))
        if found is not None:
            return found[1], found[0].skip(frame)
        if api_key != API_VERSIONS and not self.knows(api_key, version):
            raise frames.unknown_version(api_key, version, self.dialect)
        header = messages.response_header(api_key, version, self.dialect)
        start = header.skip(frame)
        body = frames.response_codec(frame, start, api_key, version, self.dialect, strict=True)
        if api_key != API_VERSIONS:  # its response may have another version than the request
            self.answers[api_key, version] = header, body
        return body, start

    def answer_codec(self, frame: bytes, api_key: int, version: int, request: bytes) -> tuple[MessageCodec, int]:
        """Return the same as `response_codec`; the codec of an envelope gets its inner API from the request's frame."""
        codec, start = self.response_codec(frame, api_key, version)
        if api_key == ENVELOPE and self.request_decodes(request):
            from kcli.grammar.envelopes import EnvelopeCodec

            assert isinstance(codec, EnvelopeCodec)
            codec = codec.answering(self.read_request(request))
        return codec, start

    @property
    def secrets(self) -> bool:
        """True if text shows secrets."""
        return bool(self.form["secrets"])

    def hides(self, api_key: int, version: int) -> bool:
        """Return whether text hides bytes that could not be decoded: those of APIs with secrets, and of unknown
        versions.
        """
        if self.secrets:
            return False
        if not self.knows(api_key, version):
            return True
        api = self.apis[api_key]
        return bool(secret_fields(api.request) or secret_fields(api.response))

    # Text

    def texts(
        self, api_key: int, version: int, request: bytes, response: bytes | None, cut: Cut = WHOLE
    ) -> tuple[Texts, dict[str, DecodeError]]:
        """Return the JSON texts of request header, request and response, and the errors by sender ("client", "server").
        A text is None if the message is missing, cut off or can't be decoded.
        """
        head = asked = answer = None
        errors: dict[str, DecodeError] = {}
        if self.form["hook"] is not None:
            self.form["hook"].begin()
        try:
            head, start = self.header_text(request)
            asked = self.request_text(request, start) if cut.request is None else None
        except DecodeError as error:
            if cut.request is None:
                errors["client"] = error
        if response is not None and cut.response is None:
            try:
                answer = self.response_text(response, api_key, version, request)
            except DecodeError as error:
                errors["server"] = error
        return (head, asked, answer), errors

    def header_text(self, frame: bytes) -> tuple[bytes, int]:
        """Return a request header's JSON text, and the offset of the body. Raises DecodeError."""
        text, end = self.codecs(frame)[0].json(frame)
        closing = self.closings.get(frame[:2])
        if closing is None:
            name = dumps(self.name(api_of(frame)[0]))
            closing = self.closings[frame[:2]] = f',"requestApiKeyName":{name}}}'.encode()
        return text[:-1] + closing, end

    def request_text(self, frame: bytes, start: int) -> bytes:
        """Return the JSON text of a request body that begins at `start`. Raises DecodeError."""
        self.check(frame)
        return self.codecs(frame)[1].json(frame, start, **self.form)[0]

    def response_text(self, frame: bytes, api_key: int, version: int, request: bytes = b"") -> bytes:
        """Return a response body's JSON text, by API key and version of its request. Raises DecodeError.

        request: its frame, which determines the message inside an envelope's response.
        """
        codec, start = self.answer_codec(frame, api_key, version, request)
        return codec.json(frame, start, **self.form)[0]

    # Tests of bytes

    def has_header(self, frame: bytes) -> bool:
        """Return whether a request of any version begins with a readable header."""
        try:
            self.read_header(frame)
        except DecodeError:
            return False
        return True

    def request_fits(self, frame: bytes) -> bool:
        """Return whether these bytes are one request of a known version, up to their end (see `fills`)."""
        if len(frame) < 4 or not self.knows(*api_of(frame)):
            return False
        header, body = self.codecs(frame)
        try:
            return fills(body, frame, header.skip(frame))
        except DecodeError:
            return False

    def request_decodes(self, frame: bytes) -> bool:
        """Return whether a request has a known version and decodes, with or without further bytes."""
        try:
            self.check(frame)
            header, body = self.codecs(frame)
            start = header.skip(frame)
            if body.variants:
                body.fit(frame, start)
            else:
                body.skip(frame, start)
        except DecodeError:
            return False
        return True

    def response_fits(self, frame: bytes, api_key: int, version: int) -> bool:
        """Return whether these bytes are one response to a request with this API key and version, up to their end (see
        `fills`). If the tables lack the version, any frame of at least four bytes counts.
        """
        if not self.knows(api_key, version):
            return len(frame) >= 4
        try:
            codec, start = self.response_codec(frame, api_key, version)
            return fills(codec, frame, start)
        except DecodeError:
            return False


def has_field(fields: tuple[Field, ...], name: str) -> bool:
    return any(field.name == name or has_field(field.fields, name) for field in fields)


def fills(codec: MessageCodec, frame: bytes, start: int) -> bool:
    """Return whether the message ends with the frame, or at most SPARE bytes before, as from some clients."""
    if codec.variants:
        return codec.fit(frame, start)[2] == len(frame)
    return len(frame) - codec.skip(frame, start) <= SPARE
