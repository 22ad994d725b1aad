"""Causes of which a capture, or an answer, shows but a part: each beside the same traffic without it."""

from __future__ import annotations

import contextlib
import ssl
from pathlib import Path
from typing import Any

import pytest

from kcli.diagnose import Finding, diagnose
from tests.capture.messages import request, response
from tests.capture.tls.traffic import Talk as TlsTalk
from tests.capture.wires import ACK, FIN, MILLISECOND, RST, SYN, Wire, pcap
from tests.rules.test_access import findings
from tests.rules.test_by_hand import SECOND, Talk, fetched, found, produced, told
from tests.rules.test_sharing import later


def refused(times: int, address: str = "10.0.0.3", port: int = 9092) -> list[Wire]:
    """Attempts to connect that are refused, one a second."""
    wires = []
    for number in range(times):
        own, start = 46000 + number, Wire().now + number * SECOND
        wire = Wire(client=("10.0.0.1", own), server=(address, port), seq=(own, 2 * own), start=start)
        wire.add(0, SYN)
        wire.add(1, RST | ACK)
        wires.append(wire)
    return wires


def asks_metadata(times: int, hosts: list[str], pause: int = 30 * MILLISECOND, port: int = 9092) -> Talk:
    talk = Talk("gateway")
    brokers = [{"nodeId": node, "host": host, "port": port, "rack": None} for node, host in enumerate(hosts, 1)]
    for _ in range(times):
        talk.call(3, 12, {"topics": None}, {"brokers": brokers, "topics": []}, pause)
    return talk


def test_the_port_of_one_broker_shows_no_connection_to_the_others(tmp_path: Path) -> None:
    """Who asks for Metadata all the time needs none."""
    storm = asks_metadata(300, ["10.0.0.2", "10.0.0.3", "10.0.0.4"])
    told(found(tmp_path, storm), "metadata-storm", client="gateway")
    unreachable = found(tmp_path, asks_metadata(30, ["10.0.0.3", "10.0.0.4"], SECOND))
    assert {each.finding for each in unreachable} == {"wrong-advertised-listener"}


def sent_to(talk: Talk, host: str, times: int) -> Talk:
    """Ask for Metadata of a topic, each second, and be told of one broker at this host."""
    for _ in range(times):
        part = {"partitionIndex": 0, "leaderId": 1, "leaderEpoch": 0, "replicaNodes": [1], "isrNodes": [1]}
        answer = {
            "brokers": [{"nodeId": 1, "host": host, "port": 9092}],
            "topics": [{"name": "orders", "partitions": [part]}],
        }
        talk.call(3, 9, {"topics": [{"name": "orders"}]}, answer, SECOND)
    return talk


@pytest.mark.parametrize("case", ["lost", "works", "same host", "name", "mapped"])
def test_a_client_elsewhere_that_is_told_of_localhost(case: str, tmp_path: Path) -> None:
    """It is told once, and looks on its own host; whoever is beside the broker works. mapped: a client beside it works
    as well.
    """
    host = "kafka.shop.example" if case == "name" else "localhost"
    asking = Talk("asking", broker=1 if case == "same host" else 2)
    sent_to(asking, host, 1)
    if case == "works":
        fetched(asking, 20)
    beside = Talk("beside", 41000)
    if case != "mapped":
        beside.wire = Wire(client=("10.0.0.2", 41000), server=("10.0.0.2", 9092), seq=(1, 2)).open()
    findings = found(tmp_path, asking, fetched(sent_to(beside, host, 1), 20))
    if case == "lost":
        finding = told(findings, "wrong-advertised-listener", client=["asking"])
        assert "sends clients to localhost:9092, where they get no connection: they look for it" in finding.text
    else:
        assert not findings


