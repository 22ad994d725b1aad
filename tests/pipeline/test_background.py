"""Work in another thread."""

import threading
import time

import pytest

from kcli.pipeline.background import Background


def test_pieces_are_done_in_order_in_another_thread() -> None:
    done: list[tuple[int, int]] = []
    made = Background()
    for number in range(100):
        made.do(lambda number: done.append((number, threading.get_ident())), number)
    made.finish()
    assert [number for number, _ in done] == list(range(100))
    assert {thread for _, thread in done}.isdisjoint({threading.get_ident()})


def test_few_pieces_wait() -> None:
    begun: list[int] = []

    def work(number: int) -> None:
        begun.append(number)
        time.sleep(0.01)

    with Background(2) as made:
        for number in range(6):
            made.do(work, number)
            assert number - len(begun) <= 2
    assert begun == list(range(6))


@pytest.mark.parametrize("more", [0, 100])
def test_an_error_comes_out(more: int) -> None:
    def fail(number: int) -> None:
        if number == 1:
            raise OSError("No space left on device")

    made = Background()
    with pytest.raises(OSError, match="No space left"):
        for number in range(2 + more):
            made.do(fail, number)
        made.finish()
