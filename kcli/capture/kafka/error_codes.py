"""Finds all error codes in a message."""

from collections.abc import Iterator
from typing import Any


def error_codes(value: Any) -> Iterator[int]:
    """Yield each error code other than 0 in a decoded message, in the order of its fields."""
    if isinstance(value, list):
        if value and may_fail(value[0]):
            for item in value:
                yield from error_codes(item)
    elif isinstance(value, dict):
        for name, item in value.items():
            if isinstance(item, (dict, list)):
                yield from error_codes(item)
            elif item and (name == "errorCode" or name.endswith("ErrorCode")) and isinstance(item, int):
                yield item


def may_fail(item: Any) -> bool:
    """Return whether an entry of a list can hold an error code; all entries have the same fields."""
    if not isinstance(item, dict):
        return isinstance(item, list)
    return any(isinstance(value, (dict, list)) or name.endswith("rrorCode") for name, value in item.items())
