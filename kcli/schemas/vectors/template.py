"""Makes a message with every field, and one entry in every array, as JSON to start from."""

from typing import Any

from kcli.schemas.definition import ZERO_UUID
from kcli.schemas.model import Field, Message

ZEROS = {"bool": False, "string": "", "bytes": "", "float64": 0.0, "uuid": ZERO_UUID}


def template(message: Message, version: int) -> dict[str, Any]:
    """Return the fields of one version at their defaults, including tagged fields. Arrays and structs are not null."""
    return struct(message.fields, version)


def struct(fields: tuple[Field, ...], version: int) -> dict[str, Any]:
    return {field.name: value(field, version) for field in fields if version in field.versions}


def value(field: Field, version: int) -> Any:
    if field.is_struct:
        inner = struct(field.fields, version)
        return [inner] if field.is_array else inner
    if field.is_array:
        return [ZEROS.get(field.element, 0)]
    if field.default is None or field.type == "records":
        return None if version in field.nullable else ZEROS.get(field.type, {"sizeInBytes": 0, "base64": ""})
    return ZEROS["bytes"] if isinstance(field.default, bytes) else field.default
