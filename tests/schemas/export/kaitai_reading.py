"""What classes that Kaitai's compiler made have read, in the form of kcli's JSON."""

import base64
from collections.abc import Iterable
from typing import Any

from kcli.schemas.export.kaitai import identifier
from kcli.schemas.model import Field


def class_name(message: str) -> str:
    """The name of a message's class: FetchRequest, of fetch_request."""
    return "".join(part.capitalize() for part in identifier(message).split("_"))


def struct(fields: Iterable[Field], read: Any, version: int) -> dict[str, Any]:
    """The members of a struct; tagged ones only where they were sent."""
    here = [field for field in fields if version in field.versions]
    made = {field.name: member(field, read, version) for field in here if version not in field.tagged}
    tagged = {field.tag: field for field in here if version in field.tagged}
    for each in read.tagged_fields.fields if hasattr(read, "tagged_fields") else ():
        field = tagged.get(each.tag.value)
        if field is not None:
            made[field.name] = member(field, each.value, version)
        else:
            raw = each.value if isinstance(each.value, bytes) else each._raw_value
            unknown = {"tag": each.tag.value, "data": base64.b64encode(raw).decode()}
            made.setdefault("_unknownTaggedFields", []).append(unknown)
    return made


def member(field: Field, holder: Any, version: int) -> Any:
    name = identifier(field.name)
    if field.is_array:
        if getattr(holder, f"num_{name}").value < 0:
            return None
        return [element(field, each, version) for each in getattr(holder, name)]
    return element(field, getattr(holder, name, None), version)


def element(field: Field, read: Any, version: int) -> Any:
    if field.is_struct:
        return None if read is None else struct(field.fields, read, version)
    if field.element == "uuid":
        return base64.urlsafe_b64encode(read).decode().rstrip("=")
    if field.element == "bool":
        return read != 0
    if field.element not in ("string", "bytes", "records"):
        return read
    value = getattr(read, "value", None)
    if field.element == "records" and value is not None:
        return {"sizeInBytes": read.len.value}
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value
