"""Payloads without a schema, JSON, envelopes, and the topics of Connect and MirrorMaker."""

import json
import struct
import time
from pathlib import Path
from typing import Any

import pytest

from kcli.errors import InputError, UsageError
from kcli.payloads import PayloadDecoder, PayloadOptions
from kcli.payloads.formats import FORMATS, decoded, encoded
from kcli.payloads.internal import is_secret
from kcli.payloads.schema import PayloadError
from tests.payloads.values import ORDER, VALUE, avro, framed, local, members

VALUES = [
    ("json", b'{"a": [1, null]}', {"a": [1, None]}),
    ("json", b"[NaN, 1e999]", ["NaN", "Infinity"]),
    ("utf8", "gr\u00fcn".encode(), "gr\u00fcn"),
    ("hex", b"\0\xff", "00ff"),
    ("short", b"\xff\xfe", -2),
    ("int", b"\0\0\0\7", 7),
    ("long", b"\x80" + bytes(7), -(1 << 63)),
    ("float", struct.pack(">f", 0.5), 0.5),
    ("double", struct.pack(">d", float("inf")), "Infinity"),
    ("uuid", b"00000000-0000-0000-0000-000000000007", "00000000-0000-0000-0000-000000000007"),
]


@pytest.mark.parametrize(("name", "data", "value"), VALUES)
def test_a_format_is_json_and_back(name: str, data: bytes, value: Any) -> None:
    assert decoded(name, data) == value
    if name != "json":
        assert encoded(name, value) == data
    assert {*FORMATS} == {each[0] for each in VALUES}


@pytest.mark.parametrize(
    ("name", "data"),
    [("json", b"{"), ("json", b"\xff"), ("json", b""), ("json", b"[" * 300 + b"]" * 300), ("json", b"[" * 100_000),
     ("utf8", b"\xff"), ("long", b"1"), ("uuid", b"no uuid"), ("uuid", b"\xff")],
)  # fmt: skip
def test_what_is_not_of_a_format_has_a_reason(name: str, data: bytes) -> None:
    with pytest.raises(PayloadError):
        decoded(name, data)
    with pytest.raises(PayloadError):
        encoded("long", "a")


def test_json_is_checked_by_a_schema_of_the_users_own(tmp_path: Path) -> None:
    decoder = local(tmp_path, {"type": "object", "properties": {"a": {"type": "integer"}}}, "s.json")
    assert members(decoder, framed(2, b'{"a": 1}')) == {"schemaId": 2, "format": "json", "data": {"a": 1}}
    assert members(decoder, b'{"a": "x"}') == {
        "format": "json", "reason": 'not of this schema: $.a: type: "integer"',
    }  # fmt: skip
    with pytest.raises(InputError, match=r"n\.json: not a JSON Schema: \$\.type: 'nothing' is not valid"):
        local(tmp_path, {"type": "nothing"}, "n.json")
    remote = local(tmp_path, {"$ref": "http://127.0.0.1:1/x.json"}, "r.json")
    assert members(remote, b"1")["reason"].startswith("its schema can't be applied")  # type: ignore[index]


def test_topics_choose_and_what_is_said_last_counts(tmp_path: Path) -> None:
    decoder = PayloadDecoder(
        PayloadOptions(value_formats=("json", "pay*=utf8", "pay-raw=raw"), key_formats=("t=long",))
    )
    assert members(decoder, b"1", "orders") == {"format": "json", "data": 1}
    assert members(decoder, b"1", "pay-in") == {"format": "utf8", "data": "1"}
    assert members(decoder, b"1", "pay-raw") is None
    assert decoder.decode("t", "key", bytes(8)) is not None and decoder.decode("u", "key", bytes(8)) is None
    for wrong in ({"value_formats": ("t=csv",)}, {"value_formats": ("t=",)}, {"registry": "ftp://x"}):
        with pytest.raises(UsageError):
            PayloadDecoder(PayloadOptions(**wrong))
    (tmp_path / "order.txt").write_text("text")
    missing = [{"schemas": (str(tmp_path / name),)} for name in ("", "7.avsc", "order.txt")]
    for wrong in ({"value_schemas": (f"{tmp_path}/no.avsc",)}, *missing):
        with pytest.raises(InputError, match=str(tmp_path)):
            PayloadDecoder(PayloadOptions(**wrong))  # type: ignore[arg-type]


CHANGE = {"before": {"id": 1}, "after": {"id": 2, "b": None}, "source": {}, "op": "u", "ts_ms": 9}


@pytest.mark.parametrize(
    ("value", "flat"),
    [
        ({"schema": {"type": "struct"}, "payload": {"id": 1}}, {"id": 1}),
        ({"schema": None, "payload": CHANGE}, {"id": 2, "b": None, "__op": "u", "__ts_ms": 9, "__deleted": "false"}),
        (CHANGE | {"op": "d", "after": None}, {"id": 1, "__op": "d", "__ts_ms": 9, "__deleted": "true"}),
        ({"op": "u", "x": 1}, {"op": "u", "x": 1}),
        ({"payload": 1, "schema": 2, "more": 3}, {"payload": 1, "schema": 2, "more": 3}),
        ([1], [1]),
    ],
)
def test_envelopes_are_flattened_on_request(value: Any, flat: Any) -> None:
    data = json.dumps(value).encode()
    asked = PayloadDecoder(PayloadOptions(value_formats=("json",), flatten=True))
    assert members(asked, data) == {"format": "json", "data": flat}
    assert members(PayloadDecoder(PayloadOptions(value_formats=("json",))), data) == {"format": "json", "data": value}


def text(value: str) -> bytes:
    return struct.pack(">h", len(value)) + value.encode()


