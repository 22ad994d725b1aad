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
from kcli.grammar.partial import read_or_partial
from kcli.grammar.secrets import hide_secrets, is_hidden_config, redacted
from kcli.schemas.catalog import catalog
from kcli.schemas.field_codes import FRAME_VERSION
from kcli.schemas.secrets import ALWAYS, secret_fields

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
    try:
        codec = messages.data(name, value[2])
        read, _ = codec.read(value, 3)
    except (DecodeError, SchemaError):
        return True
    return shows_secret(name, codec.json_value(read, secrets=True))


def shows_secret(name: str, made: dict[str, Any]) -> bool:
    """Return whether the JSON of a record holds a secret; hides it there."""
    hide_secrets(made, secret_fields(name))
    return any(isinstance(shown, dict) and set(shown) == set(redacted(0)) for shown in made.values())


def begins_secret(name: str, data: bytes | memoryview) -> bool:
    """Return whether a record, whose version is the third byte, holds a secret, whole or cut: it reads that far."""
    try:
        codec = messages.data(name, data[2])
    except SchemaError:
        return False
    made, error = read_or_partial(codec, data, 3, secrets=True, whole=False)
    if error is None:
        return shows_secret(name, made)
    reached = {*made, re.split(r"[.\[]", error.path)[0]}
    return any(
        path.partition(".")[0] in reached and (how == ALWAYS or is_hidden_config(made, made.get("resourceType", 0)))
        for path, how in secret_fields(name).items()
    )


@cache
def openings() -> re.Pattern[bytes]:
    types = b"".join(re.escape(bytes([number])) for number in secret_types())
    return re.compile(b"(?=\1[" + types + b"][\0-\x0f])", re.DOTALL)


def holds_secret(data: bytes | memoryview) -> bool:
    """Return whether bytes that make no batch, or no sound one, have such a value anywhere, whole or cut.

    True where more places begin like one than can be tried in bounded time.
    """
    for tried, match in enumerate(openings().finditer(data)):
        start = match.start()
        if tried == MOST_TRIED or begins_secret(secret_types()[data[start + 1]], data[start : start + LONGEST]):
            return True
    return False
