"""Arguments of library calls that are not what they should be: an error that says what is accepted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kcli.errors import UsageError

Kind = type[Any]


def need(name: str, value: object, kind: Kind | tuple[Kind, ...], expected: str) -> None:
    """Raise UsageError if the argument of that name is not of this type (a bool is no int). expected: in words."""
    if not isinstance(value, kind) or isinstance(value, bool):
        raise UsageError(f"{name}: {expected} expected, not {type(value).__name__}")


def texts(name: str, value: Any, expected: str) -> list[str]:
    """Return one text or several as a list. Raises UsageError if the argument is neither. expected: in words."""
    given = [value] if isinstance(value, str) else value
    need(name, given, Iterable, expected)
    found = list(given)
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
