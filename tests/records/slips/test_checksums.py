"""Checksums that were made in another way, each said in words."""

import zlib

import pytest

from kcli.core.records.crc import crc32c
from kcli.records.slips.hints import checksum_hints
from kcli.records.slips.parts import parts_of, replaced
from tests.records.slips.making import batch_bytes

BATCH = batch_bytes([(b"k", b"one"), (None, b"two")])
GZIP = batch_bytes([(b"k", b"one"), (None, b"two")], 1)
BLANK = replaced(BATCH, "crc", 0)
OTHER = 0 if BATCH[12:16] != bytes(4) else -1
OTHER_EPOCH = OTHER.to_bytes(4, "big", signed=True)


def questions(batch: bytes, crc: int) -> list[str]:
    wrong = replaced(batch, "crc", crc)
    parts = parts_of(wrong)
    assert parts is not None
    found = [*checksum_hints(wrong, parts)]
    assert all((hint.at, hint.frame) == (17, batch) for hint in found)
    return [hint.question for hint in found]


@pytest.mark.parametrize(
    ("crc", "question"),
    [
        (zlib.crc32(BATCH[21:]), "is it CRC-32 of all from attributes on?"),
        (crc32c(BLANK), "is it CRC-32C of the whole batch?"),
        (crc32c(BLANK[12:]), "is it CRC-32C of all from partitionLeaderEpoch on?"),
        (crc32c(BATCH[61:]), "is it CRC-32C of the records alone?"),
        (
            int.from_bytes(BATCH[17:21], "little"),
            "is it CRC-32C, little endian, of all from attributes on?",
        ),
        (crc32c(BATCH[21:]) ^ 0xFFFFFFFF, "is it CRC-32C, not inverted at the end, of all from attributes on?"),
        (crc32c(BATCH[21:23] + bytes(4) + BATCH[27:]), "was lastOffsetDelta set after it was taken?"),
        (crc32c(BATCH[16:17] + BATCH[21:]), "is it CRC-32C of all from magic on but crc?"),
        (zlib.crc32(BATCH[:17] + BATCH[21:]), "is it CRC-32 of the whole batch but crc?"),
        (crc32c(BATCH[12:16] + BATCH[21:]), "is it CRC-32C of partitionLeaderEpoch and all from attributes on?"),
        (
            crc32c(OTHER_EPOCH + BATCH[16:17] + BATCH[21:]),
            f"is it CRC-32C of all from partitionLeaderEpoch on, with {OTHER} there, but crc?",
        ),
        (0, "was it left 0?"),
    ],
)
def test_how_it_was_made_is_said(crc: int, question: str) -> None:
    assert questions(BATCH, crc) == [question]


def test_records_before_they_were_compressed() -> None:
    crc = crc32c(GZIP[21:61] + BATCH[61:])
    assert questions(GZIP, crc) == ["is it CRC-32C of the records before they were compressed?"]


def test_any_other_has_no_explanation_and_a_right_one_needs_none() -> None:
    assert questions(BATCH, 0x12345678) == []
    assert questions(BATCH, int.from_bytes(BATCH[17:21], "big")) == []
