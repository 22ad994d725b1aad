"""Checks the types of arguments of library calls; the error names the accepted types."""

from collections.abc import Iterable
from typing import Any

from kcli.errors import UsageError

Kind = type[Any]


def need(name: str, value: object, kind: Kind | tuple[Kind, ...], expected: str) -> None:
    """Raise UsageError if an argument is not of this type; a bool is no int. expected: the accepted values in words."""
    if not isinstance(value, kind) or isinstance(value, bool):
        raise UsageError(f"{name}: {expected} expected, not {type(value).__name__}")


def texts(name: str, value: Any, expected: str) -> list[str]:
    """Return one or several texts as a list. Raises UsageError for anything else. expected: the accepted values in
    words.
    """
    items = [value] if isinstance(value, str) else value
    need(name, items, Iterable, expected)
    found = list(items)
    for each in found:
        need(name, each, str, expected)
    return found


def bytes_like(name: str, value: Any) -> bytes | bytearray | memoryview:
    """Return the bytes of an object with a buffer (mmap, array). Raises UsageError if it has none."""
    if isinstance(value, bytes | bytearray | memoryview):
        return value
    try:
        return memoryview(value).cast("B")
    except TypeError:
        raise UsageError(f"{name}: bytes expected, not {type(value).__name__}") from None
