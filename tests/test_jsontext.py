"""The one form of JSON text."""

from __future__ import annotations

import pytest

from kcli.errors import InputError
from kcli.jsontext import dumps, loads


def test_compact_and_as_it_is() -> None:
    assert dumps({"a": [1, "é", None, 1.5, True]}) == '{"a":[1,"é",null,1.5,true]}'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b'{"a": }', "not JSON: line 1, column 7: Expecting value"),
        (b"\xff", "not JSON: byte 0 is not UTF-8"),
        (b"[" * 100_000, "nested too deep"),
    ],
)
def test_where_it_breaks_off(text: bytes, said: str) -> None:
    with pytest.raises(InputError, match="not JSON") as raised:
        loads(text)
    assert said in str(raised.value)
