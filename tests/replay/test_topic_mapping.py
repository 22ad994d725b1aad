import pytest

from kcli.errors import UsageError
from kcli.replay.topic_mapping import LiveTopics, TopicNames, parse_topic_map
from kcli.schemas.definition import ZERO_UUID

ID = "aaaaaaaaaaaaaaaaaaaaaQ"


def test_ids_are_named_by_metadata_and_by_lines_of_decode_pcap() -> None:
    names = TopicNames()
    names.learn(3, {"topics": []}, {"topics": [{"topicId": ID, "name": "orders"}, {"topicId": "A" * 22, "name": "x"}]})
    names.learn(1, {"topics": [{"topicId": "bbb", "_topicName": "refunds", "partitions": []}]}, None)
    names.learn(1, None, {"responses": [{"topicId": "ccc", "_topicName": "stock"}]})
    names.learn(1, {"topics": [{"topicId": "ddd"}]}, {"responses": []})
    names.learn(99, None, {"topics": [{"topicId": "eee", "name": "no"}]})
    names.learn(3, None, {"topics": None})
    assert names.names == {ID: "orders", "bbb": "refunds", "ccc": "stock"}


def test_the_users_mapping_wins_by_id_or_by_name() -> None:
    names = TopicNames()
    names.names[ID] = "orders"
    assert names.live_name(ID, {}) == "orders"
    assert names.live_name(ID, {"orders": "copy"}) == "copy"
    assert names.live_name(ID, {"orders": "copy", ID: "other"}) == "other"
    assert names.live_name("unnamed", {}) == "unnamed"


def test_topic_map() -> None:
    assert parse_topic_map(["a=b, c=d", f"{ID}=e.f"]) == {"a": "b", "c": "d", ID: "e.f"}


@pytest.mark.parametrize("text", ["a", "=b", "a=", "a=b c", "a=" + "x" * 250, ""])
def test_what_is_no_mapping_is_said(text: str) -> None:
    with pytest.raises(UsageError, match="CAPTURED=LIVE expected"):
        parse_topic_map([text])


@pytest.mark.parametrize("topic", [{"topicId": "a", "_topicName": 5}, {"topicId": [1], "_topicName": "orders"}])
def test_a_name_is_text(topic: dict[str, object]) -> None:
    with pytest.raises(TypeError, match="where a topic's id or name is expected"):
        TopicNames().learn(1, {"topics": [topic]}, None)


def test_a_live_topic_without_a_name_or_an_id_is_not_learnt() -> None:
    live = LiveTopics(TopicNames(), {})
    for name, topic_id in (("orders", ID), ("old", ""), ("older", ZERO_UUID), ("", "B" * 22)):
        live.put(name, topic_id)
    assert (live.ids, live.names) == ({"orders": ID}, {ID: "orders"})
