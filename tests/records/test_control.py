import json
import struct

import pytest

from kcli.records.control import (
    control_fault,
    control_members,
    control_name,
    decode_control,
    end_transaction_key,
    end_transaction_value,
)


def test_a_marker() -> None:
    text = control_members(end_transaction_key(False), end_transaction_value(0x1020304))
    assert text == b',"_control":{"type":"ABORT","version":0,"data":{"coordinatorEpoch":16909060}}'


def test_a_leader_change_is_decoded_by_its_own_message() -> None:
    value = b"\0\0" + b"\0\0\0\2" + b"\2" + b"\0\0\0\3\0" + b"\1" + b"\0"
    found = decode_control(b"\0\0\0\2", value)
    assert found["type"] == "LEADER_CHANGE" and found["version"] == 0
    assert found["data"]["leaderId"] == 2 and found["data"]["voters"][0]["voterId"] == 3


def test_tagged_fields_that_nobody_knows_are_shown() -> None:
    """As in a checkpoint of Kafka's preview releases, which had an own form of the header."""
    value = bytes.fromhex("0000000102000000010002000000010000")
    shown = json.loads(b"{" + control_members(b"\0\0\0\3", value)[1:] + b"}")["_control"]
    assert shown["data"]["_unknownTaggedFields"] == [{"tag": 0, "data": ""}, {"tag": 0, "data": "AA=="}]


def test_what_cannot_be_told_keeps_its_bytes() -> None:
    for key, value, reason in (
        (None, b"x", "has 4 bytes, here 0"),
        (b"\0\0\0\x09", b"\0\0", "no control record type 9"),
        (b"\0\0\0\1", None, "begins with its version"),
        (b"\0\0\0\1", b"\0\0\1", "needs 6 bytes, 3"),
        (b"\0\0\0\2", b"\0\0\1", "leaderId"),
    ):
        found = decode_control(key, value)
        assert found["type"] is None and reason in found["reason"], found


def key(version: int, kind: int) -> bytes:
    return struct.pack(">hh", version, kind)


VALUE = struct.pack(">hi", 0, 7)


@pytest.mark.parametrize(
    ("made", "value", "fault"),
    [
        (key(0, 1), VALUE, ""),
        (key(5, 0), struct.pack(">hi", 9, 7) + b"more", ""),  # versions to come
        (key(0, 99), None, ""),  # a type to come
        (key(0, 2), struct.pack(">hi", 30, 2) + b"\1\1\0", ""),  # read as version 0
        (key(0, 4), b"\xff\xff\0", ""),
        (key(0, 2), struct.pack(">h", 30) + b"?", "LeaderChangeMessage v0"),
        (key(0, 6), struct.pack(">h", 1), "VotersRecord v0"),
        (key(0, 5), None, "the value of KRAFT_VERSION begins with its version, here it is null"),
        (None, VALUE, "has 4 bytes, here 0"),
        (b"\0\0\0", VALUE, "has 4 bytes, here 3"),
        (key(-1, 1), VALUE, "version -1 of a control record's key"),
        (key(0, 0), None, "the value of ABORT begins with its version, here it is null"),
        (key(0, 1), b"\0", "here it is 1 byte"),
        (key(0, 1), VALUE[:5], "a transaction marker needs 6 bytes, 5 are here"),
        (key(0, 1), struct.pack(">hi", -2, 7), "version -2 of COMMIT"),
        (key(0, 4), b"\0\0", "SnapshotFooterRecord v0"),
    ],
)
def test_what_kafka_can_not_read(made: bytes | None, value: bytes | None, fault: str) -> None:
    found = control_fault(made, value)
    assert fault in found if fault else not found


@pytest.mark.parametrize(
    ("made", "name"),
    [(key(0, 1), "COMMIT"), (key(0, 99), "type 99"), (b"", "unreadable"), (key(0, 3), "SNAPSHOT_HEADER")],
)
def test_every_control_record_has_a_name(made: bytes, name: str) -> None:
    for value in (None, VALUE):
        assert control_name(decode_control(made, value)) == name
