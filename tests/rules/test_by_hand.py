"""Causes in captures made by hand, each beside the same traffic without it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from kcli.diagnose import INFO, Finding, diagnose
from kcli.finding import CRITICAL, WARNING
from kcli.schemas.errors import error_name
from tests.capture.messages import metadata, request, response
from tests.capture.wires import ACK, FIN, MILLISECOND, RST, SYN, Packet, Wire, pcap
from tests.diagnose.captured import check_seconds
from tests.records.slips.making import batch_bytes, checked

SECOND = 1000 * MILLISECOND
LOSSY = Path(__file__).parents[1] / "core/capture/data/lossy-line.pcap.zst"
Body = Mapping[str, Any]


class Talk:
    """Connections of one client, a request and its answer after another, half a second apart."""

    def __init__(self, client: str = "tester", port: int = 40000, broker: int = 2) -> None:
        self.client = client
        self.wire = Wire(client=("10.0.0.1", port), server=(f"10.0.0.{broker}", 9092), seq=(port, 2 * port)).open()
        self.number = 0

    def call(self, key: int, version: int, body: Body, answer: Body, pause: int = SECOND // 2, wait: int = 0) -> Talk:
        self.number += 1
        self.wire.client(request(key, version, self.number, body, self.client))
        self.wire.now += wait
        self.wire.server(response(key, version, self.number, answer))
        self.wire.now += pause
        return self


def found(folder: Path, *talks: Talk | Wire) -> list[Finding]:
    """The findings in these connections, those that are worth knowing alone left out."""
    wires = [each.wire if isinstance(each, Talk) else each for each in talks]
    path = folder / "a.pcap"
    path.write_bytes(pcap(sorted(packet for wire in wires for packet in wire.packets)))
    made = diagnose([str(path)])
    assert made.judged and (made.findings or made.trouble is None)
    return [each for each in made.findings if each.severity != INFO]


def told(findings: list[Finding], cause: str, **subject: Any) -> Finding:
    """Assert that this cause alone is found, with these in its subject."""
    assert [each.finding for each in findings] == [cause], [each.text for each in findings]
    [finding] = findings
    assert {kind: finding.subject.get(kind) for kind in subject} == subject
    check_seconds(finding)
    return finding


def produced(
    talk: Talk, times: int, error: int, name: str = "orders", partition: int = 0, said: str | None = None
) -> Talk:
    for _ in range(times):
        asked = {"acks": -1, "timeoutMs": 1000, "topicData": [{"name": name, "partitionData": [{"index": partition}]}]}
        part = {"index": partition, "errorCode": error, "baseOffset": -1 if error else 7, "errorMessage": said}
        talk.call(0, 9, asked, {"responses": [{"name": name, "partitionResponses": [part]}]})
    return talk


def beat_and_write(beats: Talk, source: Talk, member: str, seconds: int) -> None:
    """Have a member of a group beat, and a producer write a record, each second."""
    for _ in range(seconds):
        beats.call(12, 3, {"groupId": "g", "generationId": 1, "memberId": member}, {}, SECOND)
        parts = [{"index": 0, "records": batch_bytes([(b"k", b"v")])}]
        wrote = {"responses": [{"name": "orders", "partitionResponses": [{"index": 0, "baseOffset": source.number}]}]}
        source.call(0, 9, {"acks": 1, "topicData": [{"name": "orders", "partitionData": parts}]}, wrote, SECOND)


def fetched(
    talk: Talk, times: int, error: int = 0, offset: int = 5, session: tuple[int, int] = (0, -1), granted: int = 0,
    top: int = 0, throttle: int = 0, end: int = 9, start: int = 7,
) -> Talk:  # fmt: skip
    """top: the error of the whole answer; throttle: how long it tells the client to wait, in ms.
    start, end: of the log.
    """
    for _ in range(times):
        asked = {
            "maxWaitMs": 500, "minBytes": 1, "maxBytes": 1 << 20, "sessionId": session[0], "sessionEpoch": session[1],
            "topics": [{"topic": "orders", "partitions": [{"partition": 0, "fetchOffset": offset}]}],
        }  # fmt: skip
        part = {"partitionIndex": 0, "errorCode": error, "highWatermark": end, "logStartOffset": start}
        answer = {
            "throttleTimeMs": throttle, "errorCode": top, "sessionId": granted,
            "responses": [{"topic": "orders", "partitions": [part]}],
        }  # fmt: skip
        talk.call(1, 11, asked, answer)
    return talk


@pytest.mark.parametrize(
    ("error", "cause"),
    [(10, "message-too-large"), (18, "message-too-large"), (45, "sequence-gap"), (29, "topic-authorization-failed")],
)
def test_what_a_producer_is_refused(error: int, cause: str, tmp_path: Path) -> None:
    others = produced(Talk("others", 41000), 6, 0, "payments")
    finding = told(found(tmp_path, produced(produced(Talk(), 3, 0), 6, error), others), cause, topic="orders")
    assert finding.subject["client"] == "tester"
    asked = re.search(r"--errors=(\w+)$", finding.see)
    assert asked is None or asked[1] == error_name(error)
    assert not found(tmp_path, produced(Talk(), 9, 0), others)


@pytest.mark.parametrize("goes_on", ["elsewhere", "here", "not at all"])
def test_a_topic_that_is_refused_once_to_a_client_with_others(goes_on: str, tmp_path: Path) -> None:
    """Consumers ask again only after minutes. A process that has ended may have another beside it with its id."""
    asking = produced(Talk(), 1, 29)
    if goes_on == "not at all":
        asking.wire.close()
    else:
        produced(asking, 20, 0, "payments" if goes_on == "elsewhere" else "orders")
    findings = found(tmp_path, asking, produced(Talk(port=41000), 20, 0, "payments"))
    if goes_on == "elsewhere":
        finding = told(findings, "topic-authorization-failed", topic="orders", client="tester")
        assert finding.severity == WARNING and finding.text.endswith("; it continues without this topic")
    else:
        assert not findings


def test_offsets_that_are_not_there(tmp_path: Path) -> None:
    others = fetched(Talk("b", 41000), 6, offset=8)
    finding = told(found(tmp_path, fetched(Talk(), 6, error=1)), "offset-out-of-range", client="tester", topic="orders")
    assert finding.evidence["refused"] == 6 and "at offsets that are deleted: 6 times" in finding.text
    assert finding.text.endswith("; the log starts at 7 and ends at 9")
    unsaid = found(tmp_path, fetched(Talk(), 6, error=1, end=-1, start=-1))
    assert told(unsaid, "offset-out-of-range").text.endswith("; no response says where the log starts and ends")
    assert unsaid[0].ruled_out.startswith("a leader that moved")
    beyond = told(found(tmp_path, fetched(Talk(), 6, error=1, offset=500), others), "offset-out-of-range")
    assert "beyond the end of the log" in beyond.text and "unclean leader election" in beyond.advice
    assert "other Fetches" in beyond.ruled_out
    assert not found(tmp_path, fetched(Talk(), 1, error=1), others)
    assert not found(tmp_path, fetched(fetched(Talk(), 1, error=1, offset=3), 2, offset=7))
    [info] = diagnose([str(tmp_path / "a.pcap")]).findings
    assert info.text.endswith("; it continues without 4 records") and "has chosen" in info.advice


@pytest.mark.parametrize("kind", ["refused", "evicted"])
def test_sessions_that_a_broker_can_not_hold(kind: str, tmp_path: Path) -> None:
    talk = Talk()
    if kind == "refused":
        fetched(talk, 8, session=(0, 0))
    else:
        for number in range(3):
            fetched(talk, 1, session=(0, 0), granted=70 + number)
            fetched(talk, 1, session=(70 + number, 1), granted=0, top=70)
    finding = told(found(tmp_path, talk), "fetch-session-evictions")
    assert finding.subject["client"] in ("tester", ["tester"])
    other = fetched(Talk("once", 41000), 1, session=(0, 0))
    both = told(found(tmp_path, talk, fetched(other, 9, session=(80, 1), granted=80)), "fetch-session-evictions")
    assert both.subject["client"] == ["once", "tester"]  # all who get none
    kept = fetched(fetched(Talk(), 1, session=(0, 0), granted=70), 7, session=(70, 1), granted=70)
    assert not found(tmp_path, kept)
    resumed = [fetched(Talk(port=42000 + number), 1, session=(70, 4), top=70) for number in range(4)]
    assert not found(tmp_path, *resumed), "the broker may have restarted"


def test_a_group_that_is_forbidden(tmp_path: Path) -> None:
    def talk(error: int) -> Talk:
        made = Talk()
        for _ in range(4):
            made.call(10, 3, {"key": "g", "keyType": 0}, {"errorCode": error, "nodeId": 1,
                      "host": "10.0.0.2", "port": 9092})  # fmt: skip
        return made

    finding = told(found(tmp_path, talk(30)), "authorization-failed", client="tester")
    assert "group" in finding.text and "--operation Read)" in finding.advice
    assert not finding.ruled_out, "nobody logs in"
    assert not found(tmp_path, talk(0))


def joining(client: str, port: int, protocols: list[str], error: int, times: int) -> Talk:
    talk = Talk(client, port)
    for number in range(times):
        asked = {
            "groupId": "g", "sessionTimeoutMs": 45000, "rebalanceTimeoutMs": 60000, "memberId": f"{client}-1",
            "protocolType": "consumer", "protocols": [{"name": each, "metadata": b""} for each in protocols],
        }  # fmt: skip
        answer = {
            "errorCode": error, "generationId": -1 if error else number + 1, "protocolName": protocols[0],
            "protocolType": "consumer", "leader": "a", "memberId": f"{client}-1", "members": [],
        }  # fmt: skip
        talk.call(11, 7, asked, answer)
    return talk


def test_members_that_do_not_fit(tmp_path: Path) -> None:
    fitting = joining("fits", 41000, ["range"], 0, 1)
    finding = told(
        found(tmp_path, joining("tester", 40000, ["roundrobin"], 23, 3), fitting), "wrong-group-protocol",
        client="tester", group="g",
    )  # fmt: skip
    assert "range" in finding.text and "roundrobin" in finding.text
    assert finding.advice.startswith("give all members one partition.assignment.strategy")
    full = told(found(tmp_path, joining("tester", 40000, ["range"], 81, 3), fitting), "wrong-group-protocol")
    assert full.advice.startswith("the group is full") and "group.max.size" in full.advice
    assert not found(tmp_path, joining("tester", 40000, ["range"], 0, 1), fitting)


def logged_in(port: int, lifetime_ms: int, cut: bool, start: int) -> Wire:
    """A connection that logs in, and is closed by the broker (cut) or the client when the login runs out."""
    wire = Wire(client=("10.0.0.1", port), seq=(port, 2 * port), start=start).open()
    wire.client(request(17, 1, 1, {"mechanism": "OAUTHBEARER"}, "tester"))
    wire.server(response(17, 1, 1, {"mechanisms": ["OAUTHBEARER"]}))
    wire.client(request(36, 2, 2, {"authBytes": b"n,,\x01auth=Bearer x\x01\x01"}, "tester"))
    wire.server(response(36, 2, 2, {"authBytes": b"", "sessionLifetimeMs": lifetime_ms}))
    wire.now += lifetime_ms * MILLISECOND
    if cut:
        wire.client(metadata(4)[0])  # which nobody answers
        wire.add(1, RST)
    else:
        wire.add(0, FIN)
    return wire


def test_logins_that_run_out(tmp_path: Path) -> None:
    def wires(cut: bool) -> list[Wire]:
        start = Wire().now
        return [logged_in(40000 + number, 6000, cut, start + 6 * number * SECOND) for number in range(3)]

    finding = told(found(tmp_path, *wires(True)), "token-expiry", client="tester")
    assert finding.evidence["cut"] == 3
    assert not found(tmp_path, *wires(False))
    at_once = [logged_in(41000 + number, 0, True, Wire().now + (7 + number) * SECOND) for number in range(3)]
    finding = told(found(tmp_path, *wires(False), *at_once), "token-expiry", client="tester")
    assert (finding.evidence["refused"], finding.evidence["cut"]) == (3, 0)
    assert not found(tmp_path, *at_once), "its logins have no limit"


def refused_token(port: int, start: int, confirmed: bool) -> Wire:
    """A connection whose token is refused in a message without an error code. confirmed: the client goes on as it is
    meant to, and gets its error."""
    wire = Wire(client=("10.0.0.1", port), seq=(port, 2 * port), start=start).open()
    wire.client(request(17, 1, 1, {"mechanism": "OAUTHBEARER"}, "tester"))
    wire.server(response(17, 1, 1, {"mechanisms": ["OAUTHBEARER"]}))
    wire.client(request(36, 2, 2, {"authBytes": b"n,,\x01auth=Bearer x\x01\x01"}, "tester"))
    wire.server(response(36, 2, 2, {"authBytes": b'{"status":"invalid_token"}'}))
    if confirmed:
        wire.client(request(36, 2, 3, {"authBytes": b"\x01"}, "tester"))
        wire.server(response(36, 2, 3, {"errorCode": 58, "errorMessage": '{"status":"invalid_token"}'}))
    wire.add(0, FIN)
    return wire


@pytest.mark.parametrize("confirmed", [True, False])
def test_a_token_that_is_tried_again_when_it_has_run_out(confirmed: bool, tmp_path: Path) -> None:
    start = Wire().now
    good = logged_in(40000, 6000, False, start)
    again = [refused_token(40001 + number, start + (7 + number) * SECOND, confirmed) for number in range(3)]
    finding = told(found(tmp_path, good, *again), "token-expiry", client="tester")
    assert (finding.evidence["refused"], finding.evidence["cut"]) == (3, 0)
    finding = told(found(tmp_path, *again), "auth-failure", client="tester")
    assert finding.evidence["refused"] == 3 and "invalid_token" in finding.text
    assert not found(tmp_path, good, logged_in(40009, 6000, False, start + 6 * SECOND))
    assert finding.severity == CRITICAL and finding.advice.startswith("correct the token: ")
    later = logged_in(40009, 60000, False, start + 40 * SECOND)
    finding = told(found(tmp_path, *again, later), "auth-failure", client="tester")
    assert finding.severity == WARNING and finding.text.endswith("; its last login was accepted")


def test_a_quorum_that_elects_again_and_again(tmp_path: Path) -> None:
    def talk(elections: int) -> Talk:
        made = Talk("raft-client-1")
        for number in range(elections):
            topics = [{"topicName": "__cluster_metadata", "partitions": [{
                "partitionIndex": 0, "replicaEpoch": number, "replicaId": 1, "lastOffsetEpoch": 1, "lastOffset": 5,
            }]}]  # fmt: skip
            part = {"partitionIndex": 0, "errorCode": 0, "leaderId": -1, "leaderEpoch": number, "voteGranted": True}
            answer = {"errorCode": 0, "topics": [{"topicName": "__cluster_metadata", "partitions": [part]}]}
            made.call(52, 1, {"clusterId": "c", "voterId": 7, "topics": topics}, answer, 3 * SECOND)
        return made

    finding = told(found(tmp_path, talk(4)), "quorum-elections", broker=["10.0.0.2:9092", "7"])
    assert finding.evidence["elections"] == 4 and "7 (10.0.0.2:9092)" in finding.text
    assert not found(tmp_path, talk(1))


def test_leaders_that_move(tmp_path: Path) -> None:
    def talk(waves: int) -> Talk:
        made = Talk()
        for _ in range(waves):
            produced(produced(made, 1, 6), 4, 0)
        return made

    finding = told(found(tmp_path, talk(4)), "leader-moves", topic="orders")
    assert finding.evidence["errors"] == 4
    assert not found(tmp_path, talk(1))
    reassigned = Talk()
    for partition in range(4):
        produced(produced(reassigned, 1, 6, partition=partition), 4, 0)
    assert not found(tmp_path, reassigned), "each partition moves once"


HELLO = bytes.fromhex("160301002f0100002b0303") + bytes(40)
ALERT = bytes.fromhex("15030300020228")


def refused(port: int, asked: bytes, answer: bytes) -> Wire:
    wire = Wire(client=("10.0.0.9", port), seq=(port, 2 * port)).open().client(asked)
    if answer:
        wire.server(answer)
    wire.add(1, FIN)
    return wire


@pytest.mark.parametrize(
    ("cause", "asked", "answer"),
    [("tls-on-plaintext", HELLO, b""), ("plaintext-on-tls", request(18, 0, 1, {}, "tester"), ALERT)],
)
def test_who_speaks_another_protocol(cause: str, asked: bytes, answer: bytes, tmp_path: Path) -> None:
    wires = [refused(40000 + number, asked, answer) for number in range(3 if cause == "tls-on-plaintext" else 1)]
    assert told(found(tmp_path, *wires), cause).subject["host"] in ("10.0.0.9", ["10.0.0.9"])
    assert not found(tmp_path, fetched(Talk(), 5))


def starting(client: str, first: int, times: int = 18) -> list[Wire]:
    """Connections of a client that starts anew for each piece of work, two a second."""
    wires = []
    for number in range(times):
        port, start = first + number, Wire().now + number * SECOND // 2
        wire = Wire(client=("10.0.0.5", port), seq=(port, 2 * port), start=start).open()
        wire.client(request(3, 12, 1, {"topics": []}, client)).server(response(3, 12, 1, {"brokers": [], "topics": []}))
        wires.append(wire.close())
    return wires


def test_a_wrong_protocol_explains_who_comes_again_for_it_and_nobody_else(tmp_path: Path) -> None:
    plain = []
    for number in range(18):
        port, start = 40000 + number, Wire().now + number * SECOND // 2
        wire = Wire(client=("10.0.0.9", port), server=("10.0.0.3", 9093), seq=(port, 2 * port), start=start).open()
        wire.client(request(18, 0, 1, {}, "bare")).server(ALERT).add(1, FIN)
        plain.append(wire)
    assert told(found(tmp_path, *plain), "plaintext-on-tls", client=["bare"]).evidence["connections"] == 18
    both = {each.finding: each for each in found(tmp_path, *plain, *starting("cron", 42000))}
    assert set(both) == {"plaintext-on-tls", "connection-churn"}
    assert both["connection-churn"].subject["client"] == ["cron"]
    cloaked = [refused(44000 + number, HELLO, b"") for number in range(3)]
    both = {each.finding: each for each in found(tmp_path, *cloaked, *starting("cron", 42000))}
    assert set(both) == {"tls-on-plaintext", "connection-churn"}


def test_a_line_that_loses_packets() -> None:
    """3 of 100 packets were dropped between two hosts, without Kafka in them."""
    findings = [each for each in diagnose([str(LOSSY)]).findings if each.severity != INFO]
    assert told(findings, "packet-loss").evidence["resent"] >= 12


def rounds(
    client: str, port: int, generations: list[int], reason: str, kind: str = "consumer", member: str = ""
) -> Talk:
    """A member of a group that joins in each of these generations. kind: its protocol type."""
    talk = Talk(client, port)
    for generation in generations:
        asked = {
            "groupId": "g", "sessionTimeoutMs": 45000, "rebalanceTimeoutMs": 60000, "memberId": member or f"{client}-1",
            "protocolType": kind, "protocols": [{"name": "cooperative-sticky", "metadata": b""}],
            "reason": reason,
        }  # fmt: skip
        answer = {
            "generationId": generation, "protocolName": "cooperative-sticky", "protocolType": "consumer",
            "leader": "a", "memberId": member or f"{client}-1", "members": [],
        }  # fmt: skip
        talk.call(11, 9, asked, answer, 2 * SECOND)
    return talk


def test_a_group_that_grows_is_no_storm(tmp_path: Path) -> None:
    """Three members that come one after another cost a round each, and one more in which they give partitions up."""
    coming = rounds("a", 40000, [1, 2, 3], ""), rounds("b", 41000, [2, 3], ""), rounds("c", 42000, [3], "")
    giving = rounds("a", 43000, [4, 5], "need to revoke partitions and re-join")
    assert not found(tmp_path, *coming, giving)
    again = rounds("a", 43000, [4, 5, 6], "rebalance failed due to RebalanceInProgressException")
    assert told(found(tmp_path, *coming, again), "rebalance-storm", group="g").evidence["generations"] == 6


def test_a_storm_tells_what_it_comes_from(tmp_path: Path) -> None:
    """Members that see other topics say so; one that is put out is refused under its old id, and lives."""
    changed = rounds("a", 40000, [1, 2, 3, 4, 5], "cached metadata has changed")
    storm = told(found(tmp_path, changed), "rebalance-storm", group="g")
    assert storm.evidence["changed"] == 5 and "who creates or deletes topics" in storm.advice
    frozen = Talk("b", 41000)
    for generation in (1, 3, 5):
        beat = {"groupId": "g", "generationId": generation, "memberId": f"b-{generation}"}
        frozen.call(12, 3, beat, {"errorCode": 25}, 4 * SECOND)
    storm = told(found(tmp_path, rounds("a", 40000, [1, 2, 3, 4, 5, 6], ""), frozen), "rebalance-storm", group="g")
    assert "b was removed 3 times" in storm.text and "or pauses for" in storm.advice


def test_a_worker_of_connect_that_joins_for_each_connector_is_no_storm(tmp_path: Path) -> None:
    assert not found(tmp_path, rounds("w", 40000, [1, 2, 3, 4, 5, 6, 7], "", "connect"))
    flapping = [
        rounds("w", 40000 + number, [3 * number + 1, 3 * number + 2, 3 * number + 3], "", "connect", f"w-{number}")
        for number in range(4)
    ]
    assert told(found(tmp_path, *flapping), "rebalance-storm", group="g").evidence["joins"] == 12


def beating(member: str, port: int, start: int, epochs: list[int], key: int) -> Wire:
    """A member of the group g that comes, is told these epochs, and leaves; its client's id is "pods"."""
    wire = Wire(client=("10.0.0.1", port), seq=(port, 2 * port), start=start).open()
    for number, (asked, answered) in enumerate(zip([0, *epochs], [*epochs, -1], strict=True), 1):
        body = {"groupId": "g", "memberId": member, "memberEpoch": -1 if answered < 0 else asked}
        wire.client(request(key, 0, number, body, "pods"))
        answer = {"memberId": member, "memberEpoch": answered, "heartbeatIntervalMs": 3000}
        wire.server(response(key, 0, number, answer))
        wire.now += 2 * SECOND
    return wire


