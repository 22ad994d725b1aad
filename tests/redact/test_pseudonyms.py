"""Names and addresses keep shape and length, stay apart, and follow from the key alone."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcli.redact.pseudonyms import SCRIPTS, Pseudonyms, form_of, is_address

KEY = bytes(range(32))
NAMES = Pseudonyms(KEY)


@given(st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E)))
def test_a_name_of_ascii_keeps_its_shape(text: str) -> None:
    data = text.encode()
    made = NAMES.make_name(data)
    assert len(made) == len(data)
    for old, new in zip(text, made.decode(), strict=True):
        assert (old.islower(), old.isupper(), old.isdigit()) == (new.islower(), new.isupper(), new.isdigit())
        assert old.isalnum() or old == new


@given(st.text().filter(lambda text: not text.isascii()))
def test_a_name_beyond_ascii_keeps_its_length_alone(text: str) -> None:
    made = NAMES.make_name(text.encode())
    assert len(made) == len(text.encode()) and made.decode()
    assert not text.isprintable() or (made.decode().isprintable() and not made.isascii())


@pytest.mark.parametrize("form", ["{}", "{}1", "-{}", "{}{}"])
def test_short_names_beyond_ascii_stay_apart(form: str) -> None:
    names = [form.format(letter, letter).encode() for letter in map(chr, range(0x410, 0x450))]
    made = {NAMES.make_name(name) for name in names}
    assert len(made) == len(names)


@given(st.binary(max_size=40))
def test_bytes_that_are_no_text_are_a_name_too(data: bytes) -> None:
    made = NAMES.make_name(data)
    assert len(made) == len(data) and form_of(made) in (form_of(data), "text")


def test_the_characters_that_stand_for_others_can_be_printed() -> None:
    for width, (low, high) in enumerate(SCRIPTS, 1):
        letters = [chr(each) for each in range(low, high)]
        assert all(map(str.isprintable, letters)) and {len(each.encode()) for each in letters} == {width}


def test_names_stay_apart() -> None:
    """All names of two characters, so that any two that became one would be seen."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    names = [f"{a}{b}".encode() for a in letters for b in letters]
    assert len({NAMES.make_name(name) for name in names}) == len(names)


def test_the_key_decides_and_nothing_else() -> None:
    name = b"payments-eu-1"
    assert Pseudonyms(KEY).name(name) == NAMES.name(name) != name
    assert Pseudonyms(KEY[::-1]).name(name) != NAMES.name(name)
    assert NAMES.name(b"payments-eu-2")[:8] != NAMES.name(name)[:8], "each letter by all the others"


@given(st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6)))
def test_an_address_keeps_the_length_of_its_text(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> None:
    made = NAMES.address(address.packed)
    text = NAMES.host(str(address).encode()).decode()
    assert ipaddress.ip_address(text).packed == made and len(text) == len(str(address))
    assert made != address.packed or not any(address.packed)


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("/10.1.2.3", "/%s"),
        ("[fe80::1]", "[%s]"),
        ("2001:0DB8:0:0:0:0:0:1", "%s"),
        ("::ffff:10.1.2.3", "%s"),
    ],
)
def test_a_spelled_address_keeps_its_form(text: str, shape: str) -> None:
    made = NAMES.host(text.encode()).decode()
    found = made.removeprefix(shape.partition("%s")[0]).removesuffix(shape.partition("%s")[2])
    assert len(made) == len(text) and is_address(made.encode())
    plain = text.strip("/[]")
    assert ipaddress.ip_address(found).packed == NAMES.address(ipaddress.ip_address(plain).packed)


def test_a_network_stays_one() -> None:
    first, second, other = (
        NAMES.address(ipaddress.ip_address(text).packed) for text in ("10.1.2.3", "10.1.2.4", "10.9.2.3")
    )
    assert first[:3] == second[:3] and first[3] != second[3]
    assert first[0] == other[0] and first[1] != other[1]


def test_what_stands_for_nothing_stays() -> None:
    assert (
        NAMES.address(bytes(4)) == bytes(4)
        and NAMES.mac(bytes(6)) == bytes(6)
        and NAMES.mac(b"\xff" * 6) == b"\xff" * 6
    )
    assert NAMES.uuid(bytes(16)) == bytes(16) and NAMES.uuid(bytes(15) + b"\1") == bytes(15) + b"\1"
    assert NAMES.uuid(KEY[:16]) != KEY[:16] and len(NAMES.uuid(KEY[:16])) == 16


def test_a_host_that_is_no_address_is_a_name() -> None:
    assert NAMES.host(b"broker-1.example") == NAMES.name(b"broker-1.example") and not is_address(b"broker-1.example")
    assert NAMES.host(b"\xff") == NAMES.name(b"\xff")
