"""Writes and reads JSON text, in one form for all of kcli."""

import json
import re
import sys
from typing import Any

from kcli.errors import InputError
from kcli.legible import UNSAFE

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode


def dumps(value: Any, *, indent: int | None = None) -> str:
    """Compact JSON on one line, or indented; text outside ASCII as it is, but for what steers a terminal: `\\u009b`."""
    if indent is None:
        text = _encode(value)
    else:
        text = json.dumps(value, ensure_ascii=False, check_circular=False, indent=indent)
    if text.isascii() and "\x7f" not in text:
        return text
    return re.sub(f"[{UNSAFE}]", lambda found: f"\\u{ord(found[0]):04x}", text)


def loads(text: str | bytes, *, what: str = "JSON", line: int = 1) -> Any:
    """Parse one JSON text. Raises InputError with the position. line: the number of the text's first line in its
    file.
    """
    try:
        return json.loads(text)
    except UnicodeDecodeError as error:
        where = "" if line == 1 else f"line {line}, "
        raise InputError(f"not {what}: {where}byte {error.start} is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise InputError(f"not {what}: line {line + error.lineno - 1}, column {error.colno}: {error.msg}") from None
    except RecursionError:
        raise InputError(f"not {what}: nested too deep") from None
    except ValueError:
        # The only other ValueError: CPython limits the digits of a number, as the conversion takes quadratic time.
        raise InputError(f"not {what}: a number of more than {sys.get_int_max_str_digits():,} digits") from None


def float_word(value: float) -> str:
    """Return the word for a NaN or infinity, which JSON numbers lack, as Kafka and Protobuf write it."""
    return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
