import pytest

from kcli.broker.transactions.transaction import Transaction, TransactionState


@pytest.mark.parametrize(
    ("state", "title", "ending", "complete"),
    [
        (TransactionState.EMPTY, "Empty", False, False),
        (TransactionState.PREPARE_ABORT, "PrepareAbort", True, False),
        (TransactionState.COMPLETE_COMMIT, "CompleteCommit", False, True),
    ],
)
def test_states_have_kafkas_names(state: TransactionState, title: str, ending: bool, complete: bool) -> None:
    assert (state.title, state.is_ending, state.is_complete) == (title, ending, complete)


def test_the_last_epoch_is_left_for_fencing() -> None:
    assert [Transaction("t", 1, epoch, 1).is_exhausted for epoch in (32_765, 32_766, 32_767)] == [False, True, True]
