"""Bearer tokens: without a signature, and signed by a key of a file."""

import json
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from kcli.broker.configs import Configs
from kcli.broker.security.mechanism import LoginError
from kcli.broker.security.oauth import OAuthServer, TokenRules
from kcli.client.oauth import OAuthBearer, unsecured_token
from kcli.errors import InputError, UsageError

NOW = 1_795_000_000.0
CLAIMS = {"sub": "alice", "iat": NOW, "exp": NOW + 60}


def rules(**more: str) -> TokenRules:
    return TokenRules(Configs({f"sasl.oauthbearer.{name.replace('_', '.')}": text for name, text in more.items()}))


def plain(claims: dict[str, Any]) -> str:
    return jwt.encode(claims, "", algorithm="none")


def test_the_clients_own_token_is_taken() -> None:
    token = unsecured_token({"unsecuredLoginStringClaim_sub": "alice"}, NOW)
    server, client = OAuthServer(rules(), NOW), OAuthBearer(token, {"traceId": "7"})
    assert client.step(server.step(client.first())) is None
    assert (server.done, server.user, server.expires) == (True, "alice", NOW + 3600)


@pytest.mark.parametrize(
    "changes",
    [{"exp": NOW - 31}, {"iat": NOW + 31}, {"nbf": NOW + 31}, {"sub": 7}, {"sub": ""}, {"exp": "soon"}, {"exp": None}],
)
def test_tokens_that_are_not_valid(changes: dict[str, Any]) -> None:
    with pytest.raises(LoginError):
        rules().check(plain(CLAIMS | changes), NOW)


def test_a_refusal_is_told_before_it_counts() -> None:
    server = OAuthServer(rules(), NOW)
    for message in (b"", b"n,,", b"n,,\x01auth=Basic x\x01\x01"):
        server = OAuthServer(rules(), NOW)
        assert server.step(message) == b'{"status":"invalid_token"}'
    with pytest.raises(LoginError):
        server.step(b"\x01")


def test_an_authorization_id_is_the_tokens_user() -> None:
    token = plain(CLAIMS | {"sub": "a,b=c"})
    for identity in ("", "a=a=2Cb=3Dc"):
        server = OAuthServer(rules(), NOW)
        assert server.step(f"n,{identity},\x01auth=Bearer {token}\x01\x01".encode()) == b""
        assert (server.done, server.user) == (True, "a,b=c")
    with pytest.raises(LoginError, match=r"\(bob\) that is different from the token's principal name \(a,b=c\)"):
        OAuthServer(rules(), NOW).step(f"n,a=bob,\x01auth=Bearer {token}\x01\x01".encode())


def test_audience_issuer_and_the_name_of_the_claim() -> None:
    wanted = rules(expected_audience="a,b", expected_issuer="i", sub_claim_name="user")
    claims = CLAIMS | {"aud": ["x", "b"], "iss": "i", "user": "bob"}
    assert wanted.check(plain(claims), NOW)[0] == "bob"
    odd: list[dict[str, Any]] = [{"aud": "x"}, {"aud": []}, {"iss": "j"}]
    for changes in odd:
        with pytest.raises(LoginError):
            wanted.check(plain(claims | changes), NOW)


def test_signed_tokens(tmp_path: Path) -> None:
    key, other = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    public = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(key.public_key())) | {"kid": "k1", "alg": "ES256"}
    path = tmp_path / "keys.json"
    path.write_text(json.dumps({"keys": [public]}))
    wanted = rules(jwks_endpoint_url=path.as_uri())
    assert wanted.check(jwt.encode(CLAIMS, key, "ES256", headers={"kid": "k1"}), NOW)[0] == "alice"
    assert wanted.check(jwt.encode(CLAIMS, key, "ES256"), NOW)[0] == "alice"
    for bad in (
        jwt.encode(CLAIMS, other, "ES256", headers={"kid": "k1"}),
        jwt.encode(CLAIMS, key, "ES256", headers={"kid": "k2"}),
        plain(CLAIMS),
        jwt.encode(CLAIMS, "s" * 40, "HS256"),
        "a.b.c",
    ):
        with pytest.raises(LoginError):
            wanted.check(bad, NOW)
    path.write_text("[1]")
    with pytest.raises(InputError, match="no set of JSON web keys"):
        rules(jwks_endpoint_url=path.as_uri())
    with pytest.raises(UsageError, match="file: URL"):
        rules(jwks_endpoint_url="https://issuer.example/keys")
