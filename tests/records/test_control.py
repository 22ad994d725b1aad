from __future__ import annotations

from kcli.records.control import control_members, decode_control, end_transaction_key, end_transaction_value


def test_a_marker() -> None:
    text = control_members(end_transaction_key(False), end_transaction_value(9))
    assert text == b',"_control":{"type":"ABORT","version":0,"data":{"coordinatorEpoch":9}}'


def test_a_leader_change_is_decoded_by_its_own_message() -> None:
    value = b"\0\0" + b"\0\0\0\2" + b"\2" + b"\0\0\0\3\0" + b"\1" + b"\0"
    found = decode_control(b"\0\0\0\2", value)
    assert found["type"] == "LEADER_CHANGE" and found["version"] == 0
    assert found["data"]["leaderId"] == 2 and found["data"]["voters"][0]["voterId"] == 3


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