@pytest.mark.parametrize("key", [68, 88])
def test_members_of_one_client_id_that_come_and_leave_once_are_no_storm(key: int, tmp_path: Path) -> None:
    """KIP-848 and KIP-1071: a deployment that grows to four, and shrinks. Two that come again and again are one."""
    start = Wire().now
    grown = [
        beating(f"m{number}", 40000 + number, start + number * SECOND, [number + 1, 5, 5], key) for number in range(4)
    ]
    assert not found(tmp_path, *grown)
    again = [
        beating(f"m{number}", 40000 + number, start + 3 * number * SECOND, [number + 1, number + 2], key)
        for number in range(8)
    ]
    assert told(found(tmp_path, *again), "rebalance-storm", group="g").evidence["leaver"] == "pods"


def test_a_high_watermark_that_is_back_for_a_moment_is_no_new_topic(tmp_path: Path) -> None:
    """That of a new leader, until its followers have asked."""

    def talk(after: int) -> Talk:
        return fetched(fetched(fetched(fetched(Talk(), 2, error=3), 3, end=900), 2, end=300), 8, end=after)

    assert not found(tmp_path, talk(900))
    assert told(found(tmp_path, talk(310)), "topic-recreated", topic="orders").evidence["shrunk"] == 10


@pytest.mark.parametrize("known", [True, False])
def test_topics_that_are_new_are_unknown_for_a_moment(known: bool, tmp_path: Path) -> None:
    """An application that makes one topic after another asks for each before it has a leader."""
    talk = Talk()
    for number in range(6):
        for error in (3, 3, 0):
            parts = [{"partitionIndex": 0, "leaderId": 2}] if known and not error else []
            topic = {"errorCode": error if known else 5, "name": f"run-{number}", "partitions": parts}
            talk.call(3, 8, {"topics": [{"name": f"run-{number}"}]}, {"brokers": [], "topics": [topic]})
    assert [each.finding for each in found(tmp_path, talk)] == ([] if known else ["errors-again"])


