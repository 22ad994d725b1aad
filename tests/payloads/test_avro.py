"""Values of Avro: every type as JSON and back, evolution, and payloads made to hurt."""

import base64
import datetime
import decimal
import json
import time
import uuid
from pathlib import Path
from typing import Any

import fastavro
import pytest

from kcli.payloads import PayloadDecoder, PayloadOptions
from kcli.payloads.avro import OF_FASTAVRO
from kcli.payloads.decoder import codec_of
from kcli.payloads.schema import PayloadError, Schema
from tests.payloads.values import ORDER, VALUE, avro, framed, local, members

UTC = datetime.UTC
LOGICAL = [
    ({"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}, decimal.Decimal("-12.50"), "-12.50"),
    ({"type": "int", "logicalType": "date"}, datetime.date(2026, 11, 26), "2026-11-26"),
    ({"type": "int", "logicalType": "time-millis"}, datetime.time(1, 2, 3, 4000), "01:02:03.004000"),
    (
        {"type": "long", "logicalType": "timestamp-millis"},
        datetime.datetime(2026, 11, 26, 1, 2, 3, tzinfo=UTC),
        "2026-11-26T01:02:03Z",
    ),
    (
        {"type": "long", "logicalType": "local-timestamp-micros"},
        datetime.datetime(2026, 11, 26, 1, 2, 3, 5),
        "2026-11-26T01:02:03.000005",
    ),
    ({"type": "string", "logicalType": "uuid"}, uuid.UUID(int=7), "00000000-0000-0000-0000-000000000007"),
    ("bytes", b"\x00\xff", "AP8="),
    ({"type": "fixed", "name": "f", "size": 2}, b"\x00\xff", "AP8="),
    ("double", float("nan"), "NaN"),
    ("float", float("-inf"), "-Infinity"),
    (["null", "bytes"], b"a", "YQ=="),
    ({"type": "enum", "name": "e", "symbols": ["A", "B"]}, "B", "B"),
    ({"type": "map", "values": {"type": "array", "items": "int"}}, {"a": [1, 2]}, {"a": [1, 2]}),
    (["null", ORDER], VALUE, VALUE),
]


@pytest.mark.parametrize(("schema", "value", "shown"), LOGICAL)
def test_a_value_is_json_and_back(schema: Any, value: Any, shown: Any) -> None:
    codec = codec_of(Schema("AVRO", json.dumps(schema)))
    data = avro(schema, value)
    assert codec.decode(data, 0) == shown and codec.encode(shown) == data
    assert json.loads(json.dumps(shown, allow_nan=False)) == shown


NODE: dict[str, Any] = {
    "type": "record",
    "name": "shop.Node",
    "fields": [
        {"name": "text", "type": ["null", "string"], "default": None},
        {"name": "unit", "type": ["null", "shop.Unit"]},
        {"name": "next", "type": ["null", "shop.Node"], "default": None},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "more", "type": {"type": "map", "values": ["int", "string"]}},
    ],
}
UNIT = '{"type": "enum", "name": "shop.Unit", "symbols": ["KG"]}'
TEXTUAL = """{"text": {"string": "é"}, "unit": {"shop.Unit": "KG"}, "next": {"shop.Node": {"text": null, "unit": null,
 "next": null, "price": "\\u0000\\u00ff", "at": 0, "more": {}}}, "price": "}", "at": 1577836800000,
 "more": {"a": {"int": 1}, "b": {"string": "1"}}}"""  # by the specification of Avro 1.12, "JSON Encoding"


def test_the_json_encoding_gives_what_the_binary_one_does() -> None:
    codec: Any = codec_of(Schema("AVRO", json.dumps(NODE), (("unit", UNIT),)))
    value = codec.decode_json(b"--" + TEXTUAL.encode(), 2)
    inner: dict[str, Any] = {
        "text": None,
        "unit": None,
        "next": None,
        "price": "2.55",
        "at": "1970-01-01T00:00:00Z",
        "more": {},
    }
    assert value == {
        "text": "é", "unit": "KG", "next": inner, "price": "1.25", "at": "2020-01-01T00:00:00Z",
        "more": {"a": 1, "b": "1"},
    }  # fmt: skip
    assert codec.decode(codec.encode(value), 0) == value
    assert json.loads(codec.encode_json(value)) == json.loads(TEXTUAL)


@pytest.mark.parametrize("kind", ["float", "double"])
def test_numbers_of_the_json_encoding_that_json_does_not_have(kind: str) -> None:
    """Java's encoder writes them as texts."""
    codec: Any = codec_of(Schema("AVRO", json.dumps({"type": "array", "items": [kind, "string"]})))
    texts = ["NaN", "Infinity", "-Infinity"]
    data = json.dumps([*({kind: each} for each in texts), {"string": "NaN"}, {kind: 1.5}]).encode()
    assert codec.decode_json(data, 0) == [*texts, "NaN", 1.5]
    codec = codec_of(Schema("AVRO", json.dumps({"type": "array", "items": kind})))
    assert json.loads(codec.encode_json([*texts, 1.5]), parse_constant=pytest.fail) == [*texts, 1.5]
    with pytest.raises(PayloadError):
        codec.decode_json(b'["infinity"]', 0)


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '"x"', "1", TEXTUAL + "{}", TEXTUAL.replace("KG", "LB"), TEXTUAL.replace('"shop.Unit"', '"Unit"'),
     TEXTUAL.replace('"at": 0', '"at": "0"'), "[" * 5000],
)  # fmt: skip
def test_other_json_has_a_reason(text: str) -> None:
    codec: Any = codec_of(Schema("AVRO", json.dumps(NODE), (("unit", UNIT),)))
    with pytest.raises(PayloadError):
        codec.decode_json(text.encode(), 0)


