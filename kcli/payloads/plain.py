"""Values of Python in the form of JSON: bytes as base64, decimals as text, times as ISO 8601, NaN as "NaN"."""

import base64
import math
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

from kcli.jsontext import float_word

LONGEST_SCALE = 1000  # the most digits after a decimal's point, or zeros before it


def json_form(value: Any) -> Any:
    """Return a value in the form of JSON."""
    if isinstance(value, dict):
        return {key: json_form(each) for key, each in value.items()}
    if isinstance(value, list):
        return [json_form(each) for each in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else float_word(value)
    made = FORMS.get(type(value))
    return value if made is None else made(value)


def decimal_text(value: Decimal) -> str:
    exponent = value.as_tuple().exponent
    return f"{value:f}" if isinstance(exponent, int) and abs(exponent) <= LONGEST_SCALE else str(value)


FORMS: dict[type, Any] = {
    bytes: lambda value: base64.b64encode(value).decode(),
    Decimal: decimal_text,
    datetime: lambda value: value.isoformat().replace("+00:00", "Z"),
    date: date.isoformat,
    time: time.isoformat,
    UUID: str,
}
