"""Makes values of a message that show how each field is written, for implementations in other programs.

`defaults` has no field, `one of each` every field, with one entry in every array. Each other value is the latter with
one field changed ("topics.partitions.fetchOffset: max"), and `all changed` has every field at another value than its
default.
"""

import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

from kcli.errors import SchemaError
from kcli.schemas.model import INTEGERS, Field, Message
from kcli.schemas.vectors.template import template

Path = tuple[str, ...]

UNKNOWN_TAG = 1000
MOST_FIELDS = 400  # each gets a few values; Kafka's own messages have up to 140
# A compact length is the size plus one, so 127 bytes are the first that need a second byte for it.
SIZES = (("empty", 0), ("one byte", 1), ("127 bytes", 127), ("128 bytes", 128))
FLOATS = (("-1.5", -1.5), ("max", 1.7976931348623157e308), ("min", struct.unpack(">d", bytes(7) + b"\1")[0]))
UUIDS = (("bytes 0 to 15", "AAECAwQFBgcICQoLDA0ODw"), ("ones", "_" * 21 + "w"))
# A batch of magic 2 with one record, whose value is "v".
BATCH = bytes.fromhex(
    "000000000000000000000039ffffffff029e41f0b200000000000000000000000000000000000000000000ffffffffffffffffffffffffffff"
    "000000010e00000001027600"
)


class Vector(NamedTuple):
    """case: "topics.partitions.fetchOffset: max". value: for MessageCodec.write."""

    case: str
    value: dict[str, Any]


def vectors(message: Message, version: int) -> Iterator[Vector]:
    """Yield values of one version: defaults, nulls, each tag, sizes and limits of every field, and an unknown tag.
    Raises SchemaError for a message with more than MOST_FIELDS fields.
    """
    count = sum(1 for _ in places(message.fields, version, ()))
    if count > MOST_FIELDS:
        raise SchemaError(f"{message.name} {version} has {count:,} fields; vectors are made of {MOST_FIELDS} at most")
    return (Vector(case, canonical(message.fields, version, value)) for case, value in values(message, version))


def values(message: Message, version: int) -> Iterator[Vector]:
    base = changed = template(message, version)
    yield Vector("defaults", {})
    yield Vector("one of each", base)
    for path, field in places(message.fields, version, ()):
        for case, value in edges(field, version, at(base, path)):
            yield Vector(f"{'.'.join(path)}: {case}", replaced(base, path, value))
            if value is not None:
                last = value
        if not field.is_struct or field.is_array:
            changed = replaced(changed, path, last)
    yield Vector("all changed", changed)
    if message.is_flexible(version):
        for path in ((), *structs(message.fields, version, ())):
            tags = [{"tag": UNKNOWN_TAG, "data": b"new"}]
            value = replaced(base, (*path, "_unknownTaggedFields"), tags)
            yield Vector(f"{'.'.join(path) or 'message'}: unknown tag", value)


def places(fields: tuple[Field, ...], version: int, path: Path) -> Iterator[tuple[Path, Field]]:
    """Yield every field of a version, with its path."""
    for field in fields:
        if version in field.versions:
            yield (*path, field.name), field
            yield from places(field.fields, version, (*path, field.name))


def structs(fields: tuple[Field, ...], version: int, path: Path) -> Iterator[Path]:
    return (path for path, field in places(fields, version, path) if field.is_struct)


def edges(field: Field, version: int, base: Any) -> Iterator[tuple[str, Any]]:
    """Yield (name, value) of further values for a field. base: its value in `one of each`."""
    if version in field.nullable:
        yield "null", None
    if field.is_array:
        yield "empty", []
        yield "two", [*base, *base]
        if not field.is_struct:
            yield "128 entries", base * 128
            yield from ((f"[{case}]", [value]) for case, value in scalars(field.element))
    elif not field.is_struct:
        yield from scalars(field.type)


def scalars(kind: str) -> Iterator[tuple[str, Any]]:
    if kind in INTEGERS:
        yield from zip(("min", "max"), INTEGERS[kind], strict=True)
    elif kind == "bool":
        yield from (("false", False), ("true", True))
    elif kind == "float64":
        yield from FLOATS
    elif kind == "uuid":
        yield from UUIDS
    elif kind == "string":
        yield from ((case, "x" * size) for case, size in SIZES)
        yield "2, 3 and 4 bytes a character", "ä€😀"
    elif kind == "bytes":
        yield from ((case, bytes(range(size))) for case, size in SIZES)
    else:
        yield from (("empty", b""), ("a batch", BATCH))


def canonical(fields: tuple[Field, ...], version: int, value: dict[str, Any]) -> dict[str, Any]:
    """Return the value as Kafka's generated code writes it, without tagged fields at their defaults."""
    made = dict(value)
    for field in fields:
        if field.name not in made or version not in field.versions:
            continue  # a dialect may have several fields of one name, in different versions
        held = made[field.name]
        if field.is_struct and isinstance(held, list):
            made[field.name] = [canonical(field.fields, version, each) for each in held]
        elif field.is_struct and held is not None:
            made[field.name] = canonical(field.fields, version, held)
        if version in field.tagged and is_default(field, held):
            del made[field.name]
    return made


def is_default(field: Field, value: Any) -> bool:
    if value is None or field.default is None:
        return value is field.default
    if not field.is_struct or field.is_array:
        return bool(value == ([] if field.is_array else field.default))
    members = {each.name: each for each in field.fields}
    return all(name in members and is_default(members[name], each) for name, each in value.items())


def at(value: Any, path: Path) -> Any:
    """Return the value at a path; in arrays, of the first entry."""
    for name in path:
        value = (value[0] if isinstance(value, list) else value)[name]
    return value


def replaced(value: Any, path: Path, new: Any) -> Any:
    """Return the value with a new one at a path; in arrays, in the first entry. Unchanged parts are shared."""
    if not path:
        return new
    if isinstance(value, list):
        return [replaced(value[0], path, new), *value[1:]]
    return value | {path[0]: replaced(value.get(path[0]), path[1:], new)}
