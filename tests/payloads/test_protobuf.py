"""Values of Protobuf: messages of texts and descriptors, behind Confluent's indexes and Apicurio's names."""

import base64
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import descriptor_pb2

from kcli.payloads import PayloadDecoder, PayloadOptions
from kcli.payloads.framing import Frame, SchemaId
from kcli.payloads.protobuf import IMPORTS, NAME, ProtobufCodec, compiled, read_indexes, write_indexes
from kcli.payloads.schema import PayloadError, Schema
from tests.payloads.values import framed, local, members

TEXT = """
syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
import "confluent/meta.proto";
import "shop/item.proto";
message Order {
  int64 id = 1 [(confluent.field_meta).doc = "the number"];
  optional string who = 2;
  float weight = 3;
  repeated Item items = 4;
  map<string, sint32> counts = 5;
  google.protobuf.Timestamp at = 6;
  State state = 7;
  bytes raw = 8;
  double ratio = 9;
  google.protobuf.StringValue note = 10;
  map<bool, Item> by = 11;
  message Inner { message Deep { uint64 n = 1; } string name = 1; }
}
enum State { NEW = 0; PAID = 1; }
message Other { Other again = 1; string text = 2; }
"""
ITEM = 'syntax = "proto3"; package shop; message Item { string sku = 1; }'
VALUE: dict[str, Any] = {
    "id": 1 << 60, "who": "anna", "weight": 0.1, "items": [{"sku": "a"}, {"sku": ""}], "counts": {"x": -1},
    "at": "2026-11-26T00:00:00Z", "state": "PAID", "raw": "AP8=", "ratio": 0.1, "note": "n",
    "by": {"true": {"sku": "b"}},
}  # fmt: skip
SCHEMA = Schema("PROTOBUF", TEXT, (("shop/item.proto", ITEM),))


@pytest.fixture(scope="module")
def codec() -> ProtobufCodec:
    return ProtobufCodec(SCHEMA)


def read(codec: ProtobufCodec, data: bytes, message: str | None = None) -> Any:
    """What stands behind a frame."""
    return codec.decode_framed(Frame(SchemaId("schemaId", 7), 0, message), data)


def test_a_descriptor_as_base64_imports(codec: ProtobufCodec) -> None:
    """As the client of Python registers it: file and imports of its own as base64, Google's not at all."""
    files = descriptor_pb2.FileDescriptorSet.FromString(compiled(SCHEMA))
    texts = {file.name: base64.b64encode(file.SerializeToString()).decode() for file in files.file}
    item = ("shop/item.proto", texts["shop/item.proto"])
    for schema in (Schema("PROTOBUF", texts[NAME], (item,)), Schema("PROTOBUF", TEXT, (item,))):
        assert ProtobufCodec(schema).decode(codec.encode(VALUE), 0) == VALUE


def test_imports_that_no_registry_has() -> None:
    """Clients of Confluent's have Google's common types and Confluent's own, and register neither."""
    files = sorted(path for path in IMPORTS.rglob("*.proto"))
    imports = "".join(f'import "{path.relative_to(IMPORTS).as_posix()}";\n' for path in files)
    text = f"""syntax = "proto3"; {imports}
    message Order {{ google.type.Money price = 1; google.type.DateTime at = 2; confluent.type.Decimal tax = 3; }}"""
    codec = ProtobufCodec(Schema("PROTOBUF", text))
    price = {"currency_code": "CHF", "units": 1 << 60, "nanos": -1}
    value = codec.decode(codec.encode({"price": price, "at": {"year": 2026, "utc_offset": "3600s"}}), 0)
    assert value["price"] == price and value["at"]["utc_offset"] == "3600s" and len(files) == 19


def test_entries_of_maps_as_messages() -> None:
    """As Apicurio's serializer for Java registers a map; protoc refuses the option in a text."""
    text = """syntax = "proto3";
    message Order {
      repeated .Order.PricesEntry prices = 1;
      repeated PlainEntry rows = 2;
      message PricesEntry { option map_entry = true; string key = 1; double value = 2; }
      message PlainEntry { string key = 1; double value = 3; }
    }"""
    codec = ProtobufCodec(Schema("PROTOBUF", text))
    value = {"prices": {"tea": 1.5}, "rows": [{"key": "a", "value": 2.5}]}
    assert codec.decode(codec.encode(value), 0) == value


def test_a_message_is_json_and_back(codec: ProtobufCodec) -> None:
    data = codec.encode(VALUE)
    assert codec.decode(data, 0) == VALUE and read(codec, b"\0" + data) == VALUE
    empty = codec.decode(b"", 0)
    assert empty["id"] == 0 and empty["state"] == "NEW" and "who" not in empty and "at" not in empty
    assert codec.decode(codec.encode({"ratio": "NaN", "weight": "-Infinity"}), 0)["ratio"] == "NaN"
    assert codec.decode(b"\x38\x09", 0)["state"] == 9  # no such member


def test_indexes_and_names_choose_a_message(codec: ProtobufCodec) -> None:
    deep, other = b"\x08\x05", b"\x12\x01t"
    assert read(codec, write_indexes([0, 0, 0]) + deep) == {"n": 5}
    assert read(codec, write_indexes([1]) + other) == {"text": "t"}
    assert read(codec, b"\x07\n\x05Other" + other) == {"text": "t"}
    named = (
        b"\x07\n\x05Other" + other
    )  # as version 3 writes it: behind a number of four bytes, indexes and headers, too
    assert read(codec, write_indexes([1]) + named) == read(codec, named, message="Other") == {"text": "t"}
    assert read(codec, other, message="shop.Other") == {"text": "t"}
    for wrong in (b"", b"\x01", b"\x80" * 11, write_indexes([7]) + other, write_indexes([1, 0]) + other):
        with pytest.raises(PayloadError):
            read(codec, wrong)
    with pytest.raises(PayloadError, match="no message 'Nobody'"):
        read(codec, other, message="Nobody")
    assert [read_indexes(write_indexes(each), 0)[0] for each in ([], [3], [1, 200])] == [[], [3], [1, 200]]


