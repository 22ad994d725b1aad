"""Values with more than one form: uuids, bytes and records fields, as in Python or in Kafka's JSON; and the mark of a
missing number in the core's columns.
"""

import base64
import binascii

MISSING = -(1 << 63)  # in a column of numbers: no value (KC_MISSING in C)
NOT_HERE = "a secret that was left out, only its size is here (decode with --show-secrets keeps it)"
_URL_TO_STANDARD = str.maketrans("-_", "+/")


def uuid_text(data: bytes) -> str:
    """Format 16 bytes as Kafka's `Uuid.toString` does: url-safe base64 without padding."""
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def uuid_bytes(value: object) -> bytes:
    """Return the 16 bytes of a uuid's text. Raises ValueError for other text."""
    if isinstance(value, str) and len(value) == 22:
        try:
            data = base64.b64decode(value.translate(_URL_TO_STANDARD) + "==", validate=True)
        except binascii.Error:
            data = b""
        if len(data) == 16 and uuid_text(data) == value:
            return data
    raise ValueError(f"needs a uuid (22 characters of url-safe base64), not {value!r}")


def bytes_of(value: object) -> bytes | bytearray | memoryview:
    """Return a bytes field's value from bytes, base64 text, or `{"base64": ...}`. Raises ValueError for anything
    else.
    """
    if isinstance(value, (bytes, bytearray, memoryview)):
        return value
    if isinstance(value, dict) and "redacted" not in value:
        value = value.get("base64", value)
    if isinstance(value, str):
        try:
            return base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            pass
    check_redacted(value)
    raise ValueError(f"needs bytes as base64, not {value!r}")


def text_of(value: object) -> str:
    """Return a string field's value. Raises ValueError if it is no string."""
    if isinstance(value, str):
        return value
    check_redacted(value)
    raise ValueError(f"needs a string, not {value!r}")


def check_redacted(value: object) -> None:
    """Raise ValueError if a value is the placeholder of a hidden secret."""
    if isinstance(value, dict) and "redacted" in value:
        raise ValueError(NOT_HERE)


def records_of(value: object) -> bytes | bytearray | memoryview:
    """Return a records field's value from bytes, or `{"base64": ...}` as in JSON. Raises ValueError if its bytes are
    missing.
    """
    if isinstance(value, dict):
        if "base64" in value:
            return bytes_of(value["base64"])
        if "batches" in value:
            raise ValueError("batches have to be encoded first (kcli.records)")
        if value.get("sizeInBytes") == 0:
            return b""
        raise ValueError("only the size of the records is here, not their bytes (decode with --records raw keeps them)")
    return bytes_of(value)