@pytest.mark.parametrize("lost", [True, False])
def test_a_listener_that_tells_another_address_than_before(lost: bool, tmp_path: Path) -> None:
    """A broker that is started again with another name. A client that keeps its connection works on."""
    kept = fetched(sent_to(Talk("kept", 41000), "10.0.0.2", 1), 50)
    asking = sent_to(fetched(sent_to(Talk("asking"), "10.0.0.2", 1), 6), "new.example", 14)
    findings = found(tmp_path, kept, asking if lost else fetched(asking, 20))
    if lost:
        finding = told(findings, "wrong-advertised-listener", client=["asking"])
        assert "sends clients to new.example:9092 (before, it was 10.0.0.2:9092)" in finding.text
    else:
        assert not findings


def test_who_asks_metadata_once_and_connects_again_and_again(tmp_path: Path) -> None:
    """franz-go, kafka-python 3. One that is refused once may have met a restart."""
    asking = asks_metadata(1, ["10.0.0.3"])
    finding = told(found(tmp_path, asking, *refused(4)), "wrong-advertised-listener", client=["gateway"])
    assert (finding.evidence["attempts"], finding.evidence["refused"]) == (4, 4)
    assert not found(tmp_path, asking, *refused(1))


@pytest.mark.parametrize("sent", [0, 40, 1000])
def test_an_answer_that_a_reset_cuts_was_not_waited_for(sent: int, tmp_path: Path) -> None:
    """Of the answer so many bytes come, a second after the client's FIN. A lost one may have been waited for."""

    def hasty(number: int, after: int) -> Wire:
        port, start = 43000 + number, Wire().now + 2 * number * SECOND
        wire = Wire(client=("10.0.0.7", port), seq=(port, 2 * port), start=start).open()
        wire.client(request(1, 11, 1, {"maxWaitMs": 3000}, "hasty")).add(1, ACK)
        answer = response(1, 11, 1, {"responses": [{"topic": "t" * 900, "partitions": []}]})[:sent]
        wire.now += 400 * MILLISECOND
        if after and sent:
            wire.add(0, FIN)
            wire.now += after
        if sent:
            wire.add(1, ACK, answer)
        if not after or not sent:
            wire.add(0, FIN)
        wire.add(0, RST)
        return wire

    others = produced(Talk("others"), 24, 0)
    finding = told(
        found(tmp_path, others, *(hasty(each, SECOND) for each in range(4))), "request-timeout-too-short",
        client="hasty",
    )  # fmt: skip
    assert (finding.evidence["gave_up"], finding.evidence["answered_later"]) == (4, 4 if sent else 0)
    assert finding.evidence["after_ms"] == pytest.approx(400, abs=20)
    if sent:
        assert not found(tmp_path, others, *(hasty(each, 0) for each in range(4)))


def test_a_client_that_closes_right_behind_the_certificate(tmp_path: Path) -> None:
    """Python's asyncio sends no alert. Twice may be for another reason."""

    def ended(times: int) -> list[Finding]:
        talks = [TlsTalk(tmp_path, port=41000 + number, refuses=0) for number in range(times)]
        for talk in talks:
            with contextlib.suppress(ssl.SSLError):
                talk.shake_hands()
            talk.wire.add(0, FIN)
        return findings(talks, tmp_path)

    [finding] = ended(3)
    assert (finding.finding, finding.severity) == ("expired-certificate", "warning")
    assert (
        finding.evidence["alerts"] == ["closed without an alert"]
        and "read the reason in the log of the client" in finding.advice
    )
    assert not ended(2)


def writes(client: str, port: int, broker: int, acks: int, late: list[int], pause: int = 100) -> Wire:
    """A producer whose answers to these requests, by number, take half a second."""
    talk = Talk(client, port, broker)
    for number in range(200):
        parts = {"name": "orders", "partitionData": [{"index": broker}]}
        talk.wire.client(request(0, 9, number, {"acks": acks, "timeoutMs": 1000, "topicData": [parts]}, client))
        talk.wire.now += 500 * MILLISECOND if number in late else 0
        answer = {"responses": [{"name": "orders", "partitionResponses": [{"index": broker, "baseOffset": number}]}]}
        talk.wire.server(response(0, 9, number, answer)).now += pause * MILLISECOND
    return talk.wire


