"""Secrets in records: values of Kafka's metadata log that hold SCRAM keys or passwords in configs.

They are recognized by their form, as a batch does not name its topic: frame version 1, a type that has secrets, a
version, and fields that match (MetadataRecordSerde).
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from kcli.errors import DecodeError, SchemaError
from kcli.grammar import messages
from kcli.grammar.secrets import hide_secrets, redacted
from kcli.schemas.catalog import catalog
from kcli.schemas.secrets import secret_fields

FRAME_VERSION = 1
MOST_TRIED = 100
LONGEST = 1 << 16  # bytes of a record in which it has to end


@cache
def secret_types() -> dict[int, str]:
    """Return {type: record} of the metadata records that may hold secrets; each type is one byte of a varint."""
    return {number: name for number, name in catalog().records("metadata").items() if secret_fields(name)}


def is_secret_value(value: bytes | memoryview) -> bool:
    """Return whether a record's value holds a secret; True for one that begins like a secret and can't be read."""
    if len(value) < 3 or value[0] != FRAME_VERSION or (name := secret_types().get(value[1])) is None:
        return False
    verdict = verdict_of(name, value, 3)
    return verdict is None or verdict


def verdict_of(name: str, data: bytes | memoryview, start: int) -> bool | None:
    """Return whether the record whose version stands before `start` holds a secret; None where it can't be read."""
    try:
        codec = messages.data(name, data[start - 1])
        value, _ = codec.read(data, start)
    except (DecodeError, SchemaError):
        return None
    made: dict[str, Any] = codec.json_value(value, secrets=True)
    hide_secrets(made, secret_fields(name))
    return any(isinstance(shown, dict) and set(shown) == set(redacted(0)) for shown in made.values())


@cache
def openings() -> re.Pattern[bytes]:
    types = b"".join(re.escape(bytes([number])) for number in secret_types())
    return re.compile(b"(?=\1[" + types + b"][\0-\x0f])", re.DOTALL)


def holds_secret(data: bytes | memoryview) -> bool:
    """Return whether bytes that make no batch, or no sound one, have such a value anywhere, whole.

    True where more places begin like one than can be tried in bounded time.
    """
    for tried, match in enumerate(openings().finditer(data)):
        start = match.start()
        if tried == MOST_TRIED or verdict_of(secret_types()[data[start + 1]], data[start : start + LONGEST], 3):
            return True
    return False