@pytest.mark.parametrize(("seconds", "comes"), [(8, True), (40, True), (3, False)])
def test_a_topic_that_is_created_while_a_client_waits_for_it(seconds: int, comes: bool, tmp_path: Path) -> None:
    """Errors that end by themselves are its start, for as long as clients wait; other errors have other names."""
    talk = Talk()
    for number in range(2 * seconds + 4):
        there = comes and number >= 2 * seconds
        topic = {"errorCode": 0 if there else 3, "name": "fresh", "partitions": [{"partitionIndex": 0, "leaderId": 2}]}
        talk.call(
            3,
            8,
            {"topics": [{"name": "fresh"}]},
            {"brokers": [], "topics": [topic | ({} if there else {"partitions": []})]},
        )
    expected = [] if seconds == 8 else ["errors-again" if comes else "unknown-topic"]
    assert [each.finding for each in found(tmp_path, talk)] == expected


@pytest.mark.parametrize("case", ["split", "one record", "given up"])
def test_a_batch_that_is_too_large_once(case: str, tmp_path: Path) -> None:
    """Java splits it and goes on; a batch of one record can't be split, and other clients give up."""
    talk = produced(Talk(), 3, 0)
    records = batch_bytes([(b"k", b"v" * 900)] * (1 if case == "one record" else 3))
    asked = {"acks": -1, "topicData": [{"name": "orders", "partitionData": [{"index": 0, "records": records}]}]}
    part = {"index": 0, "errorCode": 10, "baseOffset": -1}
    talk.call(0, 9, asked, {"responses": [{"name": "orders", "partitionResponses": [part]}]})
    produced(talk, 0 if case == "given up" else 20, 0)
    findings = found(tmp_path, talk, produced(Talk("others", 41000), 30, 0, "payments"))
    if case == "split":
        assert not findings
    else:
        finding = told(findings, "message-too-large", client="tester", topic="orders")
        assert finding.severity == (WARNING if case == "one record" else CRITICAL)
        assert ("since then" in finding.text) == (case == "given up")


