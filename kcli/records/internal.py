"""Records of Kafka's internal topics decoded as messages: offsets, transactions, share groups, cluster metadata.

A record of a coordinator has a key that begins with an int16, the type of record (Kafka's CoordinatorRecordType; offset
commits have 0 and 1), and a value that begins with its version. A metadata record's value begins with a frame version,
api key and version as unsigned varints (MetadataRecordSerde).
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from functools import cache
from typing import Any

from kcli.core.codec.varints import read_unsigned
from kcli.counting import counted
from kcli.errors import DecodeError, InputError
from kcli.grammar import messages
from kcli.grammar.codec import TRAILING
from kcli.grammar.group_data import add_group_data
from kcli.grammar.secrets import redacted
from kcli.jsontext import dumps, loads
from kcli.records.secrets import holds_secret, is_secret_value
from kcli.schemas.catalog import catalog
from kcli.schemas.field_codes import FRAME_VERSION
from kcli.topic_names import CLUSTER_METADATA, CONSUMER_OFFSETS, SHARE_STATE, TRANSACTION_STATE, partition_of

# {topic: kind of its records in the tables}
TOPICS = {
    CONSUMER_OFFSETS: "group",
    TRANSACTION_STATE: "transaction",
    SHARE_STATE: "share",
    CLUSTER_METADATA: "metadata",
}

Row = dict[str, Any]


def topic_of(folder: str) -> str | None:
    """Return the internal topic of a log folder's partition, such as `__consumer_offsets-12`; None for any other
    folder.
    """
    topic, _ = partition_of(folder)
    return topic if topic in TOPICS else None


def record_members(
    topic: str, dialect: str | None = None, secrets: bool = False, embedded: bool = False
) -> Callable[[bytes | None, bytes | None], bytes]:
    """Return a function that returns an additional member for a record of that topic: `,"_record":{...}`, as JSON text.

    secrets: show them; embedded: also decode the data that the members of groups exchange
    """
    kind = TOPICS[topic]
    decode = metadata_record if kind == "metadata" else coordinator_record

    def members(key: bytes | None, value: bytes | None) -> bytes:
        row = decode(kind, key, value, dialect, secrets)
        if embedded and row.get("value"):
            add_group_data(f"{message_stem(row['type'])}Value", row["value"].get("data"), dialect)
        return b',"_record":' + dumps(row).encode()

    return members


@cache
def type_name(message: str) -> str:
    """Turn OffsetCommitKey into OFFSET_COMMIT, PartitionRecord into PARTITION_RECORD."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", re.sub(r"(Key|Value)$", "", message)).upper()


def message_stem(type_: str) -> str:
    """Turn GROUP_METADATA into GroupMetadata."""
    return type_.title().replace("_", "")


def coordinator_record(kind: str, key: bytes | None, value: bytes | None, dialect: str | None, _secrets: bool) -> Row:
    """Return {"type", "key": {"version", "data"}, "value": {"version", "data"} or null}.

    An unreadable part has a "reason". An unreadable value has its bytes, and the fields that could be read. If the key
    is unreadable, the row has the bytes of both.
    """
    if key is None or len(key) < 2:
        return unknown(None, None, key, value, "a coordinator's record needs a key that begins with its type")
    number = int.from_bytes(key[:2], "big", signed=True)
    name = catalog(dialect).records(f"{kind}-key").get(number)
    if name is None:
        return unknown(None, number, key, value, f"no {kind} record of type {number} in the tables")
    row: Row = {"type": type_name(name)}
    try:
        row["key"] = {"version": number, "data": fields(name, key_version(name, number, dialect), key[2:], dialect)}
    except DecodeError as error:
        reason = str(DecodeError(error.path, error.offset, error.reason, what=f"{name} v{number}"))
        return unknown(row["type"], number, key, value, reason)
    return row | coordinator_value(kind, number, value, dialect)


def coordinator_value(kind: str, number: int, value: bytes | None, dialect: str | None) -> Row:
    """Return {"value": {"version", "data"}} or {"value": None}; for an unreadable value also its bytes, and the
    reason.
    """
    if value is None:
        return {"value": None}
    row: Row = {}
    if len(value) < 2:
        fault = f"a coordinator's value begins with its version, here it has {len(value)} bytes"
    else:
        version = int.from_bytes(value[:2], "big", signed=True)
        row["version"] = version
        try:
            name = value_message(kind, number, version, dialect)
            row["data"], error = messages.data(name, version, dialect).read_or_partial(value, 2)
            fault = str(error) if error is not None else ""
            if (rest := row["data"].pop(TRAILING, None)) is not None:
                fault = f"{name} v{version}: {left_behind(len(base64.b64decode(rest)))}"
        except InputError as error:
            fault = str(error)
    if not fault:
        return {"value": row}
    return {"value": row | {"base64": base64.b64encode(value).decode()}, "apiKey": number, "reason": fault}


def key_version(name: str, number: int, dialect: str | None) -> int:
    """Return the version of a key: its type if the message has several versions (OffsetCommitKey 0 and 1), else the
    only one.
    """
    versions = catalog(dialect).message(name).versions
    return number if number in versions else versions.hi


def value_message(kind: str, number: int, version: int, dialect: str | None) -> str:
    """Return the name of the value's message. An offset commit of type 0 has type 1's message if its own lacks the
    version.
    """
    values = catalog(dialect).records(f"{kind}-value")
    newer = values.get(number + 1, values[number]) if number == 0 else values[number]
    return values[number] if version in catalog(dialect).message(values[number]).versions else newer


def metadata_record(_kind: str, key: bytes | None, value: bytes | None, dialect: str | None, secrets: bool) -> Row:
    """Return {"type", "version", "data"}, as kafka-dump-log prints it; with a "reason" if it can't be read."""
    if value is None:
        return unknown(None, None, key, value, "a metadata record without a value")
    hidden = not secrets and (is_secret_value(value) or holds_secret(value))
    try:
        frame, at = read_unsigned(value, 0)
        number, at = read_unsigned(value, at)
        version, at = read_unsigned(value, at)
        if frame != FRAME_VERSION:
            return unknown(None, None, key, value, f"frame version {frame}: {FRAME_VERSION} expected", hidden)
        name = catalog(dialect).records("metadata").get(number)
        if name is None:
            return unknown(None, number, key, value, f"no metadata record of type {number} in the tables")
        return {
            "type": type_name(name),
            "version": version,
            "data": fields(name, version, value[at:], dialect, secrets),
        }
    except (InputError, ValueError) as error:
        return unknown(None, None, key, value, str(error), hidden)


def fields(name: str, version: int, data: bytes, dialect: str | None, secrets: bool = False) -> Any:
    text, end = messages.data(name, version, dialect).json(data, 0, secrets=secrets)
    if end < len(data):
        raise DecodeError("", end, left_behind(len(data) - end), what=f"{name} v{version}")
    return loads(text)


def left_behind(size: int) -> str:
    return f"{counted(size, 'byte is', 'bytes are')} left behind it"


def unknown(
    kind: str | None,
    number: int | None,
    key: bytes | None,
    value: bytes | None,
    reason: str,
    hidden: bool = False,
) -> Row:
    """Return the row of a record that can't be read. hidden: the value may be a secret."""
    return {
        "type": kind,
        "apiKey": number,
        "key": None if key is None else {"base64": base64.b64encode(key).decode()},
        "value": None
        if value is None
        else redacted(len(value))
        if hidden
        else {"base64": base64.b64encode(value).decode()},
        "reason": reason,
    }
