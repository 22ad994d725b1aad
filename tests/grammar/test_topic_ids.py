"""Topic names beside topic ids, on values."""

from kcli.core.codec.values import uuid_bytes
from kcli.grammar import messages
from kcli.grammar.topic_ids import annotate, naming_apis, teaches
from kcli.schemas.apikeys import ENVELOPE
from kcli.schemas.catalog import catalog

ONE, TWO = "AAAAAAAAAAAAAAAAAAAAAQ", "AAAAAAAAAAAAAAAAAAAAAg"


class Known(dict[bytes, str]):
    def learn(self, uuid: bytes, name: str) -> None:
        self[uuid] = f'"{name}"'


def test_a_name_is_learnt_and_shown() -> None:
    names = Known()
    annotate({"topics": [{"topicId": ONE, "name": "a"}, {"topicId": TWO, "name": None}]}, names)
    assert names == {uuid_bytes(ONE): '"a"'}
    value = {"topics": [{"topicId": ONE}, {"topicId": TWO}], "other": [[{"topicId": ONE}], 5]}
    annotate(value, names)
    assert value["topics"] == [{"topicId": ONE, "_topicName": "a"}, {"topicId": TWO}]
    assert value["other"] == [[{"topicId": ONE, "_topicName": "a"}], 5]


def test_messages_that_teach_names() -> None:
    taught = {
        ("Metadata", 12): (True, True),
        ("Metadata", 9): (False, False),
        ("Fetch", 12): (False, False),
        ("Fetch", 17): (False, False),
    }
    for (name, version), expected in taught.items():
        sides = (messages.request(name, version), messages.response(name, version))
        assert tuple(teaches(side.grammar) for side in sides) == expected
    assert teaches(messages.response("ConsumerGroupDescribe", 1).grammar)


def test_apis_that_teach_names_are_those_of_their_grammars() -> None:
    found = {
        key
        for key, api in catalog(None).apis.items()
        for version in range(api.versions.lo, api.versions.hi + 1)
        for side in (messages.request, messages.response)
        if teaches(side(key, version).grammar)
    }
    assert found <= naming_apis(None) <= found | {ENVELOPE}
    assert naming_apis(None) >= {3, 4, 6, 19, 20, 69, 75, 77, 90, 91, 92}
