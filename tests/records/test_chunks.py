import pytest

from kcli.records.chunks import cut_chunks
from kcli.records.conversion import Slice
from tests.records.vectors import named

ONE = named("one-record")


@pytest.mark.parametrize("chunk_bytes", [1, 50, 70, 150, 1000])
def test_chunks_cover_everything_once_and_end_between_batches(chunk_bytes: int) -> None:
    data, at = ONE * 20, 0
    for chunk in cut_chunks(Slice.of(data).read, 0, chunk_bytes):
        assert chunk.base == at and chunk.stop % len(ONE) == 0
        assert bytes(chunk.data[: chunk.size]) == data[at : at + chunk.size]
        at += chunk.stop
    assert at == len(data)


def test_each_batch_is_seen_with_the_one_behind_it() -> None:
    for chunk in cut_chunks(Slice.of(ONE * 20).read, 0, 300):
        assert chunk.last or chunk.size - chunk.stop >= len(ONE)


def test_going_on_elsewhere() -> None:
    chunks = cut_chunks(Slice.of(ONE * 20).read, 0, 300)
    first = next(chunks)
    again = chunks.send((first.base + 68, True))
    assert again.base == 68 and again.size > first.size


def test_buffers_are_used_again() -> None:
    spare: list[bytearray] = []
    buffers = set()
    for chunk in cut_chunks(Slice.of(ONE * 100).read, 0, 300, spare):
        buffers.add(id(chunk.data))
        spare.append(bytearray(300))
    assert len(buffers) > 1


def test_nothing_gives_no_chunk() -> None:
    assert list(cut_chunks(Slice.of(b"").read)) == []
