"""Causes that begin late: the calm before them makes them no rarer."""

from __future__ import annotations

from pathlib import Path

from kcli.diagnose import diagnose
from tests.capture.wires import MILLISECOND
from tests.records.slips.making import batch_bytes
from tests.rules.test_by_hand import SECOND, Talk, fetched, found, told
from tests.rules.test_sharing import later


def sent(talk: Talk, times: int, pause: int, error: int = 0) -> Talk:
    """Send a record alone, again and again."""
    for _ in range(times):
        parts = [{"index": 0, "records": batch_bytes([(b"k", b"v")])}]
        part = {"index": 0, "errorCode": error, "baseOffset": -1 if error else 7}
        talk.call(
            0, 9, {"acks": -1, "timeoutMs": 1000, "topicData": [{"name": "orders", "partitionData": parts}]},
            {"responses": [{"name": "orders", "partitionResponses": [part]}]}, pause,
        )  # fmt: skip
    return talk


def asked(talk: Talk, times: int, pause: int) -> Talk:
    """Ask for the Metadata of all topics, again and again."""
    for _ in range(times):
        talk.call(3, 12, {"topics": None}, {"brokers": [], "topics": []}, pause)
    return talk


def test_records_that_are_sent_alone_at_the_end(tmp_path: Path) -> None:
    late = sent(sent(Talk(), 60, SECOND), 900, 8 * MILLISECOND)
    finding = told(found(tmp_path, late), "tiny-batches", client="tester")
    assert 820 < finding.evidence["requests"] <= 902 and 7 <= finding.evidence["seconds"] < 9
    assert "(in all: 69.1 s)" in finding.text and "0 were refused" in finding.ruled_out
    assert not found(tmp_path, sent(sent(Talk(), 60, SECOND), 400, 8 * MILLISECOND)), "3 s are a burst"
    assert "in all" not in told(found(tmp_path, sent(Talk(), 400, 8 * MILLISECOND)), "tiny-batches").text
    over = sent(sent(sent(Talk(), 60, SECOND), 900, 8 * MILLISECOND), 20, SECOND)
    assert not found(tmp_path, over), "it made up for a pause"


def test_writes_that_are_refused_are_no_tiny_batches(tmp_path: Path) -> None:
    findings = found(tmp_path, sent(Talk(), 900, 8 * MILLISECOND, error=6))
    assert "tiny-batches" not in {each.finding for each in findings}


def test_a_consumer_that_stops_waiting_at_the_end(tmp_path: Path) -> None:
    def talk(busy: int) -> Talk:
        made = fetched(Talk(), 80)
        for _ in range(busy):
            fetched(made, 1)
            made.wire.now -= SECOND // 2 - 10 * MILLISECOND
        return made

    finding = told(found(tmp_path, talk(700)), "busy-fetch", client="tester")
    assert finding.evidence["per_second"] > 80 and finding.evidence["seconds"] < 9
    assert "over 8.4 s (in all: 48.5 s)" in finding.text
    assert not found(tmp_path, talk(300))