def test_a_time_of_the_json_encoding_that_no_calendar_has_is_a_number() -> None:
    codec: Any = codec_of(Schema("AVRO", json.dumps({"type": "long", "logicalType": "timestamp-millis"})))
    assert codec.decode_json(b"%d" % (1 << 60), 0) == 1 << 60


def test_a_header_says_that_avro_is_in_its_json_encoding(tmp_path: Path) -> None:
    (tmp_path / "7.avsc").write_text(json.dumps(["null", "string"]))
    decoder = PayloadDecoder(PayloadOptions(schemas=(str(tmp_path),)))
    headers: Any = {"apicurio.value.globalId": (7).to_bytes(8, "big"), "apicurio.value.encoding": b"JSON"}
    payload = {"globalId": 7, "format": "avro", "data": "x"}
    assert members(decoder, b'{"string": "x"}', **headers) == payload
    row = {
        "value": '{"string": "x"}',
        "headers": [
            {"key": key, "value": {"base64": base64.b64encode(value).decode()}} for key, value in headers.items()
        ],
    }
    edited = decoder.encode("t", "value", payload | {"data": "y"}, row)
    assert edited is not None and json.loads(edited) == {"string": "y"}


def test_times_that_no_calendar_has_are_numbers() -> None:
    codec = codec_of(Schema("AVRO", json.dumps({"type": "long", "logicalType": "timestamp-millis"})))
    assert codec.decode(avro("long", 1 << 60), 0) == 1 << 60
    decimals = codec_of(Schema("AVRO", json.dumps(LOGICAL[0][0])))
    large = avro("bytes", b"\x7f" * 100_000)
    started = time.process_time()
    assert isinstance(decimals.decode(large, 0), str) and time.process_time() - started < 5


def test_a_readers_schema_has_the_last_word(tmp_path: Path) -> None:
    newer = ORDER | {"fields": [
        {"name": "id", "type": "double"},
        {"name": "total", "type": "long", "default": 5},
        {"name": "who", "type": ["null", "string"], "default": None, "aliases": ["customer"]},
    ]}  # fmt: skip
    schemas = tmp_path / "schemas"
    schemas.mkdir()
    (schemas / "7.avsc").write_text(json.dumps(ORDER))
    evolved = local(tmp_path, newer, schemas=(str(schemas),))
    assert members(evolved, framed(7, avro(ORDER, VALUE))) == {
        "schemaId": 7, "format": "avro", "data": {"id": 7.0, "total": 5, "who": "anna"},
    }  # fmt: skip
    assert members(evolved, framed(8, avro(ORDER, VALUE)))["reason"] == "its schema is missing"  # type: ignore[index]
    alone = local(tmp_path, ORDER)
    assert members(alone, framed(7, avro(ORDER, VALUE))) == {"schemaId": 7, "format": "avro", "data": VALUE}
    assert members(alone, avro(ORDER, VALUE)) == {"format": "avro", "data": VALUE}


