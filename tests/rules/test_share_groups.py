"""Members of share and streams groups, and groups without partitions."""

from pathlib import Path

import pytest

from kcli.diagnose import diagnose
from tests.capture.wires import pcap
from tests.records.slips.making import batch_bytes
from tests.rules.test_by_hand import SECOND, Talk, beat_and_write, fetched, found, told

TOPIC = "AAAAAAAAAAAAAAAAAAAAqg"
ACCEPT, RELEASE, REJECT = 1, 2, 3
INVALID_RECORD_STATE = 121


def shared(
    talk: Talk, rounds: int, kind: int | None, again: int = 0, error: int = 0, batch: int = 10, member: str = ""
) -> Talk:
    """Get a batch of records a second from a share group, and acknowledge the one before. again: how many times each
    batch was given before. member: its id, if that is not the client's.
    """
    for number in range(rounds):
        at = number * batch
        made = (
            [{"firstOffset": at - batch, "lastOffset": at - 1, "acknowledgeTypes": [kind]}] if number and kind else []
        )
        asked = {
            "groupId": "crew", "memberId": member or talk.client, "shareSessionEpoch": number, "maxWaitMs": 500,
            "minBytes": 1, "maxBytes": 1000, "maxRecords": batch, "batchSize": batch, "forgottenTopicsData": [],
            "topics": [{"topicId": TOPIC, "partitions": [{"partitionIndex": 0, "acknowledgementBatches": made}]}],
        }  # fmt: skip
        given = [{"firstOffset": at, "lastOffset": at + batch - 1, "deliveryCount": 1 + again}]
        part = {"partitionIndex": 0, "errorCode": 0, "acknowledgeErrorCode": error if made else 0, "records": b"",
                "currentLeader": {"leaderId": 1, "leaderEpoch": 1}, "acquiredRecords": given}  # fmt: skip
        answer = {"acquisitionLockTimeoutMs": 5000, "responses": [{"topicId": TOPIC, "partitions": [part]}]}
        talk.call(78, 1, asked, answer, SECOND)
    return talk


@pytest.mark.parametrize(
    ("kind", "again", "error", "said", "advised"),
    [
        (RELEASE, 3, 0, "it released 110; the group got 120 again, some for the 4. time", "delivery.count.limit"),
        (REJECT, 0, 0, "it rejected 110", "rejected records are lost for the group"),
        (None, 1, 0, "it did not acknowledge 120 in time; the group got 120 again", "within 5000 ms"),
        (ACCEPT, 1, INVALID_RECORD_STATE, "it did not acknowledge 120 in time", "within 5000 ms"),
    ],
)
def test_a_member_of_a_share_group_that_does_not_accept(
    kind: int | None, again: int, error: int, said: str, advised: str, tmp_path: Path
) -> None:
    findings = found(tmp_path, shared(Talk("worker"), 12, kind, again, error), shared(Talk("fine", 41000), 12, ACCEPT))
    finding = told(findings, "share-not-accepted", client="worker", group="crew")
    assert f"{said}" in finding.text and advised in finding.advice


def test_a_member_of_a_share_group_that_accepts_or_still_works(tmp_path: Path) -> None:
    """What is not acknowledged when the capture ends is not late."""
    assert not found(tmp_path, shared(Talk("worker"), 12, ACCEPT), shared(Talk("busy", 41000), 3, None, batch=30))


def grown(talk: Talk, seconds: int, records: int) -> Talk:
    """Write to the topic of the share group."""
    for number in range(seconds):
        parts = [{"index": 0, "records": batch_bytes([(b"k", b"v")])}]
        asked = {"acks": 1, "timeoutMs": 1000, "topicData": [{"topicId": TOPIC, "partitionData": parts}]}
        part = {"index": 0, "errorCode": 0, "baseOffset": number * records}
        talk.call(0, 13, asked, {"responses": [{"topicId": TOPIC, "partitionResponses": [part]}]}, SECOND)
    return talk


@pytest.mark.parametrize("records", [10, 40])
def test_a_share_group_that_falls_behind(records: int, tmp_path: Path) -> None:
    findings = found(tmp_path, shared(Talk("worker"), 20, ACCEPT), grown(Talk("source", 41000), 20, records))
    if records == 40:
        finding = told(findings, "lagging-consumer", client="worker", group=["crew"])
        assert "it acknowledged 180 while" in finding.text and "--api ShareFetch" in finding.see
    else:
        assert not findings


def share_beats(talk: Talk, member: str, times: int) -> Talk:
    """Send heartbeats of a member of the share group."""
    for _ in range(times):
        asked = {"groupId": "crew", "memberId": member, "memberEpoch": 1}
        talk.call(76, 1, asked, {"memberId": member, "memberEpoch": 1, "heartbeatIntervalMs": 5000}, SECOND)
    return talk


@pytest.mark.parametrize("dies", [False, True])
def test_one_of_two_members_of_a_share_group_with_the_same_client_id(dies: bool, tmp_path: Path) -> None:
    """The other one reads the same partitions, and goes on. One that sends no heartbeats either has died."""
    talks = [
        shared(Talk("worker"), 2, ACCEPT, member="stuck"),
        share_beats(Talk("worker", 40001), "stuck", 2 if dies else 24),
        shared(Talk("worker", 40002), 23, ACCEPT, member="fine"),
        share_beats(Talk("worker", 40003), "fine", 24),
    ]
    stuck = [each for each in found(tmp_path, *talks, grown(Talk("source", 41000), 22, 1)) if "stuck" in each.finding]
    assert [each.subject["group"] for each in stuck] == ([] if dies else ["crew"])


