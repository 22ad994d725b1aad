"""Brokers that close connections instead of answering, each reason beside connections that go on; lost directories."""

from pathlib import Path

import pytest

from tests.capture.messages import request
from tests.capture.wires import ACK, FIN, RST, Wire
from tests.records.slips.making import batch_bytes
from tests.rules.test_by_hand import SECOND, Body, Talk, fetched, found, produced, told
from tests.rules.test_sharing import later

ASKED: Body = {"topics": [{"name": "orders"}]}
ANSWER: Body = {"brokers": [], "topics": []}


def working(port: int = 49000) -> Talk:
    """A client that is answered, from before the others to behind them."""
    talk = Talk("works", port)
    for _ in range(30):
        talk.call(3, 12, ASKED, ANSWER)
    return talk


def write(size: int) -> bytes:
    parts = [{"index": 0, "records": batch_bytes([(b"k", bytes(size))])}]
    return request(0, 9, 2, {"acks": -1, "topicData": [{"name": "orders", "partitionData": parts}]}, "client")


def ended(number: int, sent: bytes, *, greets: bool = True, by: int = 1) -> Wire:
    """A connection on which this is sent, in part or whole, and that the broker (1) or the client (0) ends then."""
    talk = Talk("client", 41000 + number)
    if greets:
        talk.call(3, 12, ASKED, ANSWER, 0)
    for at in range(0, len(sent), 1400):
        talk.wire.client(sent[at : at + 1400])
    talk.wire.add(by, (RST if number % 2 else FIN) | ACK)
    return later(talk, (number + 1) * SECOND).wire


@pytest.mark.parametrize("by", [1, 0])
def test_requests_larger_than_the_broker_takes(by: int, tmp_path: Path) -> None:
    sent = write(100_000)
    findings = found(tmp_path, working(), *(ended(number, sent[:30_000], by=by) for number in range(4)))
    if by:
        finding = told(findings, "broker-hangs-up", client="client")
        assert (finding.evidence["times"], finding.evidence["request_bytes"]) == (4, len(sent))
        assert "socket.request.max.bytes" in finding.advice and "max.request.size" in finding.advice
    else:
        assert not findings
    assert not found(tmp_path, working(), *(ended(number, write(1000)[:500]) for number in range(4))), "a small one"


@pytest.mark.parametrize("spoken", [True, False])
def test_requests_of_versions_that_the_broker_lacks(spoken: bool, tmp_path: Path) -> None:
    """Kafka 4 has no Produce below version 3, and says nothing to it."""
    sent = request(0, 2, 2, {"acks": 1, "timeoutMs": 9, "topicData": []}, "client")
    others = Talk("others", 48000)
    for version in (2, 9) if spoken else (9,):
        others.call(0, version, {"acks": 1, "topicData": []}, {"responses": []})
    findings = found(tmp_path, working(), others, *(ended(number, sent) for number in range(4)))
    if spoken:
        assert not findings
    else:
        finding = told(findings, "broker-hangs-up", client="client")
        assert finding.evidence["versions"] == ["PRODUCE v2"] and "upgrade client" in finding.advice


@pytest.mark.parametrize("answers", [True, False])
def test_more_connections_of_an_address_than_the_broker_takes(answers: bool, tmp_path: Path) -> None:
    sent = request(3, 12, 1, ASKED, "client")
    links = [ended(number, sent, greets=answers) for number in range(4)]
    findings = found(tmp_path, working(), *links)
    if answers:
        assert not findings, "a request is lost with a connection that worked"
    else:
        finding = told(findings, "broker-hangs-up", client="client", host=["10.0.0.1"])
        assert "max.connections.per.ip" in finding.advice
    assert not found(tmp_path, *(ended(number, sent, greets=False) for number in range(4))), "nobody is answered"


def test_a_listener_that_wants_a_login(tmp_path: Path) -> None:
    other = Talk("other", 48000)
    other.call(17, 1, {"mechanism": "PLAIN"}, {"errorCode": 0, "mechanisms": ["PLAIN"]})
    other.call(36, 2, {"authBytes": b"\0a\0b"}, {"errorCode": 0, "errorMessage": None, "authBytes": b""})
    for _ in range(6):
        other.call(3, 12, ASKED, ANSWER)
    sent = request(3, 12, 1, ASKED, "client")
    links = [ended(number, sent, greets=False) for number in range(4)]
    finding = told(found(tmp_path, other, *links), "broker-hangs-up", client="client")
    assert "METADATA v12 without a login" in finding.text and "security.protocol" in finding.advice


def test_a_directory_that_is_lost(tmp_path: Path) -> None:
    """Errors of what lies there, beside another topic that goes on."""
    others = produced(Talk("others", 41000), 6, 0, "payments")
    lost = produced(Talk("writer", 42000), 12, 56), fetched(Talk("reader", 43000), 12, error=56)
    finding = told(found(tmp_path, others, *lost), "storage-error", topic=["orders"], client=["reader", "writer"])
    assert finding.evidence["errors"] == 24 and finding.evidence["partitions"] == 1
    assert not found(tmp_path, others)
