"""Records that a mirror writes again and again, beside retries and a producer whose batches are all alike."""

from pathlib import Path

import pytest

from kcli.diagnose import diagnose
from tests.capture.messages import request, response
from tests.capture.wires import MILLISECOND, pcap
from tests.records.slips.making import batch_bytes
from tests.rules.test_by_hand import SECOND, Talk, found, told
from tests.sql.test_call_tables import TOPIC_ID


def write(talk: Talk, number: int, offset: int) -> None:
    parts = [{"index": 0, "records": batch_bytes([(b"k", b"%d" % number)])}]
    answer = {"name": "ring", "partitionResponses": [{"index": 0, "baseOffset": offset}]}
    asked = {"acks": -1, "topicData": [{"name": "ring", "partitionData": parts}]}
    talk.call(0, 9, asked, {"responses": [answer]}, SECOND // 5)


def read(talk: Talk, number: int, offset: int) -> None:
    part = {"partitionIndex": 0, "highWatermark": offset + 1, "records": batch_bytes([(b"k", b"%d" % number)])}
    asked = {"maxWaitMs": 500, "minBytes": 1, "sessionEpoch": -1,
             "topics": [{"topic": "ring", "partitions": [{"partition": 0, "fetchOffset": offset}]}]}  # fmt: skip
    talk.call(1, 11, asked, {"responses": [{"topic": "ring", "partitions": [part]}]}, SECOND // 5)


@pytest.mark.parametrize("reads", [True, False])
def test_a_mirror_in_both_directions(reads: bool, tmp_path: Path) -> None:
    """What was read is written again, four times; a test that writes the same bytes again is no mirror."""
    writer, reader = Talk("mirror", 41000), Talk("mirror-reader", 42000)
    for turn in range(4):
        for number in range(12):
            write(writer, number, 12 * turn + number)
            if reads:
                read(reader, number, 12 * turn + number)
            else:
                reader.wire.now += SECOND // 5
    findings = found(tmp_path, writer, reader)
    if reads:
        assert told(findings, "mirror-loop", client="mirror", topic="ring").evidence["rounds"] == 3
    else:
        assert not findings, "no retry either: each had been answered"


def test_what_is_sent_again_before_its_answer_is_a_retry(tmp_path: Path) -> None:
    talk = Talk("hasty")
    for number in range(6):
        parts = [{"index": 0, "records": batch_bytes([(b"k", b"%d" % number)])}]
        asked = {"acks": -1, "topicData": [{"name": "ring", "partitionData": parts}]}
        for again in (0, 1):
            talk.wire.client(request(0, 9, 2 * number + again, asked, "hasty"))
            talk.wire.now += 600 * MILLISECOND
        for again in (0, 1):
            part = {"index": 0, "baseOffset": 2 * number + again}
            answer = {"responses": [{"name": "ring", "partitionResponses": [part]}]}
            talk.wire.server(response(0, 9, 2 * number + again, answer))
        talk.wire.now += SECOND
    assert "duplicate-writes" in {each.finding for each in found(tmp_path, talk)}


@pytest.mark.parametrize("client", ["reader", "broker-2-fetcher-0"])
def test_topics_known_by_id_alone_are_named_with_the_way_to_their_names(client: str, tmp_path: Path) -> None:
    """Followers read __consumer_offsets so: nobody misses its name."""
    talk = Talk(client)
    for _ in range(3):
        asked = {"sessionEpoch": -1, "replicaState": {"replicaId": -1 if client == "reader" else 2, "replicaEpoch": 1},
                 "topics": [{"topicId": TOPIC_ID, "partitions": [{"partition": 0, "fetchOffset": 5}]}]}  # fmt: skip
        part = {"partitionIndex": 0, "highWatermark": 9}
        talk.call(1, 15, asked, {"responses": [{"topicId": TOPIC_ID, "partitions": [part]}]})
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap(talk.wire.packets))
    said = [each for each in diagnose([str(path)]).unjudged if TOPIC_ID in each.what]
    assert [each.what for each in said] == ([f"1 topic known by id alone: {TOPIC_ID}"] if client == "reader" else [])
    assert all(each.remedy.endswith(f"kafka-topics.sh --describe --topic-id {TOPIC_ID}") for each in said)