def test_all_topics_asked_for_at_the_end(tmp_path: Path) -> None:
    finding = told(found(tmp_path, asked(asked(Talk(), 20, 5 * SECOND), 80, SECOND // 10)), "metadata-storm")
    assert 70 < finding.evidence["requests"] <= 80 and "(in all: 10" in finding.text
    assert not found(tmp_path, asked(Talk(), 40, 2 * SECOND))


def test_errors_that_begin_late(tmp_path: Path) -> None:
    good = fetched(Talk(), 200)
    finding = told(found(tmp_path, fetched(good, 20, error=42)), "errors-again", client="tester")
    assert (finding.evidence["answers"], finding.evidence["requests"]) == (20, 20)
    mixed = fetched(Talk(), 1, error=42)
    for _ in range(12):
        fetched(fetched(mixed, 9), 1, error=42)
    path = tmp_path / "a.pcap"
    assert not found(tmp_path, mixed) and diagnose([str(path)]).judged


def looked(talk: Talk, times: int, pause: int) -> Talk:
    """List groups, again and again."""
    for _ in range(times):
        talk.call(16, 4, {"statesFilter": []}, {"groups": []}, pause)
    return talk


def test_looks_at_the_cluster_that_begin_late(tmp_path: Path) -> None:
    work = fetched(Talk("worker", 40001), 120)
    late = looked(looked(Talk("scripts", 40002), 20, 2 * SECOND), 200, SECOND // 20)
    finding = told(found(tmp_path, work, late), "exporter-load", client="scripts")
    assert finding.severity == "warning" and 190 < finding.evidence["requests"] <= 201
    assert "(in all: 5" in finding.text
    assert not found(tmp_path, work, looked(Talk("scripts", 40002), 40, SECOND))


def test_looks_in_rounds_are_worth_a_word(tmp_path: Path) -> None:
    """The groups of a cluster, all of them each 5 s: many requests of a tool that rests between its rounds."""
    rounds = Talk("ui", 40002)
    for _ in range(6):
        looked(rounds, 120, 10 * MILLISECOND).wire.now += 5 * SECOND
    assert not found(tmp_path, rounds)
    [finding] = diagnose([str(tmp_path / "a.pcap")]).findings
    assert (finding.finding, finding.severity) == ("exporter-load", "info")
    assert finding.evidence["rested_seconds"] > 20


def scripts(first: int, times: int, pause: int, begin: int = 0, client: str = "script") -> list[Talk]:
    """Connect for one question, again and again."""
    return [
        later(looked(Talk(client, first + number), 1, MILLISECOND), begin + number * pause) for number in range(times)
    ]


def test_connections_that_are_used_once_in_the_end(tmp_path: Path) -> None:
    calm = scripts(41000, 12, 5 * SECOND)
    late = scripts(42000, 30, SECOND // 2, 60 * SECOND)
    finding = told(found(tmp_path, *calm, *late), "connection-churn", client=["script"])
    assert 28 <= finding.evidence["connections"] <= 31 and "(in all: 7" in finding.text
    assert "keep one admin client" in finding.advice
    assert not found(tmp_path, *calm, *scripts(42000, 16, SECOND // 2, 60 * SECOND)), "8 s are a start"


def held(talk: Talk, times: int, pause: int, throttle_ms: int) -> Talk:
    """List groups; each answer says to wait."""
    for _ in range(times):
        talk.call(16, 4, {"statesFilter": []}, {"throttleTimeMs": throttle_ms, "groups": []}, pause)
    return talk


def test_a_quota_that_holds_back_at_the_end(tmp_path: Path) -> None:
    late = held(held(Talk(), 200, SECOND, 0), 24, SECOND // 2, 60)
    finding = told(found(tmp_path, late), "throttled", client="tester")
    assert finding.evidence["throttled"] == 24 and 11 < finding.evidence["seconds"] < 13
    assert "(in all: 21" in finding.text
    assert not found(tmp_path, held(held(Talk(), 200, SECOND, 0), 8, SECOND, 60)), "a moment of 200 s"


def test_a_late_stretch_counts_without_an_early_moment(tmp_path: Path) -> None:
    """A burst as the client starts is no part of it."""
    late = sent(sent(sent(Talk(), 100, 8 * MILLISECOND), 60, SECOND), 900, 8 * MILLISECOND)
    finding = told(found(tmp_path, late), "tiny-batches", client="tester")
    assert 820 < finding.evidence["requests"] <= 902 and finding.evidence["seconds"] < 9


def test_leaders_that_move_explain_who_connects_anew_for_each(tmp_path: Path) -> None:
    """As kafka-go does: two connections for one question each."""

    def moved(client: str) -> set[str]:
        moves = Talk("nomad", 40000)
        for _ in range(6):
            sent(sent(moves, 1, 20 * MILLISECOND, error=6), 3, 2 * SECOND)
        anew = scripts(42000, 30, SECOND // 2, 2 * SECOND, client)
        return {each.finding for each in found(tmp_path, moves, *anew)}

    assert moved("nomad") == {"leader-moves"}
    assert moved("script") == {"leader-moves", "connection-churn"}


def test_jobs_that_open_many_connections_at_once_and_rest_are_no_churn(tmp_path: Path) -> None:
    """A test with an admin, a producer and a consumer, over and over; without its rests it would be."""

    def runs(pause: int) -> list[Talk]:
        return [each for run in range(12)
                for each in scripts(42000 + 10 * run, 7, SECOND // 10, run * pause, "itest")]  # fmt: skip

    assert not found(tmp_path, *runs(4 * SECOND))
    assert told(found(tmp_path, *runs(SECOND)), "connection-churn", client=["itest"]).evidence["connections"] == 84


def test_records_that_wait_already_and_are_spread_need_more_than_a_linger(tmp_path: Path) -> None:
    """Each partition's batch is sent as its own time is over."""

    def spread(partitions: int, waits_ms: int) -> Talk:
        talk = Talk()
        for number in range(1200):
            index, made = number % partitions, talk.wire.now // MILLISECOND - waits_ms
            parts = [{"index": index, "records": batch_bytes([(b"k", b"v")], time=made)}]
            part = {"index": index, "errorCode": 0, "baseOffset": 7}
            talk.call(
                0, 9, {"acks": -1, "timeoutMs": 1000, "topicData": [{"name": "orders", "partitionData": parts}]},
                {"responses": [{"name": "orders", "partitionResponses": [part]}]}, 8 * MILLISECOND,
            )  # fmt: skip
        return talk

    waits = told(found(tmp_path, spread(6, 25)), "tiny-batches", client="tester").advice
    assert "ms already (linger.ms), but are spread over 6 partitions" in waits
    assert told(found(tmp_path, spread(6, 0)), "tiny-batches").advice.startswith("set linger.ms 5 to 50")
    assert "a linger.ms well above that" in told(found(tmp_path, spread(1, 25)), "tiny-batches").advice
