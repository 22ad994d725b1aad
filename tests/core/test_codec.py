"""The compiled core by itself. tests/grammar and tests/test_every_message.py hold that it agrees with the grammar."""

from __future__ import annotations

import random
import tracemalloc

import pytest

pytest.importorskip("kcli.core.codec", reason="the core is not built")

from kcli.core.codec import Array, Message, Names, Scalar
from kcli.errors import DecodeError, KcliError
from kcli.grammar import messages
from kcli.grammar.codec import MessageCodec
from kcli.schemas.catalog import catalog
from tests import messages as made


def test_cut_anywhere_both_readers_say_the_same() -> None:
    for codec, data in samples():
        for cut in range(len(data)):
            assert outcome(codec.compiled, data[:cut]) == outcome(codec.interpreted, data[:cut]), (codec.what, cut)


def test_with_flipped_bytes_both_readers_say_the_same() -> None:
    rng = random.Random(5)
    for codec, data in samples():
        for _ in range(60):
            flipped = bytearray(data)
            for _ in range(rng.randint(1, 3)):
                flipped[rng.randrange(len(data))] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
            assert outcome(codec.compiled, flipped) == outcome(codec.interpreted, flipped), (codec.what, flipped.hex())


def samples() -> list[tuple[MessageCodec, bytes]]:
    chosen = [("FetchRequest", 17), ("FetchResponse", 11), ("MetadataResponse", 13), ("ApiVersionsResponse", 4)]
    chosen += [("ConsumerGroupHeartbeatRequest", 1), ("DescribeClientQuotasResponse", 1), ("ProduceRequest", 3)]
    found = []
    for name, version in chosen:
        codec = messages.data(name, version)
        found.append((codec, codec.write(made.filled(catalog().message(name), version))))
    return found


def outcome(verbs: object, data: bytes | bytearray) -> object:
    """Value, JSON and bytes again, or the error's text."""
    try:
        value, end = verbs.read(data)  # type: ignore[attr-defined]
        text, text_end = verbs.json(data, records="raw")  # type: ignore[attr-defined]
        assert text_end == end == verbs.skip(data)  # type: ignore[attr-defined]
    except KcliError as error:
        return str(error)
    return repr(value), text, end


def test_a_count_allocates_nothing_before_its_bytes_are_there() -> None:
    node = Array(Array(Scalar("int64")))
    tracemalloc.start()
    with pytest.raises(DecodeError):
        node.read(b"\x7f\xff\xff\xff" + b"\x7f\xff\xff\xff")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100_000


def test_a_string_seen_again_is_the_same_object() -> None:
    node = Message([("a", Scalar("string"), "")], [], False)
    first, second = (node.read(b"\0\3abc")[0]["a"] for _ in range(2))
    assert first is second
    assert node.read(b"\0\3abd")[0]["a"] == "abd"


def test_long_keys_and_values_in_json() -> None:
    name, text = "k" * 200, 'a"\\\n\x1f€' * 500
    node = Message([(name, Scalar("string"), ""), ("n", Scalar("int64"), 0)], [], False)
    import json

    value = {name: text, "n": -(1 << 63)}
    assert json.loads(node.json(node.write(value))[0]) == value


def test_offsets_outside_the_buffer_are_refused() -> None:
    for offset in (-1, 2):
        with pytest.raises(ValueError, match="offset"):
            Scalar("int8").read(b"a", offset)


def test_names_keep_the_newest_and_grow() -> None:
    names = Names()
    for number in range(1000):
        names.learn(number.to_bytes(16), f"topic {number}")
    names.learn(bytes(16), "renamed")
    assert len(names) == 1000
    assert names.get(bytes(16)) == '"renamed"'
    assert names.get((999).to_bytes(16)) == '"topic 999"'
    assert names.get((1000).to_bytes(16)) is None


def test_values_are_not_leaked() -> None:
    codec = messages.response(3, 12)
    data = codec.write(made.filled(catalog().message("MetadataResponse"), 12))

    def once() -> None:
        value = codec.read(data)[0]
        codec.write(value)
        codec.json(data)
        for cut in (5, len(data) - 1):
            with pytest.raises(DecodeError):
                codec.read(data[:cut])

    once()
    tracemalloc.start()
    for _ in range(20):
        once()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(200):
        once()
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert after - before < 20_000
