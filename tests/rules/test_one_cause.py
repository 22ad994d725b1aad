"""What has one cause is one finding, with the names of all that it concerns."""

from pathlib import Path

from tests.rules.test_by_hand import SECOND, Talk, found, produced, told
from tests.rules.test_corrupt_record import BAD


def test_groups_without_a_coordinator(tmp_path: Path) -> None:
    talks = []
    for number, key in enumerate("gh"):
        talk = Talk(f"worker-{key}", 40000 + number)
        refusal = {"key": key, "nodeId": -1, "host": "", "port": -1, "errorCode": 15, "errorMessage": None}
        for _ in range(12 + number):
            talk.call(10, 4, {"keyType": 0, "coordinatorKeys": [key]}, {"coordinators": [refusal]}, SECOND)
        talks.append(talk)
    told(found(tmp_path, *talks), "coordinator-unavailable", group=["h", "g"], client=["worker-h", "worker-g"])


def test_topics_that_one_client_may_not_write(tmp_path: Path) -> None:
    both = produced(produced(produced(Talk(), 3, 0, "free"), 6, 29), 4, 29, "payments")
    finding = told(found(tmp_path, both), "topic-authorization-failed", topic=["orders", "payments"], client="tester")
    assert "Write, and likewise for the other topics)" in finding.advice and len(finding.evidence["alike"]) == 1
    one = told(found(tmp_path, produced(Talk(), 6, 29)), "topic-authorization-failed", topic="orders")
    assert "likewise" not in one.advice
    others = produced(Talk("others", 41000), 5, 29, "payments")
    findings = found(tmp_path, produced(Talk(), 6, 29), others)
    assert [each.subject["client"] for each in findings] == ["tester", "others"]


def test_topics_whose_leaders_move_at_the_same_time(tmp_path: Path) -> None:
    talk = Talk()
    for name in ("orders", "payments", "later"):
        for _ in range(4):
            produced(produced(talk, 1, 6, name), 4, 0, name)
            if name == "orders":
                produced(talk, 1, 6, "payments")
    findings = found(tmp_path, talk)
    assert [each.finding for each in findings] == ["leader-moves"] * 2
    assert [each.subject["topic"] for each in findings] == [["payments", "orders"], "later"]


def test_topics_that_a_broker_damages(tmp_path: Path) -> None:
    talk = Talk("sums")
    for topic in ("orders", "payments") * 8:
        asked = {"maxWaitMs": 500, "minBytes": 1, "sessionEpoch": -1,
                 "topics": [{"topic": topic, "partitions": [{"partition": 0, "fetchOffset": 0}]}]}  # fmt: skip
        part = {"partitionIndex": 0, "highWatermark": 900, "records": BAD}
        talk.call(1, 11, asked, {"responses": [{"topic": topic, "partitions": [part]}]}, SECOND)
    told(found(tmp_path, talk), "corrupt-record", topic=["orders", "payments"], partition=["orders-0", "payments-0"])
