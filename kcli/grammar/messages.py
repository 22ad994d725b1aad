"""Codecs of messages from the tables, by API key and version, or by name."""

from functools import cache

from kcli.arguments import need
from kcli.errors import SchemaError
from kcli.grammar.codec import MessageCodec
from kcli.grammar.words.arrays import Array, Optional
from kcli.grammar.words.scalars import scalar
from kcli.grammar.words.structs import Struct
from kcli.grammar.words.tagged import Field, TaggedFields
from kcli.grammar.words.word import Word
from kcli.schemas import model
from kcli.schemas.catalog import catalog
from kcli.schemas.secrets import secret_fields

ENVELOPES = ("EnvelopeRequest", "EnvelopeResponse")


def message(name: str, version: int | None = None, dialect: str | None = None) -> MessageCodec:
    """Return the construct of one version of a message ("FetchRequest", 12); by default, of the newest version.

    dialect: the name or directory of message definitions laid over Kafka's own. Raises UsageError for an unknown name,
    SchemaError for an unknown version.
    """
    need("name", name, str, "a message's name (FetchRequest)")
    need("version", 0 if version is None else version, int, "a number")
    newest = catalog(dialect).message(name).versions.hi
    return data(name, newest if version is None else version, dialect)


def request(api: int | str, version: int, dialect: str | None = None) -> MessageCodec:
    """Return the codec of an API's request. api: key or name. Raises SchemaError for an unknown key or version,
    UsageError for an unknown name.
    """
    return data(known_api(api, dialect).request, version, dialect)


def response(api: int | str, version: int, dialect: str | None = None) -> MessageCodec:
    """Return the codec of an API's response, in its request's version. Raises SchemaError and UsageError as
    `request`.
    """
    return data(known_api(api, dialect).response, version, dialect)


def request_header(api: int | str, version: int, dialect: str | None = None) -> MessageCodec:
    """Return the codec of a request's header; for an unknown key, that of flexible versions."""
    found = find_api(api, dialect)
    return data("RequestHeader", found.request_header_version(version) if found else 2, dialect)


def response_header(api: int | str, version: int, dialect: str | None = None) -> MessageCodec:
    """Return the codec of a response's header; for an unknown key, that without tagged fields."""
    found = find_api(api, dialect)
    return data("ResponseHeader", found.response_header_version(version) if found else 0, dialect)


def unknown(kind: str, api_key: int, version: int) -> MessageCodec:
    """Return the codec of a message that the tables lack: all its bytes are "_trailing".

    kind: "request" or "response". JSON hides the bytes if another version of the message has secrets.
    """
    found = find_api(api_key, None)
    name = "" if found is None else found.request if kind == "request" else found.response
    return MessageCodec(f"{kind} of api key {api_key}", version, Struct(), guarded=bool(secret_fields(name)))


def find_api(api: int | str, dialect: str | None) -> model.Api | None:
    tables = catalog(dialect)
    return tables.api(tables.api_key(api) if isinstance(api, str) else api)


def known_api(api: int | str, dialect: str | None) -> model.Api:
    found = find_api(api, dialect)
    if found is None:
        raise SchemaError(f"api key {api} is unknown")
    return found


@cache
def data(name: str, version: int, dialect: str | None = None) -> MessageCodec:
    """Return the codec of a message by name: a request, response, header, record or data message. Raises SchemaError
    for an unknown version.
    """
    found = catalog(dialect).message(name)
    if version not in found.versions:
        raise SchemaError(f"{name} v{version} is unknown: the tables have {found.versions}")
    variants = [
        (variant.name, MessageCodec(name, version, grammar_of(variant.message, version)))
        for variant in found.variants
        if version in variant.versions
    ]
    if name in ENVELOPES:
        from kcli.grammar.envelopes import EnvelopeCodec

        return EnvelopeCodec(name, version, grammar_of(found, version), dialect, data)
    return MessageCodec(name, version, grammar_of(found, version), variants)


def grammar_of(message: model.Message, version: int) -> Struct:
    """Return the construct grammar of one version of a message."""
    return struct_of(message.fields, version, message.is_flexible(version))


def struct_of(members: tuple[model.Field, ...], version: int, flexible: bool) -> Struct:
    plain: list[Field] = []
    tagged: dict[int, Field] = {}
    for member in members:
        if version in member.tagged:
            tagged[member.tag or 0] = field_of(member, version, flexible)
        elif version in member.versions:
            plain.append(field_of(member, version, flexible))
    return Struct(*plain, TaggedFields(tagged)) if flexible else Struct(*plain)


def field_of(member: model.Field, version: int, flexible: bool) -> Field:
    """Return a field with its default; a default of null becomes zero if the version does not allow null."""
    word = word_of(member, version, flexible)
    if member.default is None:
        return Field(member.name, word, word.zero)
    return Field(member.name, word, [] if member.is_array else {} if member.is_struct else member.default)


def word_of(member: model.Field, version: int, flexible: bool) -> Word:
    compact = flexible if member.flexible is None else version in member.flexible
    nullable = version in member.nullable
    if member.is_array:
        return Array(element_of(member, version, flexible, compact), nullable, compact)
    if member.is_struct:
        struct = struct_of(member.fields, version, flexible)
        return Optional(struct, tagged=version in member.tagged) if nullable else struct
    return scalar(member.type, nullable, compact)


def element_of(member: model.Field, version: int, flexible: bool, compact: bool) -> Word:
    if member.is_struct:
        return struct_of(member.fields, version, flexible)
    return scalar(member.element, False, compact)
