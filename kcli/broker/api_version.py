"""An API in one version: the codecs of its request and response."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from kcli.broker.fetch.records_slot import fill_slots
from kcli.broker.response import Answer, EncodedBody, Lazy, Piece
from kcli.broker.version_filter import version_filter
from kcli.grammar import messages
from kcli.grammar.codec import MessageCodec
from kcli.schemas.catalog import catalog


class ApiVersion:
    """key, name, version: of the request. dialect: the message definitions of client and broker, None for Apache's.

    known: False for ApiVersions in a version that the broker lacks, which it answers in version 0 (KIP-511).

    Raises SchemaError if there is no such API or version.
    """

    def __init__(self, key: int, version: int, dialect: str | None, known: bool = True) -> None:
        api = catalog(dialect).known(key)
        self.key, self.name, self.version, self.dialect, self.known = key, api.name, version, dialect, known
        answered = version if known else 0
        self.request_header: MessageCodec = messages.request_header(key, version, dialect)
        self.request: MessageCodec = messages.request(key, answered, dialect)
        self.response: MessageCodec = messages.response(key, answered, dialect)
        self.flexible = answered in api.flexible
        self._filter = version_filter(api.response, answered, dialect)
        self._header_tail = b"\0" if api.response_header_version(answered) else b""

    def header(self, correlation_id: int) -> bytes:
        """Encode a response header."""
        return correlation_id.to_bytes(4, "big", signed=True) + self._header_tail

    def encode(self, value: dict[str, Any]) -> bytes:
        """Encode a response body, without the fields that this version lacks."""
        return self.response.write(self._filter(value))

    def encode_with(self, value: dict[str, Any], records: Iterable[Lazy]) -> EncodedBody:
        """Encode a body with records from files. Each of `records` fills the value's next slot (`records_slot`)."""
        return fill_slots(self.encode(value), records, self.flexible, value)

    def frame(self, correlation_id: int, answer: Answer) -> list[Piece]:
        """Return a response's frame in pieces, its length first; [] if there is no response."""
        if answer is None:
            return []
        body: Sequence[Piece] = answer.pieces if isinstance(answer, EncodedBody) else [self.encode(answer)]
        header = self.header(correlation_id)
        size = len(header) + sum(len(each) if isinstance(each, bytes) else each.size for each in body)
        return [size.to_bytes(4, "big") + header, *body]
