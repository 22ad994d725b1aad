import pytest

from kcli.sessions.epochs import MAX_EPOCH, next_epoch


@pytest.mark.parametrize(("epoch", "after"), [(0, 1), (1, 2), (MAX_EPOCH - 1, MAX_EPOCH), (MAX_EPOCH, 1), (-1, -1)])
def test_epochs_count_and_wrap_to_one(epoch: int, after: int) -> None:
    """KIP-227: the session's epoch counts answers; after INT32's greatest comes 1."""
    assert next_epoch(epoch) == after
