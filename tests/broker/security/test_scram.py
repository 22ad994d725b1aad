"""SCRAM's server against RFC 7677's example, kcli's own client, and messages that are none."""

import base64

import pytest

from kcli.broker.security.mechanism import LoginError
from kcli.broker.security.scram import SHA_256, Credential, ScramServer, credential_for, credential_of
from kcli.client.sasl import Scram

SALT = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
FINAL = b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
CHANGES = [(b"biws", b"biwx"), (b"%hv", b"%hw"), (b"p=d", b"p=e"), (b",p=", b",q="), (b"VQ=", b"?")]
ODD = [b"", b"n,,", b"n,,n=user", b"n,,n=user,r=", b"p=x,,n=user,r=a", b"n,a=other,n=user,r=a", b"\xff,,n=user,r=a"]
FIRST, NONCE = b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO", "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"


def pencil() -> Credential:
    import hashlib

    return credential_of(SHA_256, hashlib.pbkdf2_hmac("sha256", b"pencil", SALT, 4096), SALT, 4096)


def test_the_rfcs_example() -> None:
    server = ScramServer(SHA_256, {"user": pencil()}.get, NONCE)
    first = server.step(FIRST)
    assert first == b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    assert server.step(FINAL) == b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
    assert server.done and server.user == "user"


@pytest.mark.parametrize("name", ["a", "a,b=c", "=2C", "ü"])
def test_the_clients_own_side(name: str) -> None:
    server, client = ScramServer(SHA_256, {name: credential_for(SHA_256, "p")}.get), Scram("sha256", name, "p")
    token: bytes | None = client.first()
    while token is not None:
        token = client.step(server.step(token))
    assert server.done and server.user == name


@pytest.mark.parametrize("message", [*ODD, b"n,,n=nobody,r=a"])
def test_firsts_that_are_none(message: bytes) -> None:
    with pytest.raises(LoginError):
        ScramServer(SHA_256, {"user": pencil()}.get).step(message)


@pytest.mark.parametrize("change", CHANGES)
def test_finals_that_are_none(change: tuple[bytes, bytes]) -> None:
    server = ScramServer(SHA_256, {"user": pencil()}.get, NONCE)
    server.step(FIRST)
    with pytest.raises(LoginError):
        server.step(FINAL.replace(*change))
    assert not server.done
