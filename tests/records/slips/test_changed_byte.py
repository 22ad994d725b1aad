"""One byte that was changed on the way."""

import random

import pytest

from kcli.records.slips.hints import batch_hints, batch_text, changed_byte_hints
from kcli.records.slips.parts import parts_of, replaced
from tests.records.slips.making import batch_bytes
from tests.records.test_secrets import SCRAM

RECORDS: list[tuple[bytes | None, bytes | None]] = [(b"k%d" % number, b"value %d" % number) for number in range(40)]
CODECS = range(5)


def changed(batch: bytes, at: int, bits: int) -> bytes:
    return batch[:at] + bytes([batch[at] ^ bits]) + batch[at + 1 :]


@pytest.mark.parametrize("codec", CODECS)
def test_the_byte_is_found_whatever_it_was_changed_to(codec: int) -> None:
    batch = batch_bytes(RECORDS, codec)
    draw = random.Random(codec)
    for at in [*range(17, 70), *draw.sample(range(70, len(batch)), 20), len(batch) - 1]:
        wrong = changed(batch, at, draw.randrange(1, 256))
        parts = parts_of(wrong)
        assert parts is not None
        [hint] = changed_byte_hints(wrong, parts)
        assert (hint.at, hint.frame) == (at, batch)
        assert hint.text() == f"with the byte {batch[at]:02x} at {at:#x}: it is {wrong[at]:02x}"


def test_it_is_among_the_hints_once_and_at_its_place() -> None:
    batch = batch_bytes(RECORDS, 1)
    wrong = changed(batch, 99, 0x80)
    text = batch_text(batch_hints(batch + wrong))
    assert text == f"the batch is right with the byte {batch[99]:02x} at {len(batch) + 99:#x}: it is {wrong[99]:02x}"
    delta = replaced(batch, "lastOffsetDelta", 38)
    assert batch_text(batch_hints(delta)).count("the batch is right") == 1


def test_two_bytes_that_changed_are_no_byte() -> None:
    batch = batch_bytes(RECORDS)
    for at in range(21, len(batch) - 1, 7):
        wrong = changed(changed(batch, at, 0x41), at + 1, 0x05)
        parts = parts_of(wrong)
        assert parts is not None and not [*changed_byte_hints(wrong, parts)]


@pytest.mark.parametrize("codec", CODECS)
def test_bytes_of_a_secret_are_not_told(codec: int) -> None:
    batch = batch_bytes([*RECORDS, (None, SCRAM)], codec)
    told = 0
    for at in range(61, len(batch)):
        wrong = changed(batch, at, 0x11)
        text = batch_text(batch_hints(wrong))
        assert f"with the byte {batch[at]:02x}" not in text and f"it is {wrong[at]:02x}" not in text
        told += f"with another byte at {at:#x}: which one is not told" in text
    assert told > 0.9 * (len(batch) - 61)
