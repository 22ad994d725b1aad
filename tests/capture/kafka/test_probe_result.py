"""What is no Kafka, and what is all the same."""

from collections.abc import Callable
from typing import Any

import pytest

from kcli.capture.kafka.events import Event
from kcli.capture.kafka.exchange import Exchange
from tests.capture.messages import metadata
from tests.capture.traffic import events, summary
from tests.capture.wires import ACK, Wire

Read = Callable[[Any], list[Exchange | Event]]


@pytest.mark.parametrize(
    ("start", "reason"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(40), "TLS"),
        (b"GET / HTTP/1.1\r\nHost: example\r\n\r\n", "HTTP (a request)"),
        (b"\0\0\0\x20" + b"\x7f\xff" * 20, "begins with"),
        (b"hi", "begins with no request of Kafka's"),
    ],
)
def test_what_is_not_kafka_is_counted_and_said(read: Read, start: bytes, reason: str) -> None:
    items = read(Wire().open().client(start).server(b"whatever the answer is").client(b"more").close())
    assert summary(items) == ["not-kafka"]
    event = events(items)[0]
    assert event.reason.startswith(reason) and event.size == len(start) + 26


def test_a_server_that_speaks_first_is_not_kafka(read: Read) -> None:
    wire = Wire().open().server(b"SSH-2.0-OpenSSH_9.2\r\n").client(b"SSH-2.0-other_client\r\n").close()
    assert summary(read(wire)) == ["not-kafka"]


def test_a_request_that_was_cut_short_is_kafka_all_the_same(read: Read) -> None:
    """What the capture has of it tells, however its connection goes on."""
    wire = Wire().open()
    cut = wire.add(0, ACK, metadata(1)[0])
    wire.packets[-1] = cut._replace(data=cut.data[:-9], length=len(cut.data))
    items = read(wire.server(b"\0\0"))
    assert "not-kafka" not in summary(items)
    assert "Metadata v12 request 1" in events(items)[1].reason
