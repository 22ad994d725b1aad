"""Topic names beside topic ids, on values."""

from __future__ import annotations

from kcli.core.codec.values import uuid_bytes
from kcli.grammar.topics import annotate

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
