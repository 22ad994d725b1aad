"""Summaries of Produce, Fetch and ListOffsets in a capture of a transactional client."""

import pytest

from kcli.cli.decode.pcap.summary import errors_text, summarize
from tests.capture.wires import SAMPLES
from tests.cli.decode.pcap.summaries.exchanges import exchange, summary_of


@pytest.mark.parametrize(
    ("api", "number", "text"),
    [
        ("PRODUCE", 0, "pay-in[0, 1] 5 records -> at 0, 0"),
        ("FETCH", 0, "session new, pay-in[0, 1] -> session 2001337423, 2 partitions, 42 records"),
        ("FETCH", 1, "session 2001337423 epoch 1, 2 changed -> 0 partitions"),
        ("FETCH", 2, "session 2001337423 closed, 0 changed -> 0 partitions"),
        ("LIST_OFFSETS", 0, "pay-in[0, 1] earliest -> at 0, 0"),
    ],
)
def test_what_was_produced_and_fetched(api: str, number: int, text: str) -> None:
    assert summary_of(SAMPLES / "java44-txn.pcap", api, number) == text


def test_codecs_are_named() -> None:
    assert summary_of(SAMPLES / "kcat-codecs.pcap", "PRODUCE", 1) == "kcat-gzip[0] 200 records gzip -> at 0"


def test_where_to_go_instead_is_said() -> None:
    partition = {"index": 0, "errorCode": 6, "baseOffset": -1, "currentLeader": {"leaderId": 2, "leaderEpoch": 9}}
    response = {
        "responses": [{"name": "t", "partitionResponses": [partition]}],
        "nodeEndpoints": [{"nodeId": 2, "host": "b2", "port": 9092, "rack": None}],
    }
    made = exchange(0, 10, {"topicData": []}, response)
    assert summarize(made)[1] == "leader is 2 (epoch 9) at b2:9092"
    assert errors_text(made.request, made.response) == "NOT_LEADER_OR_FOLLOWER t[0]"
    asked = {"topicData": [{"name": "t", "partitionData": [{"index": 0}]}]}
    assert errors_text(asked, made.response) == "NOT_LEADER_OR_FOLLOWER"  # what was asked says where


def test_what_a_member_of_a_share_group_does_with_records_and_how_often_it_got_them() -> None:
    """Records that are released until their deliveries are used up are gone for the group, without an error."""
    batches = [
        {"firstOffset": first, "lastOffset": last, "acknowledgeTypes": types}
        for first, last, types in ((0, 9, [1]), (10, 13, [2, 0, 3, 2]), (20, 20, [2]))
    ]
    topics = [{"topicId": "AAAAAAAAAAAAAAAAAAAACQ", "partitions": [{"partitionIndex": 0}]}]
    topics[0]["partitions"][0]["acknowledgementBatches"] = batches  # type: ignore[index]
    taken = [
        {"firstOffset": first, "lastOffset": last, "deliveryCount": count}
        for first, last, count in ((30, 39, 1), (10, 10, 5))
    ]
    answer = {"topicId": "AAAAAAAAAAAAAAAAAAAACQ", "partitions": [{"partitionIndex": 0, "acquiredRecords": taken}]}
    asked, said = summarize(exchange(78, 1, {"groupId": "crew", "topics": topics}, {"responses": [answer]}))
    assert asked.endswith(", 10 accepted, 3 released, 1 rejected")
    assert said == "1 partition, 11 acquired (delivery 5)"
    del taken[1]
    assert summarize(exchange(78, 1, {"groupId": "crew"}, {"responses": [answer]}))[1].endswith(" 10 acquired")


def test_partitions_with_an_error_are_named() -> None:
    """Those of a session, too, which its Fetch does not name; an offset where it does."""
    parts = [{"partitionIndex": number, "errorCode": code} for number, code in ((0, 0), (3, 1), (4, 1), (5, 6))]
    response = {"errorCode": 0, "responses": [{"topic": "orders", "partitions": parts}]}
    asked = {"topics": [{"topic": "orders", "partitions": [{"partition": 3, "fetchOffset": 77}]}]}
    said = "OFFSET_OUT_OF_RANGE orders[3] at 77, orders[4], NOT_LEADER_OR_FOLLOWER orders[5]"
    assert errors_text(asked, response) == said
    assert errors_text(None, {"errorCode": 70}) == "FETCH_SESSION_ID_NOT_FOUND"
