"""Frames out of a stream: whatever the pieces, with memory for what came and not for what was claimed."""

import random

import pytest

from kcli.broker.net.read_buffers import SCRATCH, ReadBuffers
from kcli.broker.net.receiving import FIRST, LONG, FrameBuffer, FrameReader, TooLongError
from kcli.broker.net.request_queue import RequestQueue

LIMIT = 10_000_000


def feed(reader: FrameReader, data: bytes, sizes: list[int]) -> list[bytes]:
    frames: list[bytes] = []
    at = 0
    while at < len(data):
        view = reader.buffer()
        size = min(len(view), len(data) - at, sizes[at % len(sizes)])
        view[:size] = data[at : at + size]
        at += size
        frames += map(bytes, reader.take(size))
    return frames


def new() -> FrameReader:
    return FrameReader(ReadBuffers(), LIMIT)


@pytest.mark.parametrize("sizes", [[1], [3], [4096], [SCRATCH], [1, 7, 70_000, SCRATCH]])
def test_any_pieces(sizes: list[int]) -> None:
    chance = random.Random(1)
    lengths = [0, 1, 3, 4, 5, 1000, 65_535, 65_536, 300_000, 2] if sizes != [1] else [0, 1, 5, 1000]
    frames = [chance.randbytes(length) for length in lengths]
    stream = b"".join(len(frame).to_bytes(4, "big") + frame for frame in frames)
    reader = new()
    assert feed(reader, stream, sizes) == frames
    assert reader.held == 0


@pytest.mark.parametrize("length", [-1, LIMIT + 1, -(1 << 31), (1 << 31) - 1])
def test_lengths_out_of_bounds(length: int) -> None:
    with pytest.raises(TooLongError, match=r"socket\.request\.max\.bytes"):
        feed(new(), length.to_bytes(4, "big", signed=True), [4])


def test_a_claim_is_not_believed() -> None:
    reader = new()
    feed(reader, LIMIT.to_bytes(4, "big") + bytes(1000), [SCRATCH])
    assert reader.held == 1000
    assert len(reader.buffer()) < 300_000


def test_a_long_frame_has_the_memory_of_an_earlier_one() -> None:
    queue = RequestQueue(buffers := ReadBuffers(), LIMIT)
    data = random.Random(3).randbytes(3 * FIRST)
    for size in (len(data), len(data) - 1, LONG, len(data), LONG - 1, len(data)):
        sent = size.to_bytes(4, "big") + data[-size:]
        while sent:
            view = queue.buffer()
            count = min(len(view), len(sent))
            view[:count] = sent[:count]
            sent = sent[count:]
            queue.receive(count)
        frame = queue.take()
        assert frame == data[-size:]
        queue.free(frame)
    spare = buffers.lend()
    assert spare is not None and len(spare) == len(data)
    assert buffers.lend() is None


def test_two_readers_share_the_scratch() -> None:
    buffers = ReadBuffers()
    one, two = FrameReader(buffers, LIMIT), FrameReader(buffers, LIMIT)
    first, second = b"\0\0\0\x05abcde", b"\0\0\0\x03xyz"
    got = [feed(one, first[:6], [6]), feed(two, second[:5], [5]), feed(one, first[6:], [9]), feed(two, second[5:], [9])]
    assert got == [[], [], [b"abcde"], [b"xyz"]]


@pytest.mark.parametrize("have", [0, 1, FIRST - 1, FIRST, FIRST + 1, 3 * FIRST])
@pytest.mark.parametrize("room", [None, 10, FIRST, 8 * FIRST])
def test_one_frame_in_place(have: int, room: int | None) -> None:
    """There is room for more at all times, and never for what is behind the frame."""
    data = random.Random(2).randbytes(5 * FIRST + 3)
    frame = FrameBuffer(len(data), data[:have], None if room is None else bytearray(b"x" * room))
    whole = False
    while not whole:
        assert frame.came == data[: frame.filled]
        view = frame.buffer()
        size = min(len(view), 100_000)
        assert 0 < size <= len(data) - frame.filled
        view[:size] = data[frame.filled : frame.filled + size]
        whole = frame.take(size)
    assert frame.came == data
