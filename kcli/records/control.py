"""Control records: markers of transactions, of leader changes and of KRaft's state (Kafka's ControlRecordType).

The key is `version` int16, `type` int16. The value of a commit or abort marker is `version` int16, `coordinatorEpoch`
int32 (EndTransactionMarker). The values of the others are messages of Kafka's schemas, which begin with their version.
"""

from collections.abc import Mapping
from typing import Any

from kcli.counting import counted
from kcli.errors import InputError
from kcli.jsontext import dumps
from kcli.schemas.field_codes import ControlType, names_of

CONTROL_TYPES: Mapping[int, str] = names_of(ControlType)
MESSAGES: Mapping[int, str] = {
    ControlType.LEADER_CHANGE: "LeaderChangeMessage",
    ControlType.SNAPSHOT_HEADER: "SnapshotHeaderRecord",
    ControlType.SNAPSHOT_FOOTER: "SnapshotFooterRecord",
    ControlType.KRAFT_VERSION: "KRaftVersionRecord",
    ControlType.KRAFT_VOTERS: "VotersRecord",
}


def decode_control(key: bytes | None, value: bytes | None) -> dict[str, Any]:
    """Return {"type", "version", "data"}; for an unknown type {"type": None, "apiKey", "version", "data", "reason"}.

    `data` has the fields of the value; if it can't be read, it is {"base64": ...}, with a "reason".
    """
    if fault := key_fault(key):
        return unknown(None, None, value, fault)
    assert key is not None
    kind = int.from_bytes(key[2:4], "big", signed=True)
    name = CONTROL_TYPES.get(kind)
    if name is None:
        return unknown(kind, None, value, f"no control record type {kind} (0 to 6 expected)")
    if value is None or len(value) < 2:
        value_text = "null" if value is None else counted(len(value), "byte")
        return unknown(kind, None, value, f"the value of {name} begins with its version, here it is {value_text}")
    version = int.from_bytes(value[:2], "big", signed=True)
    if version < 0:
        return unknown(kind, version, value, f"version {version} of {name}: 0 or more expected")
    try:
        return {"type": name, "version": version, "data": decode_value(kind, version, value)}
    except InputError as error:
        return unknown(kind, version, value, str(error))


def key_fault(key: bytes | None) -> str:
    """Return the fault of a control record's key, or "" (Kafka's ControlRecordType)."""
    if key is None or len(key) < 4:
        return f"a control record's key has 4 bytes, here {0 if key is None else len(key)}"
    version = int.from_bytes(key[:2], "big", signed=True)
    return f"version {version} of a control record's key: 0 or more expected" if version < 0 else ""


def control_fault(key: bytes | None, value: bytes | None) -> str:
    """Return why Kafka can't read a control record, or "". Kafka ignores unknown types.

    Kafka's ControlRecordUtils reads the messages as version 0, whatever version their value begins with.
    """
    if fault := key_fault(key):
        return fault
    assert key is not None
    kind = int.from_bytes(key[2:4], "big", signed=True)
    if kind not in CONTROL_TYPES:
        return ""
    if kind not in MESSAGES or value is None:
        return str(decode_control(key, value).get("reason", ""))
    try:
        decode_value(kind, 0, value)
    except InputError as error:
        return str(error)
    return ""


def control_name(row: Mapping[str, Any]) -> str:
    """Return the name of a control record. row: from `decode_control`."""
    number = row.get("apiKey")
    if number is None:
        return row.get("type") or "unreadable"
    return CONTROL_TYPES.get(number) or f"type {number}"


def decode_value(kind: int, version: int, value: bytes) -> dict[str, Any]:
    if kind < 2:
        if len(value) < 6:
            raise InputError(f"a transaction marker needs 6 bytes, {len(value)} are here")
        return {"coordinatorEpoch": int.from_bytes(value[2:6], "big", signed=True)}
    from kcli.grammar import messages

    codec = messages.data(MESSAGES[kind], version)
    return codec.json_value(codec.read(value, 0)[0])


def unknown(kind: int | None, version: int | None, value: bytes | None, reason: str) -> dict[str, Any]:
    import base64

    data = None if value is None else {"base64": base64.b64encode(value).decode()}
    return {"type": None, "apiKey": kind, "version": version, "data": data, "reason": reason}


def control_members(key: bytes | None, value: bytes | None) -> bytes:
    """Return the additional member of a control record, as JSON text: `,"_control":{...}`."""
    return b',"_control":' + dumps(decode_control(key, value)).encode()


def end_transaction_key(commit: bool) -> bytes:
    """Return the key of a transaction's marker: version 0 and type, int16 each (EndTransactionMarker)."""
    from kcli.grammar.batches import CONTROL_KEY

    return CONTROL_KEY.build({"version": 0, "type": int(commit)})


def end_transaction_value(coordinator_epoch: int) -> bytes:
    """Return the value of a transaction's marker: version 0, and the coordinator's epoch."""
    from kcli.grammar.batches import END_TRANSACTION_MARKER

    return END_TRANSACTION_MARKER.build({"version": 0, "coordinatorEpoch": coordinator_epoch})
