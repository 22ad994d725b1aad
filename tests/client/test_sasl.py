import pytest

from kcli.client.properties import ClientConfig
from kcli.client.sasl import MECHANISMS, mechanism_for
from kcli.errors import NetworkError, UsageError

OPTIONS = 'username="alice" password="s" token="t"'


def config(mechanism: str | None, jaas: str | None, protocol: str = "SASL_PLAINTEXT") -> ClientConfig:
    given = {"security.protocol": protocol, "sasl.mechanism": mechanism, "sasl.jaas.config": jaas}
    return ClientConfig({name: value for name, value in given.items() if value is not None})


@pytest.mark.parametrize("name", MECHANISMS)
def test_each_mechanism_by_its_login_module(name: str) -> None:
    mechanism = mechanism_for(config(name, f"a.b.{MECHANISMS[name][0]} required {OPTIONS};"))
    assert mechanism is not None
    assert mechanism.name == name
    assert mechanism.first()


def test_plain() -> None:
    mechanism = mechanism_for(config("PLAIN", f"PlainLoginModule required {OPTIONS};"))
    assert mechanism is not None
    assert mechanism.first() == b"\0alice\0s"
    assert mechanism.step(b"") is None
    with pytest.raises(NetworkError, match="no challenge"):
        mechanism.step(b"x")


def test_without_sasl_there_is_none() -> None:
    assert mechanism_for(config(None, None, "SSL")) is None


@pytest.mark.parametrize(
    ("mechanism", "jaas", "words"),
    [
        (None, None, "it is not set, and Kafka's default GSSAPI"),
        ("GSSAPI", None, "GSSAPI is not one of them"),
        ("PLAIN", None, "needs sasl.jaas.config"),
        ("PLAIN", f"ScramLoginModule required {OPTIONS};", "is not the login module of PLAIN; PlainLoginModule"),
        ("PLAIN", "PlainLoginModule required username=a;", 'needs password="..."'),
    ],
)
def test_what_is_missing_is_said(mechanism: str | None, jaas: str | None, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        mechanism_for(config(mechanism, jaas))
