"""Values for every message of the tables, made from the tables themselves, to send through each reader and writer.

`filled`   each field with a value of its own that is neither zero nor its default, every tagged field sent
`strange`  the same, and tagged fields from the future
`bare`     each field at its default, no tag sent
`nulls`    null wherever the version allows it
"""

import base64
import hashlib
from collections.abc import Callable, Iterator
from typing import Any

from kcli.grammar import messages
from kcli.grammar.codec import MessageCodec
from kcli.schemas.catalog import catalog
from kcli.schemas.model import INTEGERS, Field, Message

__all__ = ["COMMON", "SHAPES", "bare", "every_message", "filled", "layout", "nulls", "strange", "written"]

COMMON = ("FetchRequest 17", "FetchResponse 11", "MetadataResponse 13", "ApiVersionsResponse 4")

# Two entries: one would hide a reader that forgets where an entry ends.
ENTRIES = 2


def every_message(dialect: str | None = None) -> Iterator[tuple[Message, int]]:
    """Each message with each of its versions."""
    known = catalog(dialect)
    for name in known.names:
        message = known.message(name)
        for version in range(message.versions.lo, message.versions.hi + 1):
            yield message, version


def layout(message: Message, version: int, release: tuple[int, ...]) -> tuple[str, Message]:
    """What a release means by a version of a message: ("", message itself), or (variant's name, its message)."""
    older = [
        (before, variant)
        for variant in message.variants
        if version in variant.versions and release < (before := until(variant.name))
    ]
    if not older:
        return "", message
    variant = min(older, key=lambda item: item[0])[1]
    return variant.name, variant.message


def until(variant: str) -> tuple[int, ...]:
    """The release that ended a variant: `before 3.6`."""
    return tuple(int(part) for part in variant.removeprefix("before ").split("."))


def filled(message: Message, version: int) -> dict[str, Any]:
    return struct(message.fields, version, message.name, message.is_flexible(version))


def bare(message: Message, version: int) -> dict[str, Any]:
    """Nothing given: a writer takes every default."""
    return {}


def nulls(message: Message, version: int) -> dict[str, Any]:
    return nulled(message.fields, version, message.name, message.is_flexible(version))


def strange(message: Message, version: int) -> dict[str, Any]:
    value = filled(message, version)
    if message.is_flexible(version):
        value["_unknownTaggedFields"] = [{"tag": 9000, "data": b"new"}, {"tag": 90000, "data": b""}]
    return value


SHAPES = {"filled": filled, "strange": strange, "bare": bare, "nulls": nulls}


def present(fields: tuple[Field, ...], version: int, flexible: bool) -> Iterator[Field]:
    for field in fields:
        if (flexible and version in field.tagged) or (version in field.versions and version not in field.tagged):
            yield field


def struct(fields: tuple[Field, ...], version: int, path: str, flexible: bool) -> dict[str, Any]:
    return {
        field.name: of_field(field, version, f"{path}.{field.name}", flexible)
        for field in present(fields, version, flexible)
    }


def of_field(field: Field, version: int, path: str, flexible: bool) -> Any:
    if field.is_array:
        return [element(field, version, f"{path}[{index}]", flexible) for index in range(ENTRIES)]
    value = element(field, version, path, flexible)
    return element(field, version, path + "'", flexible) if value == field.default else value


def element(field: Field, version: int, path: str, flexible: bool) -> Any:
    if field.is_struct:
        return struct(field.fields, version, path, flexible)
    return scalar(field.element, path)


def nulled(fields: tuple[Field, ...], version: int, path: str, flexible: bool) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for field in present(fields, version, flexible):
        place = f"{path}.{field.name}"
        if version in field.nullable:
            if version not in field.tagged or field.default is not None:
                value[field.name] = None
        elif field.is_struct and field.is_array:
            value[field.name] = [nulled(field.fields, version, place, flexible)]
        elif field.is_struct:
            value[field.name] = nulled(field.fields, version, place, flexible)
        elif version not in field.tagged:
            value[field.name] = [] if field.is_array else scalar(field.type, place)
    return value


def scalar(kind: str, path: str) -> Any:
    """A value of its own for each path, the same in every run."""
    seed = hashlib.sha256(path.encode()).digest()
    if kind in INTEGERS:
        low, high = INTEGERS[kind]
        return low + int.from_bytes(seed[:8]) % (high - low) or 1
    if kind == "bool":
        return True
    if kind == "float64":
        return 1 + seed[0] / 7
    if kind == "uuid":
        return base64.urlsafe_b64encode(seed[:16]).decode().rstrip("=")
    if kind == "string":
        # Every width of UTF-8, and what JSON has to escape, or kcli does.
        return f'{path.rpartition(".")[2]} {seed[0]:x} é€𝄞 "\\\n\x01\x7f\x9b\u061c\u202e\u2028'
    return seed[: 1 + seed[0] % 32]


def written(shape: Callable[[Message, int], dict[str, Any]], *wanted: str) -> list[tuple[MessageCodec, bytes]]:
    """Codecs of messages, as "FetchRequest 17", each with the bytes of that shape."""
    found = []
    for name, version in (each.split() for each in wanted):
        codec = messages.data(name, int(version))
        found.append((codec, codec.write(shape(catalog().message(name), int(version)))))
    return found