def follows(broker: int, port: int) -> Talk:
    """A follower that asks a broker."""
    talk = Talk(f"broker-{9 - broker}-fetcher-0", port, broker)
    for number in range(40):
        asked = {"replicaId": 9 - broker, "maxWaitMs": 500, "minBytes": 1, "maxBytes": 1 << 20, "sessionEpoch": number}
        talk.call(1, 11, asked, {"sessionId": 7, "responses": []})
    return talk


def test_writes_that_wait_for_replicas_tell_of_a_slow_broker_beside_others(tmp_path: Path) -> None:
    """One client with acks=1 is late together with those of acks=all, and at this broker alone."""
    late = [*range(5, 195, 12)]
    followed = [follows(2, 47000), follows(3, 47001)]
    well = [writes("one", 41000, 3, 1, []), writes("all", 41001, 3, -1, [])]
    slow = [writes("one", 42000, 2, 1, late), writes("all", 42001, 2, -1, late)]
    assert "10.0.0.2:9092" in told(found(tmp_path, *followed, *well, *slow), "slow-broker").subject["broker"]
    alone = [writes("one", 42000, 2, 1, late), writes("all", 42001, 2, -1, [])]
    assert not found(tmp_path, *followed, *well, *alone), "what a single one sends waits for itself"


def test_a_pause_holds_up_one_answer_of_each(tmp_path: Path) -> None:
    """Few of the answers, and much of the time."""

    def beats(client: str, port: int, broker: int, late: list[int]) -> Wire:
        talk = Talk(client, port, broker)
        for number in range(300):
            talk.wire.client(request(12, 4, number, {"groupId": "g", "generationId": 2, "memberId": "m"}, client))
            talk.wire.now += 2 * SECOND if number in late else 0
            talk.wire.server(response(12, 4, number, {"errorCode": 0})).now += 200 * MILLISECOND
        return talk.wire

    others = [beats("one", 41000, 2, []), beats("two", 41001, 2, [])]
    late = [60, 120, 180, 240]
    slow = [beats("one", 42000, 3, late), beats("two", 42001, 3, late)]
    assert "10.0.0.3:9092" in told(found(tmp_path, *others, *slow), "slow-broker").subject["broker"]
    assert not found(tmp_path, *others, slow[0], beats("two", 42001, 3, []))


@pytest.mark.parametrize(("size", "full"), [(1400, True), (40, False)])
def test_a_line_that_is_full(size: int, full: bool, tmp_path: Path) -> None:
    """What is sent is acknowledged ever later, up to 0.4 s; of a few bytes, that may wait for others."""
    wire = Wire(client=("10.0.9.9", 43000)).open()
    for number in range(60):
        body = {"acks": 1, "timeoutMs": 1000, "topicData": [{"name": "o" * size, "partitionData": [{"index": 0}]}]}
        for part in range(8 if full else 1):
            wire.client(request(0, 9, 8 * number + part, body, "far"))
        wire.now += (400 if number > 5 else 5) * MILLISECOND
        wire.add(1, ACK)
        for part in range(8 if full else 1):
            answer = {"responses": [{"name": "o" * size, "partitionResponses": [{"index": 0, "baseOffset": number}]}]}
            wire.server(response(0, 9, 8 * number + part, answer))
        wire.add(0, ACK)
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap(wire.packets))
    lines = [each for each in diagnose([str(path)]).findings if each.finding == "slow-network"]
    assert [each.subject["host"] for each in lines] == (["10.0.9.9"] if full else [])
    assert not full or "behind a congested link" in lines[0].text


