"""Topic names that come from other connections."""

from __future__ import annotations

import json

from kcli.core.values import uuid_bytes
from kcli.pipeline.naming import NamesAt, named_text

ID = "AAAAAAAAAAAAAAAAAAAAAQ"


def test_a_name_is_shown_from_when_it_was_learnt_on() -> None:
    names = NamesAt({ID: ("orders", 100)})
    text = json.dumps({"topics": [{"topicId": ID, "partitions": []}]}, separators=(",", ":"))
    assert named_text(text, 100, names) == text
    named = named_text(text, 101, names)
    assert named is not None
    assert json.loads(named)["topics"][0] == {"topicId": ID, "partitions": [], "_topicName": "orders"}


def test_texts_without_such_an_id_stay_as_they_are() -> None:
    names = NamesAt({ID: ("orders", 0)})
    for text in (None, "{}", '{"topicId":"BBBBBBBBBBBBBBBBBBBBBQ", "odd":  1}'):
        assert named_text(text, 5, names) is text


def test_nothing_is_learnt() -> None:
    names = NamesAt({})
    names.learn(uuid_bytes(ID), "x")
    names.now = 5
    assert names.get(uuid_bytes(ID)) is None
