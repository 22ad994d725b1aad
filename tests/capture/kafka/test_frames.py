"""Frames: what a request looks like, and finding frames in the middle of bytes."""

import random

import pytest

from kcli.capture.kafka.bodies import Bodies
from kcli.capture.kafka.frames import (
    EFFORT,
    FrameStream,
    acks_of,
    find_request,
    find_response,
    plausible_request,
    produce_head,
)
from kcli.capture.kafka.pending import Pending, PendingRequests
from tests.capture.messages import api_versions, metadata, produce, request

BODIES = Bodies()


def stream(data: bytes) -> FrameStream:
    made = FrameStream(False)
    made.receive(data)
    return made


def waiting(*requests: tuple[int, int, int]) -> PendingRequests:
    """Requests by (correlation id, api key, version)."""
    return PendingRequests(Pending(*each, 0, b"") for each in requests)


@pytest.mark.parametrize(
    "data",
    [
        metadata(1)[0],
        produce(2)[0],
        request(7, 0, 3, {"brokerId": 1}, None),
        request(3, 1, 2**31 - 1, {"topics": None}, None),
        request(3, 1, 0, {"topics": None}, ""),
        request(3, 1, 0, {"topics": None}, "größe-数据"),
    ],
)
def test_requests_are_plausible(data: bytes) -> None:
    assert plausible_request(data, 0, BODIES)
    assert plausible_request(b"xx" + data, 2, BODIES, found=True)


@pytest.mark.parametrize(
    "change",
    [
        (0, b"\x7f"), (0, b"\0\0\0\3"), (4, b"\x40\0"), (8, b"\xff"), (12, b"\x7f\xff"), (12, b"\xff\xfe"),
    ],
)  # fmt: skip
def test_what_is_no_request_is_not(change: tuple[int, bytes]) -> None:
    at, value = change
    data = metadata(1)[0]
    assert plausible_request(data[:at] + value + data[at + len(value) :], 0, BODIES) is False


@pytest.mark.parametrize("version", [b"\xff\xff", b"\x03\xe7", b"\0\x0e"])
def test_any_version_may_begin_a_connection_but_is_not_looked_for(version: bytes) -> None:
    data = metadata(1)[0]
    data = data[:6] + version + data[8:]
    assert plausible_request(data, 0, BODIES) is True
    assert plausible_request(data, 0, BODIES, found=True) is False


@pytest.mark.parametrize("name", ["a\tb", "a\nb", "\x1b[2Kx", "\u202ex", "x "])
def test_a_client_id_may_hold_anything(name: str) -> None:
    data = request(3, 1, 5, {"topics": None}, name)
    assert plausible_request(data, 0, BODIES) and find_request(stream(b"xyz" + data), BODIES) == 3


def test_a_few_bytes_tell_nothing() -> None:
    data = metadata(1)[0]
    assert [plausible_request(data[:size], 0, BODIES) for size in (0, 3, 4, 13)] == [None] * 4
    assert plausible_request(b"\xff\xff\xff\xff", 0, BODIES) is False


@pytest.mark.parametrize("junk", [b"", b"\0" * 50, bytes(range(256)), metadata(9)[0][7:]])
def test_a_request_is_found_behind_anything(junk: bytes) -> None:
    assert find_request(stream(junk + metadata(1)[0]), BODIES) == len(junk)
    assert find_request(stream(junk + metadata(1)[0] + produce(2)[0][:20]), BODIES) == len(junk)


def test_a_request_is_found_when_it_is_whole() -> None:
    data = produce(1, records=bytes(3000))[0]
    made = stream(b"\1\2\3")
    for at in range(0, len(data), 100):
        assert find_request(made, BODIES) is None
        made.receive(data[at : at + 100])
    assert find_request(made, BODIES) == 3


def test_noise_has_no_request() -> None:
    chance = random.Random(1)
    for _ in range(20):
        assert find_request(stream(chance.randbytes(5000)), BODIES) is None


def test_a_response_is_found_by_its_correlation_id() -> None:
    answer = metadata(77)[1]
    asked = waiting((5, 3, 12), (77, 3, 12))
    assert find_response(stream(bytes(40) + answer), asked, BODIES) == 40
    assert find_response(stream(bytes(40) + answer[:-1]), asked, BODIES) is None
    assert find_response(stream(bytes(40) + answer), waiting((77, 0, 9)), BODIES) is None
    first = api_versions(5)[1]
    assert find_response(stream(first + answer), waiting((77, 3, 12), (5, 18, 3)), BODIES) == 0


