"""The keys of message definitions, and their values as coerced by Jackson, with which Kafka's generator reads them."""

import math
from typing import Any

from kcli.java_properties import java_text, number_of

Raw = dict[str, Any]

MESSAGE_KEYS: dict[str, type] = {
    "apiKey": int,
    "type": str,
    "listeners": tuple,
    "name": str,
    "validVersions": str,
    "deprecatedVersions": str,
    "flexibleVersions": str,
    "latestVersionUnstable": bool,
    "fields": list,
    "commonStructs": list,
}
STRUCT_KEYS: dict[str, type] = {"name": str, "versions": str, "deprecatedVersions": str, "fields": list}
FIELD_KEYS: dict[str, type] = {
    "name": str,
    "type": str,
    "versions": str,
    "about": str,
    "nullableVersions": str,
    "taggedVersions": str,
    "flexibleVersions": str,
    "tag": int,
    "default": str,
    "ignorable": bool,
    "mapKey": bool,
    "zeroCopy": bool,
    "entityType": str,
    "fields": list,
}
WORDS: dict[type, str] = {
    int: "a number",
    str: "a text",
    bool: "true or false",
    list: "a list of objects",
    tuple: "a list of texts",
}


BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}


def coerce(raw: Raw, keys: dict[str, type] = MESSAGE_KEYS) -> None:
    """Convert the values of a definition in place, as Jackson does: texts to numbers and back, one value to a list of
    one; a null is removed like a missing key. Values that cannot be coerced (see `fits`) and unknown keys stay.
    """
    for key, kind in keys.items():
        if key in raw:
            value = coerced(raw[key], kind)
            if value is None:
                del raw[key]
            else:
                raw[key] = value
    for field in objects(raw.get("fields")):
        coerce(field, FIELD_KEYS)
    for struct in objects(raw.get("commonStructs")) if keys is MESSAGE_KEYS else ():
        coerce(struct, STRUCT_KEYS)


def coerced(value: Any, kind: type) -> Any:
    """Return a value as Jackson coerces it to a type; None for null. A value that it rejects is returned unchanged."""
    if isinstance(value, str) and kind in (int, bool):
        value = value.strip()
        return None if value in ("", "null") else number_in(value) if kind is int else BOOLEANS.get(value, value)
    if kind is int and isinstance(value, float) and math.isfinite(value):
        return int(value)
    if kind is bool and isinstance(value, int):
        return value != 0
    if kind is str and isinstance(value, bool | int | float):
        return java_text(value)
    return (
        [value] if (kind is list and isinstance(value, dict)) or (kind is tuple and isinstance(value, str)) else value
    )


def number_in(text: str) -> int | str:
    try:
        return number_of(text)
    except ValueError:
        return text


def fits(value: Any, kind: type) -> bool:
    """Return whether a coerced value has this type."""
    if kind in (list, tuple):
        return isinstance(value, list) and all(isinstance(each, dict if kind is list else str) for each in value)
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))


def objects(value: Any) -> list[Raw]:
    """Return the JSON objects in a list."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
