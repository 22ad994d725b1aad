"""The offsets of a records field, and the batch that it ends within."""

import pytest

from kcli.broker.rebuilt.record_spans import LAST_END, CutBatch, Span, cut_batch, span_of
from kcli.records import build_message_set
from tests.broker.talk import batch

FIRST, SECOND = batch("a", "b", base_offset=4), batch("c", "d", "e", base_offset=6, partition_leader_epoch=3)


def test_a_field_that_ends_with_a_batch() -> None:
    assert span_of(b"") is None
    assert span_of(FIRST + SECOND) == Span(4, 9)
    assert cut_batch(FIRST + SECOND, 9) is None


@pytest.mark.parametrize(
    ("kept", "cut"),
    [
        (len(SECOND) - 1, CutBatch(6, 8, len(SECOND), 3)),
        (27, CutBatch(6, 8, len(SECOND), 3)),
        (26, CutBatch(6, -1, len(SECOND), 0)),
        (12, CutBatch(6, -1, len(SECOND), 0)),
        (11, CutBatch(6, -1, 0, 0)),
    ],
)
def test_a_field_that_ends_within_a_batch(kept: int, cut: CutBatch) -> None:
    assert span_of(FIRST + SECOND[:kept]) == Span(4, LAST_END)
    assert cut_batch(FIRST + SECOND[:kept], 6) == cut


def test_a_field_that_has_no_whole_batch() -> None:
    assert span_of(SECOND[:-1]) == Span(6, LAST_END)
    assert span_of(SECOND[:3]) is None


def test_an_old_message_is_known_by_its_last_offset() -> None:
    old = build_message_set([(1, None, b"old"), (1, None, b"old")], 1)
    size = len(old) // 2
    assert cut_batch(old[:-1], 2) == CutBatch(2, 2, size, 0)