@pytest.mark.parametrize(
    ("error", "member", "advised"),
    [(12, "m", "offset.metadata.max.bytes"), (25, "", "a group.id of its own"), (25, "m", None), (0, "", None)],
)
def test_commits_that_are_refused_for_good(error: int, member: str, advised: str | None, tmp_path: Path) -> None:
    """A consumer commits each five seconds; a member whose group rebalances is refused for a moment."""
    talk = Talk()
    part = {"partitionIndex": 0, "committedOffset": 7, "committedMetadata": "x" * 9}
    asked = {"groupId": "g", "generationIdOrMemberEpoch": -1, "memberId": member,
             "topics": [{"name": "orders", "partitions": [part]}]}  # fmt: skip
    for _ in range(5):
        answer = {"topics": [{"name": "orders", "partitions": [{"partitionIndex": 0, "errorCode": error}]}]}
        talk.call(8, 6, asked, answer, 5 * SECOND)
    findings = found(tmp_path, talk)
    if advised is None:
        assert not findings
    else:
        finding = told(findings, "errors-again", client="tester", group=["g"])
        assert advised in finding.advice


@pytest.mark.parametrize(
    ("has_id", "writes", "found_it"), [(True, False, True), (False, False, False), (True, True, False)]
)
def test_a_producer_that_waits_for_a_partition_that_is_not_there(
    has_id: bool, writes: bool, found_it: bool, tmp_path: Path
) -> None:
    """It asks on, as Java does; a health check never asks for a producer id."""
    talk = Talk()
    if has_id:
        asked = {"transactionalId": None, "transactionTimeoutMs": 60000, "producerId": -1, "producerEpoch": -1}
        talk.call(22, 4, asked, {"errorCode": 0, "producerId": 6, "producerEpoch": 0})
    parts = [{"partitionIndex": index, "leaderId": 2} for index in range(3)]
    answer = {
        "brokers": [{"nodeId": 2, "host": "10.0.0.2", "port": 9092}],
        "topics": [{"name": "orders", "partitions": parts}],
    }
    for _ in range(12):
        talk.call(3, 8, {"topics": [{"name": "orders"}]}, answer, SECOND)
    findings = found(tmp_path, produced(talk, 1, 0) if writes else talk)
    if found_it:
        finding = told(findings, "unknown-topic", client="tester", topic="orders")
        assert "3 partitions with leaders: it waits for a partition" in finding.text
        assert finding.advice.startswith("send to partitions 0 to 2 of orders (") and "errors" not in finding.evidence
    else:
        assert not findings