def test_a_name_is_told_by_its_port_and_by_those_who_work(tmp_path: Path) -> None:
    """A capture has addresses, and Metadata may have names, or ports that are mapped."""
    named = asks_metadata(300, ["kafka.shop.example"])
    told(found(tmp_path, named), "metadata-storm", client="gateway")
    mapped = asks_metadata(300, ["10.0.0.99"])
    others = produced(Talk("others", 41000), 24, 0)
    others.call(3, 12, {"topics": []}, {"brokers": [], "topics": []})
    told(found(tmp_path, mapped, others), "metadata-storm", client="gateway")


@pytest.mark.parametrize("error", [0, 3])
def test_a_name_that_may_be_the_listener_s_own(error: int, tmp_path: Path) -> None:
    """Nobody works there, and a client that is told of its topic well asks again; without the topic it has to."""
    talk = Talk("till")
    broker = {"nodeId": 1, "host": "kafka.shop.example", "port": 9092, "rack": None}
    parts = [] if error else [{"partitionIndex": 0, "leaderId": 1, "replicaNodes": [1], "isrNodes": [1]}]
    topic = {"name": "orders", "errorCode": error, "partitions": parts}
    for _ in range(12):
        talk.call(3, 12, {"topics": [{"name": "orders"}]}, {"brokers": [broker], "topics": [topic]}, SECOND)
    told(found(tmp_path, talk), "unknown-topic" if error else "wrong-advertised-listener")


def test_an_id_that_any_broker_gives_is_no_work(tmp_path: Path) -> None:
    """An idempotent producer asks the bootstrap server for it, and finds no way to any other."""
    talk, java = asks_metadata(0, []), Talk("till-java", 41000)
    broker = {"nodeId": 1, "host": "kafka-0.kafka-headless", "port": 9092, "rack": None}
    part = {"partitionIndex": 0, "leaderId": 1, "replicaNodes": [1], "isrNodes": [1]}
    asked, answer = (
        {"topics": [{"name": "orders"}]},
        {"brokers": [broker], "topics": [{"name": "orders", "partitions": [part]}]},
    )
    for _ in range(12):
        talk.call(3, 12, asked, answer, SECOND)
    java.call(3, 12, asked, answer)
    java.call(22, 4, {"transactionalId": None, "transactionTimeoutMs": 60_000}, {"producerId": 7, "producerEpoch": 0})
    told(found(tmp_path, talk, java), "wrong-advertised-listener", client=["gateway"])


def test_a_client_whose_group_is_refused_goes_no_further(tmp_path: Path) -> None:
    talk = Talk("spy")
    broker = {"nodeId": 1, "host": "kafka.shop.example", "port": 9092, "rack": None}
    topic = {
        "name": "orders",
        "partitions": [{"partitionIndex": 0, "leaderId": 1, "replicaNodes": [1], "isrNodes": [1]}],
    }
    for _ in range(12):
        talk.call(3, 12, {"topics": [{"name": "orders"}]}, {"brokers": [broker], "topics": [topic]}, SECOND)
        refused_group = {"key": "g", "nodeId": -1, "host": "", "port": -1, "errorCode": 30, "errorMessage": None}
        talk.call(10, 4, {"keyType": 0, "coordinatorKeys": ["g"]}, {"coordinators": [refused_group]})
    told(found(tmp_path, talk), "authorization-failed", client="spy")


@pytest.mark.parametrize(
    ("kind", "key", "named"),
    [
        (0, "g", {"group": "g", "transactionalId": None}),
        (1, "till", {"group": None, "transactionalId": "till"}),
        (2, "a:b:W8xyjTUQR9-0CdpuyaZHWQ:0", {"group": "a:b", "transactionalId": None}),
    ],
)
def test_a_coordinator_is_that_of_its_kind_of_key(kind: int, key: str, named: dict[str, Any], tmp_path: Path) -> None:
    talk = Talk("worker")
    refusal = {"key": key, "nodeId": -1, "host": "", "port": -1, "errorCode": 15, "errorMessage": None}
    for _ in range(12):
        talk.call(10, 6, {"keyType": kind, "coordinatorKeys": [key]}, {"coordinators": [refusal]}, SECOND)
    finding = told(found(tmp_path, talk), "coordinator-unavailable", **named)
    assert finding.text.startswith(f"{('group', 'transactional id', 'share partition')[kind]} {key} has no coordinator")


