"""Whether a connection is Kafka's: what proves it, what speaks against it, and other protocols that look like it."""

import struct
from collections.abc import Callable
from typing import Any

import pytest

from kcli.capture.kafka.bodies import Bodies
from kcli.capture.kafka.events import Event
from kcli.capture.kafka.exchange import Exchange
from kcli.capture.kafka.kafka_probe import ENOUGH_SIGNS, ITEM_SIZE, Trial
from kcli.capture.kafka.pending import Pending
from tests.capture.messages import metadata, produce, request
from tests.capture.wires import Wire, frame

Read = Callable[[Any], list[Exchange | Event]]
BODIES = Bodies()


def pending(asked: bytes) -> Pending:
    key, version, number = struct.unpack(">hhi", asked[4:12])
    return Pending(number, key, version, 0, asked[4:])


def kinds(items: list[Exchange | Event]) -> list[str]:
    return [item.kind if isinstance(item, Event) else item.api_name for item in items]


def odd_request(version: int, number: int = 1, client: bytes = b"odd") -> bytes:
    return frame(struct.pack(">hhih", 0, version, number, len(client)) + client + b"\0\1\0\0\3\xe8\0\0\0\0")


def test_an_exchange_that_decodes_is_proof() -> None:
    made, (asked, answer) = Trial(), metadata(1)
    made.see_request(pending(asked), BODIES)
    assert not made.proved and made.convinces(False) and made.convinces(True)
    assert made.see_response(pending(asked), answer[4:], BODIES)
    assert not made.see_response(pending(asked), answer[4:-2], BODIES)
    assert made.against == 1 and made.convinces(False) and not made.convinces(True)


def test_two_requests_are_proof_and_misfits_are_not() -> None:
    made = Trial()
    for number in range(2):
        made.see_request(pending(metadata(number)[0]), BODIES)
    assert made.proved
    other = Trial()
    for _ in range(16):
        other.see_request(pending(metadata(1)[0][:-3]), BODIES)
    assert other.against == 16 and other.fails(False) and not other.convinces(False)


def test_unknown_versions_are_signs() -> None:
    made = Trial()
    made.see_request(pending(odd_request(-1)), BODIES)
    made.see_request(pending(odd_request(99, client=b"")), BODIES)
    assert made.state == (0, 1, 0, False, False) and made.convinces(True)
    made.see_contradiction()
    assert not made.convinces(True)
    lossy = Trial((0, 1, 0, True, False))
    lossy.see_contradiction()
    assert lossy.convinces(True)


def test_what_is_held_has_a_size() -> None:
    made = Trial()
    made.hold(Event("gap", "a-b", 0, 0, 5, "why"))
    made.hold(Exchange(None, 0, b"x" * 10, 1, b"y" * 20, BODIES))  # type: ignore[arg-type]
    assert made.size == 2 * ITEM_SIZE + 10 + 20 + 8
    assert len(made.release()) == 2 and made.size == 0 and made.held == []


@pytest.mark.parametrize("version", [-1, -32768, 99, 999])
def test_a_connection_that_begins_with_an_unknown_version_is_kafkas(read: Read, version: int) -> None:
    asked, answer = odd_request(version), frame(struct.pack(">ii", 1, 0))
    items = read(Wire().open().client(asked).server(answer).close())
    assert kinds(items) == ["PRODUCE"]
    (item,) = items
    assert isinstance(item, Exchange) and item.request is None and item.response is None
    assert f"Produce has no version {version} (known: 0-" in item.failures[0].reason
    assert kinds(read(Wire().open().client(asked).close())) == ["undecodable"]


def test_enough_signs_are_proof_by_the_last_answer(read: Read) -> None:
    misfit = metadata(9)[0][:-3] + b"\xff\xff\xff"
    for answers, proof in ((ENOUGH_SIGNS // 2, True), (ENOUGH_SIGNS // 2 - 1, False)):
        wire = Wire().open()
        for number in range(answers):
            wire.client(odd_request(99, number)).server(frame(struct.pack(">ii", number, 0)))
        items = read(wire.client(misfit).close())
        assert kinds(items) == (["PRODUCE"] * answers + ["METADATA", "unanswered-at-end"] if proof else ["not-kafka"])


def smpp(command: int, status: int, number: int, body: bytes = b"") -> bytes:
    """A PDU of SMPP 3.4: its length and command stand where Kafka's length, key and version are."""
    return struct.pack(">IIII", 16 + len(body), command, status, number) + body


def test_smpp_is_not_kafka(read: Read) -> None:
    wire = Wire(server=("10.0.0.2", 2775)).open()
    for number, (command, body) in enumerate([(9, b"user\0secret\0\0\x34\0\0\0"), (0x15, b""), (4, b"\0\1\1" * 20)], 1):
        wire.client(smpp(command, 0, number, body)).server(smpp(0x80000000 | command, 0, number, b"host\0"))
    items = read(wire.close())
    assert kinds(items) == ["not-kafka"]
    assert isinstance(items[0], Event) and items[0].size == sum(len(packet.data) - 54 for packet in wire.packets)


HELLO = b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03" + bytes(32)


@pytest.mark.parametrize(
    ("asked", "answer", "why"),
    [
        (HELLO, HELLO, None),
        (
            b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
            b"HTTP/1.1 200 OK\r\n\r\n",
            "HTTP (a request)",
        ),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\0\0\0\4\0\0\0\0\0", "HTTP (a request)"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", b"SSH-2.0-OpenSSH_9.2\r\n", "SSH"),
        (b"\0\0\0\x20\0\3\0\0user\0me\0database\0mine\0\0\0\0", b"R\0\0\0\x08\0\0\0\0", None),
        (metadata(1)[0][:-2] + b"\xff\xff", b"", "nothing in it decodes to its last byte as Kafka's"),
    ],
)
def test_other_protocols_give_one_event(read: Read, asked: bytes, answer: bytes, why: str | None) -> None:
    wire = Wire(server=("10.0.0.2", 443)).open()
    for _ in range(3):
        wire.client(asked)
        if answer:
            wire.server(answer)
    items = read(wire.close())
    assert kinds(items) == ["not-kafka"]
    assert isinstance(items[0], Event) and (why is None or items[0].reason == why)


def test_what_happened_before_the_proof_comes_out_with_it(read: Read) -> None:
    bad = request(3, 12, 1, {"topics": None})[:-1] + b"\xff"
    first, second = produce(2), metadata(3)
    items = read(Wire().open().client(bad + first[0]).server(first[1]).client(second[0]).server(second[1]).close())
    assert kinds(items) == ["PRODUCE", "METADATA", "METADATA", "unanswered-at-end"]
    assert [item.correlation_id for item in items if isinstance(item, Exchange)] == [2, 3, 1]
