"""Memory that is used again, and not too much of it."""

from kcli.broker.net.read_buffers import MOST_SPARE, ReadBuffers


def test_what_is_given_back_is_lent_again() -> None:
    buffers = ReadBuffers()
    assert buffers.lend() is None
    one, other = bytearray(5), bytearray(7)
    buffers.give_back(one)
    buffers.give_back(other)
    assert buffers.lend() is other
    assert buffers.lend() is one
    assert buffers.lend() is None


def test_no_more_than_so_much_waits() -> None:
    buffers = ReadBuffers()
    half = MOST_SPARE // 2
    for _ in range(3):
        buffers.give_back(bytearray(half))
    buffers.give_back(bytearray(1))
    lent = []
    while (buffer := buffers.lend()) is not None:
        lent.append(len(buffer))
    assert lent == [half, half]
    buffers.give_back(bytearray(MOST_SPARE))
    assert len(buffers.lend() or b"") == MOST_SPARE
