"""What an answer to a fetch shows of the node that gave it."""

import pytest

from kcli.broker.partition import VisibleOffsets
from kcli.broker.rebuilt.captured_partition import Fetched, epoch_behind, state_behind
from kcli.broker.rebuilt.captured_topics import SeenPartition
from kcli.sessions.fetch_exchange import Reported

OUT_OF_RANGE, NOT_LEADER, FENCED, UNKNOWN_EPOCH, UNKNOWN_ID = 1, 6, 74, 75, 100


def test_the_epoch_behind_an_error() -> None:
    seen = SeenPartition(leaders={0: 1, 2: 3, 5: 1})
    assert epoch_behind(FENCED, 2, seen, 3) == (5, True)
    assert epoch_behind(FENCED, 7, seen, 3) == (8, True)
    assert epoch_behind(UNKNOWN_EPOCH, 5, seen, 1) == (2, True)
    assert epoch_behind(UNKNOWN_EPOCH, 0, seen, 1) == (-1, True)
    assert epoch_behind(NOT_LEADER, 2, seen, 1) == (2, True)
    # It is to lead, but holds no replica yet.
    assert epoch_behind(NOT_LEADER, 2, seen, 3) == (2, False)


def answer(error: int, high: int = -1, start: int = -1) -> Reported:
    return error, high, high, start, 0, -1, False


def test_an_answer_shows_how_far_the_log_went() -> None:
    seen = SeenPartition(leaders={3: 1})
    state = state_behind(answer(0, 9, 2), Fetched(3, 12), -1, None, seen, 1, (1, 2))
    assert (state.epoch, state.leader, state.replicas, state.refused) == (3, 1, (1, 2), 0)
    # A follower stands at the end of the log, however high the watermark is.
    assert state.shown == VisibleOffsets(9, 9, 2, 12)


@pytest.mark.parametrize(("offset", "start", "end"), [(3, 5, 20), (25, 0, 20), (15, 16, 20), (4, 5, 20)])
def test_an_offset_out_of_range_is_out_of_it(offset: int, start: int, end: int) -> None:
    seen = SeenPartition(start=5 if offset < 5 else 0, end=20, leaders={0: 1})
    before = state_behind(answer(0, 20, 0), Fetched(0, 20), -1, None, seen, 1, (1,))
    shown = state_behind(answer(OUT_OF_RANGE), Fetched(0, offset), -1, before, seen, 1, (1,)).shown
    assert not shown.start <= offset <= shown.end
    assert (shown.start, shown.end) == (start, end)


def test_what_no_rule_explains_is_what_the_node_said() -> None:
    state = state_behind(answer(UNKNOWN_ID), Fetched(2, 0), -1, None, SeenPartition(), 4, (4,))
    assert (state.refused, state.leader) == (UNKNOWN_ID, 4)
