"""Every message of the tables through kcli's two readers and writers, the interpreted and the compiled one.

Apache Kafka's own classes have their say in tests/real/test_messages.py.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from kcli.grammar import messages
from kcli.grammar.codec import MessageCodec
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
def test_json_leads_back_to_the_same_bytes(shape: str) -> None:
    for message, version in made.every_message():
        codec = messages.data(message.name, version)
        data = codec.write(made.SHAPES[shape](message, version))
        text, end = codec.json(data, records="raw")
        assert codec.interpreted.json(data, records="raw") == (text, end), codec.what
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
