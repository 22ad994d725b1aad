"""Packets in a draft: filled in later, repeated ones alike, wherever their bytes stand."""

import random
from pathlib import Path
from typing import Any

import pytest

from kcli.core.capture import draft as core
from kcli.redact.draft_packets import KEPT, DraftPacket, Extents
from tests.oracle.redact import draft as module
from tests.oracle.redact.draft import CAPTURED, Draft


def packet(data: bytes, ns: int = 1) -> DraftPacket:
    return DraftPacket(ns, 1, 3, len(data), (14, 34, 54), CAPTURED, bytearray(data))


@pytest.mark.parametrize("tail", [0, 1 << 20])
def test_packets_come_back_as_they_were_filled_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tail: int) -> None:
    monkeypatch.setattr(module, "TAIL", tail)
    draft = Draft(str(tmp_path))
    places = [draft.add(packet(b"....." * 3, ns)) for ns in range(5)]
    for number, place in enumerate(places):
        draft.fill(place + 5, b"%05d" % number)
        assert draft.read(place, 12) == b".....%05d.." % number
    assert list(draft.packets()) == [packet(b".....%05d....." % number, number) for number in range(5)]
    assert not list(tmp_path.iterdir()), "the file has no name"
    draft.close()


@pytest.mark.parametrize("new_draft", [Draft, core.Draft])
def test_every_order_of_packets_gives_the_same_bytes(new_draft: Any) -> None:
    """A stream in packets that overlap, are repeated and come in any order; what is decided is filled in between."""
    rng = random.Random(7)
    for _ in range(60):
        stream = bytes(rng.randrange(1, 255) for _ in range(400))
        draft = new_draft()
        extents = Extents(draft)
        pieces = []
        for start in range(0, 400, 20):
            size = rng.randrange(20, 50)
            pieces += [(start, stream[start : start + size])] * rng.choice((1, 1, 2))
        rng.shuffle(pieces)
        places, here, done = [], set[int](), 0
        for start, data in pieces:
            place = draft.add(packet(b"\xff" * len(data)))
            extents.add(start, len(data), place)
            places.append((place, start, data))
            here.update(range(start, start + len(data)))
            whole = next(at for at in range(done, 500) if at not in here)
            end = rng.randrange(done, whole + 1)
            extents.fill(done, stream[done:end])
            extents.settled = done = end
        extents.fill(done, stream[done:])
        assert all(draft.read(place, len(data)) == data for place, _, data in places)
        draft.close()


def test_memory_is_bounded_by_what_is_open() -> None:
    draft = core.Draft()
    extents = Extents(draft)
    for first in range(0, 100_000, 10):
        extents.add(first, 10, draft.add(packet(b"\xff" * 10)))
        extents.settled = first
    assert len(extents.entries) <= 4 * KEPT + 2
    draft.close()
