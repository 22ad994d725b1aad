"""Grammars from tables: the message of an api key and version, or of a name, as a codec."""

from __future__ import annotations

from functools import cache
from typing import Any

from kcli.errors import SchemaError
from kcli.grammar.codec import MessageCodec
from kcli.grammar.primitives import Array, LengthPrefixed, Optional, Primitive, Word
from kcli.grammar.structs import Field, Struct
from kcli.schemas import model
from kcli.schemas.catalog import catalog

__all__ = ["data", "request", "request_header", "response", "response_header", "unknown"]

SIZED = ("string", "bytes", "records")
ZEROS: dict[str, Any] = {"bool": False, "float64": 0.0, "uuid": "A" * 22, "string": "", "bytes": b"", "records": b""}


def request(api_key: int, version: int, dialect: str | None = None) -> MessageCodec:
    """The request of an api key. SchemaError: there is no such key or version in the tables."""
    return data(api(api_key, dialect).request, version, dialect)


def response(api_key: int, version: int, dialect: str | None = None) -> MessageCodec:
    return data(api(api_key, dialect).response, version, dialect)


def request_header(api_key: int, version: int, dialect: str | None = None) -> MessageCodec:
    """The header in front of that request; of an unknown one the header that flexible versions have."""
    known = catalog(dialect).apis.get(api_key)
    return data("RequestHeader", known.request_header_version(version) if known else 2, dialect)


def response_header(api_key: int, version: int, dialect: str | None = None) -> MessageCodec:
    known = catalog(dialect).apis.get(api_key)
    return data("ResponseHeader", known.response_header_version(version) if known else 0, dialect)


def unknown(what: str, api_key: int, version: int) -> MessageCodec:
    """The codec of a message that the tables don't have: nothing of it is known, all its bytes are "_trailing"."""
    return MessageCodec(f"{what} of api key {api_key}", version, Struct([], [], flexible=False))


def api(api_key: int, dialect: str | None) -> model.Api:
    known = catalog(dialect).apis.get(api_key)
    if known is None:
        raise SchemaError(f"api key {api_key} is unknown")
    return known


@cache
def data(name: str, version: int, dialect: str | None = None) -> MessageCodec:
    """The message of a name: a request, response, header, record or data message. SchemaError: no such version."""
    message = catalog(dialect).message(name)
    if version not in message.versions:
        raise SchemaError(f"{name} v{version} is unknown: the tables have {message.versions}")
    variants = [
        (variant.name, MessageCodec(name, version, grammar_of(variant.message, version)))
        for variant in message.variants
        if version in variant.versions
    ]
    return MessageCodec(name, version, grammar_of(message, version), variants)


def grammar_of(message: model.Message, version: int) -> Struct:
    """The construct grammar of one version of a message."""
    return struct_of(message.fields, version, message.is_flexible(version))


def struct_of(members: tuple[model.Field, ...], version: int, flexible: bool) -> Struct:
    plain, tagged = [], []
    for member in members:
        if version in member.tagged:
            word = word_of(member, version, flexible)
            tagged.append(Field(member.name, word, default_of(member, version), member.tag))
        elif version in member.versions:
            plain.append(Field(member.name, word_of(member, version, flexible), default_of(member, version)))
    return Struct(plain, tagged, flexible)


def word_of(member: model.Field, version: int, flexible: bool) -> Word:
    compact = flexible if member.flexible is None else version in member.flexible
    nullable = version in member.nullable
    if member.is_array:
        return Array(element_of(member, version, flexible, compact), nullable, compact)
    if member.is_struct:
        struct = struct_of(member.fields, version, flexible)
        return Optional(struct) if nullable else struct
    return LengthPrefixed(member.type, nullable, compact) if member.type in SIZED else Primitive(member.type)


def element_of(member: model.Field, version: int, flexible: bool, compact: bool) -> Word:
    if member.is_struct:
        return struct_of(member.fields, version, flexible)
    return LengthPrefixed(member.element, False, compact) if member.element in SIZED else Primitive(member.element)


def default_of(member: model.Field, version: int) -> Any:
    """What a writer takes when the field is not given; a null default means zero where the version has no null."""
    if member.default is None:
        if version in member.nullable:
            return None
        return [] if member.is_array else {} if member.is_struct else ZEROS.get(member.type, 0)
    return [] if member.is_array else {} if member.is_struct else member.default
