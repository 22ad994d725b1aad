import base64

import pytest

from kcli.base64_text import unbase64
from kcli.errors import InputError
from kcli.file_kinds import kind_of_base64

DATA = bytes.fromhex("0003000100000002000361707000000001fbff")


@pytest.mark.parametrize("size", [17, 18, 19])
def test_signs_of_urls_and_what_is_not_filled_up(size: int) -> None:
    data = DATA[-size:]
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        text = encode(data)
        assert unbase64(text) == unbase64(text.rstrip(b"=")) == unbase64(b" \n".join([text[:5], text[5:]])) == data


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"AAEAC", "5 characters"),
        (b"AAEAC=", "6 characters"),
        (b"AAE*", "character 4 is"),
        (b"AA=A", "character 3 is '='"),
        (b"AAAAA===", "8 characters"),
    ],
)
def test_other_text_is_refused(text: bytes, why: str) -> None:
    with pytest.raises(InputError, match=f"^not base64: {why}"):
        unbase64(text)


def test_a_request_is_recognized_in_either() -> None:
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        assert kind_of_base64(encode(DATA)) == "base64 text"
