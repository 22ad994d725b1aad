"""How payloads say which schema they have."""

import uuid

import pytest

from kcli.payloads.framing import Frame, SchemaId, frame_of, framed

GUID = uuid.UUID(int=1 << 100)
LONG = (9).to_bytes(8, "big")


@pytest.mark.parametrize(
    ("data", "headers", "frame"),
    [
        (b"\0\0\0\0\7abc", {}, Frame(SchemaId("schemaId", 7), 5)),
        (b"\0" + LONG + b"abc", {}, Frame(SchemaId("schemaId", 9), 9)),
        (b"abc", {"__value_schema_id": b"\0\0\0\0\7"}, Frame(SchemaId("schemaId", 7), 0)),
        (b"", {"__value_schema_id": b"\1" + GUID.bytes + b"\0"}, Frame(SchemaId("guid", str(GUID)), 0, indexes=b"\0")),
        (b"abc", {"apicurio.value.globalId": LONG}, Frame(SchemaId("globalId", 9), 0)),
        (b"{}", {"apicurio.value.contentId": LONG, "apicurio.value.encoding": b"JSON"},
         Frame(SchemaId("contentId", 9), 0, json=True)),
        (b"", {"apicurio.value.globalId": LONG, "apicurio.protobuf.type": b"Order"},
         Frame(SchemaId("globalId", 9), 0, message="Order")),
        (b"\0\0\0\0\7abc", {"apicurio.key.globalId": LONG}, Frame(SchemaId("schemaId", 7), 5)),
        (b"abc", {"__value_schema_id": b"\1short"}, None),
        (b"\0\0\0\0\0\0\0\7", {}, None),  # a Java long
        (b"\0\xff\xff\xff\xffabc", {}, None),
        (b"\0\0\0\7", {}, None),
        (b"\1\0\0\0\7", {}, None),
        (b"", {}, None),
    ],
)  # fmt: skip
def test_a_frame_is_seen(data: bytes, headers: dict[str, bytes], frame: Frame | None) -> None:
    assert frame_of(data, "value", headers) == frame
    if frame is not None and frame.start:
        assert framed(frame, data[frame.start :]) == data