@pytest.mark.parametrize("renews", [False, True])
def test_a_member_of_a_share_group_that_does_nothing(renews: bool, tmp_path: Path) -> None:
    """One that renews its locks works."""
    member, beats, source = Talk("worker"), Talk("worker", 40001), Talk("source", 41000)
    shared(member, 2, ACCEPT)
    for number in range(20 if renews else 0):
        part = {"partitionIndex": 0, "acknowledgementBatches": []}
        asked = {"groupId": "crew", "memberId": "worker", "shareSessionEpoch": 2 + number, "isRenewAck": True,
                 "topics": [{"topicId": TOPIC, "partitions": [part]}]}  # fmt: skip
        member.call(79, 2, asked, {}, SECOND)
    findings = found(tmp_path, member, share_beats(beats, "worker", 22), grown(source, 22, 1))
    if renews:
        assert not findings
    else:
        assert "21 records came to" in told(findings, "consumer-stuck", client="worker", group="crew").text or findings


def streams_beat(talk: Talk, epoch: int, tasks: int | None = None, pause: int = SECOND) -> Talk:
    """Send a heartbeat of a streams group. tasks: how many the answer gives the member; None: it does not say."""
    asked = {"groupId": "app", "memberId": talk.client, "memberEpoch": epoch, "endpointInformationEpoch": 0,
             "rebalanceTimeoutMs": 6000, "shutdownApplication": False}  # fmt: skip
    given = None if tasks is None else [{"subtopologyId": "0", "partitions": [*range(tasks)]}] if tasks else []
    answer = {"memberId": talk.client, "memberEpoch": max(epoch, 1), "heartbeatIntervalMs": 5000,
              "activeTasks": given}  # fmt: skip
    return talk.call(88, 0, asked, answer, pause)


def test_a_streams_member_that_exceeds_its_poll_interval(tmp_path: Path) -> None:
    stream = Talk("app-1")
    for _ in range(2):
        streams_beat(stream, 0, tasks=1, pause=7 * SECOND)
        streams_beat(stream, -1, pause=2 * SECOND)
    streams_beat(stream, 0, tasks=1)
    finding = told(found(tmp_path, stream), "poll-interval-exceeded", client="app-1", group="app")
    assert finding.evidence["left_by_itself"] == 2 and finding.evidence["max_poll_interval_ms"] == 6000


@pytest.mark.parametrize("tasks", [1, 0])
def test_a_streams_member_that_does_nothing(tasks: int, tmp_path: Path) -> None:
    """One whose tasks went to another member waits."""
    reader, member, source = Talk("app-1"), Talk("app-1", 40001), Talk("source", 41000)
    streams_beat(member, 0, tasks=1)
    fetched(reader, 20)
    member.wire.now = reader.wire.now
    streams_beat(member, 1, tasks=tasks)
    for _ in range(20):
        streams_beat(member, 1)
    source.wire.now = reader.wire.now
    beat_and_write(Talk("unused", 42000), source, "unused", 20)
    assert [each.finding for each in found(tmp_path, reader, member, source)] == (["consumer-stuck"] if tasks else [])


@pytest.mark.parametrize("leaves", [False, True])
def test_the_tasks_of_a_streams_member_that_died_wait_for_its_session(leaves: bool, tmp_path: Path) -> None:
    dead, other = Talk("app-2", 40001), Talk("app-1")
    for number in range(24):
        streams_beat(other, 1 if number < 20 and not leaves else 2, tasks=None if number else 1)
        if number < 5:
            streams_beat(dead, 1, tasks=None if number else 1)
    findings = found(tmp_path, other, streams_beat(dead, -1) if leaves else dead)
    if leaves:
        assert not findings
    else:
        finding = told(findings, "slow-rebalance", group="app", client=["app-2"])
        assert "streams.session.timeout.ms of the group" in finding.advice and "StreamsGroupHeartbeat" in finding.see


@pytest.mark.parametrize("given", [False, True])
def test_a_group_without_partitions(given: bool, tmp_path: Path) -> None:
    """Its pattern matches nothing that its user may describe."""
    talk = Talk("reader")
    for number in range(14):
        asked = {"groupId": "g", "memberId": "m-1", "memberEpoch": min(number, 1), "rebalanceTimeoutMs": -1,
                 "subscribedTopicNames": None, "serverAssignor": None, "topicPartitions": None}  # fmt: skip
        parts = [{"topicId": TOPIC, "partitions": [0]}] if given else []
        answer = {"memberId": "m-1", "memberEpoch": 1, "heartbeatIntervalMs": 5000,
                  "assignment": None if number else {"topicPartitions": parts}}  # fmt: skip
        talk.call(68, 0, asked, answer, SECOND)
    findings = found(tmp_path, talk)
    if given:
        assert not findings
    else:
        assert "13 heartbeats" in told(findings, "no-partitions", client=["reader"], group="g").text or findings


@pytest.mark.parametrize("times", [1, 6])
def test_a_follower_that_asks_once_for_deleted_records_is_as_usual(times: int, tmp_path: Path) -> None:
    talk = Talk("broker-1-fetcher-0")
    for _ in range(times):
        asked = {"replicaId": 1, "maxWaitMs": 500, "minBytes": 1, "maxBytes": 1000, "sessionId": 0, "sessionEpoch": -1,
                 "topics": [{"topic": "orders", "partitions": [{"partition": 0, "fetchOffset": 3}]}]}  # fmt: skip
        part = {"partitionIndex": 0, "errorCode": 1, "highWatermark": -1, "logStartOffset": -1}
        talk.call(1, 11, asked, {"responses": [{"topic": "orders", "partitions": [part]}]})
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap(talk.wire.packets))
    causes = [each.finding for each in diagnose([str(path)]).findings]
    assert causes == (["offset-out-of-range"] if times == 6 else [])