@pytest.mark.parametrize("version", range(13))
@pytest.mark.parametrize("acks", [-1, 0, 1])
def test_acks_of_every_version(version: int, acks: int) -> None:
    data = request(0, version, 1, {"acks": acks, "timeoutMs": 5, "topicData": []})
    assert acks_of(data[4:]) == acks
    assert [acks_of(data[4:end]) for end in range(4, 12)] == [None] * 8


@pytest.mark.parametrize("version", range(14))
def test_acks_as_the_interpreted_grammar_reads_them(version: int) -> None:
    chance = random.Random(version)
    for _ in range(30):
        body: dict[str, int | str] = {"acks": chance.randrange(-1, 2), "timeoutMs": 5}
        if version >= 3:
            body["transactionalId"] = "t" * chance.randrange(40)
        frame = request(0, version, 1, body)[4:]
        cut = frame[: chance.randrange(8, len(frame) + 1)]
        assert acks_of(cut) == produce_head(version, None).interpreted_acks(cut)
    odd = b"\0\0\0\x09\0\0\0\1\xff\xff\0" + b"\x82\0t" + b"\0\0"  # a length of more bytes than it needs
    assert acks_of(odd) == 0


def test_acks_behind_a_transactional_id_and_tags() -> None:
    body = {"transactionalId": "t" * 300, "acks": 0, "timeoutMs": 5, "topicData": []}
    assert acks_of(request(0, 9, 1, body)[4:]) == 0
    assert acks_of(request(0, 3, 1, body)[4:]) == 0


def test_a_stream_moves_on() -> None:
    made = stream(b"abcdef")
    assert made.take(2) == b"ab" and made.offset == 2 and bytes(made.buffer) == b"cdef"
    made.skip = 3
    made.pass_damaged()
    assert (made.skip, made.damaged, bytes(made.buffer)) == (0, 3, b"f")
    assert made.frame_size() is None and stream(b"\0\0\0\5").frame_size() == 5


def test_a_frame_is_taken_when_it_is_whole() -> None:
    made = stream(b"\0\0\0\4abcd\0\0\0\5efgh")
    assert made.take_frame(8) == 4 and made.offset == 0
    assert made.take_frame(4) == b"abcd" and made.offset == 8
    assert made.take_frame(4) is None and bytes(made.buffer) == b"\0\0\0\5efgh"
    assert stream(b"\0\0").take_frame(0) is None and stream(b"\xff\xff\xff\xff").take_frame(0) == -1


def test_among_many_that_wait_each_is_found() -> None:
    asked = waiting(*((number, 3, 12) for number in range(1000, 1100)))
    answer = metadata(1077)[1]
    assert find_response(stream(bytes(40) + answer), asked, BODIES) == 40
    assert find_response(stream(bytes(40) + metadata(99)[1]), asked, BODIES) is None


def test_a_search_goes_on_where_it_stood() -> None:
    """Bytes come a few at a time, old ones are given up: the answer is found where it is."""
    answer = metadata(77)[1]
    other = metadata(5)[1]
    data = random.Random(3).randbytes(300) + answer[:8] + bytes(20) + answer
    made, given = FrameStream(False), 0
    found = None
    for at in range(0, len(data), 7):
        made.receive(data[at : at + 7])
        found = find_response(made, waiting((5, 3, 12), (77, 3, 12)), BODIES)
        if found is None and at == 203:
            given = len(made.take(200))
            made.dropped(200)
    assert found is not None
    assert given + found == len(data) - len(answer)
    made.unsync()
    made.buffer[:] = other
    assert find_response(made, waiting((5, 3, 12)), BODIES) == 0


def test_a_search_decodes_no_more_than_some_times_what_came() -> None:
    """Each of many places says that a long frame begins there."""
    made = stream((b"\0\0\xff\xff" + b"\0\0\0\5") * 30_000)
    assert find_response(made, waiting((5, 3, 12)), BODIES) is None
    assert made.effort + EFFORT * made.received < 1 << 16
