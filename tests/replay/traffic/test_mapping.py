"""Requests in live ids, and what answers teach: a row a rule."""

from typing import Any

from kcli.grammar import messages
from kcli.replay.traffic.mapping import Mapper, aligned
from kcli.schemas.apikeys import FETCH, INIT_PRODUCER_ID, JOIN_GROUP, METADATA, PRODUCE, SYNC_GROUP
from tests.replay.traffic.test_identities import ID, OTHER, identities


def mapper(**mapping: str) -> Mapper:
    return Mapper(identities(**mapping))


def test_a_fetch_of_a_follower_is_a_consumers_with_live_ids() -> None:
    made = mapper()
    made.sessions.learn("s", {}, {"sessionId": 5}, {"sessionId": 6})
    body: dict[str, Any] = {
        "replicaState": {"replicaId": 2, "replicaEpoch": 1},
        "sessionId": 5,
        "sessionEpoch": 3,
        "topics": [{"topicId": ID, "_topicName": "orders", "partitions": [
            {"partition": 0, "currentLeaderEpoch": 4, "fetchOffset": 9}]}],
    }  # fmt: skip
    live = made.request(FETCH, body, "s")
    assert live == {
        "sessionId": 6,
        "sessionEpoch": 3,
        "topics": [{"topicId": OTHER, "partitions": [{"partition": 0, "currentLeaderEpoch": -1, "fetchOffset": 9}]}],
    }
    assert body["topics"][0]["topicId"] == ID  # the capture's own stays


def test_a_join_teaches_the_member_and_its_generation() -> None:
    made = mapper()
    request = {"groupId": "g", "memberId": ""}
    refused = {"errorCode": 79, "generationId": -1, "memberId": "m-1", "leader": ""}
    made.learn(JOIN_GROUP, request, refused, refused | {"memberId": "m-9"}, "s")
    assert made.identities.members == {"m-1": "m-9"}
    joined = {"errorCode": 0, "generationId": 3, "memberId": "m-1", "leader": "m-1", "members": []}
    made.learn(JOIN_GROUP, request | {"memberId": "m-1"}, joined, joined | {"generationId": 1, "memberId": "m-9"}, "s")
    rows = [{"memberId": each, "metadata": b""} for each in ("m-2", "m-1")]
    live = {"generationId": 1, "memberId": "m-9", "leader": "m-8", "members": rows[::-1]}
    made.learn(JOIN_GROUP, request, joined | {"leader": "m-2", "members": rows}, live, "s")
    assert made.identities.members == {"m-1": "m-9"}, "other members are listed in any order"
    sync = {"groupId": "g", "memberId": "m-1", "generationId": 3, "assignments": [{"memberId": "m-1"}]}
    assert made.request(SYNC_GROUP, sync, "s") == {
        "groupId": "g", "memberId": "m-9", "generationId": 1, "assignments": [{"memberId": "m-9"}],
    }  # fmt: skip


def test_a_producer_is_learnt_and_an_error_teaches_nothing() -> None:
    made = mapper()
    good, bad = {"errorCode": 0, "producerId": 4, "producerEpoch": 2}, {"errorCode": 14, "producerId": 5}
    made.learn(INIT_PRODUCER_ID, {}, good, {"errorCode": 0, "producerId": 70, "producerEpoch": 0}, "s")
    made.learn(INIT_PRODUCER_ID, {}, bad, bad | {"producerId": -1}, "s")
    assert (made.identities.producers, made.identities.epochs) == ({4: 70}, {4: {2: 0}})


def test_topics_and_partitions_are_laid_side_by_side_by_their_names() -> None:
    made = mapper()
    captured = {"topics": [{"name": "a", "partitions": [{"partitionIndex": 0, "leaderEpoch": 8}]},
                           {"name": "orders", "partitions": [{"partitionIndex": 1, "leaderEpoch": 9}]}]}  # fmt: skip
    live = {"topics": [{"name": "orders", "topicId": OTHER, "partitions": [
        {"partitionIndex": 0, "leaderEpoch": 3}, {"partitionIndex": 1, "leaderEpoch": 4}]}]}  # fmt: skip
    made.learn(METADATA, {"topics": None}, captured, live, "s")
    assert made.identities.leader_epochs == {("orders", 1, 9): 4}


def test_produce_offsets_are_learnt_by_topic_id_or_name() -> None:
    made = mapper()
    captured = {"responses": [{"topicId": ID, "partitionResponses": [{"index": 0, "errorCode": 0, "baseOffset": 50}]}]}
    live = {"responses": [{"name": "orders", "partitionResponses": [{"index": 0, "errorCode": 0, "baseOffset": 0}]}]}
    made.learn(PRODUCE, {"topicData": []}, captured, live, "s")
    assert made.identities.shifts == {("orders", 0): [(50, -50)]}


def test_entries_without_names_go_by_their_place() -> None:
    assert aligned([{"a": 1}, {"a": 2}], [{"a": 3}], identities()) == [({"a": 1}, {"a": 3})]
    twice = [{"name": "t", "a": 1}, {"name": "u", "a": 2}, {"name": "t", "a": 3}]
    assert aligned(twice, twice, identities()) == [(each, each) for each in twice]


def test_topics_in_a_group_protocols_own_message_are_mapped() -> None:
    codec = messages.data("ConsumerProtocolSubscription", 1)
    data = b"\0\1" + codec.write({"topics": ["orders"], "userData": None, "ownedPartitions": []})
    body = {"groupId": "g", "memberId": "", "protocols": [{"name": "range", "metadata": data}]}
    made = mapper(orders="sales").request(JOIN_GROUP, body, "s")["protocols"][0]["metadata"]
    assert codec.read_whole(made, 2)["topics"] == ["sales"]
    assert mapper().request(JOIN_GROUP, body, "s")["protocols"][0]["metadata"] == data
    broken = {"protocols": [{"name": "range", "metadata": b"\0\1\xff"}]}
    assert mapper(orders="sales").request(JOIN_GROUP, broken, "s")["protocols"] == broken["protocols"]
