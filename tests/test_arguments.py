"""Arguments of the wrong type are named, with what is accepted."""

import array
from typing import Any

import pytest

import kcli
from kcli.arguments import bytes_like, need
from kcli.errors import UsageError


def test_types_are_held() -> None:
    need("port", 3, int, "a number")
    need("port", "x", (int, str), "a number")
    for wrong in ("3", True, None):
        with pytest.raises(UsageError, match=rf"^port: a number expected, not {type(wrong).__name__}$"):
            need("port", wrong, int, "a number")


def test_bytes_come_in_many_types() -> None:
    assert bytes_like("data", b"ab") == bytes_like("data", bytearray(b"ab")) == bytes_like("data", memoryview(b"ab"))
    assert bytes(bytes_like("data", array.array("H", [1]))) == array.array("H", [1]).tobytes()
    with pytest.raises(UsageError, match=r"^data: bytes expected, not str$"):
        bytes_like("data", "ab")


FRAME = kcli.encode(kcli.Request({"requestApiKey": 1, "requestApiVersion": 12, "correlationId": 1}, {}))
WRONG: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("decode_request", ("abc",), {}),
    ("decode_request", (None,), {}),
    ("decode_request", (FRAME,), {"dialect": 3}),
    ("decode_response", (None, "Fetch", 12), {}),
    ("decode_response", (FRAME, "Fetch", "12"), {}),
    ("decode_response", (FRAME, None, 12), {}),
    ("encode", (None,), {}),
    ("message", (3, 1), {}),
    ("message", ("FetchRequest", "12"), {}),
    ("read_capture", (3,), {}),
    ("read_capture", ("x",), {"dialect": 3}),
    ("read_segment", (None,), {}),
    ("read_snapshot", (None,), {}),
    ("read_snapshot", ("samples/__cluster_metadata-0",), {"at_offset": "x"}),
    ("read_snapshot", ("samples/__cluster_metadata-0",), {"log": 3}),
    ("embedded_broker", (3,), {}),
    ("embedded_broker", (), {"config": 3}),
    ("embedded_broker", (), {"nodes": "x"}),
    ("embedded_broker", (), {"port": -1}),
    ("embedded_broker", (), {"faults": 3}),
]


@pytest.mark.parametrize(("name", "arguments", "options"), WRONG, ids=str)
def test_the_front_door_says_what_it_takes(name: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=r"expected|no such"):
        getattr(kcli, name)(*arguments, **options)
