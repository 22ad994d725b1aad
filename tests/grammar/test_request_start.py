"""What stands at fixed places of a request."""

import pytest

from kcli.errors import DecodeError
from kcli.grammar import messages
from kcli.grammar.request_start import CLIENT_ID, api_of, client_id_of, starts_with_length
from kcli.grammar.words.fixed import fixed_layout
from kcli.grammar.words.structs import Struct


def test_a_client_id_stands_at_its_fixed_place() -> None:
    header = messages.data("RequestHeader", 1)
    assert fixed_layout(Struct(*header.grammar.fields[:-1])).size == CLIENT_ID
    for name in ("", "tester", None):
        frame = header.write({"clientId": name})
        assert client_id_of(frame) == (None if name is None else name.encode())
        assert all(client_id_of(frame[:cut]) is None for cut in range(len(frame)))


def test_key_and_version_come_first() -> None:
    frame = messages.data("RequestHeader", 1).write({"requestApiKey": 18, "requestApiVersion": -1, "clientId": "c"})
    assert api_of(frame) == (18, -1)
    assert api_of(b"??" + frame, 2) == (18, -1)
    with pytest.raises(DecodeError, match="needs 4 bytes of api key and version at 0x2, 3 left"):
        api_of(b"??" + frame[:3], 2)


def test_a_length_in_front_counts_the_rest() -> None:
    frame = messages.data("RequestHeader", 1).write({"clientId": "c"})
    framed = len(frame).to_bytes(4, "big") + frame
    assert starts_with_length(framed) and starts_with_length(b"??" + framed, 2)
    assert not any(map(starts_with_length, (frame, framed[:-1], framed + b"x", bytes(4), b"\0\0\0\1x")))
