from __future__ import annotations

import pytest

from kcli.records.conversion import Slice
from kcli.records.pieces import cut_pieces
from tests.records.vectors import named

ONE = named("one-record")


@pytest.mark.parametrize("piece_bytes", [1, 50, 70, 150, 1000])
def test_pieces_cover_everything_once_and_end_between_batches(piece_bytes: int) -> None:
    data, at = ONE * 20, 0
    for piece in cut_pieces(Slice.of(data).read, 0, piece_bytes):
        assert piece.base == at and piece.stop % len(ONE) == 0
        assert bytes(piece.data[: piece.size]) == data[at : at + piece.size]
        at += piece.stop
    assert at == len(data)


def test_each_batch_is_seen_with_the_one_behind_it() -> None:
    for piece in cut_pieces(Slice.of(ONE * 20).read, 0, 300):
        assert piece.last or piece.size - piece.stop >= len(ONE)


def test_going_on_elsewhere() -> None:
    pieces = cut_pieces(Slice.of(ONE * 20).read, 0, 300)
    first = next(pieces)
    again = pieces.send((first.base + 68, True))
    assert again.base == 68 and again.size > first.size


def test_buffers_are_used_again() -> None:
    spare: list[bytearray] = []
    buffers = set()
    for piece in cut_pieces(Slice.of(ONE * 100).read, 0, 300, spare):
        buffers.add(id(piece.data))
        spare.append(bytearray(300))
    assert len(buffers) > 1


def test_nothing_gives_no_piece() -> None:
    assert list(cut_pieces(Slice.of(b"").read)) == []
