"""The parts of a batch, and what makes one unlikely."""

import pytest

from kcli.records.slips.parts import FIELDS, number, oddness_of, parts_of, replaced, with_length
from tests.records.slips.making import batch_bytes, checked

PAIRS: list[tuple[bytes | None, bytes | None]] = [(b"k", b"one"), (None, b"two")]
BATCH = batch_bytes(PAIRS)


def test_the_fields_of_the_header_have_their_places() -> None:
    assert FIELDS["baseOffset"] == (0, 8, "int64")
    assert FIELDS["recordCount"] == (57, 61, "int32")
    assert number(replaced(BATCH, "producerEpoch", -3), "producerEpoch") == -3
    assert with_length(BATCH + b"x")[8:12] == (len(BATCH) - 11).to_bytes(4, "big")


@pytest.mark.parametrize("codec", range(5))
def test_records_are_unfolded(codec: int) -> None:
    parts = parts_of(batch_bytes(PAIRS, codec))
    assert parts is not None
    assert (parts.records, parts.record_count, parts.last_delta, parts.codec) == (BATCH[61:], 2, 1, codec)


def test_what_can_not_be_unfolded_is_none() -> None:
    for wrong in (replaced(BATCH, "attributes", 1), replaced(BATCH, "attributes", 5)):
        parts = parts_of(wrong)
        assert parts is not None
        assert parts.records is None
    assert parts_of(BATCH[:60]) is None


def test_a_right_batch_is_not_odd_and_a_wrong_one_has_no_number() -> None:
    assert oddness_of(BATCH) == 0.0
    for field, value in (
        ("magic", 1),
        ("recordCount", 3),
        ("batchLength", 9),
        ("lastOffsetDelta", 7),
        ("recordCount", 0),
    ):
        assert oddness_of(replaced(BATCH, field, value)) is None


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("baseTimestamp", 77),
        ("maxTimestamp", 1 << 60),
        ("producerId", 4),
        ("producerEpoch", -9),
        ("partitionLeaderEpoch", -9),
    ],
)
def test_odd_values_cost(field: str, value: int) -> None:
    assert (oddness_of(checked(replaced(BATCH, field, value))) or 0) > 0


def test_a_wrong_checksum_costs() -> None:
    assert oddness_of(replaced(BATCH, "crc", 7)) == 3.0
