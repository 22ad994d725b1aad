"""Applications that are well and lively: Connect, Streams, patterns of topics, rolling restarts."""

from pathlib import Path

import pytest

from kcli.diagnose import diagnose
from tests.capture.messages import request, response
from tests.capture.wires import MILLISECOND, Wire, pcap
from tests.records.slips.making import batch_bytes, checked
from tests.rules.test_beside import named, outage
from tests.rules.test_by_hand import SECOND, Talk, beat_and_write, fetched, found, joining, produced, told
from tests.rules.test_sharing import later


def given(talk: Talk, *, held: bool) -> None:
    """Have a member be given a partition, or none."""
    part = b"\0\0\0\1\0\6orders\0\0\0\1\0\0\0\0" if held else b"\0\0\0\0"
    who = {"groupId": "g", "generationId": 2, "memberId": "sink-1"}
    asked = {**who, "protocolType": "consumer", "protocolName": "range", "assignments": []}
    data = b"\0\0" + part + b"\xff\xff\xff\xff"
    talk.call(14, 5, asked, {"protocolType": "consumer", "protocolName": "range", "assignment": data}, 0)


@pytest.mark.parametrize("held", [True, False])
def test_a_member_that_waits_for_a_partition_is_not_stuck_though_it_is_given_one_later(
    held: bool, tmp_path: Path
) -> None:
    """Two workers of a topic with one partition: a sink has none until the other worker ends."""
    reader, member, source = Talk("sink", 41000), Talk("sink", 41001), Talk("source", 41002)
    given(member, held=True)
    fetched(reader, 20)
    member.wire.now += 10 * SECOND
    given(member, held=held)
    beat_and_write(member, source, "sink-1", 30)
    given(member, held=True)
    reader.wire.now += 30 * SECOND
    fetched(reader, 20)
    findings = found(tmp_path, reader, member, later(source, 10 * SECOND))
    assert [each.finding for each in findings] == (["consumer-stuck"] if held else [])


def sequenced(talk: Talk, sequence: int, error: int) -> None:
    """Write a batch of an idempotent producer."""
    data = bytearray(batch_bytes([(b"k", b"v")]))
    data[43:57] = (7).to_bytes(8, "big") + bytes(2) + sequence.to_bytes(4, "big")
    part = {"index": 0, "records": checked(bytes(data))}
    asked = {"acks": -1, "timeoutMs": 1000, "topicData": [{"name": "orders", "partitionData": [part]}]}
    answer = {"index": 0, "errorCode": error, "baseOffset": -1 if error else sequence}
    talk.call(0, 9, asked, {"responses": [{"name": "orders", "partitionResponses": [answer]}]})


@pytest.mark.parametrize("mended", [True, False])
def test_batches_behind_one_that_waits_for_a_transaction_are_out_of_order_for_a_moment(
    mended: bool, tmp_path: Path
) -> None:
    """Transactions of Kafka 4: the first batch of the next one may be told CONCURRENT_TRANSACTIONS."""
    talk = Talk("counts")
    for number in range(0, 12, 2):
        sequenced(talk, number, error=51)
        sequenced(talk, number + 1, error=45)
        if mended:
            sequenced(talk, number, error=0)
            sequenced(talk, number + 1, error=0)
    findings = found(tmp_path, talk)
    assert ("sequence-gap" in {each.finding for each in findings}) != mended


@pytest.mark.parametrize("times", [6, 36])
def test_a_first_batch_that_the_second_one_overtook(times: int, tmp_path: Path) -> None:
    """The leader did not know the producer, and took the second one. Just after a leader moved, retries help."""
    talk = Talk()
    sequenced(talk, 0, error=6)
    for number in range(times):
        sequenced(talk, 1 + number, error=0)
        sequenced(talk, 0, error=45)
    findings = found(tmp_path, talk)
    if times == 6:
        assert not findings
    else:
        finding = told(findings, "sequence-gap", client="tester")
        assert "so no retry is" in finding.text and "delivery.timeout.ms of tester" in finding.advice


def test_after_the_largest_sequence_number_comes_0(tmp_path: Path) -> None:
    talk = Talk("counts")
    sequenced(talk, 2**31 - 1, error=0)
    sequenced(talk, 0, error=45)
    assert "sequence-gap" in {each.finding for each in found(tmp_path, talk)}


def test_timestamps_beyond_any_time(tmp_path: Path) -> None:
    talk = Talk("stamps")
    for number in range(6):
        data = bytearray(batch_bytes([(b"k", b"v")]))
        data[27:43] = (1_795_000_000_000_000_000 + 500 * number).to_bytes(8, "big") * 2
        part = {"index": 0, "records": checked(bytes(data))}
        asked = {"acks": -1, "timeoutMs": 1000, "topicData": [{"name": "orders", "partitionData": [part]}]}
        answer = {"index": 0, "errorCode": 0, "baseOffset": number}
        talk.call(0, 9, asked, {"responses": [{"name": "orders", "partitionResponses": [answer]}]})
    assert "clock-skew" in {each.finding for each in found(tmp_path, talk)}


def heartbeat(client: str, port: int, error: int, times: int = 1) -> Talk:
    """A member of a share group that joins."""
    talk = Talk(client, port)
    for _ in range(times):
        asked = {"groupId": "g", "memberId": f"{client}-1", "memberEpoch": 0, "subscribedTopicNames": ["orders"]}
        talk.call(76, 1, asked, {"errorCode": error, "memberId": f"{client}-1", "memberEpoch": 1}, SECOND)
    return talk


