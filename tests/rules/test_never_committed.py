"""Groups that read and commit nothing; and what can't be known of such groups."""

from pathlib import Path

import pytest

from kcli.diagnose import Diagnosis, diagnose
from tests.capture.wires import pcap
from tests.records.slips.making import batch_bytes
from tests.rules.test_by_hand import SECOND, Talk
from tests.rules.test_sharing import writer


def member(
    *, reads: int, commits: bool = False, told: bool = True, leaves: bool = True, seconds: int = 0, port: int = 41000
) -> list[Talk]:
    """The connections of a member that asks for its offset, reads a record each second so many times, and sends
    heartbeats. seconds: of heartbeats alone after that.
    """
    beats, fetches = Talk("reader", port), Talk("reader", port + 1)
    asked = {"groupId": "g", "topics": [{"name": "orders", "partitionIndexes": [0]}]}
    part = {"partitionIndex": 0, "committedOffset": -1 if told else 3}
    beats.call(9, 5, asked, {"topics": [{"name": "orders", "partitions": [part]}]})
    for number in range(reads):
        beat(beats)
        position = {"partition": 0, "fetchOffset": number}
        records = {"partitionIndex": 0, "highWatermark": number + 1, "records": batch_bytes([(b"k", b"v")])}
        fetches.call(
            1, 11, {"maxWaitMs": 500, "minBytes": 1, "topics": [{"topic": "orders", "partitions": [position]}]},
            {"responses": [{"topic": "orders", "partitions": [records]}]}, SECOND,
        )  # fmt: skip
        if commits and number % 5 == 4:
            done = {"partitionIndex": 0, "committedOffset": number}
            beats.call(
                8, 3,
                {"groupId": "g", "generationIdOrMemberEpoch": 1, "topics": [{"name": "orders", "partitions": [done]}]},
                {"topics": [{"name": "orders", "partitions": [{"partitionIndex": 0}]}]},
            )  # fmt: skip
    for _ in range(seconds):
        beat(beats)
    if leaves:
        beats.call(13, 1, {"groupId": "g", "memberId": "m"}, {})
    return [beats, fetches]


def beat(beats: Talk) -> None:
    beats.call(12, 3, {"groupId": "g", "generationId": 1, "memberId": "m"}, {}, SECOND)


def judged(folder: Path, *talks: Talk) -> tuple[Diagnosis, list[str]]:
    """What is found, and the parts that concern the group and are not judged."""
    path = folder / "a.pcap"
    path.write_bytes(pcap(sorted(packet for talk in talks for packet in talk.wire.packets)))
    made = diagnose([str(path)])
    assert made.judged
    return made, [each.what for each in made.unjudged if " of group g" in f" {each.what}"]


@pytest.mark.parametrize("case", ["never", "commits", "short", "committed before"])
def test_a_group_that_reads_for_a_minute_and_commits_nothing(case: str, tmp_path: Path) -> None:
    talks = member(reads=40 if case == "short" else 80, commits=case == "commits", told=case != "committed before")
    made, unknown = judged(tmp_path, *talks, writer(42000, 1, times=80))
    findings = [each for each in made.findings if each.finding == "never-committed"]
    assert len(findings) == (case == "never") and not unknown
    for finding in findings:
        assert finding.subject == {"group": "g", "client": ["reader"], "topic": ["orders"]}
        assert (finding.severity, finding.evidence["partitions"]) == ("warning", 1)


@pytest.mark.parametrize("leaves", [True, False])
def test_a_member_that_is_gone_before_its_first_commit_is_named(leaves: bool, tmp_path: Path) -> None:
    """One that leaves has had the time to commit what it did."""
    made, unknown = judged(tmp_path, *member(reads=4, leaves=leaves), writer(42000, 1, times=60))
    assert "never-committed" not in {each.finding for each in made.findings}
    assert len(unknown) == (not leaves) and all("reader of group g" in each for each in unknown)


@pytest.mark.parametrize("told", [True, False])
def test_the_lag_of_partitions_that_nobody_reads_is_unknown_without_a_commit(told: bool, tmp_path: Path) -> None:
    made, unknown = judged(tmp_path, *member(reads=0, told=told, seconds=30, leaves=False), writer(42000, 1, times=30))
    assert "never-committed" not in {each.finding for each in made.findings}
    lag = [each for each in unknown if each.startswith("the lag of group g")]
    assert len(lag) == told