INTERNAL: list[tuple[str, bytes, Any, bytes, Any]] = [
    ("connect-offsets", b'["files",{"filename":"a"}]', {"connector": "files", "partition": {"filename": "a"}},
     b'{"position":7}', {"position": 7}),
    ("my-connect-status", b"status-task-files-3", {"type": "task", "connector": "files", "task": 3},
     b'{"state":"RUNNING"}', {"state": "RUNNING"}),
    ("connect-status", b"status-topic-a:connector-b", {"type": "topic", "topic": "a", "connector": "b"}, b"{}", {}),
    ("connect-configs", b"task-a-b-0", {"type": "task", "connector": "a-b", "task": 0}, b"{}", {}),
    ("mm2-configs.east.internal", b"target-state-a", {"type": "target-state", "connector": "a"},
     b'{"state":"PAUSED"}', {"state": "PAUSED"}),
    ("east.checkpoints.internal", text("g") + text("orders") + struct.pack(">i", 3),
     {"group": "g", "topic": "orders", "partition": 3},
     struct.pack(">hqq", 0, 10, 12) + text(""), {"version": 0, "upstreamOffset": 10, "offset": 12, "metadata": ""}),
    ("heartbeats", text("east") + text("west"), {"sourceClusterAlias": "east", "targetClusterAlias": "west"},
     struct.pack(">hq", 0, 1_700_000_000_000), {"version": 0, "timestamp": 1_700_000_000_000}),
    ("mm2-offset-syncs.east.internal", text("orders") + struct.pack(">i", 0), {"topic": "orders", "partition": 0},
     struct.pack(">qq", 5, 6), {"upstreamOffset": 5, "offset": 6}),
]  # fmt: skip


@pytest.mark.parametrize(("topic", "key", "said", "value", "meant"), INTERNAL)
def test_topics_of_connect_and_mirror_maker(topic: str, key: bytes, said: Any, value: bytes, meant: Any) -> None:
    decoder = PayloadDecoder(PayloadOptions(on=True))
    found = [decoder.decode(topic, which, data) for which, data in (("key", key), ("value", value))]  # type: ignore[arg-type]
    assert [each and each.data for each in found] == [said, meant]
    for data in (b"", key[:-1] + b"\xff\xff", b"\x7f\xff"):
        broken = decoder.decode(topic, "key", data)
        assert broken is None or broken.reason


def test_a_topic_that_is_only_named_so_keeps_its_schema(tmp_path: Path) -> None:
    (tmp_path / "7.avsc").write_text(json.dumps(ORDER))
    decoder = PayloadDecoder(PayloadOptions(schemas=(str(tmp_path),)))
    assert members(decoder, framed(7, avro(ORDER, VALUE)), "heartbeats") == {
        "schemaId": 7, "format": "avro", "data": VALUE,
    }  # fmt: skip


def test_secrets_of_connectors_are_hidden_with_their_bytes() -> None:
    value = {"properties": {"name": "a", "connection.password": "s3cret", "producer.override.sasl.jaas.config": "x=y",
                            "aws.secret.access.key": "k", "database.password": "${file:/etc/p:q}",
                            "topics": "t"}}  # fmt: skip
    row: dict[str, Any] = {"key": "connector-a", "value": json.dumps(value), "headers": []}
    PayloadDecoder(PayloadOptions(on=True)).add_to(row, "connect-configs")
    assert row["value"] == {"redacted": len(json.dumps(value))}
    assert row["_value"]["data"]["properties"] == {
        "name": "a", "connection.password": {"redacted": 6}, "producer.override.sasl.jaas.config": {"redacted": 3},
        "aws.secret.access.key": {"redacted": 1}, "database.password": "${file:/etc/p:q}", "topics": "t",
    }  # fmt: skip
    session: dict[str, Any] = {"key": "session-key", "value": '{"key":"c2VjcmV0","algorithm":"HmacSHA256"}'}
    shown = dict(session)
    PayloadDecoder(PayloadOptions(on=True)).add_to(session, "connect-configs")
    assert session["_value"]["data"]["key"] == {"redacted": 8} and "c2VjcmV0" not in json.dumps(session)
    PayloadDecoder(PayloadOptions(on=True, secrets=True)).add_to(shown, "connect-configs")
    assert (
        shown["_value"]["data"]["key"] == "c2VjcmV0" and shown["value"] == '{"key":"c2VjcmV0","algorithm":"HmacSHA256"}'
    )


@pytest.mark.parametrize(
    ("value", "secret"),
    [
        ("jdbc:postgresql://db:5432/shop?user=me&password=S3CRET", True),
        ("jdbc:sqlserver://db;databaseName=shop;Password = S3CRET;", True),
        ("mongodb+srv://me:S3CRET@cluster0.example/", True),
        ("https://:S3CRET@registry", True),
        ("Authorization: Bearer S3CRETS3CRET", True),
        ("Authorization:Basic bWU6UzNDUkVU", True),
        ("accept=json,api_key=S3CRET", True),
        ("jdbc:postgresql://db:5432/shop?user=me&password=${file:/etc/p:q}", False),
        ("mongodb://${env:ME}:${env:PW}@host/", False),
        ("jdbc:postgresql://db:5432/shop?user=me&ssl=true", False),
        ("http://me@host:8080/a", False),
        ("http://host:8080/a@b:c", False),
        ("a basic transform of tokens", False),
    ],
)
def test_secrets_within_values_of_connectors_are_hidden(value: str, secret: bool) -> None:
    assert is_secret("connection.url", value) == secret


def test_values_of_connectors_take_linear_time() -> None:
    for piece in ("secret", "://a:", "password.", ";token", "x" * 50 + ":", "basic ", "${"):
        start = time.process_time()
        is_secret("connection.url", piece * (1_000_000 // len(piece)))
        assert time.process_time() - start < 10, piece
