"""Responses on their way: those with addresses are rewritten when they are whole, all else passes as it comes."""

from __future__ import annotations

import random
from collections import deque

from kcli.client.address import Address
from kcli.grammar import frames
from kcli.proxy.request_stream import TOKEN, Awaited
from kcli.proxy.response_stream import ResponseStream
from kcli.proxy.rewriting import AddressRewriter

METADATA, API_VERSIONS, FETCH = 3, 18, 1


def sized(frame: bytes) -> bytes:
    return len(frame).to_bytes(4, "big") + frame


def metadata(number: int, host: str, port: int) -> bytes:
    rows = [{"nodeId": 1, "host": host, "port": port, "rack": "r"}]
    return sized(frames.encode_response({"correlationId": number}, METADATA, 12, {"brokers": rows, "topics": []}))


def stream(*awaited: Awaited, limit: int = 1 << 20, notes: list[str] | None = None) -> ResponseStream:
    lines = [] if notes is None else notes
    rewriter = AddressRewriter(lambda node, there, reached: Address(reached, 9192), lines.append)
    return ResponseStream(deque(awaited), rewriter, "a-longer-host", limit, lines.append)


SAID = (
    sized(b"\0\0\0\1" + b"v" * 50)
    + metadata(2, "b", 9092)
    + sized(b"\0\0\0\3" + b"r" * 5000)
    + sized(b"")
    + sized(b"ok")
)
PASSED = SAID.replace(metadata(2, "b", 9092), metadata(2, "a-longer-host", 9192))
ASKED = (Awaited(API_VERSIONS, 3, 1), Awaited(METADATA, 12, 2), Awaited(FETCH, 4, 3), TOKEN, TOKEN)


def test_addresses_are_rewritten_wherever_a_response_is_cut() -> None:
    for cut in range(len(SAID) + 1):
        one = stream(*ASKED)
        assert one.feed(SAID[:cut])[0] + one.feed(SAID[cut:])[0] == PASSED, cut
        assert not one.awaited
    one = stream(*ASKED)
    assert b"".join(one.feed(SAID[at : at + 1])[0] for at in range(len(SAID))) == PASSED


def test_what_is_not_rewritten_is_not_held() -> None:
    one = stream(Awaited(FETCH, 4, 3))
    data = sized(b"\0\0\0\3" + b"r" * 5000)
    assert one.feed(data[:6]) == (b"", b"")
    assert one.feed(data[6:10]) == (data[:10], data[:10])
    assert one.feed(data[10:]) == (data[10:], data[10:])


def test_one_above_the_limit_passes_and_is_mentioned() -> None:
    notes: list[str] = []
    data = metadata(2, "b", 9092)
    assert stream(Awaited(METADATA, 12, 2), limit=10, notes=notes).feed(data) == (data, data)
    assert notes == [
        f"a response of {len(data) - 4:,} bytes passes unread: addresses in it, if any, are the broker's own"
    ]


def test_from_a_response_to_nothing_on_all_passes() -> None:
    for awaited, why in (
        ((), "answers no request"),
        ((Awaited(METADATA, 12, 9),), "answered request 9 with correlation"),
    ):
        notes: list[str] = []
        one = stream(*awaited, notes=notes)
        assert one.feed(SAID[:30])[0] + one.feed(SAID[30:])[0] == SAID
        assert len(notes) == 1
        assert why in notes[0]


def test_the_record_has_the_addresses_of_the_broker() -> None:
    one = stream(*ASKED)
    assert b"".join(one.feed(SAID[at : at + 7])[1] for at in range(0, len(SAID), 7)) == SAID


def test_any_bytes_pass() -> None:
    chance = random.Random(1)
    for _ in range(300):
        data = SAID[: chance.randrange(90)] + chance.randbytes(chance.randrange(300))
        one = stream(*ASKED * 3)
        made = b"".join(one.feed(data[at : at + 40])[0] for at in range(0, len(data), 40))
        held = len(one._rest)
        assert len(made) + held >= len(data)


def test_what_is_held_passes_when_it_gives_up() -> None:
    notes: list[str] = []
    one = stream(*ASKED[1:], notes=notes)
    start, rest = metadata(2, "b", 9092)[:20], metadata(2, "b", 9092)[20:]
    assert one.feed(start) == (b"", b"")
    for _ in range(2):
        one.give_up("that is enough")
    assert notes == ["that is enough: from here on, its responses pass unread"]
    assert not one.awaited
    assert one.feed(rest) == (start + rest, start + rest)
    assert one.feed(b"x") == (b"x", b"x")
