"""The compiled core by itself. tests/grammar and tests/test_every_message.py hold that it agrees with the grammar."""

import json
import random
import tracemalloc

import pytest

pytest.importorskip("kcli.core.codec.messages", reason="the core is not built")

from kcli.core.codec.messages import Array, Message, Names, Scalar, Secret
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
    more = ("ConsumerGroupHeartbeatRequest 1", "DescribeClientQuotasResponse 1", "ProduceRequest 3")
    return made.written(made.filled, *made.COMMON, *more)


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
    value = {name: text, "n": -(1 << 63)}
    assert json.loads(node.json(node.write(value))[0]) == value


def test_numbers_of_every_length_in_json() -> None:
    node = Array(Scalar("int64"))
    most = (1 << 63) - 1
    numbers = sorted({sign * (10**power + step) for power in range(19) for step in (-1, 0, 1, 3) for sign in (1, -1)})
    numbers = [-most - 1, -most, *numbers, most]
    assert node.json(node.write(numbers))[0] == json.dumps(numbers, separators=(",", ":")).encode()


def test_characters_that_need_an_escape_are_found_at_every_place_of_a_string() -> None:
    node = Scalar("string")
    for size in range(1, 28):
        texts = ["".join(chr(97 + i % 26) for i in range(size))]
        texts += [texts[0][:at] + char + texts[0][at + 1 :] for at in range(size) for char in '"\\\n\x7f€']
        for text in texts:
            assert json.loads(node.json(node.write(text))[0]) == text


@pytest.mark.parametrize("compact", [False, True])
@pytest.mark.parametrize("flexible", [False, True])
def test_elements_of_one_size_are_skipped_as_they_are_read(compact: bool, flexible: bool) -> None:
    element = Message([("a", Scalar("int16"), 0), ("b", Scalar("int32"), 0)], [("t", 0, Scalar("int8"))], flexible)
    node = Array(element, False, compact)
    values = [{"a": 1, "b": number} for number in range(9)]
    encoded = [node.write(values)]
    if flexible:
        encoded.append(node.write([*values[:4], {**values[4], "t": 7}, *values[5:]]))
    for data in encoded:
        assert node.skip(data + b"more") == len(data) == node.read(data + b"more")[1]
        for cut in range(len(data)):
            with pytest.raises(DecodeError) as skipped:
                node.skip(data[:cut])
            with pytest.raises(DecodeError) as read:
                node.read(data[:cut])
            assert str(skipped.value) == str(read.value), cut


def test_a_null_array_of_elements_of_one_size_is_skipped() -> None:
    assert Array(Scalar("int32"), True).skip(b"\xff\xff\xff\xff") == 4
    assert Array(Scalar("int32")).skip(b"\0\0\0\0") == 4


def test_verdicts_on_configs_are_asked_for_once_and_never_mixed_up() -> None:
    asked: list[tuple[str, int]] = []

    def judge(name: str, resource: int) -> bool:
        asked.append((name, resource))
        return name.endswith("secret") and resource != 8

    value = Secret("string", judge=judge)
    config = Message([("name", Scalar("string"), ""), ("value", value, "")], [], False, True)
    node = Message([("resourceType", Scalar("int8"), 0), ("configs", Array(config), [])], [], False, True)
    stems = ["", "a.", "log.segment.", "x" * 70 + ".", *(f"listener.name.n{number}." for number in range(900))]
    names = [stem + end for stem in stems for end in ("plain", "secret")]
    for resource in (4, 8):
        message = {"resourceType": resource, "configs": [{"name": name, "value": "12345"} for name in names]}
        data = node.write(message)
        for _ in range(2):
            found = json.loads(node.json(data)[0])["configs"]
            for name, config_found in zip(names, found, strict=True):
                hidden = name.endswith("secret") and resource != 8
                assert config_found["value"] == ({"redacted": 5} if hidden else "12345"), name
    asked.clear()
    few = node.write({"resourceType": 4, "configs": [{"name": name, "value": "1"} for name in ("p.secret", "p.plain")]})
    texts = {node.json(few)[0] for _ in range(5)}
    assert len(texts) == 1 and asked == [("p.secret", 4), ("p.plain", 4)]


def test_a_judge_that_fails_is_heard_each_time() -> None:
    def judge(name: str, resource: int) -> bool:
        raise LookupError(name)

    node = Message([("name", Scalar("string"), ""), ("value", Secret("string", judge=judge), "")], [], False, True)
    data = node.write({"name": "n", "value": "v"})
    for _ in range(2):
        with pytest.raises(LookupError):
            node.json(data)


def test_offsets_outside_the_buffer_are_refused() -> None:
    for offset in (-1, 2):
        with pytest.raises(ValueError, match="offset"):
            Scalar("int8").read(b"a", offset)


def test_names_keep_the_newest_and_grow() -> None:
    names = Names()
    for number in range(1, 1001):
        names.learn(number.to_bytes(16), f"topic {number}")
    names.learn((1).to_bytes(16), "renamed")
    assert len(names) == 1000
    assert names.get((1).to_bytes(16)) == '"renamed"'
    assert names.get((1000).to_bytes(16)) == '"topic 1000"'
    assert names.get((1001).to_bytes(16)) is None


def test_an_id_of_zeros_is_no_topics() -> None:
    names = Names()
    names.learn(bytes(16), "topic")
    assert names.get(bytes(16)) is None
    assert len(names) == 0


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
