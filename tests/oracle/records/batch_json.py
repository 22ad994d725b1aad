"""The JSON forms of a batch's header, of keys and of values."""

import base64
import re
from typing import Any

from kcli.schemas.field_codes import CODECS
from tests.oracle.records.framing import Frame

APPEND_TIME, TRANSACTIONAL, CONTROL, HORIZON = 8, 16, 32, 64  # bits of a batch's attributes
UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")

Members = dict[str, Any]


def shown(data: bytes | None) -> Any:
    """Text where it is UTF-8 that prints, else base64."""
    if data is None:
        return None
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}
    return {"base64": base64.b64encode(data).decode()} if UNPRINTABLE.search(text) else text


def shown_key(key: str) -> Any:
    """A header's key is always text in Kafka; base64 where its bytes are not."""
    try:
        key.encode()
    except UnicodeEncodeError:
        return {"base64": base64.b64encode(key.encode("utf-8", "surrogateescape")).decode()}
    return key


def header_row(frame: Frame, position: int | None, opened: tuple[int, int] | None) -> Members:
    """The members of a batch up to its records; opened: base offset and count, where they are known."""
    known = 0x7F if frame.magic >= 2 else 0x0F if frame.magic else 0x07
    two = frame.magic >= 2
    kind = (
        "NoTimestampType" if frame.magic == 0 else "LogAppendTime" if frame.attributes & APPEND_TIME else "CreateTime"
    )
    row: Members = {
        "baseOffset": opened[0] if opened else None,
        "lastOffset": frame.last_offset,
        "magic": frame.magic,
        "compression": CODECS[frame.codec] if frame.codec < 5 else f"unknown-{frame.codec}",
        "timestampType": kind,
        "isTransactional": bool(frame.attributes & TRANSACTIONAL) if two else None,
        "isControl": bool(frame.attributes & CONTROL) if two else None,
        "partitionLeaderEpoch": frame.leader_epoch if two else None,
        "producerId": frame.producer_id if two else None,
        "producerEpoch": frame.producer_epoch if two else None,
        "baseSequence": frame.base_sequence if two else None,
        "baseTimestamp": frame.base_timestamp if two else None,
        "maxTimestamp": frame.max_timestamp,
        "count": opened[1] if opened else None,
        "sizeInBytes": frame.size,
        "crc": frame.crc,
        "crcValid": frame.crc_valid,
    }
    if position is not None:
        row["_position"] = position
    if two and frame.attributes & HORIZON:
        row["_deleteHorizonMs"] = frame.base_timestamp
    if frame.attributes & ~known:
        row["_attributes"] = frame.attributes
    return row
