"""Batches of every magic and codec: what records hold is gone, all else is as it was, checksums fit."""

import random
from typing import Any

import pytest

from kcli.core.records import blanking
from kcli.jsontext import loads
from kcli.records import batches_json
from kcli.records.builder import build_batch, build_marker, build_message_set
from kcli.redact.batches import BLANK, BatchRedactor
from kcli.schemas.field_codes import CODECS
from tests.oracle.redact.records import fill_records

RECORDS = [
    (1000, b"customer-17", b"secret value of customer-17 " * 4, [("trace-id", b"abcdef"), ("none", None)]),
    (1001, None, b"", []),
    (1005, b"", None, []),
    (1006, b"k" * 200, bytes(range(256)), []),
]
HELD = ("key", "value", "headers")


def redacted(data: bytes, control: Any = lambda kind, value: bytes(len(value))) -> bytes:
    return BatchRedactor(control).records(data)


def shape(data: bytes) -> list[dict[str, Any]]:
    """The batches with sizes in place of what records hold, and without their checksums."""
    rows: list[dict[str, Any]] = loads(batches_json(data, secrets=True))
    for row in rows:
        for name in ("crc", "_payload", "_entry"):
            row.pop(name, None)
        for record in row.get("records", ()):
            for name in HELD:
                record[name] = sizes(record[name])
    return rows


def sizes(value: Any) -> Any:
    import base64

    if isinstance(value, list):
        return [{name: sizes(each) for name, each in header.items()} for header in value]
    if isinstance(value, dict):
        return len(base64.b64decode(value["base64"]))
    return None if value is None else len(value.encode())


@pytest.mark.parametrize("codec", CODECS)
def test_magic_2(codec: str) -> None:
    data = build_batch(RECORDS, 7, codec=codec, producer_id=5, producer_epoch=1, base_sequence=9, transactional=True)
    made = redacted(data * 2)
    assert len(made) == 2 * len(data) and shape(made) == shape(data * 2)
    assert all(row["crcValid"] for row in loads(batches_json(made)))
    text = batches_json(made, secrets=True)
    assert not [part for part in (b"customer", b"secret", b"trace", b"kkk") if part in text or part in made]


@pytest.mark.parametrize("codec", CODECS[:4])
@pytest.mark.parametrize("magic", [0, 1])
def test_message_sets(codec: str, magic: int) -> None:
    rows = [(time, key, value) for time, key, value, _ in RECORDS]
    data = build_message_set(rows, 7, magic=magic, codec=codec)
    made = redacted(data)
    assert len(made) == len(data) and shape(made) == shape(data)
    assert all(row["crcValid"] for row in loads(batches_json(made)))
    assert b"customer" not in batches_json(made, secrets=True) + made


def test_a_wrong_checksum_stays_wrong_and_says_nothing_of_the_content() -> None:
    data = bytearray(build_batch(RECORDS))
    right = data[17:21]
    data[17:21] = bytes(4)
    made = redacted(bytes(data))
    assert loads(batches_json(made))[0]["crcValid"] is False
    assert right not in made


def test_what_is_cut_keeps_its_header_and_what_is_no_batch_nothing() -> None:
    data = build_batch(RECORDS)
    cut = redacted(data + data[:100])[len(data) :]
    assert cut[:17] == data[:17] and cut[21:61] == data[21:61]
    assert cut[17:21] == BLANK * 4 and cut[61:] == BLANK * 39
    assert redacted(b"customers" * 20) == BLANK * 180


@pytest.mark.parametrize("size", [60, 1 << 30])
@pytest.mark.parametrize("magic", [0, 1, 2])
def test_a_chunk_that_begins_in_contents_has_no_header(magic: int, size: int) -> None:
    """As a chunk of a snapshot does (KIP-630): what stands where a header would be are no numbers."""
    text = b"password=hunter2;" * 10
    data = text[:8] + size.to_bytes(4, "big") + text[12:16] + bytes([magic]) + text[17:]
    assert redacted(data) == BLANK * len(data)
    batch = build_batch(RECORDS) if magic == 2 else build_message_set([(1, b"k", b"v")], magic=magic)
    assert redacted(batch + data)[len(batch) :] == BLANK * len(data)
    damaged = batch[:-1] + bytes([batch[-1] ^ 1])
    assert redacted(damaged)[:17] == batch[:12] + redacted(damaged)[12:16] + batch[16:17]


@pytest.mark.parametrize("codec", [1, 2, 3, 4, 6])
def test_a_payload_that_can_not_be_unfolded_is_left_out(codec: int) -> None:
    data = bytearray(build_batch(RECORDS))
    data[22] = codec
    made = redacted(bytes(data))
    assert made[61:] == BLANK * (len(data) - 61) and made[:17] == data[:17]


def test_damaged_records_are_left_out_from_there_on() -> None:
    data = build_batch([(1, b"k", b"first-value", ()), (2, b"k", b"second-value", ())])
    at = data.index(b"second-value")
    made = redacted(data[: at - 1] + b"\x7f" + data[at:])
    assert b"second" not in made and b"first" not in made and len(made) == len(data)


def test_markers_stay() -> None:
    data = build_marker(True, 1000, 5, 9, 1, 42)
    assert redacted(data) == data


def test_a_batch_that_finds_no_room_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kcli.redact.batches.recompressed", lambda *given: None)
    redactor = BatchRedactor(lambda kind, value: value)
    data = build_batch(RECORDS, codec="zstd")
    made = redactor.records(data)
    assert redactor.emptied == 1 and made[61:] == BLANK * (len(data) - 61)


def test_the_core_fills_as_its_oracle_does() -> None:
    """Records that are sound, damaged, or none at all."""
    rng = random.Random(4)
    sound = build_batch(RECORDS * 3)[61:]
    for number in range(600):
        data = bytearray(sound if number % 3 else rng.choice((sound, b"\xff" * 30, b"\x02" * 30, rng.randbytes(60))))
        for _ in range(number % 4):
            data[rng.randrange(len(data))] = rng.choice((0, 1, 2, 0x7F, 0x80, 0xFF, rng.randrange(256)))
        count = rng.choice((12, 12, 5, 99, 0, -1))
        made = [bytearray(data), bytearray(data)]
        blanking.fill_records(made[0], count)
        fill_records(made[1], count)
        assert made[0] == made[1], (number, bytes(data), count)
