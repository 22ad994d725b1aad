"""Responses on their way: those with addresses are rewritten when they are whole, all else passes as it comes."""

import random
from collections import deque
from typing import Any

from kcli.broker.net.read_buffers import ReadBuffers
from kcli.client.address import Address
from kcli.grammar import frames
from kcli.proxy.request_stream import TOKEN, Awaited
from kcli.proxy.response_stream import ResponseStream
from kcli.proxy.rewriting import AddressRewriter
from tests.proxy.talk import feed

METADATA, API_VERSIONS, FETCH = 3, 18, 1


def sized(frame: bytes) -> bytes:
    return len(frame).to_bytes(4, "big") + frame


def metadata(number: int, host: str, port: int) -> bytes:
    rows = [{"nodeId": 1, "host": host, "port": port, "rack": "r"}]
    return sized(frames.encode_response({"correlationId": number}, METADATA, 12, {"brokers": rows, "topics": []}))


def stream(*awaited: Awaited, limit: int = 1 << 20, notes: list[str] | None = None) -> ResponseStream:
    lines = [] if notes is None else notes
    rewriter = AddressRewriter(lambda node, there, reached: Address(reached, 9192), lines.append)
    return ResponseStream(deque(awaited), rewriter, "a-longer-host", ReadBuffers(), limit, lines.append)


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
        assert feed(one, SAID[:cut])[0] + feed(one, SAID[cut:])[0] == PASSED, cut
        assert not one.awaited
    one = stream(*ASKED)
    assert b"".join(feed(one, SAID[at : at + 1])[0] for at in range(len(SAID))) == PASSED


def test_what_is_not_rewritten_is_not_held() -> None:
    one = stream(Awaited(FETCH, 4, 3))
    data = sized(b"\0\0\0\3" + b"r" * 5000)
    assert feed(one, data[:6]) == (b"", b"")
    assert feed(one, data[6:10]) == (data[:10], data[:10])
    assert feed(one, data[10:]) == (data[10:], data[10:])


def test_one_above_the_limit_passes_and_is_mentioned() -> None:
    notes: list[str] = []
    data = metadata(2, "b", 9092)
    assert feed(stream(Awaited(METADATA, 12, 2), limit=10, notes=notes), data) == (data, data)
    assert notes == [
        f"a response of {len(data) - 4:,} bytes passes unread: addresses in it, if any, are the broker's own"
    ]


def test_from_a_response_to_nothing_on_all_passes() -> None:
    for awaited, why in (
        ((), "a response without a request"),
        ((Awaited(METADATA, 12, 9),), "answered request 9 with correlation"),
    ):
        notes: list[str] = []
        one = stream(*awaited, notes=notes)
        assert feed(one, SAID[:30])[0] + feed(one, SAID[30:])[0] == SAID
        assert len(notes) == 1
        assert why in notes[0]


def test_the_record_has_the_addresses_of_the_broker() -> None:
    one = stream(*ASKED)
    assert b"".join(feed(one, SAID[at : at + 7])[1] for at in range(0, len(SAID), 7)) == SAID


def test_any_bytes_pass() -> None:
    chance = random.Random(1)
    for _ in range(300):
        data = SAID[: chance.randrange(90)] + chance.randbytes(chance.randrange(300))
        one = stream(*ASKED * 3)
        made = b"".join(feed(one, data[at : at + 40])[0] for at in range(0, len(data), 40))
        held = len(one._rest) + (one._held.filled if one._held is not None else 0)
        assert len(made) + held >= len(data)


def test_what_is_held_passes_when_it_gives_up() -> None:
    notes: list[str] = []
    one = stream(*ASKED[1:], notes=notes)
    start, rest = metadata(2, "b", 9092)[:20], metadata(2, "b", 9092)[20:]
    assert feed(one, start) == (b"", b"")
    for _ in range(2):
        one.give_up("that is enough")
    assert notes == ["that is enough: from here on, its responses pass unread"]
    assert not one.awaited
    assert feed(one, rest) == (start + rest, start + rest)
    assert feed(one, b"x") == (b"x", b"x")


def fetched(number: int, size: int, *endpoints: dict[str, Any]) -> bytes:
    row = {"partitionIndex": 0, "records": random.Random(number).randbytes(size)}
    body = {"responses": [{"topicId": "AAAAAAAAAAAAAAAAAAAAAQ", "partitions": [row]}], "nodeEndpoints": [*endpoints]}
    return sized(frames.encode_response({"correlationId": number}, FETCH, 17, body))


def test_a_long_response_is_received_in_place() -> None:
    """One that stays as it is goes out of the memory that it came into, which is used again only when it is sent."""
    one = stream(Awaited(FETCH, 17, 1), Awaited(FETCH, 17, 2), Awaited(FETCH, 17, 3))
    pieces: list[bytes | memoryview] = []
    for number in (1, 2, 3):
        said = fetched(number, 700_000)
        assert feed(one, said[:300_000]) == (b"", b"")
        rest = said[300_000:]
        while rest:
            buffer = one.buffer()
            size = min(len(buffer), len(rest))
            buffer[:size], rest = rest[:size], rest[size:]
            pieces.append(one.take(size)[0])
        if number == 2:
            one.release()
    first, second, third = (piece for piece in pieces if piece)
    assert isinstance(first, memoryview) and isinstance(second, memoryview) and isinstance(third, memoryview)
    assert first == fetched(1, 700_000)
    assert third.obj is second.obj is not first.obj
    assert third == fetched(3, 700_000)


def test_a_long_response_is_rewritten_at_its_end() -> None:
    said = fetched(1, 600_000, {"nodeId": 3, "host": "b", "port": 9092}) + metadata(2, "b", 9092)
    passed = fetched(1, 600_000, {"nodeId": 3, "host": "a-longer-host", "port": 9192})
    one = stream(Awaited(FETCH, 17, 1), Awaited(METADATA, 12, 2))
    assert feed(one, said) == (passed + metadata(2, "a-longer-host", 9192), said)


def test_what_the_proxy_answers_goes_behind_a_long_response() -> None:
    said = fetched(1, 600_000)
    one = stream(Awaited(FETCH, 17, 1), Awaited(METADATA, 12, 2, answer=b"answer"))
    assert feed(one, said) == (said + b"answer",) * 2


def test_a_part_of_a_long_response_passes_when_it_gives_up() -> None:
    said = fetched(1, 600_000)
    one = stream(Awaited(FETCH, 17, 1))
    assert feed(one, said[:500_000]) == (b"", b"")
    assert one.proceed() == (b"", b"")
    one.give_up("that is enough")
    assert feed(one, said[500_000:]) == (said, said)
