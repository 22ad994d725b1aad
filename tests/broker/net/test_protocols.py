"""How listeners are named, and the addresses that clients are told."""

import pytest

from kcli.broker.net.protocols import ListenerOptions, advertised, protocol_map, read_listeners
from kcli.errors import UsageError


def test_listeners() -> None:
    made = read_listeners(["PLAINTEXT", "SSL:9093", "inside=SASL_SSL:9094"])
    assert made == [
        ListenerOptions("PLAINTEXT", 0, 0),
        ListenerOptions("SSL", 1, 9093),
        ListenerOptions("INSIDE", 3, 9094),
    ]
    assert protocol_map(made) == "PLAINTEXT:PLAINTEXT,SSL:SSL,INSIDE:SASL_SSL"
    assert [(each.is_encrypted, each.logs_in) for each in made] == [(False, False), (True, False), (True, True)]


@pytest.mark.parametrize("text", ["", "TLS", "SSL:", "SSL:x", "SSL:65536", "A B=SSL", "=SSL", "SSL://:9093"])
def test_what_is_no_listener(text: str) -> None:
    with pytest.raises(UsageError, match="PROTOCOL"):
        read_listeners([text])


def test_two_listeners_of_one_name() -> None:
    with pytest.raises(UsageError, match="another one called SSL"):
        read_listeners(["SSL", "ssl=PLAINTEXT"])


def test_advertised_listeners() -> None:
    one, both = read_listeners(["SSL"]), read_listeners(["PLAINTEXT", "SSL"])
    assert advertised("", both) == {}
    assert advertised("PLAINTEXT://a:1", one) == {"SSL": ("a", 1)}  # with one listener nobody has to name it
    assert advertised(" ssl://[::1]:1, PLAINTEXT://b:2", both) == {"SSL": ("::1", 1), "PLAINTEXT": ("b", 2)}
    with pytest.raises(UsageError, match="INSIDE: the listeners are PLAINTEXT, SSL"):
        advertised("INSIDE://a:1", both)
