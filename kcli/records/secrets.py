"""Secrets in records: values of Kafka's metadata log with SCRAM keys or with passwords in configs.

They are recognized by their form, because a batch does not name its topic: frame version 1, a type that has secrets, a
version, and fields that match (MetadataRecordSerde).
"""

import re
from functools import cache
from typing import Any

from kcli.errors import DecodeError, SchemaError
from kcli.grammar import messages
from kcli.grammar.secrets import hide_secrets, is_hidden_config, redacted
from kcli.schemas.catalog import catalog
from kcli.schemas.config_names import PASSWORDS
from kcli.schemas.field_codes import FRAME_VERSION, ConfigResource
from kcli.schemas.secrets import ALWAYS, secret_fields

MOST_TRIED = 100
CONFIG_RESOURCES = (
    ConfigResource.TOPIC,
    ConfigResource.BROKER,
    ConfigResource.BROKER_LOGGER,
    ConfigResource.CLIENT_METRICS,
    ConfigResource.GROUP,
)
# The end of a SCRAM credential: a key of SHA-256 or SHA-512 after its length, 4,096 to 16,384 iterations
# (ScramMechanism), no tags. A hash hardly has two zeros side by side, as headers of batches have.
SCRAM_END = rb"(?:\x21(?:(?!\0\0).){31}|\x41(?:(?!\0\0).){63}).\0\0[\x10-\x40].\0"
SCRAM_REST = rb"(?:(?!\0\0).){0,63}.\0\0[\x10-\x40].\0"  # such an end of which the front of the key is cut
LONGEST = 1 << 16  # the most bytes of a record that are read


@cache
def secret_types() -> dict[int, str]:
    """Return {type: record} of the metadata records that may hold secrets; each type is one byte of a varint."""
    return {number: name for number, name in catalog().records("metadata").items() if secret_fields(name)}


def is_secret_value(value: bytes | memoryview) -> bool:
    """Return whether a record's value has a secret. A value that begins like one and can't be read is one."""
    if len(value) < 3 or value[0] != FRAME_VERSION or (name := secret_types().get(value[1])) is None:
        return False
    try:
        codec = messages.data(name, value[2])
        read, _ = codec.read(value, 3)
    except (DecodeError, SchemaError):
        return True
    return shows_secret(name, codec.json_value(read, secrets=True))


def shows_secret(name: str, made: dict[str, Any]) -> bool:
    """Return whether the JSON of a record has a secret, and hide the secret in it."""
    hide_secrets(made, secret_fields(name))
    return any(isinstance(shown, dict) and set(shown) == set(redacted(0)) for shown in made.values())


def begins_secret(name: str, data: bytes | memoryview) -> bool:
    """Return whether a record has a secret, whole or cut. Its version is the third byte.

    That is so if it can be read up to a field with a secret, or is a config without a readable name. A secret that
    seems to be null counts, too.
    """
    try:
        codec = messages.data(name, data[2])
    except SchemaError:
        return False
    made, error = codec.read_or_partial(data, 3, secrets=True, whole=False)
    if error is not None and made.get("resourceType") in CONFIG_RESOURCES and not isinstance(made.get("name"), str):
        return True
    reached = {*made, *(() if error is None else re.split(r"[.\[]", error.path)[:1])}
    return any(
        path.partition(".")[0] in reached and (how == ALWAYS or is_hidden_config(made, made.get("resourceType", 0)))
        for path, how in secret_fields(name).items()
    )


def follows_secret(name: str, data: bytes | memoryview) -> bool:
    """Return whether a record with a secret follows an opening that is damaged."""
    try:
        codec = messages.data(name, 0)
        read, _ = codec.read(data, 3)
    except DecodeError:
        return False
    return shows_secret(name, codec.json_value(read, secrets=True))


@cache
def openings() -> tuple[re.Pattern[bytes], re.Pattern[bytes]]:
    """Return two patterns: of a record's opening, and of an opening with a wrong byte before what may be a config."""
    types = b"[" + b"".join(re.escape(bytes([number])) for number in secret_types()) + b"]"
    resources = b"[" + b"".join(re.escape(bytes([number])) for number in CONFIG_RESOURCES) + b"]"
    damaged = b"\1" + types + b".|\1.\0|." + types + b"\0"
    return (
        re.compile(b"(?=\1" + types + b"[\0-\x0f])", re.DOTALL),
        re.compile(b"(?=(?:" + damaged + b")" + resources + b"[\1-\x7f])", re.DOTALL),
    )


@cache
def names() -> list[bytes]:
    """Return the names of configs that are only in records with secrets."""
    return [name.encode() for name in PASSWORDS]


def holds_secret(data: bytes | memoryview) -> bool:
    """Return whether bytes that are no sound batch have a secret anywhere: whole, cut, or with a wrong byte in its
    opening.

    True if more than MOST_TRIED places begin like a secret, because not all of them are tried.
    """
    data = bytes(data)  # names are found ten times as fast in bytes as by a pattern in a view
    if any(name in data for name in names()) or re.search(SCRAM_END, data, re.DOTALL):
        return True
    exact, damaged = openings()
    for tried, match in enumerate(exact.finditer(data)):
        start = match.start()
        if tried == MOST_TRIED or begins_secret(secret_types()[data[start + 1]], data[start : start + LONGEST]):
            return True
    for tried, match in enumerate(damaged.finditer(data)):
        if tried == MOST_TRIED or follows_secret("ConfigRecord", data[match.start() : match.start() + LONGEST]):
            return True
    return False


def is_rest(data: bytes | memoryview) -> bool:
    """Return whether bytes that are not a batch begin within the last key of a SCRAM credential whose front is cut."""
    return re.match(SCRAM_REST, data, re.DOTALL) is not None
