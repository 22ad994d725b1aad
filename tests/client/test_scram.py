import base64
import hashlib
import hmac

import pytest

from kcli.client.sasl import Scram
from kcli.errors import NetworkError

# The example of RFC 7677, 3.
NONCE = "rOprNGfwEbeRWgbNEkqO"
SERVER_FIRST = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
CLIENT_FINAL = (
    b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
)
SERVER_FINAL = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def example() -> Scram:
    return Scram("sha256", "user", "pencil", nonce=NONCE)


def test_the_example_of_the_rfc() -> None:
    scram = example()
    assert scram.first() == b"n,,n=user,r=" + NONCE.encode()
    assert scram.step(SERVER_FIRST) == CLIENT_FINAL
    assert scram.step(SERVER_FINAL) is None


def test_the_name_is_escaped_and_a_delegation_token_is_said() -> None:
    assert Scram("sha512", "a=b,c", "p", by_token=True, nonce="N").first() == b"n,,n=a=3Db=2Cc,r=N,tokenauth=true"


def test_sha512_agrees_with_a_server_that_stores_only_keys() -> None:
    scram = Scram("sha512", "u", "päss", nonce="abc")
    assert scram.name == "SCRAM-SHA-512"
    salt = b"salty"
    server_first = f"r=abcdef,s={base64.b64encode(salt).decode()},i=8192".encode()
    final = scram.step(server_first)
    assert final is not None
    without_proof, _, proof = final.rpartition(b",p=")
    message = b"n=u,r=abc," + server_first + b"," + without_proof
    salted = hashlib.pbkdf2_hmac("sha512", "päss".encode(), salt, 8192)
    stored_key = hashlib.sha512(hmac.digest(salted, b"Client Key", "sha512")).digest()
    signature = hmac.digest(stored_key, message, "sha512")
    client_key = bytes(a ^ b for a, b in zip(base64.b64decode(proof), signature, strict=True))
    assert hashlib.sha512(client_key).digest() == stored_key
    verifier = hmac.digest(hmac.digest(salted, b"Server Key", "sha512"), message, "sha512")
    assert scram.step(b"v=" + base64.b64encode(verifier)) is None


@pytest.mark.parametrize(
    ("server_first", "words"),
    [
        (SERVER_FIRST.replace(b"r=rO", b"r=xO"), "nonce does not begin with ours"),
        (b"r=" + NONCE.encode() + b",s=W22Z,i=4096", "nonce does not begin with ours"),
        (SERVER_FIRST.replace(b"i=4096", b"i=100"), "it asks for 100 iterations"),
        (SERVER_FIRST.replace(b"i=4096", b"i=99999999"), "it asks for 99999999 iterations"),
        (SERVER_FIRST.replace(b"i=4096", b"i=many"), "no iteration count"),
        (SERVER_FIRST.replace(b"s=W22Z", b"s=!22Z"), "invalid base64"),
        (b"\xff", "not UTF-8"),
    ],
)
def test_a_broker_that_cheats_is_not_trusted(server_first: bytes, words: str) -> None:
    with pytest.raises(NetworkError, match=words):
        example().step(server_first)


def test_a_broker_that_does_not_know_the_password_is_not_trusted() -> None:
    scram = example()
    scram.step(SERVER_FIRST)
    with pytest.raises(NetworkError, match="does not know the password"):
        scram.step(b"v=" + base64.b64encode(bytes(32)))


def test_a_refusal_in_the_last_message() -> None:
    scram = example()
    scram.step(SERVER_FIRST)
    with pytest.raises(NetworkError, match="invalid-proof"):
        scram.step(b"e=invalid-proof")


def test_each_exchange_has_its_own_nonce() -> None:
    assert len({Scram("sha256", "u", "p").first() for _ in range(100)}) == 100