def test_replicas_that_are_out_of_sync_refuse_more_than_once(tmp_path: Path) -> None:
    assert told(found(tmp_path, produced(Talk(), 4, 19), produced(Talk("b", 41000), 6, 0, "payments")),
                "under-min-isr", topic="orders")  # fmt: skip
    at_once = Talk()
    parts = [{"index": number} for number in range(2)]
    asked = {"acks": -1, "timeoutMs": 1000, "topicData": [{"name": "orders", "partitionData": parts}]}
    refused = [{**each, "errorCode": 19, "baseOffset": -1} for each in parts]
    at_once.call(0, 9, asked, {"responses": [{"name": "orders", "partitionResponses": refused}]})
    assert not found(tmp_path, produced(at_once, 5, 0))


def test_a_broker_that_answers_nobody_and_who_gives_up_on_it(tmp_path: Path) -> None:
    def asked(number: int, key: int = 18) -> Wire:
        port, start = 43000 + number, Wire().now + 2 * number * SECOND
        wire = Wire(client=("10.0.0.7", port), seq=(port, 2 * port), start=start).open()
        body = {"clientSoftwareName": "a", "clientSoftwareVersion": "1"}
        wire.client(
            request(18, 3, 1, body, "hasty") if key == 18 else request(1, 11, 1, {"maxWaitMs": 60_000}, "hasty")
        )
        wire.add(1, ACK)
        return wire

    def given_up(key: int = 18) -> list[Wire]:
        wires = [asked(number, key) for number in range(4)]
        for wire in wires:
            wire.now += SECOND
            wire.add(0, FIN)
        return wires

    finding = told(found(tmp_path, *given_up()), "silent-broker", broker=["10.0.0.2:9092"], client=["hasty"])
    assert finding.evidence["connections"] == 4 and finding.evidence["longest_ms"] > 1000
    others = produced(Talk("others", broker=3), 16, 0)
    assert told(found(tmp_path, *given_up(), others), "silent-broker").evidence["other_answers"] > 4
    # Who is answered on another connection meanwhile was too hasty; who asks to wait gets what it asked for; and where
    # the capture ends at once, or what is sent is not acknowledged, nothing is known.
    finding = told(found(tmp_path, *given_up(), produced(Talk(), 16, 0)), "request-timeout-too-short", client="hasty")
    assert finding.evidence["gave_up"] == 4
    assert not found(tmp_path, *given_up(key=1))
    assert not found(tmp_path, asked(0), asked(1))


def test_answers_that_are_mostly_in_time_are_late_for_once(tmp_path: Path) -> None:
    """It waits longer than it asks the broker to: so the broker may answer in time."""

    def hasty(well: int) -> list[Talk]:
        talks = [fetched(Talk("hasty", 42000 + number), well) for number in range(4)]
        for number, talk in enumerate(talks):
            talk.wire.now += number * SECOND
            talk.wire.client(request(1, 11, talk.number + 1, {"maxWaitMs": 500}, "hasty")).add(1, ACK)
            talk.wire.now += 700 * MILLISECOND
            talk.wire.add(0, FIN)
        return talks

    others = produced(Talk("others"), 60, 0)
    assert not found(tmp_path, others, *hasty(20))
    [rare] = diagnose([str(tmp_path / "a.pcap")]).findings
    assert (rare.finding, rare.severity, rare.evidence["gave_up"]) == ("request-timeout-too-short", "info", 4)
    assert told(found(tmp_path, others, *hasty(3)), "request-timeout-too-short").severity == "warning"