def test_who_does_not_fit_a_group_asks_once_and_gives_up(tmp_path: Path) -> None:
    """A Connect worker, and a share consumer, with the id of a group of consumers."""
    fitting = joining("fits", 41000, ["range"], 0, 1)
    told(found(tmp_path, joining("worker", 40000, ["sessioned"], 23, 1), fitting), "wrong-group-protocol",
         client="worker", group="g")  # fmt: skip
    finding = told(found(tmp_path, heartbeat("sharer", 40000, 69), fitting), "wrong-group-protocol", client="sharer")
    assert finding.text.endswith("1 time GROUP_ID_NOT_FOUND; it offers a share group, others consumer: range")
    later_taken = joining("worker", 40001, ["range"], 0, 1)
    assert not found(tmp_path, joining("worker", 40000, ["range"], 23, 1), later(later_taken, SECOND), fitting)
    assert not found(tmp_path, heartbeat("sharer", 40000, 0, times=3))


@pytest.mark.parametrize("joins", [True, False])
def test_a_pattern_of_topics_is_asked_for_while_a_member_waits_to_join(joins: bool, tmp_path: Path) -> None:
    asker = Talk("pattern", 41000)
    for _ in range(40):
        asker.call(3, 12, {"topics": None}, {"brokers": [], "topics": []}, 150 * MILLISECOND)
    joined = Wire(client=("10.0.0.1", 42000), seq=(42000, 1)).open()
    body = {"groupId": "g", "sessionTimeoutMs": 45000, "rebalanceTimeoutMs": 60000, "memberId": "m",
            "protocolType": "consumer", "protocols": [{"name": "range", "metadata": b""}]}  # fmt: skip
    answer = {"generationId": 1, "protocolName": "range", "leader": "m", "memberId": "m", "members": []}
    joined.client(request(11, 7, 1, body, "pattern"))
    joined.now += 7 * SECOND if joins else 0
    joined.server(response(11, 7, 1, answer))
    findings = found(tmp_path, asker, joined)
    if joins:
        assert not findings
    else:
        told(findings, "metadata-storm", client="pattern")


@pytest.mark.parametrize("error", [51, 42])
def test_a_restart_explains_errors_about_it_beside_transactions_that_wait(error: int, tmp_path: Path) -> None:
    """A copier in transactions is told CONCURRENT_TRANSACTIONS all the time; INVALID_REQUEST is no such thing."""
    writer = Talk("copier", 41000)
    for number in range(60):
        sequenced(writer, number, error)
    asker = Talk("reader", 42000)
    for _ in range(12):
        answer = {"topics": [{"topic": "orders", "partitions": [{"partition": 0, "errorCode": 75}]}]}
        part = {"partition": 0, "currentLeaderEpoch": 2, "leaderEpoch": 1}
        asked = {"replicaId": -1, "topics": [{"topic": "orders", "partitions": [part]}]}
        asker.call(23, 3, asked, answer, SECOND // 2)
    causes = named(tmp_path, writer.wire, later(asker, 24 * SECOND).wire, *outage(26 * SECOND))
    assert causes == ({"broker-restart"} if error == 51 else {"broker-restart", "errors-again"})


@pytest.mark.parametrize("grows", [True, False])
def test_a_lone_member_that_takes_up_new_topics_disturbs_nobody(grows: bool, tmp_path: Path) -> None:
    """It joins again by itself, each time for more partitions."""
    talk = Talk("watcher", 41000)
    for number in range(1, 8):
        who = {"groupId": "g", "memberId": "watcher-1"}
        asked = {**who, "sessionTimeoutMs": 45000, "rebalanceTimeoutMs": 60000, "protocolType": "consumer",
                 "protocols": [{"name": "range", "metadata": b""}]}  # fmt: skip
        answer = {"generationId": number, "protocolName": "range", "protocolType": "consumer", "leader": "watcher-1",
                  "memberId": "watcher-1", "members": []}  # fmt: skip
        talk.call(11, 7, asked, answer)
        parts = b"".join(part.to_bytes(4, "big") for part in range(number if grows else 1))
        data = b"\0\0\0\0\0\1\0\6orders" + (len(parts) // 4).to_bytes(4, "big") + parts + b"\xff\xff\xff\xff"
        sync = {**who, "generationId": number, "protocolType": "consumer", "protocolName": "range", "assignments": []}
        talk.call(14, 5, sync, {"protocolType": "consumer", "protocolName": "range", "assignment": data}, 2 * SECOND)
    assert [each.finding for each in found(tmp_path, talk)] == ([] if grows else ["rebalance-storm"])


@pytest.mark.parametrize("works", [True, False])
def test_a_thread_of_kafka_streams_whose_producer_writes_on_is_not_stuck(works: bool, tmp_path: Path) -> None:
    """The records of one poll take it longer than the capture; how far it has come is not known, and that is said."""
    name = "bills-1-StreamThread-1"
    reader, member, source = Talk(f"{name}-consumer", 41000), Talk(f"{name}-consumer", 41001), Talk("source", 41002)
    thread = Talk(f"{name}-producer", 41003)
    given(member, held=True)
    fetched(reader, 20)
    member.wire.now += 10 * SECOND
    beat_and_write(member, source, "sink-1", 30)
    produced(thread, 60 if works else 20, 0, "bills-out")
    path = tmp_path / "streams.pcap"
    talks = (reader, member, later(source, 10 * SECOND), later(thread, 8 * SECOND))
    path.write_bytes(pcap(sorted(packet for talk in talks for packet in talk.wire.packets)))
    made = diagnose([str(path)])
    assert ("consumer-stuck" in {each.finding for each in made.findings}) != works
    assert len([each for each in made.unjudged if f"how far {name}-consumer" in each.what]) == works