@pytest.mark.parametrize("data", [b"\xff\xff", b"\x12\x05ab", b"\x12\x01\xff", b"\x0a" + b"\x80\x80\x80\x80\x08"])
def test_bytes_that_are_no_message(codec: ProtobufCodec, data: bytes) -> None:
    with pytest.raises(PayloadError, match=r"not of message shop\.Order"):
        codec.decode(data, 0)


def test_messages_in_messages_are_bounded(codec: ProtobufCodec) -> None:
    def nested(levels: int) -> bytes:
        data = b""
        for _ in range(levels):
            size = len(data)
            data = b"\x0a" + (bytes([size]) if size < 128 else bytes([size & 127 | 128, size >> 7])) + data
        return data

    assert read(codec, write_indexes([1]) + nested(50))["again"]
    with pytest.raises(PayloadError):
        read(codec, write_indexes([1]) + nested(500))


def test_a_file_has_what_it_imports_beside_it_and_names_its_message(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop/item.proto").write_text(ITEM)
    decoder = local(tmp_path, TEXT, "order.proto")
    data = ProtobufCodec(SCHEMA).encode(VALUE)
    assert members(decoder, data) == {"format": "protobuf", "data": VALUE}
    assert members(decoder, framed(3, b"\0" + data)) == {"schemaId": 3, "format": "protobuf", "data": VALUE}
    (tmp_path / "order.desc").write_bytes(compiled(SCHEMA))
    with pytest.raises(PayloadError, match=r"x\.proto: not a schema of Protobuf"):
        local(tmp_path, "", "x.proto")
    from kcli.payloads import PayloadDecoder, PayloadOptions

    compiled_one = PayloadDecoder(PayloadOptions(value_schemas=(f"{tmp_path}/order.desc#Other",)))
    assert members(compiled_one, b"\x12\x01t") == {"format": "protobuf", "data": {"text": "t"}}
    assert compiled_one.encode("t", "value", {"data": {"text": "t"}}) == b"\x12\x01t"


@pytest.mark.parametrize(
    ("text", "references", "reason"),
    [
        ("message {", (), "schema.proto:1:9: Expected message name"),
        ('import "nowhere.proto";', (), "nowhere.proto: File not found"),
        ("", (("../../evil.proto", ""),), "not a name of a .proto file"),
        ("", (("/tmp/evil.proto", ""),), "not a name of a .proto file"),
    ],
)
def test_texts_that_are_no_schema(text: str, references: Any, reason: str, tmp_path: Path) -> None:
    with pytest.raises(PayloadError) as caught:
        ProtobufCodec(Schema("PROTOBUF", text, references))
    assert reason in caught.value.text and str(tmp_path) not in caught.value.text


def test_schemas_that_are_compiled_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from kcli.payloads import PayloadDecoder, PayloadOptions

    monkeypatch.setattr("kcli.payloads.decoder.MOST_COMPILED", 1)
    for number in (1, 2):
        (tmp_path / f"{number}.proto").write_text(f'syntax = "proto3"; message M {{ string n{number} = 1; }}')
    decoder = PayloadDecoder(PayloadOptions(schemas=(str(tmp_path),)))
    assert members(decoder, framed(1, b"\0\n\1x"))["data"] == {"n1": "x"}  # type: ignore[index]
    assert "more than 1 schemas" in members(decoder, framed(2, b"\0\n\1x"))["reason"]  # type: ignore[index]
    assert members(decoder, framed(1, b"\0\n\1y"))["data"] == {"n1": "y"}  # type: ignore[index]


def test_the_way_back_has_the_frame_and_the_message_that_it_came_in(tmp_path: Path) -> None:
    """Confluent's indexes, Apicurio's name in front or in a header; the id in four bytes, eight, or a header."""
    (tmp_path / "7.proto").write_text(TEXT.replace('import "shop/item.proto";', ITEM.partition("shop;")[2]))
    decoder = PayloadDecoder(PayloadOptions(schemas=(str(tmp_path),)))
    other = b"\x12\x01t"
    eight = [{"key": "apicurio.value.globalId", "value": {"base64": base64.b64encode((7).to_bytes(8, "big")).decode()}}]
    named = [*eight, {"key": "apicurio.protobuf.type", "value": "Other"}]
    four = base64.b64encode(framed(7, write_indexes([2]))).decode()
    indexed = [{"key": "__value_schema_id", "value": {"base64": four}}]
    front = b"\x07\n\x05Other"
    for data, headers in (
        (framed(7, write_indexes([2]) + other), []),
        (framed(7, front + other, 8), []),
        (framed(7, front + other), []),
        (framed(7, write_indexes([2]) + front + other), []),
        (front + other, eight),
        (other, indexed),
        (other, named),
        (front + other, named),
    ):
        row: dict[str, Any] = {"value": {"base64": base64.b64encode(data).decode()}, "headers": headers}
        decoder.add_to(row, "t")
        assert row["_value"]["data"] == {"text": "t"}
        assert decoder.encode("t", "value", row["_value"], row) == data
        row["_value"]["data"]["text"] = "u"
        assert decoder.encode("t", "value", row["_value"], row) == data[:-1] + b"u"
