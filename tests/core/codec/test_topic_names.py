"""Topic names put into columns of JSON text."""

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("kcli.core.codec.topic_names")

from kcli.core.codec.messages import Names
from kcli.core.codec.topic_names import NameInserter
from kcli.core.codec.values import uuid_bytes, uuid_text
from kcli.grammar import messages
from kcli.grammar.topic_ids import annotate
from kcli.jsontext import dumps

IDS = ["LiM8oXcTSBWR3XF1qnjt6A", "AAAAAAAAAAAAAAAAAAAAAQ", "sS0LwVrdS_S2ZBihRjwhpQ"]
KNOWN = {IDS[0]: (b'"orders"', 100), IDS[1]: (b'"a \\"b\\""', 200)}


def inserted(texts: Sequence[str], moments: Sequence[int], known: dict[str, tuple[bytes, int]] = KNOWN) -> list[str]:
    """The texts behind `NameInserter.insert`."""
    data = [text.encode() for text in texts]
    offsets = numpy.cumsum([0, *map(len, data)]).astype(numpy.int32)
    made = NameInserter(known).insert(b"".join(data), offsets, numpy.array(moments, numpy.int64))
    if made is None:
        return list(texts)
    whole, ends = made[0], numpy.frombuffer(made[1], numpy.int32).tolist()
    return [whole[start:end].decode() for start, end in pairwise(ends)]


def test_a_name_is_shown_from_when_it_was_learnt_on() -> None:
    text = f'{{"topics":[{{"topicId":"{IDS[0]}","partitions":[{{"index":0}}]}}],"more":1}}'
    named = text.replace("0}]}", '0}],"_topicName":"orders"}')
    assert inserted([text, text, "", text], [100, 101, 500, 7]) == [text, named, "", text]


@pytest.mark.parametrize(
    "text",
    [
        f'{{"name":"orders","topicId":"{IDS[0]}"}}',
        f'{{"topicId":"{IDS[0]}","topic":"x"}}',
        f'{{"topicId":"{IDS[0]}","n":{{}},"_topicName":"orders"}}',
        f'{{"topicId":"{IDS[2]}"}}',
        f'{{"topicId":"{IDS[0][:-1]}"}}',
        '{"topicId":null}',
        f'{{"text":"{{\\"topicId\\":\\"{IDS[0]}\\"}}"}}',
        f'["topicId","{IDS[0]}"]',
        f'"topicId":"{IDS[0]}"}}',
        f'{{"topicId":"{IDS[0]}"',
        '{"topicId":"',
        '{"topicId',
        "\\",
        '{"a":"\\\\","b":"\\\\\\"}"}',
    ],
)
def test_nothing_to_put_in(text: str) -> None:
    assert inserted([text], [500]) == [text]


def test_names_that_are_empty_or_null_are_none() -> None:
    for member in ('"name":null,', '"topic":"",', ""):
        text = f'{{ {member}"topicId" : "{IDS[1]}" }}'
        assert json.loads(inserted([text], [500])[0])["_topicName"] == 'a "b"'


def test_objects_that_lie_too_deep_stay_as_they_are() -> None:
    for depth in (63, 64, 65, 200):
        text = '{"a":' * depth + f'{{"topicId":"{IDS[0]}"}}' + "}" * depth
        named = text.replace('"}', '","_topicName":"orders"}')
        assert inserted([text], [500]) == [named if depth < 64 else text]


def test_other_offsets_are_refused() -> None:
    for offsets, moments in (([0, 9], [1]), ([2, 1], [1]), ([-1, 1], [1]), ([0, 1], []), ([], [])):
        with pytest.raises(ValueError, match="other rows"):
            NameInserter({}).insert(b"{}", numpy.array(offsets, numpy.int32), numpy.array(moments, numpy.int64))


def test_the_text_is_the_one_that_the_core_makes() -> None:
    codec = messages.response(1, 17)
    topics = [{"topicId": each, "partitions": [{"partitionIndex": 3}]} for each in IDS]
    data = codec.write({"responses": topics})
    names = Names()
    bare = codec.json(data, names=Names())[0].decode()
    for topic_id, (name, _) in KNOWN.items():
        names.learn(uuid_bytes(topic_id), json.loads(name))
    assert inserted([bare], [500]) == [codec.json(data, names=names)[0].decode()]


class Told:
    """`annotate`'s names, as known at a moment."""

    def __init__(self, now: int) -> None:
        self.now = now

    def learn(self, uuid: bytes, name: str) -> None:
        return

    def get(self, uuid: bytes) -> str | None:
        name, since = KNOWN.get(uuid_text(uuid), (b"", self.now))
        return name.decode() if since < self.now else None


KEYS = st.sampled_from(["name", "topic", "topicName", "partitions", 'o"dd\\', "{"])
LEAVES = st.none() | st.integers() | st.sampled_from(["", "x", 'a"}', "\\", "{", *IDS])


def objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    plain = st.dictionaries(KEYS, inner, max_size=3)
    named = st.builds(
        lambda before, topic, after: {**before, "topicId": topic, **after}, plain, st.sampled_from(IDS), plain
    )
    return plain | named | st.lists(inner, max_size=3)


@given(st.lists(st.tuples(st.recursive(LEAVES, objects), st.sampled_from([50, 150, 250])), max_size=4))
def test_it_does_what_annotate_does(rows: list[tuple[Any, int]]) -> None:
    texts = [dumps(value) for value, _ in rows]
    made = inserted(texts, [moment for _, moment in rows])
    for value, moment in rows:
        annotate(value, Told(moment))
    assert [json.loads(text) for text in made] == [value for value, _ in rows]
