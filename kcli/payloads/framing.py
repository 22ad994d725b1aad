"""The schema ids that serializers write: Confluent's and Apicurio's bytes in front of a payload, and headers.

Confluent: 0, then the id as int32; or the header `__value_schema_id` with 0 and an id, or 1 and a GUID. A message's
indexes of Protobuf follow the id, in the header too. Apicurio: 0, then the id as int64 (or as Confluent's int32); or
headers `apicurio.value.globalId` and `contentId`, of int64.
"""

import uuid
from collections.abc import Mapping
from typing import Literal, NamedTuple

IdType = Literal["schemaId", "globalId", "contentId", "guid"]
Which = Literal["key", "value"]
MAGIC, MAGIC_GUID = 0, 1
CONFLUENT, APICURIO, GUID = 5, 9, 17  # sizes in bytes in front of the payload, or in the header


class SchemaId(NamedTuple):
    """The id of a schema in a registry. type: which of Apicurio's ids it is, if a header says that."""

    type: IdType
    value: int | str


class Frame(NamedTuple):
    """The start of a payload, and its schema's id.

    message, indexes: the name and the indexes of a Protobuf message, if a header has them; json: the header says that
    the payload is JSON
    """

    schema: SchemaId
    start: int
    message: str | None = None
    json: bool = False
    indexes: bytes = b""


def frame_of(data: bytes, which: Which, headers: Mapping[str, bytes]) -> Frame | None:
    """Return the frame of a payload; None if nothing names a schema. Headers take precedence over bytes."""
    return (headers and frame_in_headers(which, headers)) or frame_in_bytes(data)


def frame_in_bytes(data: bytes) -> Frame | None:
    """Return the frame that bytes begin with. Ids begin at 1, so that four zeros after the magic are half of an
    int64.
    """
    if len(data) < CONFLUENT or data[0] != MAGIC:
        return None
    if number := int.from_bytes(data[1:CONFLUENT], "big", signed=True):
        return Frame(SchemaId("schemaId", number), CONFLUENT) if number > 0 else None
    if len(data) >= APICURIO and (number := int.from_bytes(data[1:APICURIO], "big", signed=True)) > 0:
        return Frame(SchemaId("schemaId", number), APICURIO)
    return None


def frame_in_headers(which: Which, headers: Mapping[str, bytes]) -> Frame | None:
    """Return the frame that headers name; None if they name none."""
    if (named := headers.get(f"__{which}_schema_id")) is not None:
        if len(named) >= CONFLUENT and named[0] == MAGIC:
            number = int.from_bytes(named[1:CONFLUENT], "big")
            return Frame(SchemaId("schemaId", number), 0, indexes=named[CONFLUENT:])
        if len(named) >= GUID and named[0] == MAGIC_GUID:
            return Frame(SchemaId("guid", str(uuid.UUID(bytes=named[1:GUID]))), 0, indexes=named[GUID:])
        return None
    message = headers.get("apicurio.protobuf.type" + (".key" if which == "key" else ""))
    json = headers.get(f"apicurio.{which}.encoding") == b"JSON"
    for kind in ("globalId", "contentId"):
        if len(named := headers.get(f"apicurio.{which}.{kind}", b"")) == 8:
            number = int.from_bytes(named, "big", signed=True)
            text = None if message is None else message.decode("utf-8", "replace")
            return Frame(SchemaId(kind, number), 0, text, json)
    return None


def framed(frame: Frame, data: bytes) -> bytes:
    """Return a payload with the frame's prefix."""
    if not frame.start:
        return data
    return bytes([MAGIC]) + int(frame.schema.value).to_bytes(frame.start - 1, "big") + data
