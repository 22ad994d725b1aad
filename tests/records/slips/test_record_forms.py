"""Records read in other forms than Kafka's, and written as they would be right."""

import pytest

from kcli.grammar.slips.lengths import CHARACTERS, UNITS
from kcli.records.slips.record_forms import FORMS, NUMBERS, count_records, counting, read_one, read_records
from tests.grammar.slips.making import varint
from tests.records.slips.making import batch_bytes, zigzag

RECORDS = batch_bytes([(b"k", b"one"), (None, b"two")])[61:]


def test_right_records_are_read_as_they_are() -> None:
    found = read_records(RECORDS, 2, {})
    assert found is not None
    assert b"".join(record.canonical for record in found) == RECORDS
    assert [record.offset_delta for record in found] == [0, 1]
    assert found[1].at["length"] == found[0].end
    numbers = [name for name in NUMBERS if "." not in name]
    assert [*found[0].at] == [numbers[0], "attributes", *numbers[1:]]


@pytest.mark.parametrize(
    ("count", "data"), [(1, RECORDS), (3, RECORDS), (2, RECORDS[:-1]), (2, RECORDS + b"\0"), (9999, b"")]
)
def test_others_are_none(count: int, data: bytes) -> None:
    assert read_records(data, count, {}) is None


def record(
    value_length: bytes, *, length: bytes | None = None, headers: bytes = b"\0", attributes: bytes = b"\0"
) -> bytes:
    body = attributes + b"\0\0\1" + value_length + b"one" + headers
    return (zigzag(len(body)) if length is None else length) + body


RIGHT = record(zigzag(3))


@pytest.mark.parametrize(
    ("slip", "name", "data"),
    [
        ("zigzag left out", "value", record(varint(3))),
        ("zigzag left out", "length", record(zigzag(3), length=varint(9))),
        ("compact", "value", record(varint(4))),
        ("fixed width", "value", record(b"\0\0\0\3")),
        ("fixed width", "value", record(b"\0\3")),
        ("fixed width", "length", record(zigzag(3), length=b"\0\0\0\x09")),
        ("counts itself", "length", record(zigzag(3), length=zigzag(10))),
        ("left out", "headers", record(zigzag(3), headers=b"")),
        ("attributes left out", "attributes", record(zigzag(3), attributes=b"")),
    ],
)
def test_a_form_is_read(slip: str, name: str, data: bytes) -> None:
    forms = [form for form in FORMS if form.slip == slip and name in form.fields]
    found = [read_records(data, 1, {name: form.read}) for form in forms]
    assert RIGHT in [records[0].canonical for records in found if records]


def test_one_record_may_be_written_otherwise() -> None:
    data, (plain, *_) = RIGHT + record(varint(3)), FORMS
    assert read_records(data, 2, {"value": plain.read}) is None
    assert read_one(data, 2, {"value": plain.read}, 0) is None
    found = read_one(data, 2, {"value": plain.read}, 1)
    assert found is not None
    assert found[0] == RIGHT + RIGHT
    assert found[1].at["length"] == len(RIGHT)


def test_records_are_counted_by_their_lengths() -> None:
    assert count_records(RECORDS) == 2
    assert count_records(b"") == 0
    assert count_records(RECORDS[:-1]) is count_records(b"\0") is count_records(b"\xff") is None


@pytest.mark.parametrize(
    ("text", "size", "what"),
    [("größe", 5, CHARACTERS), ("日本語テスト", 6, UNITS), ("a😀b", 3, CHARACTERS), ("a😀b", 4, UNITS)],
)
def test_a_length_that_counts_characters(text: str, size: int, what: str) -> None:
    data = zigzag_bytes(size) + text.encode() + b"\0"
    assert counting(what)(data, 0) == (len(text.encode()), 1)
    assert counting(what)(zigzag_bytes(3) + b"abc", 0) == (3, 1) and counting(what)(b"", 0) is None


def zigzag_bytes(number: int) -> bytes:
    return bytes([number << 1])