def test_attempts_at_a_name_are_those_at_its_port(tmp_path: Path) -> None:
    asking = asks_metadata(1, ["kafka.shop.example"], port=9999)
    told(found(tmp_path, asking, *refused(4, port=9999)), "wrong-advertised-listener", client=["gateway"])
    assert not found(tmp_path, asking, *refused(4, port=9998))


@pytest.mark.parametrize("seen", [True, False])
def test_a_connection_without_a_packet_of_the_broker(seen: bool, tmp_path: Path) -> None:
    """Its requests may have been answered: its client hangs up on nobody."""

    def leaving(number: int) -> Wire:
        port, start = 43000 + number, Wire().now + 2 * number * SECOND
        wire = Wire(client=("10.0.0.7", port), seq=(port, 2 * port), start=start).open()
        wire.client(request(1, 11, 1, {"maxWaitMs": 3000}, "hasty")).add(1, ACK)
        wire.client(request(1, 11, 2, {"maxWaitMs": 3000}, "hasty")).add(1, ACK)
        wire.now += 400 * MILLISECOND
        wire.add(0, FIN)
        client = [packet for packet in wire.packets if packet.data[26:30] == bytes([10, 0, 0, 7])]
        wire.packets = wire.packets if seen else client
        return wire

    causes = [each.finding for each in found(tmp_path, produced(Talk("others"), 24, 0), *map(leaving, range(6)))]
    assert causes == ["request-timeout-too-short"] * seen


@pytest.mark.parametrize("taken", [True, False])
def test_a_broker_that_takes_connections_is_not_gone(taken: bool, tmp_path: Path) -> None:
    """It resets each, one a second; now and then one is refused."""

    def reset(number: int) -> Wire:
        port = 44000 + number
        start = Wire().now + number * SECOND if taken else Wire().now + number * MILLISECOND
        wire = Wire(client=("10.0.0.7", port), seq=(port, 2 * port), start=start).open()
        wire.client(b"\x16\3\1\0\4\1\0\0\0")
        wire.now += 0 if taken else SECOND
        wire.add(1, RST | ACK)
        return wire

    wires = [*map(reset, range(12)), *refused(12, "10.0.0.2")[3::4]]
    causes = {each.finding for each in found(tmp_path, produced(Talk("others"), 30, 0), *wires)}
    assert causes == {"tls-on-plaintext"} | ({"broker-crash"} if not taken else set())


@pytest.mark.parametrize("kafka", [False, True])
def test_an_advertised_address_of_another_kind_of_server(kafka: bool, tmp_path: Path) -> None:
    """It takes connections, and answers in HTTP: the client connects again and again, and is not to blame."""
    asking = sent_to(Talk("asking"), "10.0.0.9", 1)
    tries = []
    for number in range(40):
        talk = Talk("asking", 42000 + number, 9)
        talk.wire.client(request(18, 0, 1, {}, "asking"))
        talk.wire.server(response(18, 0, 1, {"apiKeys": []}) if kafka else b"HTTP/1.1 400 Bad Request\r\n\r\n")
        talk.wire.add(1, FIN | ACK)
        talk.wire.add(0, FIN | ACK)
        tries.append(later(talk, number * SECOND // 2))
    findings = found(tmp_path, asking, *tries)
    if kafka:
        told(findings, "connection-churn", client=["asking"])
    else:
        finding = told(findings, "wrong-advertised-listener", client=["asking"])
        assert "what answers there is no broker, by 40 connections" in finding.text
