"""The search at the fields of a frame: what it finds, in which order, and that it ends."""

import random

import pytest

from kcli.grammar import frames
from kcli.grammar.slips import search
from kcli.grammar.slips.places import Layout
from kcli.grammar.slips.search import Hint, field_hints, likeliest, oddness_of

HEADER = {"requestApiKey": 1, "requestApiVersion": 12, "correlationId": 1, "clientId": "c"}
FRAME = frames.encode_request(
    HEADER, {"topics": [{"topic": name, "partitions": [{"partition": 0}]} for name in ("orders", "bills")]}
)
LAYOUT = Layout(*frames.request_codecs(FRAME))


def test_a_slip_is_found_at_its_field_and_mended() -> None:
    at = FRAME.index(b"orders") - 1
    (hint, *_) = likeliest(field_hints(LAYOUT, FRAME[:at] + b"\0\6" + FRAME[at + 1 :]))
    assert (hint.slip, hint.at, hint.frame) == ("non-compact", at, FRAME)
    assert hint.text() == f"with a compact length of topics[0].topic at {at:#x}: was it written as int16?"
    assert hint.text(4).endswith(f"at {at + 4:#x}: was it written as int16?")


def hint(slip: str, at: int, frame: bytes, odd: float) -> Hint:
    return Hint(slip, at, "with it", "was it?", frame, odd)


def test_the_likeliest_come_first_and_none_twice() -> None:
    best, next_, far = hint("a", 1, b"1", 0.0), hint("b", 2, b"2", 1.0), hint("c", 3, b"3", 20.0)
    same_slip, same_place = hint("a", 9, b"1", 0.5), hint("z", 1, b"1", 0.5)
    assert likeliest([far, next_, same_slip, same_place, best]) == [best, next_]
    assert len(likeliest([hint("a", n, bytes([n]), 0.0) for n in range(9)])) == 3
    assert likeliest([]) == []


def test_values_that_are_likely_are_less_odd() -> None:
    damaged = FRAME.replace(b"orders", b"\0\0ders")
    assert oddness_of(LAYOUT, FRAME) < oddness_of(LAYOUT, damaged)


def test_tries_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = list[bytes]()

    def reads(data: bytes) -> bool:
        tried.append(data)
        return False

    monkeypatch.setattr(LAYOUT, "reads", reads)
    monkeypatch.setattr(search, "TRIES", 10)
    field_hints(LAYOUT, FRAME[:-1])
    assert len(tried) == 10
    tried.clear()
    monkeypatch.setattr(search, "TRIED", 3 * len(FRAME))
    field_hints(LAYOUT, FRAME[:-1])
    assert len(tried) == 3


def test_large_frames_are_left_alone() -> None:
    large = FRAME + bytes(search.LARGEST)
    assert field_hints(LAYOUT, large) == []
    assert oddness_of(LAYOUT, large) == 0.0


def test_any_bytes_have_an_answer() -> None:
    chance, hints = random.Random(7), 0
    for number in range(120):
        cut = FRAME[: chance.randrange(len(FRAME))] + chance.randbytes(chance.randrange(9))
        data = bytearray(cut if number % 2 else FRAME)
        for _ in range(chance.randrange(4)):
            data[chance.randrange(len(data))] = chance.randrange(256) if data else 0
        for found in field_hints(LAYOUT, bytes(data)):
            assert LAYOUT.reads(found.frame)
            hints += 1
    assert hints > 100
