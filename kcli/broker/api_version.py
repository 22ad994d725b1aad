"""An API in one version: the codecs of its request and response."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from operator import is_
from typing import Any

from kcli.broker.fetch.records_slot import fill_slots
from kcli.broker.response import Answer, EncodedBody, Lazy, Piece
from kcli.grammar import messages
from kcli.grammar.codec import MessageCodec
from kcli.schemas.catalog import catalog
from kcli.schemas.model import Field

VersionFilter = Callable[[dict[str, Any]], dict[str, Any]]


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


@lru_cache(maxsize=512)
def version_filter(message: str, version: int, dialect: str | None = None) -> VersionFilter:
    """Return a function that drops the fields of a message that this version lacks.

    A struct that needs no change is returned itself, not a copy. Raises SchemaError if the message has no such version.
    """
    messages.data(message, version, dialect)
    made = struct_filter(catalog(dialect).message(message).fields, version)
    return made.struct if made is not None else unchanged


def unchanged(value: dict[str, Any]) -> dict[str, Any]:
    return value


def struct_filter(fields: tuple[Field, ...], version: int) -> StructFilter | None:
    """Return the filter of a struct; None if this version lacks no field, at any depth."""
    present = [field for field in fields if version in field.versions or version in field.tagged]
    absent = frozenset(field.name for field in fields) - {field.name for field in present}
    inner = {field.name: struct_filter(field.fields, version) for field in present if field.is_struct}
    structs = {name: each for name, each in inner.items() if each is not None}
    return StructFilter(absent, structs) if absent or structs else None


class StructFilter:
    """A filter. absent: names of fields that the version lacks; structs: the filters of struct and array fields."""

    __slots__ = ("absent", "structs")

    def __init__(self, absent: frozenset[str], structs: Mapping[str, StructFilter]) -> None:
        self.absent, self.structs = absent, structs

    def struct(self, value: dict[str, Any]) -> dict[str, Any]:
        """Return a struct without the fields that this version lacks."""
        made = value
        if not self.absent.isdisjoint(value):
            made = value.copy()
            for name in self.absent:
                made.pop(name, None)
        for name, inner in self.structs.items():
            each = made.get(name)
            if each:
                kept = inner.struct(each) if isinstance(each, dict) else inner.array(each)
                if kept is not each:
                    made = made | {name: kept}
        return made

    def array(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the rows without the fields that this version lacks."""
        if not self.structs and all(map(self.absent.isdisjoint, rows)):
            return rows
        made = [self.struct(each) for each in rows]
        return rows if all(map(is_, made, rows)) else made
