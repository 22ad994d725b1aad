"""Each word of the grammar, on the table that every reader and writer is held to."""

import json

import pytest

from kcli.errors import DecodeError, EncodeError
from kcli.grammar.codec import Interpreted
from kcli.grammar.words.primitives import Struct
from kcli.grammar.words.scalars import LengthPrefixed, Primitive
from kcli.grammar.words.word import JsonForm
from tests.grammar import cases


@pytest.fixture(params=["interpreted", "codec"])
def verbs(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def chosen(case_word: object, verbs: str) -> Interpreted:
    codec = cases.codec_of(case_word)
    return codec.interpreted if verbs == "interpreted" else codec  # type: ignore[return-value]


@pytest.mark.parametrize("case", cases.CANONICAL, ids=lambda case: case.name)
def test_value_and_bytes(case: cases.Case, verbs: str) -> None:
    codec = chosen(case.word, verbs)
    assert codec.write({"x": case.value}) == case.data
    assert codec.read(case.data) == ({"x": case.value}, len(case.data))
    assert codec.read(b"??" + case.data + b"!", 2) == ({"x": case.value}, len(case.data) + 2)
    assert codec.skip(case.data) == len(case.data)


@pytest.mark.parametrize("case", cases.CANONICAL + cases.ODD, ids=lambda case: case.name)
def test_json_gives_the_bytes_back(case: cases.Case, verbs: str) -> None:
    codec = chosen(case.word, verbs)
    text, end = codec.json(case.data, records="raw")
    assert end == len(case.data)
    assert text == cases.codec_of(case.word).interpreted.json(case.data, records="raw")[0]
    assert codec.write(json.loads(text)) == case.data


@pytest.mark.parametrize("case", cases.ODD, ids=lambda case: case.name)
def test_odd_bytes_are_kept(case: cases.Case, verbs: str) -> None:
    codec = chosen(case.word, verbs)
    value, end = codec.read(case.data)
    assert end == len(case.data)
    assert value["x"] == case.value
    assert list(value) == ["x", "_encodings"]
    assert codec.write(value) == case.data
    assert codec.skip(case.data) == len(case.data)


@pytest.mark.parametrize("case", [case for case in cases.ODD if case.value is not None], ids=lambda case: case.name)
def test_an_edited_value_wins_over_the_odd_bytes(case: cases.Case, verbs: str) -> None:
    codec = chosen(case.word, verbs)
    value = codec.read(case.data)[0]
    edits: dict[type, object] = {bool: False, str: "edited", bytes: b"edited", list: [1, 2], dict: {"a": 4}}
    value["x"] = edits[type(value["x"])]
    found = codec.read(codec.write(value))[0]["x"]
    assert found == (value["x"] if isinstance(case.value, (bool, str, bytes, list)) else value["x"] | found)
    assert found != case.value


@pytest.mark.parametrize(("word", "data", "said"), [case[1:] for case in cases.WRONG_BYTES])
def test_wrong_bytes_are_named(word: object, data: bytes, said: str, verbs: str) -> None:
    codec = chosen(word, verbs)
    for verb in (codec.read, codec.json, codec.skip):
        with pytest.raises(DecodeError) as raised:
            verb(data)
        assert said in str(raised.value)


@pytest.mark.parametrize(("word", "value", "said"), [case[1:] for case in cases.WRONG_VALUES])
def test_wrong_values_are_named(word: object, value: object, said: str, verbs: str) -> None:
    with pytest.raises(EncodeError) as raised:
        chosen(word, verbs).write({"x": value})
    assert said in str(raised.value)


@pytest.mark.parametrize(
    ("bits", "text"),
    [("7ff8000000000000", "NaN"), ("7ff0000000000000", "Infinity"), ("fff0000000000000", "-Infinity")],
)
def test_floats_that_json_lacks_are_text(bits: str, text: str, verbs: str) -> None:
    codec = chosen(Primitive("float64"), verbs)
    data = bytes.fromhex(bits)
    assert codec.json(data)[0] == f'{{"x":"{text}"}}'.encode()
    assert codec.write({"x": text}) == data


def test_another_nan_keeps_its_bits(verbs: str) -> None:
    codec = chosen(Primitive("float64"), verbs)
    data = bytes.fromhex("fff8000000000123")
    assert codec.write(json.loads(codec.json(data)[0])) == data


def test_records_show_what_was_asked_for() -> None:
    word = Struct("x" / LengthPrefixed("records", True, False))
    value = {"x": b"abc"}
    assert word.json_value(value, JsonForm()) == {"x": {"sizeInBytes": 3}}
    assert word.json_value(value, JsonForm("raw")) == {"x": {"sizeInBytes": 3, "base64": "YWJj"}}
    shown = word.json_value(value, JsonForm("full", lambda view: b"[%d]" % len(view)))
    assert shown == {"x": {"sizeInBytes": 3, "batches": [3]}}
