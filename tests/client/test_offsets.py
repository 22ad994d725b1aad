import pytest

from kcli.client.offsets import next_offset
from kcli.records import build_batch, build_message_set

ROWS = [(1, None, b"value", ()), (2, b"key", b"value", ())]


def test_the_offset_after_a_batch_and_after_several() -> None:
    first, second = build_batch(ROWS, 10), build_batch(ROWS, 20)
    assert next_offset(first, 3) == 12
    assert next_offset(first + second, 3) == 22
    assert next_offset(build_batch(ROWS, 10, offsets=[10, 17]), 3) == 18


def test_a_batch_that_is_cut_off_does_not_count() -> None:
    first, second = build_batch(ROWS, 10), build_batch(ROWS, 20)
    for cut in (1, 20, len(second) - 1):
        assert next_offset(first + second[:cut], 3) == 12
    assert next_offset(b"", 3) == 3
    assert next_offset(first, 40) == 40
    assert next_offset(bytes(100), 3) == 3


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_old_messages(magic: int, codec: str) -> None:
    data = build_message_set([(1, None, b"value")] * 3, 10, magic=magic, codec=codec)
    assert next_offset(data, 3) == 13
