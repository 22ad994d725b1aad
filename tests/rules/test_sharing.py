"""Clients that share a client id: the default of their library, or that of their deployment."""

from pathlib import Path
from typing import Any

import pytest

from kcli.diagnose import diagnose
from kcli.records.builder import build_message_set
from tests.capture.messages import request, response
from tests.capture.wires import MILLISECOND, pcap
from tests.diagnose.captured import only
from tests.diagnose.captured import told as told_of
from tests.records.slips.making import batch_bytes
from tests.rules.test_by_hand import SECOND, Talk, found, told

HOUR_MS = 3_600_000


def writer(
    port: int,
    a_second: int,
    *,
    times: int,
    ahead_ms: int = 0,
    client: str = "shared",
    takes: int = 0,
    drift_ms: int = 0,
) -> Talk:
    """A producer with one record in each request. takes: how long an answer takes, while more requests follow.
    drift_ms: how much more each record's time is ahead.
    """
    talk = Talk(client, port)
    for sent in range(times):
        records = batch_bytes([(b"k", b"v")], time=talk.wire.now // MILLISECOND + ahead_ms + drift_ms * sent)
        parts: list[dict[str, Any]] = [{"index": 0, "records": records}]
        asked = {"acks": 1, "timeoutMs": 1000, "topicData": [{"name": "orders", "partitionData": parts}]}
        part = {"index": 0, "errorCode": 0, "baseOffset": talk.number}
        answer = {"responses": [{"name": "orders", "partitionResponses": [part]}]}
        if takes:
            talk.number += 1
            talk.wire.client(request(0, 9, talk.number, asked, client))
            talk.wire.now += takes
            talk.wire.server(response(0, 9, talk.number, answer))
            talk.wire.now += SECOND // a_second - takes
        else:
            talk.call(0, 9, asked, answer, SECOND // a_second - 2 * MILLISECOND)
    return talk


def test_slow_answers_are_ruled_out_only_where_they_are_quick(tmp_path: Path) -> None:
    quick = told(found(tmp_path, writer(40000, 120, times=360)), "tiny-batches")
    slow = told(found(tmp_path, writer(40000, 120, times=360, takes=200 * MILLISECOND)), "tiny-batches")
    waits = told(found(tmp_path, writer(40000, 120, times=360, ahead_ms=-20, takes=200 * MILLISECOND)), "tiny-batches")
    assert "records wait 21 ms already" in waits.advice and quick.advice.startswith("set linger.ms")
    assert "slow responses: they take " in quick.ruled_out and slow.ruled_out == "leaders that move: 0 were refused"


def test_who_ends_a_transaction_for_each_record_is_told_to_put_more_into_one(tmp_path: Path) -> None:
    ends = Talk("shared", 41000)
    for _ in range(360):
        ended = {"transactionalId": "t", "producerId": 5, "producerEpoch": 1, "committed": True}
        ends.call(26, 1, ended, {"errorCode": 0}, SECOND // 120)
    plain = told(found(tmp_path, writer(40000, 120, times=360)), "tiny-batches")
    assert plain.advice.startswith("set linger.ms") and "transaction" not in plain.text
    finding = told(found(tmp_path, writer(40000, 120, times=360), ends), "tiny-batches", client="shared")
    assert finding.advice.startswith("put more records into a transaction") and finding.evidence["transactions"] == 360


def test_many_producers_that_write_little_are_no_tiny_batches(tmp_path: Path) -> None:
    few = [writer(40000 + number, 20, times=60) for number in range(8)]
    assert not found(tmp_path, *few)
    finding = told(found(tmp_path, *few, writer(40009, 120, times=360)), "tiny-batches", client="shared")
    assert finding.evidence["requests"] == 8 * 60 + 360


@pytest.mark.parametrize("hours", [2, 26])
def test_one_clock_that_is_off_among_those_that_are_right(hours: int, tmp_path: Path) -> None:
    """No time zone is 26 hours from UTC."""
    right = [writer(40000 + number, 10, times=30) for number in range(3)]
    assert not found(tmp_path, *right)
    finding = told(
        found(tmp_path, *right, writer(40009, 5, times=15, ahead_ms=hours * HOUR_MS)), "clock-skew", client="shared"
    )
    assert finding.evidence["batches"] == 15 and ("local time for UTC" in finding.advice) == (hours == 2)


@pytest.mark.parametrize("drift_ms", [-80, 0])
def test_a_mirror_that_is_behind_has_no_wrong_clock(drift_ms: int, tmp_path: Path) -> None:
    """The timestamps that it copies are older each time."""
    mirror = writer(40009, 5, times=40, ahead_ms=-HOUR_MS, client="mirror", drift_ms=drift_ms)
    causes = [each.finding for each in found(tmp_path, mirror, writer(40000, 5, times=40))]
    assert causes == ([] if drift_ms else ["clock-skew"])


@pytest.mark.parametrize("codec", ["gzip", "none"])
def test_a_message_set_without_a_timestamp_tells_nothing_of_the_clock(codec: str, tmp_path: Path) -> None:
    """Old producers leave that of the wrapper (magic 1) at 0; that is said, and is no clock that is off by decades."""
    talk = Talk("old", 40000)
    for number in range(12):
        records = build_message_set([(0, b"k", b"v"), (0, b"k", b"w")], magic=1, codec=codec)
        asked = {"acks": 1, "topicData": [{"name": "orders", "partitionData": [{"index": 0, "records": records}]}]}
        part = {"index": 0, "baseOffset": 2 * number}
        talk.call(0, 2, asked, {"responses": [{"name": "orders", "partitionResponses": [part]}]})
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap(talk.wire.packets))
    made = diagnose([str(path)])
    assert "clock-skew" not in {each.finding for each in made.findings}
    said = [each.what for each in made.unjudged if "clock of old" in each.what]
    assert len(said) == (codec == "gzip") and all("12 compressed message sets" in each for each in said)


def test_of_two_clocks_that_are_off_alike_the_nearer_is_told_in_either_order(tmp_path: Path) -> None:
    for hours in ((2, 3), (3, 2)):
        writers = [writer(40000 + number, 5, times=15, ahead_ms=ahead * HOUR_MS) for number, ahead in enumerate(hours)]
        finding = told(found(tmp_path, *writers), "clock-skew", client="shared")
        assert finding.evidence["ahead_seconds"] == pytest.approx(2 * 3600, abs=2)


@pytest.mark.parametrize("clients", [("one", "other"), ("one",)])
def test_clocks_that_are_all_off_alike_are_right_and_that_of_the_capture_is_wrong(
    clients: tuple[str, ...], tmp_path: Path
) -> None:
    """Of one producer nobody can tell which clock is off."""
    talks = [
        writer(40000 + port, 5, times=15, ahead_ms=2 * HOUR_MS, client=client) for port, client in enumerate(clients)
    ]
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap(sorted(packet for talk in talks for packet in talk.wire.packets)))
    [finding] = diagnose([str(path)]).findings
    assert finding.finding == ("capture-clock" if len(clients) > 1 else "clock-skew")
    if len(clients) > 1:
        assert not finding.subject and "is 2 h behind those of all 2 producers (30 batches" in finding.text
    else:
        assert finding.advice.startswith("first compare the clock of the machine that captured")


def asker(number: int, a_second: int, *, times: int) -> Talk:
    talk = Talk("shared", 41000 + number)
    for _ in range(times):
        talk.call(3, 12, {"topics": None}, {"brokers": [], "topics": []}, SECOND // a_second - 2 * MILLISECOND)
    return talk


def test_many_that_ask_for_metadata_now_and_then_are_no_storm(tmp_path: Path) -> None:
    few = [asker(number, 2, times=12) for number in range(6)]
    assert not found(tmp_path, *few)
    told(found(tmp_path, *few, asker(7, 5, times=30)), "metadata-storm", client="shared")


def fetcher(number: int, a_second: int, *, times: int) -> Talk:
    talk = Talk("shared", 42000 + number)
    for _ in range(times):
        asked = {"maxWaitMs": 40, "minBytes": 1, "topics": []}
        talk.call(1, 11, asked, {"responses": []}, SECOND // a_second - 2 * MILLISECOND)
    return talk


def test_many_that_fetch_calmly_are_not_busy(tmp_path: Path) -> None:
    few = [fetcher(number, 20, times=80) for number in range(6)]
    assert not found(tmp_path, *few)
    told(found(tmp_path, *few, fetcher(9, 200, times=800)), "busy-fetch", client="shared")


def later(talk: Talk, wait: int) -> Talk:
    talk.wire.packets = [each._replace(ns=each.ns + wait) for each in talk.wire.packets]
    return talk


def test_a_client_that_spins_for_a_moment_is_not_busy(tmp_path: Path) -> None:
    """franz-go does, as a leader moves: it has no partition to ask for."""
    calm = fetcher(0, 2, times=14)
    assert not found(tmp_path, calm, later(fetcher(1, 500, times=470), 3 * SECOND))
    told(found(tmp_path, calm, fetcher(1, 100, times=700)), "busy-fetch", client="shared")


def test_short_connections_count_beside_long_ones_of_the_same_id(tmp_path: Path) -> None:
    long = [fetcher(number, 20, times=200) for number in range(2)]
    assert not found(tmp_path, *long)
    short = [later(asker(10 + number, 400, times=1), number * SECOND // 3) for number in range(20)]
    told(found(tmp_path, *long, *short), "connection-churn", client=["shared"])


@pytest.mark.parametrize("stays", [True, False])
def test_clients_with_a_new_numbered_id_each_time_are_one_program(stays: bool, tmp_path: Path) -> None:
    """A producer for each event, without an id of its own. Instances with a number each that stay are a service."""
    every = []
    for number in range(20):
        talk = Talk(f"producer-{number + 1}", 41000 + number)
        for _ in range(80 if stays else 3):
            talk.call(3, 12, {"topics": []}, {"brokers": [], "topics": []}, SECOND // 10)
        every.append(later(talk, number * SECOND // 3))
    findings = found(tmp_path, *every)
    assert [each.evidence["ids"] for each in findings if each.finding == "connection-churn"] == ([] if stays else [20])
    assert all("producer-7" in each.subject["client"] for each in findings)


def test_one_of_three_members_with_one_client_id_hangs() -> None:
    found = only("stuck-one-of-three")
    assert found.finding == "consumer-stuck" and found.severity == "critical"
    told_of(found, client="svc", group="svc")


@pytest.mark.parametrize(("unit", "a_second"), [("seconds", 1), ("microseconds", 10**6), ("nanoseconds", 10**9)])
@pytest.mark.parametrize("producers", [1, 2])
def test_times_in_another_unit_are_no_clock_and_no_mirror(
    unit: str, a_second: int, producers: int, tmp_path: Path
) -> None:
    """Kafka takes them for milliseconds: of 1970, or of the far future. They drift by nearly a second a second."""
    talks = []
    for number in range(producers):
        talk = Talk(f"app-{number}", 40000 + number)
        for sent in range(12):
            records = batch_bytes([(b"k", b"v")], time=talk.wire.now * a_second // SECOND)
            parts = [{"index": 0, "records": records}]
            asked = {"acks": 1, "timeoutMs": 1000, "topicData": [{"name": "orders", "partitionData": parts}]}
            part = {"index": 0, "errorCode": 0, "baseOffset": sent}
            answer = {"responses": [{"name": "orders", "partitionResponses": [part]}]}
            talk.call(0, 9, asked, answer, 2 * SECOND)
        talks.append(talk)
    findings = found(tmp_path, *talks)
    assert [each.finding for each in findings] == ["clock-skew"] * producers
    for finding in findings:
        assert finding.evidence["unit"] == unit and f"are the time in {unit}; Kafka reads milliseconds" in finding.text
        assert ("never deletes" in finding.advice) == (unit != "seconds")
