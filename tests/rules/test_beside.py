"""What is told beside something else, and what is too slight to be told."""

from pathlib import Path

import pytest

from kcli.diagnose import diagnose
from tests.capture.messages import request
from tests.capture.wires import ACK, FIN, MILLISECOND, RST, SYN, Wire, pcap
from tests.diagnose.captured import diagnosed
from tests.records.slips.making import batch_bytes
from tests.rules.test_by_hand import SECOND, Talk, beat_and_write, found, rounds, told
from tests.rules.test_sharing import fetcher, later


def outage(at: int) -> list[Wire]:
    """Three clients of a broker whose connections end together, two more that it refuses, and its return."""
    wires = []
    brokers = [{"nodeId": node, "host": f"10.0.0.{node}", "port": 9092, "rack": None} for node in (2, 3)]
    for number in range(3):
        talk = Talk(f"client-{number}", 45000 + number, broker=3)
        for _ in range(2 * at // SECOND):
            talk.call(3, 12, {"topics": []}, {"brokers": brokers, "topics": []})
        talk.wire.add(1, FIN | ACK)
        talk.wire.add(0, FIN | ACK)
        wires.append(talk.wire)
    for number in range(2):
        port, start = 46000 + number, Wire().now + at + (number + 1) * SECOND
        wire = Wire(client=("10.0.0.1", port), server=("10.0.0.3", 9092), seq=(port, 2 * port), start=start)
        wire.add(0, SYN, ack=0)
        wire.add(1, RST | ACK)
        wires.append(wire)
    back = later(Talk("client-0", 47000, broker=3).call(3, 12, {"topics": []}, {"brokers": [], "topics": []}), at)
    wires.append(later(back, 4 * SECOND).wire)
    return wires


def named(folder: Path, *wires: Wire) -> set[str]:
    path = folder / "b.pcap"
    path.write_bytes(pcap(sorted(packet for wire in wires for packet in wire.packets)))
    return {each.finding for each in diagnose([str(path)]).findings}


def test_an_outage_explains_the_rounds_of_a_group_about_it_and_no_storm_before(tmp_path: Path) -> None:
    storm = rounds("a", 40000, [*range(1, 9)], "").wire
    assert named(tmp_path, storm, *outage(26 * SECOND)) == {"broker-restart", "rebalance-storm"}
    assert named(tmp_path, later(rounds("a", 40000, [*range(1, 9)], ""), 24 * SECOND).wire, *outage(26 * SECOND)) == {
        "broker-restart"
    }


def test_a_stop_without_leaders_handed_over_may_be_a_kill(tmp_path: Path) -> None:
    """FIN closes the connections of a process that was killed while idle, too."""
    named(tmp_path, *outage(26 * SECOND))
    [stop] = diagnose([str(tmp_path / "b.pcap")]).findings
    assert (stop.finding, stop.severity, stop.evidence["handed_over"]) == ("broker-restart", "info", 0)
    assert " stopped, in order or killed while idle, " in stop.text and "no response named a new leader" in stop.text
    assert stop.advice.startswith("read the end of its log") and stop.text.startswith("broker ")


def test_a_controller_that_stops_is_called_one(tmp_path: Path) -> None:
    alive = {"brokerId": 1, "brokerEpoch": 1, "currentMetadataOffset": 1, "wantFence": False, "wantShutDown": False}
    named(tmp_path, Talk("1", 43000, broker=3).call(63, 0, alive, {}).wire, *outage(26 * SECOND))
    [stop] = diagnose([str(tmp_path / "b.pcap")]).findings
    assert stop.finding == "broker-restart" and stop.text.startswith("controller ")


def looks(times: int) -> Talk:
    talk = Talk("scripts", 41000)
    for _ in range(times):
        talk.call(16, 4, {"statesFilter": []}, {"groups": []}, SECOND // 20 - 2 * MILLISECOND)
    return talk


def test_scripts_that_look_are_no_load_beside_much_work(tmp_path: Path) -> None:
    told(found(tmp_path, looks(120)), "exporter-load", client="scripts")
    work = [fetcher(number, 40, times=240) for number in range(2)]
    assert not found(tmp_path, looks(120), *work)


def test_a_member_that_left_for_good_did_not_join_again(tmp_path: Path) -> None:
    talk = rounds("late", 42000, [1], "")
    left = {"groupId": "g", "members": [{"memberId": "late-1", "groupInstanceId": None, "reason": ""}]}
    left["members"][0]["reason"] = "consumer poll timeout has expired."  # type: ignore[index]
    talk.call(13, 5, left, {"errorCode": 0, "members": []})
    finding = told(found(tmp_path, talk), "poll-interval-exceeded", client="late", group="g")
    assert "and did not join again" in finding.text


@pytest.mark.parametrize(("session_ms", "seconds", "is_late"), [(10000, 6, True), (3000, 6, False), (10000, 2, False)])
def test_a_rebalance_timeout_that_is_the_session_timeout(
    session_ms: int, seconds: int, is_late: bool, tmp_path: Path
) -> None:
    """aiokafka sends that, and has another option for its max.poll.interval.ms. seconds: until the member leaves."""
    talk = Talk("late", 42000)
    for number in range(3):
        member = f"late-{number}"
        join = {"groupId": "g", "sessionTimeoutMs": session_ms, "rebalanceTimeoutMs": 10000, "memberId": member,
                "protocolType": "consumer", "protocols": []}  # fmt: skip
        talk.call(11, 5, join, {"errorCode": 0, "generationId": 2 * number + 1, "memberId": member}, MILLISECOND)
        for _ in range(seconds):
            beat = {"groupId": "g", "generationId": 2 * number + 1, "memberId": member}
            talk.call(12, 3, beat, {}, SECOND)
        talk.call(13, 1, {"groupId": "g", "memberId": member}, {"errorCode": 0}, 3 * SECOND)
    causes = {each.finding: each for each in found(tmp_path, talk)}
    assert ("poll-interval-exceeded" in causes) == is_late
    if is_late:
        assert "because max.poll.interval.ms passed without a poll" in causes["poll-interval-exceeded"].text


def test_a_capture_of_one_broker_that_is_over_is_no_silence(tmp_path: Path) -> None:
    def waiting(number: int, goes_on: bool) -> Talk:
        talk = Talk(f"client-{number}", 48000 + number, broker=3)
        for _ in range(4 + goes_on):
            talk.call(3, 12, {"topics": []}, {"brokers": [], "topics": []})
        for _ in range(1 + 3 * goes_on):
            talk.number += 1
            talk.wire.client(request(3, 12, talk.number, {"topics": []}, talk.client)).add(1, ACK)
            talk.wire.now += SECOND
        return talk

    others = Talk("others", 49000)
    for _ in range(30):
        others.call(3, 12, {"topics": []}, {"brokers": [], "topics": []})
    assert not found(tmp_path, others, *(waiting(number, goes_on=False) for number in range(3)))
    still = [waiting(number, goes_on=True) for number in range(3)]
    told(found(tmp_path, others, *still), "silent-broker", broker=["10.0.0.3:9092"])


def test_one_answer_that_the_capture_lacks_does_not_make_a_timeout_irregular() -> None:
    told([*diagnosed("timeout-and-loss").findings], "request-timeout-too-short", client="hurry")


def test_a_transaction_that_the_coordinator_ended_within_the_capture() -> None:
    """Its producer was killed; readers waited until its timeout was over."""
    [found] = diagnosed("hanging-ended").findings
    assert (found.finding, found.severity) == ("hanging-transaction", "warning")
    assert found.subject["transactionalId"] == "dead" and "which the coordinator ended" in found.text
    assert "transaction.timeout.ms below 12000" in found.advice


def test_requests_alone_are_no_whole_capture(tmp_path: Path) -> None:
    talk = fetcher(0, 10, times=60)
    path = tmp_path / "up.pcap"
    path.write_bytes(pcap(talk.wire.packets))
    assert not diagnose([str(path)]).unjudged
    sent = [each for each in talk.wire.packets if each.data[34:36] == talk.wire.packets[0].data[34:36]]
    path.write_bytes(pcap(sent))
    [part] = [each for each in diagnose([str(path)]).unjudged if "no packet of the broker" in each.what]
    assert part.what.startswith("responses on 1 connection:")


def reading(sizes: list[int]) -> list[Talk]:
    """A member that beats, fetches as many bytes and works on them for a second, and a producer that goes on."""
    reader, beats, source = Talk("slow", 50000), Talk("slow", 50001), Talk("source", 50002)
    asked = [{"topic": "orders", "partitions": [{"partition": 0, "fetchOffset": 1}]}]
    for size in sizes:
        part = {"partitionIndex": 0, "highWatermark": 99, "records": batch_bytes([(b"k", bytes(size))])}
        answer = {"sessionId": 0, "responses": [{"topic": "orders", "partitions": [part]}]}
        reader.call(1, 11, {"maxWaitMs": 500, "minBytes": 1, "topics": asked}, answer, SECOND)
    beat_and_write(beats, source, "slow-1", 20)
    return [reader, beats, source]


def test_who_works_off_a_large_answer_is_not_stuck(tmp_path: Path) -> None:
    assert not [each for each in found(tmp_path, *reading([3000] * 4 + [45_000])) if each.finding == "consumer-stuck"]
    stuck = [each for each in found(tmp_path, *reading([3000] * 5)) if each.finding == "consumer-stuck"]
    assert [each.subject for each in stuck] == [{"client": "slow", "group": "g"}]


@pytest.mark.parametrize("steady", [True, False])
def test_who_asks_for_a_topic_as_a_broker_comes_back_waits_for_the_broker(steady: bool, tmp_path: Path) -> None:
    """A probe asks once on each connection, for a name that nobody may have; who goes on asking wants the topic."""
    told = {"errorCode": 17, "name": "no topic !", "topicId": "AAAAAAAAAAAAAAAAAAAAAA", "partitions": []}
    probes = []
    for number in range(6):
        probe = Talk("lab", 48000 + number)
        probe.call(3, 12, {"topics": [{"name": "no topic !"}]}, {"brokers": [], "topics": [told]})
        later(probe, (28 + number * (11 if steady else 1)) * SECOND)
        probes.append(probe.wire)
    assert ("unknown-topic" in named(tmp_path, *probes, *outage(26 * SECOND))) == steady
