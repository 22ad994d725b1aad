"""Every message of the tables through kcli's two readers and writers, the interpreted and the compiled one.

Apache Kafka's own classes have their say in tests/real/test_messages.py.
"""

import json
from typing import Any

import pytest
from construct import ConstructError, GreedyBytes, Int8ub, Int32ub, Prefixed, Struct
from hypothesis import given
from hypothesis import strategies as st

from kcli.errors import DecodeError
from kcli.grammar import messages
from kcli.grammar.codec import MessageCodec
from kcli.grammar.words.trace import inside
from kcli.grammar.words.word import containers
from tests import messages as made


@pytest.mark.parametrize("shape", made.SHAPES)
def test_both_writers_and_both_readers_agree(shape: str) -> None:
    for message, version in made.every_message():
        codec = messages.data(message.name, version)
        value = made.SHAPES[shape](message, version)
        data = codec.interpreted.write(value)
        read, end = codec.interpreted.read(data)
        assert end == len(data), codec.what
        if shape != "bare":
            assert read == value, codec.what
        if codec.compiled:
            assert codec.compiled.write(value) == data, codec.what
            assert codec.compiled.read(data) == (read, end), codec.what
            assert codec.compiled.skip(data) == end, codec.what


@pytest.mark.parametrize("shape", made.SHAPES)
def test_each_message_is_a_construct(shape: str) -> None:
    """Between construct's own words it gives the values and bytes that the core gives."""
    for message, version in made.every_message():
        codec = messages.data(message.name, version)
        around = Struct("frame" / Prefixed(Int32ub, codec), "after" / Int8ub)
        value = made.SHAPES[shape](message, version)
        data = codec.write(value)
        whole = len(data).to_bytes(4, "big") + data + b"\7"
        assert around.build({"frame": value, "after": 7}) == whole, codec.what
        assert around.parse(whole).frame == codec.read(data)[0], codec.what


@given(st.data())
def test_any_bytes_mean_the_same_to_construct_and_to_the_core(data: st.DataObject) -> None:
    message, version = data.draw(st.sampled_from(list(made.every_message())))
    codec = messages.data(message.name, version)
    sound = codec.write(made.SHAPES[data.draw(st.sampled_from(list(made.SHAPES)))](message, version))
    at = data.draw(st.integers(0, len(sound)))
    given_bytes = sound[:at] + data.draw(st.binary(max_size=4)) + sound[at + data.draw(st.integers(0, 4)) :]
    around = Struct("m" / codec, "rest" / GreedyBytes)
    try:
        value, end = codec.read(given_bytes)
    except DecodeError as error:
        with pytest.raises(ConstructError) as raised:
            around.parse(given_bytes)
        assert isinstance(raised.value, DecodeError)
        shown = codec.reason_shown(raised.value.reason)
        assert (raised.value.path, shown) == (inside("m", error.path), error.reason)
        return
    found = around.parse(given_bytes)
    assert repr(found.m) == repr(containers(value)) and found.rest == given_bytes[end:]
    assert around.build(found) == given_bytes


@pytest.mark.parametrize("shape", made.SHAPES)
def test_json_leads_back_to_the_same_bytes(shape: str) -> None:
    for message, version in made.every_message():
        codec = messages.data(message.name, version)
        data = codec.write(made.SHAPES[shape](message, version))
        text, end = codec.json(data, records="raw", secrets=True)
        assert codec.interpreted.json(data, records="raw", secrets=True) == (text, end), codec.what
        assert codec.write(json.loads(text)) == data, codec.what


@pytest.mark.parametrize("shape", made.SHAPES)
def test_old_layouts_lead_back_to_the_same_bytes(shape: str) -> None:
    for codec, value in old_layouts(shape):
        data = codec.write(value)
        assert codec.layout(value).interpreted.read(data)[0] == codec.layout(value).read(data)[0]
        assert codec.write(codec.layout(value).read(data)[0] | {"_variant": value["_variant"]}) == data


def old_layouts(shape: str) -> list[tuple[MessageCodec, dict[str, Any]]]:
    return [
        (
            messages.data(message.name, version),
            made.SHAPES[shape](variant.message, version) | {"_variant": variant.name},
        )
        for message, version in made.every_message()
        for variant in message.variants
        if version in variant.versions
    ]
