"""Parses the default values of fields like Kafka's generator (FieldSpec), which uses Java's number parsers."""

import base64
import binascii
import re
from typing import Any

from kcli.java_properties import java_text, number_of
from kcli.schemas.model import INTEGERS

# Not compiled here, as they are rarely needed; Python's re caches compiled patterns.
HEX = r"[+-]?[0-9a-fA-F]{1,40}"
# Double.parseDouble: white space around the number, Java's names, suffixes of literals.
DECIMAL = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
BINARY = r"0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?\d+"
DOUBLE = rf"[\0- ]*([+-]?)(?:(NaN|Infinity)|(?:({DECIMAL})|({BINARY}))[fFdD]?)[\0- ]*"
MOST_DIGITS = 400


def default_text(value: Any) -> str:
    """Return a default as text, as Jackson converts it. Raises ValueError for a list or an object."""
    if isinstance(value, list | dict):
        raise ValueError("a text expected")
    return java_text(value)


def default_value(kind: str, text: str) -> object:
    """Return the value of a scalar type in a text other than "null". Raises ValueError, with what was expected."""
    if kind in INTEGERS:
        return integer(kind, text)
    if kind == "bool":
        return boolean(text)
    if kind == "float64":
        return double(text)
    if kind == "uuid":
        return uuid(text)
    return text.encode() if kind == "bytes" else text


def boolean(text: str) -> bool:
    """Parse true or false, in any case. Raises ValueError for anything else."""
    if text.lower() not in ("true", "false"):
        raise ValueError("true or false expected")
    return text.lower() == "true"


def integer(kind: str, text: str) -> int:
    try:
        if text == "0x":
            value = 0
        elif not text.startswith("0x"):
            value = number_of(text)
        elif re.fullmatch(HEX, text[2:]):
            value = int(text[2:], 16)
        else:
            raise ValueError(text)
    except ValueError:
        raise ValueError(f"an {kind} expected") from None
    lo, hi = INTEGERS[kind]
    if not lo <= value <= hi:
        raise ValueError(f"{lo} to {hi} expected")
    return value


def double(text: str) -> float:
    found = re.fullmatch(DOUBLE, text[:MOST_DIGITS], re.ASCII)
    if not found or len(text) > MOST_DIGITS:
        raise ValueError("a number expected")
    sign, name, decimal, binary = found.groups()
    return float.fromhex(sign + binary) if binary else float(sign + (name or decimal))


def uuid(text: str) -> str:
    try:
        if len(base64.b64decode(text + "==", b"-_", validate=True)) >= 16:
            return text
    except binascii.Error:
        pass
    raise ValueError("a uuid in base64 expected")