@pytest.mark.parametrize("at_once", [True, False])
def test_a_process_that_ends_hangs_up_on_all_brokers_at_once(at_once: bool, tmp_path: Path) -> None:
    """It ends twice, with a Fetch that waits on each of two connections."""
    talks = []
    for number in range(4):
        talk = Talk("reader", 42000 + number)
        talk.wire.now += (number // 2 * 5 * SECOND) if at_once else number * SECOND
        fetched(talk, 4)
        talk.wire.client(request(1, 11, talk.number + 1, {"maxWaitMs": 500}, "reader")).add(1, ACK)
        talk.wire.now += 205 * MILLISECOND
        talks.append(talk)
        talk.wire.add(0, FIN)
    named = [each.finding for each in found(tmp_path, produced(Talk("others"), 60, 0), *talks)]
    assert named == ([] if at_once else ["request-timeout-too-short"])


def test_a_broker_that_is_down_is_no_wrong_listener(tmp_path: Path) -> None:
    def asking(others_too: bool) -> Talk:
        made = Talk("lost")
        for _ in range(6):
            ends = {1: "10.0.0.2" if others_too else "10.0.0.4", 2: "10.0.0.3"}
            brokers = [{"nodeId": node, "host": host, "port": 9092, "rack": None} for node, host in ends.items()]
            made.call(3, 12, {"topics": []}, {"brokers": brokers, "topics": []})
        return made

    def refused_ones() -> list[Wire]:
        wires = []
        for number in range(5):
            port, start = 46000 + number, Wire().now + number * SECOND
            wire = Wire(client=("10.0.0.1", port), server=("10.0.0.3", 9092), seq=(port, 2 * port), start=start)
            wire.add(0, SYN)
            wire.add(1, RST | ACK)
            wires.append(wire)
        return wires

    finding = told(found(tmp_path, asking(True), *refused_ones()), "broker-down", broker=["10.0.0.3:9092", "2"])
    assert (finding.evidence["attempts"], finding.evidence["reached"]) == (5, 1)
    assert "broker-down" not in {each.finding for each in found(tmp_path, asking(False), *refused_ones())}
    assert not found(tmp_path, asking(True), refused_ones()[0])


def test_a_member_without_a_partition_is_not_stuck_nor_is_one_that_is_told_to_wait(tmp_path: Path) -> None:
    def member(held: bool, throttle: int = 0) -> Talk:
        talk = fetched(Talk("waiting", 44000), 6, throttle=throttle)
        part = b"\0\0\0\1\0\6orders\0\0\0\1\0\0\0\0" if held else b"\0\0\0\0"
        who = {"groupId": "g", "generationId": 2, "memberId": "waiting-1"}
        asked = {**who, "protocolType": "consumer", "protocolName": "range", "assignments": []}
        given = b"\0\0" + part + b"\xff\xff\xff\xff"
        talk.call(14, 5, asked, {"protocolType": "consumer", "protocolName": "range", "assignment": given})
        for _ in range(4):
            talk.call(12, 4, who, {"errorCode": 0}, 3 * SECOND)
        return talk

    writer = Talk("writer", 45000)
    for _ in range(20):
        asked = {"acks": 1, "timeoutMs": 1000, "topicData": [
            {"name": "orders", "partitionData": [{"index": 0, "records": batch_bytes([(b"k", b"v")])}]},
        ]}  # fmt: skip
        part = {"index": 0, "errorCode": 0, "baseOffset": 7}
        writer.call(0, 9, asked, {"responses": [{"name": "orders", "partitionResponses": [part]}]})
    told(found(tmp_path, member(held=True), writer), "consumer-stuck", client="waiting", group="g")
    assert not found(tmp_path, member(held=False), writer)
    told(found(tmp_path, member(held=True, throttle=12_000), writer), "throttled", client="waiting")


def test_who_falls_behind_without_a_fetch_in_a_third_of_the_time(tmp_path: Path) -> None:
    """Its batches grow with its lag, until one takes the middle of the capture."""
    talk, offset = Talk("slow", 46000), 0
    for at, pause in ((0, 1), (1, 2), (3, 3), (6, 15), (21, 1)):
        asked = {
            "maxWaitMs": 500, "minBytes": 1, "maxBytes": 1 << 20, "sessionId": 0, "sessionEpoch": -1,
            "topics": [{"topic": "orders", "partitions": [{"partition": 0, "fetchOffset": offset}]}],
        }  # fmt: skip
        part = {"partitionIndex": 0, "errorCode": 0, "highWatermark": 100 * at, "logStartOffset": 0}
        talk.call(1, 11, asked, {"responses": [{"topic": "orders", "partitions": [part]}]}, pause * SECOND)
        offset = 100 * at
    told(found(tmp_path, talk), "lagging-consumer", client="slow")


@pytest.mark.parametrize(("brokers", "read", "stands"), [(2, 0.2, True), (2, 0.7, False), (1, 0.2, False)])
def test_who_reads_hardly_anything_from_several_brokers_does_not_wait_for_a_slow_one(
    brokers: int, read: float, stands: bool, tmp_path: Path
) -> None:
    talks = [Talk("slow", 46000 + broker, broker=2 + broker) for broker in range(brokers)]
    talks[0].number = 100  # else the two are both hops of a proxy
    for at in range(20):
        for partition, talk in enumerate(talks):
            asked = {
                "maxWaitMs": 500, "minBytes": 1, "maxBytes": 1 << 20, "sessionId": 0, "sessionEpoch": -1,
                "topics": [
                    {"topic": "orders", "partitions": [{"partition": partition, "fetchOffset": int(read * 100 * at)}]},
                ],
            }  # fmt: skip
            part = {"partitionIndex": partition, "errorCode": 0, "highWatermark": 100 * at, "logStartOffset": 0}
            talk.call(1, 11, asked, {"responses": [{"topic": "orders", "partitions": [part]}]}, SECOND)
    finding = told(found(tmp_path, *talks), "lagging-consumer", client="slow")
    assert finding.stands == (("slow-broker",) if stands else ())


def test_a_broker_that_has_just_started_is_not_slow(tmp_path: Path) -> None:
    """Nobody spoke to it at first, and its answers are late for some seconds."""

    def beats(client: str, port: int, broker: int, begin: int = 0, late: int = 0) -> Wire:
        talk = Talk(client, port, broker)
        shift = begin * SECOND
        talk.wire.packets = [Packet(each.ns + shift, each.data) for each in talk.wire.packets]
        talk.wire.now += shift
        for number in range(30):
            asked = request(12, 4, number, {"groupId": "g", "generationId": 2, "memberId": "m"}, client)
            talk.wire.client(asked).now += (200 if number < late else 0) * MILLISECOND
            talk.wire.server(response(12, 4, number, {"errorCode": 0})).now += SECOND // 2
        return talk.wire

    others = [beats("one", 41000, 2), beats("two", 41001, 2)]
    slow = [beats("one", 42000, 3, 0, 8), beats("two", 42001, 3, 0, 8)]
    assert "10.0.0.3:9092" in told(found(tmp_path, *others, *slow), "slow-broker").subject["broker"]
    assert not found(tmp_path, *others, beats("one", 42000, 3, 5, 8), beats("two", 42001, 3, 5, 8))


def transactional(producer_id: int) -> bytes:
    """A batch of a transaction."""
    data = bytearray(batch_bytes([(b"k", b"v")]))
    data[22] |= 0x10
    data[43:57] = producer_id.to_bytes(8, "big") + bytes(6)
    return checked(bytes(data))


def held_back(reader: Talk, records: int) -> None:
    """Read up to a last stable offset that stands still."""
    asked = {
        "maxWaitMs": 500, "minBytes": 1, "maxBytes": 1 << 20, "sessionId": 0, "sessionEpoch": -1,
        "isolationLevel": 1, "topics": [{"topic": "orders", "partitions": [{"partition": 3, "fetchOffset": 1234}]}],
    }  # fmt: skip
    given = {"partitionIndex": 3, "errorCode": 0, "highWatermark": 1235 + records, "lastStableOffset": 1234,
             "logStartOffset": 7}  # fmt: skip
    reader.call(1, 11, asked, {"errorCode": 0, "responses": [{"topic": "orders", "partitions": [given]}]})


@pytest.mark.parametrize(
    ("timeout", "severity", "advised"),
    [
        (
            1_500,
            CRITICAL,
            r"it did not end by itself at \S+Z, as it had to \(transaction.timeout.ms 1500\): end it, kafka-t",
        ),
        (
            30_000,
            WARNING,
            r"wait: the coordinator ends it by itself soon after \S+Z \(transaction.timeout.ms 30000\), 1\d",
        ),
        (
            900_000,
            CRITICAL,
            r"end it, kafka-t.* by itself it ends only at \S+Z \(transaction.timeout.ms 900000\); look at writer",
        ),
    ],
)
def test_when_a_transaction_ends_by_itself(timeout: int, severity: str, advised: str, tmp_path: Path) -> None:
    writer, reader = Talk("writer", 46000), Talk("reader", 46001)
    who = {"transactionalId": "t", "transactionTimeoutMs": timeout, "producerId": -1, "producerEpoch": -1}
    writer.call(22, 4, who, {"errorCode": 0, "producerId": 6, "producerEpoch": 0})
    asked = {"transactionalId": "t", "acks": -1, "timeoutMs": 1000, "topicData": [
        {"name": "orders", "partitionData": [{"index": 3, "records": transactional(6)}]},
    ]}  # fmt: skip
    part = {"index": 3, "errorCode": 0, "baseOffset": 1234}
    writer.call(0, 9, asked, {"responses": [{"name": "orders", "partitionResponses": [part]}]})
    for number in range(30):
        held_back(reader, number)
    finding = told(found(tmp_path, writer, reader), "hanging-transaction", client="writer", partition="orders-3")
    assert re.match(advised, finding.advice), finding.advice
    assert "--bootstrap-server 10.0.0.2:9092 abort --topic orders --partition 3 --start-offset 1234" in finding.advice
    assert finding.evidence["transaction_timeout_ms"] == timeout and finding.severity == severity


@pytest.mark.parametrize("known", [True, False])
def test_one_transaction_that_hangs_in_many_partitions_is_one_finding(known: bool, tmp_path: Path) -> None:
    """Its producer is known by its writes, or not; another one's is another finding."""
    writers, reader = [Talk("writer", 46000), Talk("other", 46002)], Talk("reader", 46001)
    for index, writer in enumerate((writers[0], writers[0], writers[0], writers[1])):
        parts = [{"index": index, "records": transactional(6 if index < 3 else 8)}]
        asked = {
            "transactionalId": f"t-{writer.client}",
            "acks": -1,
            "topicData": [{"name": "orders", "partitionData": parts}],
        }
        part = {"index": index, "errorCode": 0, "baseOffset": 100 + index}
        writer.call(0, 9, asked, {"responses": [{"name": "orders", "partitionResponses": [part]}]})
    for number in range(30):
        asks = [{"partition": index, "fetchOffset": 100 + index} for index in range(4)]
        given = [
            {"partitionIndex": index, "highWatermark": 110 + index + number, "lastStableOffset": 100 + index}
            for index in range(4)
        ]
        asked = {
            "maxWaitMs": 500,
            "sessionEpoch": -1,
            "isolationLevel": 1,
            "topics": [{"topic": "orders", "partitions": asks}],
        }
        reader.call(1, 11, asked, {"responses": [{"topic": "orders", "partitions": given}]})
    findings = found(tmp_path, *(writers if known else []), reader)
    names = [f"orders-{index}" for index in range(4)]
    partitions = [each.subject["partition"] for each in findings]
    assert partitions == ([names[:3], names[3]] if known else [names])
    assert [each["last_stable_offset"] for each in findings[0].evidence["alike"]] == [101, 102, 103][
        : 2 if known else 3
    ]
    assert "and likewise for its other partitions" in findings[0].advice
    assert not known or ("alike" not in findings[1].evidence and "likewise" not in findings[1].advice)


@pytest.mark.parametrize("until", [3, 26])
def test_a_transaction_that_its_producer_still_writes_does_not_hang(until: int, tmp_path: Path) -> None:
    writer, reader = Talk("writer", 46000), Talk("reader", 46001)
    for number in range(28):
        parts = [{"index": 3, "records": transactional(6)}]
        asked = {"transactionalId": "t", "acks": -1, "topicData": [{"name": "orders", "partitionData": parts}]}
        part = {"index": 3, "errorCode": 0, "baseOffset": 1234 + number}
        answer = {"responses": [{"name": "orders", "partitionResponses": [part]}]}
        if number < until:
            writer.call(0, 9, asked, answer)
        held_back(reader, number)
    findings = found(tmp_path, writer, reader)
    if until == 3:
        told(findings, "hanging-transaction", client="writer")
    else:
        assert not findings


@pytest.mark.parametrize("answered", ["orders", None])
def test_who_deleted_a_topic_by_its_id(answered: str | None, tmp_path: Path) -> None:
    """The answer has its name, or else Metadata."""
    none, old, new = "A" * 22, "95bD2t27TuG_T8TnId9d0A", "a8Hjo7hsRHith1EBsUOXIQ"
    job, user = Talk("nightly", 47000), Talk("user", 47001)

    def told_of(topic_id: str) -> None:
        part = {"partitionIndex": 0, "leaderId": 1, "replicaNodes": [1], "isrNodes": [1]}
        answer = {"brokers": [], "topics": [{"name": "orders", "topicId": topic_id, "partitions": [part]}]}
        user.call(3, 12, {"topics": [{"topicId": none, "name": "orders"}]}, answer)

    told_of(old)
    for _ in range(2):
        job.call(20, 6, {"topics": [{"name": None, "topicId": old}], "timeoutMs": 1000},
                 {"responses": [{"name": answered, "topicId": old, "errorCode": 0}]})  # fmt: skip
    produced(user, 6, 3)
    told_of(new)
    finding = told(found(tmp_path, job, user), "topic-recreated", topic="orders")
    assert "(deleted 2 times by nightly (10.0.0.1:47000))" in finding.text
    assert finding.advice.startswith("first find the job that deletes it: nightly at 10.0.0.1:47000; ")


@pytest.mark.parametrize("again", [True, False])
def test_a_topic_that_is_deleted_and_not_made_anew(again: bool, tmp_path: Path) -> None:
    part = {"partitionIndex": 0, "leaderId": 1, "replicaNodes": [1], "isrNodes": [1]}
    user, topic_id = Talk("user", 47001), "95bD2t27TuG_T8TnId9d0A"

    def told_of(topic: dict[str, Any]) -> None:
        user.call(3, 12, {"topics": [{"topicId": "A" * 22, "name": "orders"}]}, {"brokers": [], "topics": [topic]})

    told_of({"name": "orders", "topicId": topic_id, "partitions": [part]})
    for _ in range(4):
        asked = {"maxWaitMs": 500, "minBytes": 1, "sessionEpoch": -1,
                 "topics": [{"topicId": topic_id, "partitions": [{"partition": 0, "fetchOffset": 5}]}]}  # fmt: skip
        given = {"partitionIndex": 0, "errorCode": 100, "highWatermark": -1}
        user.call(1, 13, asked, {"responses": [{"topicId": topic_id, "partitions": [given]}]})
        told_of({"name": "orders", "errorCode": 3, "topicId": "A" * 22, "partitions": []})
    if again:
        told_of({"name": "orders", "topicId": "a8Hjo7hsRHith1EBsUOXIQ", "partitions": [part]})
    finding = told(found(tmp_path, user), "topic-recreated", topic="orders", client=["user"])
    assert ("not recreated" in finding.text) != again and ("make it again" in finding.advice) != again


def test_a_topic_s_ids_count_that_only_commits_give_its_name(tmp_path: Path) -> None:
    """The third is fetched by id alone, and what was fetched is committed by name."""
    user = Talk("user", 47001)
    part = {"partitionIndex": 0, "leaderId": 1, "replicaNodes": [1], "isrNodes": [1]}
    for topic_id in ("95bD2t27TuG_T8TnId9d0A", "a8Hjo7hsRHith1EBsUOXIQ"):
        topic = {"name": "orders", "topicId": topic_id, "partitions": [part]}
        user.call(3, 12, {"topics": [{"topicId": "A" * 22, "name": "orders"}]}, {"brokers": [], "topics": [topic]})
    third = "sFtaSNZ2QQiz0rnVpPUqdA"
    for offset in (40, 41, 42):
        asked = {"maxWaitMs": 500, "minBytes": 1, "sessionEpoch": -1,
                 "topics": [{"topicId": third, "partitions": [{"partition": 0, "fetchOffset": offset}]}]}  # fmt: skip
        given = {"partitionIndex": 0, "errorCode": 0, "highWatermark": 50, "logStartOffset": 0}
        user.call(1, 13, asked, {"responses": [{"topicId": third, "partitions": [given]}]})
        asked = {"groupId": "g", "topics": [
            {"name": "orders", "partitions": [{"partitionIndex": 0, "committedOffset": offset}]},
        ]}  # fmt: skip
        done = {"name": "orders", "partitions": [{"partitionIndex": 0, "errorCode": 0}]}
        user.call(8, 8, asked, {"topics": [done]})
    finding = told(found(tmp_path, produced(user, 6, 3)), "topic-recreated", topic="orders")
    assert finding.evidence["topic_ids"] == 3


def test_writes_that_time_out_beside_refused_ones_wait_for_the_same_replicas(tmp_path: Path) -> None:
    """REQUEST_TIMED_OUT in another topic has nothing to do with it."""
    talk = produced(produced(Talk(), 3, 19), 2, 7, partition=1)
    produced(talk, 2, 7, "others", partition=5)
    [finding] = [each for each in found(tmp_path, talk) if each.finding == "under-min-isr"]
    assert finding.subject["partition"] == ["orders-0", "orders-1"]
    assert (finding.evidence["refused"], finding.evidence["unanswered"]) == (3, 2)
    [alone] = [each for each in found(tmp_path, produced(Talk(), 3, 19)) if each.finding == "under-min-isr"]
    assert alone.evidence["unanswered"] == 0 and "more" not in alone.text


def test_a_transaction_that_cannot_be_verified_lacks_no_replica(tmp_path: Path) -> None:
    """KIP-890: its coordinator moves to another broker, which takes a few seconds."""
    why = "Unable to verify the partition has been added to the transaction. Underlying error: NOT_COORDINATOR"
    assert not found(tmp_path, produced(produced(Talk(), 5, 19, said=why), 20, 0))
    least = "The size of the current ISR 1 is insufficient to satisfy the min.isr requirement of 2"
    talk = produced(produced(produced(Talk(), 2, 19, said=why), 14, 19, said=least), 20, 0)
    assert told(found(tmp_path, talk), "under-min-isr", topic="orders").evidence["refused"] == 14
    assert not found(tmp_path, produced(produced(Talk(), 5, 19), 20, 0)), "a few seconds, as of a cluster that starts"
    [info] = diagnose([str(tmp_path / "a.pcap")]).findings
    assert info.finding == "under-min-isr" and "unknown" in info.text and info.text.endswith("; since then they accept")


def follows(replica: int, port: int, times: int) -> Talk:
    """A follower that asks the leader for records, twice a second."""
    talk = Talk(f"broker-{replica}-fetcher-0", port)
    for number in range(times):
        asked = {"replicaId": replica, "maxWaitMs": 500, "minBytes": 1, "maxBytes": 1 << 20, "sessionEpoch": number}
        talk.call(1, 11, asked, {"sessionId": 7, "responses": []})
    return talk


@pytest.mark.parametrize("metadata_first", [True, False])
def test_a_replica_that_asks_no_more_is_missing_if_no_metadata_tells(metadata_first: bool, tmp_path: Path) -> None:
    """Metadata of before the refusals has all in sync, or there is none. Broker 3 stops as they begin."""
    talk = produced(Talk(), 4, 0)
    if metadata_first:
        brokers = [{"nodeId": node, "host": f"10.0.0.{node}", "port": 9092} for node in (2, 3, 4)]
        part = {"partitionIndex": 0, "leaderId": 2, "replicaNodes": [2, 3, 4], "isrNodes": [2, 3, 4]}
        topics = [{"name": "orders", "partitions": [part]}]
        talk.call(3, 8, {"topics": [{"name": "orders"}]}, {"brokers": brokers, "controllerId": 2, "topics": topics})
    produced(talk, 12, 19)
    unwaited = Talk("unwaited", 40005)
    for _ in range(20):
        asked = {"acks": 1, "timeoutMs": 1000, "topicData": [{"name": "orders", "partitionData": [{"index": 0}]}]}
        parts = [{"index": 0, "errorCode": 0, "baseOffset": 7}]
        unwaited.call(0, 9, asked, {"responses": [{"name": "orders", "partitionResponses": parts}]})
    stops, goes_on = follows(3, 41000, 5), follows(4, 41001, 20)
    finding = told(found(tmp_path, talk, unwaited, stops, goes_on), "under-min-isr", topic="orders", client=["tester"],
                   partition=["orders-0"], broker=["10.0.0.3:9092", "3"] if metadata_first else ["3"])  # fmt: skip
    assert (finding.evidence["missing"], finding.evidence["told_by"]) == (["3"], ["a follower that no longer fetches"])
    assert finding.evidence["unwaited"] >= 10 and " of the topic's batches with acks=1" in finding.ruled_out
    assert finding.advice.startswith("bring broker 3" + " (10.0.0.3:9092)" * metadata_first)
    [untold] = found(tmp_path, talk, unwaited, goes_on)
    assert "broker" not in untold.subject and "replicas not in sync: unknown" in untold.text
    assert "kafka-topics.sh --describe --topic orders" in untold.advice


@pytest.mark.parametrize(
    ("error", "why", "advice"),
    [
        (3, "which does not exist", "create the topic"),
        (17, "which is not allowed as a name", "correct the name in tester: a topic has letters, digits"),
    ],
)
def test_what_to_do_about_a_missing_topic_fits_its_name(error: int, why: str, advice: str, tmp_path: Path) -> None:
    """Nobody can create a topic whose name is not allowed."""
    talk = Talk()
    for _ in range(8):
        asked = {"topics": [{"name": "orders/eu"}], "allowAutoTopicCreation": False}
        answer = {"brokers": [], "controllerId": 1, "topics": [{"errorCode": error, "name": "orders/eu"}]}
        talk.call(3, 8, asked, answer)
    finding = told(found(tmp_path, talk), "unknown-topic", topic="orders/eu")
    assert f"orders/eu, {why}: 8 times" in finding.text and finding.advice.startswith(advice)
