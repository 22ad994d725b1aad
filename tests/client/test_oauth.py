import base64
import json
from pathlib import Path

import pytest

from kcli.client.jaas import LoginModule
from kcli.client.oauth import OAuthBearer, bearer_token, unsecured_token
from kcli.errors import InputError, NetworkError, UsageError


def module(**options: str) -> LoginModule:
    return LoginModule("OAuthBearerLoginModule", "required", options)


def test_the_initial_response_of_rfc_7628() -> None:
    bearer = OAuthBearer("a.b.c", {"traceId": "7"})
    assert bearer.first() == b"n,,\x01auth=Bearer a.b.c\x01traceId=7\x01\x01"
    assert bearer.step(b"") is None


def test_a_refusal_is_acknowledged_then_raised() -> None:
    bearer = OAuthBearer("t")
    assert bearer.step(b'{"status":"invalid_token"}') == b"\x01"
    with pytest.raises(NetworkError, match="invalid_token"):
        bearer.step(b"again")


def test_a_token_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "a token"
    file.write_text("x.y.z\n")
    assert bearer_token(module(extension_a="1"), file.as_uri()) == ("x.y.z", {"a": "1"})


def test_a_token_as_it_is() -> None:
    assert bearer_token(module(token="x"), None) == ("x", {})


def test_a_file_that_is_no_token(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("two words")
    with pytest.raises(InputError, match="one token expected"):
        bearer_token(module(), (tmp_path / "t").as_uri())


def test_what_is_missing_or_not_done_is_said() -> None:
    with pytest.raises(UsageError, match="needs a token"):
        bearer_token(module(), None)
    with pytest.raises(UsageError, match="file: URLs only"):
        bearer_token(module(), "https://idp/token")
    with pytest.raises(UsageError, match="unsecuredLogin"):
        unsecured_token({"unsecuredLoginLifetimeSeconds": "soon"}, 0)


def test_an_unsecured_token_holds_its_claims() -> None:
    options = {
        "unsecuredLoginStringClaim_sub": "alice",
        "unsecuredLoginNumberClaim_n": "1.5",
        "unsecuredLoginListClaim_scope": "|a|b",
        "unsecuredLoginLifetimeSeconds": "60",
    }
    header, payload, signature = unsecured_token(options, 1000.0).split(".")
    claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    assert json.loads(base64.urlsafe_b64decode(header + "==")) == {"alg": "none"}
    assert claims == {"sub": "alice", "n": 1.5, "scope": ["a", "b"], "iat": 1000.0, "exp": 1060.0}
    assert signature == ""


def test_an_unsecured_token_is_never_of_the_future() -> None:
    """Kafka compares `iat` with the milliseconds of its own clock, which it cuts off."""
    payload = unsecured_token({}, 1795416563.8520513).split(".")[1]
    claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    assert claims == {"iat": 1795416563, "exp": 1795416563.8520513 + 3600}
