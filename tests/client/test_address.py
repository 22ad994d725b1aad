import pytest

from kcli.client.address import Address, parse_address, parse_bootstrap
from kcli.errors import UsageError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("localhost:9092", ("localhost", 9092)),
        (" broker-1.example.com:1 ", ("broker-1.example.com", 1)),
        ("[::1]:9092", ("::1", 9092)),
        ("[fe80::1%eth0]:9092", ("fe80::1%eth0", 9092)),
        ("SASL_SSL://b:65535", ("b", 65535)),
    ],
)
def test_host_and_port(text: str, expected: tuple[str, int]) -> None:
    assert parse_address(text) == expected


@pytest.mark.parametrize(
    "text", ["", "localhost", "localhost:", ":9092", "::1:9092", "a b:1", "h:0", "h:65536", "h:-1"]
)
def test_anything_else_is_said(text: str) -> None:
    with pytest.raises(UsageError, match="is not HOST:PORT"):
        parse_address(text)


def test_text_form_is_read_again() -> None:
    for address in (Address("::1", 5), Address("h", 6)):
        assert parse_address(str(address)) == address


def test_bootstrap_needs_one() -> None:
    assert parse_bootstrap(["a:1", "b:2"]) == (("a", 1), ("b", 2))
    with pytest.raises(UsageError, match="no broker to talk to"):
        parse_bootstrap([])


@pytest.mark.parametrize("text", ["me:S3CRET@h:1", "kafka://me:S3CRET@h:1", "me:S3/CRET@h", "h:1@S3CRET@x"])
def test_a_password_is_not_repeated(text: str) -> None:
    with pytest.raises(UsageError) as said:
        parse_address(text)
    assert "S3" not in str(said.value) and "[hidden]@" in str(said.value)
