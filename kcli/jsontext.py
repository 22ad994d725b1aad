"""The one form in which kcli writes JSON text, and how it reads it."""

from __future__ import annotations

import json
from typing import Any

from kcli.errors import InputError

__all__ = ["dumps", "loads"]

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode


def dumps(value: Any) -> str:
    """Compact JSON on one line, text outside ASCII as it is."""
    return _encode(value)


def loads(text: str | bytes, *, what: str = "JSON") -> Any:
    """The value of one JSON text; InputError says where it breaks off."""
    try:
        return json.loads(text)
    except UnicodeDecodeError as error:
        raise InputError(f"not {what}: byte {error.start} is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise InputError(f"not {what}: line {error.lineno}, column {error.colno}: {error.msg}") from None
    except RecursionError:
        raise InputError(f"not {what}: nested too deep") from None