LIST = {"type": "record", "name": "L", "fields": [{"name": "next", "type": ["null", "L"]}]}
EMPTY = {"type": "record", "name": "E", "fields": [{"name": "n", "type": "null"}]}
LAUGHS: list[Any] = [EMPTY]
for level in range(20):
    inner = "E" if not level else f"R{level - 1}"
    LAUGHS.append(
        {"type": "record", "name": f"R{level}", "fields": [{"name": f"f{n}", "type": inner} for n in range(9)]}
    )
WIDE = {"type": "record", "name": "W", "fields": [{"name": "i", "type": "int"}]}
WIDE["fields"] += [{"name": f"n{n}", "type": "null"} for n in range(5000)]  # type: ignore[operator]
HUGE = b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"  # 2^63 - 1
HURTING = [
    (LIST, b"\x02" * 1_000_000 + b"\0", "deeper than 100 levels"),
    ({"type": "array", "items": LIST}, b"\x02" + b"\x02" * 100_000, "deeper than 100 levels"),
    ({"type": "array", "items": "null"}, HUGE + b"\0", "more values than its bytes allow"),
    ({"type": "array", "items": EMPTY}, HUGE + b"\0", "more values than its bytes allow"),
    ({"type": "map", "values": {"type": "array", "items": "null"}}, b"\x02\0" + HUGE + b"\0\0", "more values"),
    (LAUGHS, b"\x28", "more values than its bytes allow"),
    ({"type": "record", "name": "A", "fields": [{"name": "a", "type": "A"}]}, b"", "deeper than 100 levels"),
    ({"type": "array", "items": WIDE}, b"\x90\x4e" + b"\x02" * 5000 + b"\0", "more values than its bytes allow"),
    ("bytes", HUGE + b"a", "it ends too early"),
    ("bytes", b"\x01abc", "it ends too early"),
    ("long", b"\x80", "it ends too early"),
    ("string", b"\x02\xff", "utf-8"),
    (["null", "int"], b"\x0a", "a union or enum has no such member"),
    (ORDER, avro(ORDER, VALUE) + b"x", "1 of 26 bytes are left behind it"),
]


@pytest.mark.parametrize(("schema", "data", "reason"), HURTING)
def test_payloads_made_to_hurt_have_a_reason(schema: Any, data: bytes, reason: str) -> None:
    codec = codec_of(Schema("AVRO", json.dumps(schema)))
    with pytest.raises(PayloadError) as caught:
        codec.decode(data, 0)
    assert reason in caught.value.text and "\n" not in caught.value.text


def test_lawful_values_of_such_schemas_are_read() -> None:
    inner: Any = None
    for _ in range(40):
        inner = {"next": inner}
    assert codec_of(Schema("AVRO", json.dumps(LIST))).decode(b"\x02" * 39 + b"\0", 0) == inner
    assert codec_of(Schema("AVRO", '{"type": "array", "items": "null"}')).decode(b"\x06\0", 0) == [None] * 3
    assert codec_of(Schema("AVRO", '{"type": "array", "items": "null"}')).decode(b"\x05\x00\0", 0) == [None] * 3


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "not JSON"),
        ('{"type": "nothing"}', "not a schema of Avro"),
        ('{"type": "record", "name": "A", "fields": [], "__fastavro_parsed": true}', "it says that it was read"),
        ("[" * 200_000 + "]" * 200_000, "not JSON: nested too deep"),
        ('{"type":"array","items":' * 300 + '"int"' + "}" * 300, "deeper than 200 levels"),
        ("{}", "not a schema of Avro"),
    ],
)
def test_schemas_that_are_none(text: str, reason: str) -> None:
    with pytest.raises(PayloadError, match=reason):
        codec_of(Schema("AVRO", text)).decode(b"\2\2\2", 0)


