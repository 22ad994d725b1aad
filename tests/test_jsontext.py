"""The one form of JSON text."""

import pytest

from kcli.errors import InputError
from kcli.jsontext import dumps, loads


def test_compact_and_as_it_is() -> None:
    assert dumps({"a": [1, "é", None, 1.5, True]}) == '{"a":[1,"é",null,1.5,true]}'


def test_what_steers_a_terminal_is_escaped_as_the_same_value() -> None:
    value = {"\x9b": "\x1b\x7f\x80\u061c\u200f\u2028\u202e\u2069", "file": "\udcff", "é": "日本語 \u2030"}
    text = dumps(value)
    assert text == (
        r'{"\u009b":"\u001b\u007f\u0080\u061c\u200f\u2028\u202e\u2069","file":"\udcff","é":"日本語 ' + '\u2030"}'
    )
    assert loads(text) == value
    assert dumps({"a": ["\x7f"]}, indent=2) == '{\n  "a": [\n    "\\u007f"\n  ]\n}'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b'{"a": }', "not JSON: line 1, column 7: Expecting value"),
        (b"\xff", "not JSON: byte 0 is not UTF-8"),
        (b"[" * 100_000, "nested too deep"),
        (b'{"a": ' + b"9" * 10_000 + b"}", "not JSON: a number of more than 4,300 digits"),
    ],
)
def test_where_it_breaks_off(text: bytes, said: str) -> None:
    with pytest.raises(InputError, match="not JSON") as raised:
        loads(text)
    assert said in str(raised.value)