def test_schemas_refer_to_files_beside_them(tmp_path: Path) -> None:
    (tmp_path / "shop.Item.avsc").write_text(
        '{"type": "record", "name": "shop.Item", "fields": [{"name": "unit", "type": "Unit"}]}'
    )
    (tmp_path / "shop.Unit.avsc").write_text('{"type": "enum", "name": "Unit", "namespace": "shop", "symbols": ["KG"]}')
    decoder = local(
        tmp_path, {"type": "record", "name": "shop.Cart", "fields": [{"name": "item", "type": "shop.Item"}]}
    )
    assert members(decoder, b"\0") == {"format": "avro", "data": {"item": {"unit": "KG"}}}


def test_a_schema_of_strangers_has_a_size() -> None:
    with pytest.raises(PayloadError, match="more than 1 MiB"):
        Schema("AVRO", " " * (1 << 20) + '"int"')


def test_a_decoder_without_sources_names_the_id() -> None:
    decoder = PayloadDecoder(PayloadOptions(on=True))
    assert members(decoder, framed(7, b"abc")) == {
        "schemaId": 7, "reason": "its schema is not known (--schema-registry, --schemas, --value-schema)",
    }  # fmt: skip
    assert members(decoder, b"text") is None and members(decoder, b"\0\0\0\0\0\0\0\7") is None


def test_a_union_keeps_its_branch(tmp_path: Path) -> None:
    ones = [{"type": "record", "name": name, "fields": [{"name": "x", "type": "long"}]} for name in ("R1", "R2")]
    schema = {
        "type": "record",
        "name": "T",
        "fields": [{"name": "u", "type": [*ones, {"type": "map", "values": "int"}]}],
    }
    (tmp_path / "t.avsc").write_text(json.dumps(schema))
    decoder = PayloadDecoder(PayloadOptions(value_schemas=(f"t={tmp_path / 't.avsc'}",)))
    for data in (b"\x00\x0e", b"\x02\x0e", b"\x04\x02\x02x\x0e\x00"):  # 7 as R1, as R2 and in a map
        read = decoder.decode("t", "value", data)
        assert read is not None and read.data == {"u": {"x": 7}}
        assert decoder.encode("t", "value", read.members, {"value": base64_of(data)}) == data
    edited = {"format": "avro", "data": {"u": {"x": 8}}}
    assert decoder.encode("t", "value", edited, {"value": base64_of(b"\x00\x0e")}) == b"\x00\x10"
    assert decoder.encode("t", "value", edited) == b"\x00\x10"


def test_what_fastavro_marks_its_schemas_with() -> None:
    made = fastavro.parse_schema({"type": "record", "name": "A", "fields": []})
    assert {*OF_FASTAVRO} <= {*made}


def test_a_union_of_types_that_stand_elsewhere() -> None:
    """The branch itself, and what it is made of: both defined in schemas that this one refers to."""
    unit = {"type": "enum", "name": "shop.Unit", "symbols": ["KG", "G"]}
    money = {"type": "record", "name": "shop.Money", "fields": [{"name": "unit", "type": "shop.Unit"}]}
    schema = {
        "type": "record",
        "name": "shop.Order",
        "fields": [
            {"name": "total", "type": ["null", "Money"]},
            {"name": "unit", "type": ["null", "Unit"]},
            {"name": "parts", "type": {"type": "map", "values": ["int", {"type": "array", "items": "Money"}]}},
        ],
    }
    known = (("shop.Unit", json.dumps(unit)), ("shop.Money", json.dumps(money)))
    codec = codec_of(Schema("AVRO", json.dumps(schema), known))
    value = {"total": {"unit": "G"}, "unit": "KG", "parts": {"a": 7, "b": [{"unit": "KG"}]}}
    assert codec.decode(codec.encode(value), 0) == value
    with pytest.raises(PayloadError, match="no branch of a union takes it"):
        codec.encode(value | {"total": {"unit": "T"}})
    for odd in (value | {"tip": 1}, {name: value[name] for name in ("total", "parts")}):
        with pytest.raises(PayloadError, match="no value of this schema"):
            codec.encode(odd)


def base64_of(data: bytes) -> dict[str, str]:
    return {"base64": base64.b64encode(data).decode()}
