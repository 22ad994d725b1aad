"""Tokens of SASL keep their form and size where their mechanism is known, with other users and no secret."""

import pytest

from kcli.redact.logins import Login


@pytest.mark.parametrize(
    ("mechanism", "token", "made"),
    [
        (b"PLAIN", b"\0alice\0pass-word", b"\0ECILA\0xxxxxxxxx"),
        (b"PLAIN", b"root\0alice\0pw", b"TOOR\0ECILA\0xx"),
        (b"SCRAM-SHA-256", b"n,,n=alice,r=n0nce", b"n,,n=ECILA,r=xxxxx"),
        (b"SCRAM-SHA-512", b"n,a=bob,n=alice,r=n0nce", b"n,a=BOB,n=ECILA,r=xxxxx"),
        (b"SCRAM-SHA-512", b"c=biws,r=n0nce,p=cHJvb2Y=", b"x" * 25),
        (b"OAUTHBEARER", b"n,,\1auth=Bearer token\1\1", b"x" * 23),
        (b"GSSAPI", b"\x60\x82\x02", b"xxx"),
        (b"PLAIN", b"", b""),
        (b"PLAIN", b"alice", b"xxxxx"),
    ],
)
def test_tokens(mechanism: bytes, token: bytes, made: bytes) -> None:
    assert Login(mechanism).redacted(token, lambda name: name.upper()[::-1]) == made


@pytest.mark.parametrize("mechanism", [None, b"", b"OAUTHBEARER", b"CUSTOM", b"plain"])
@pytest.mark.parametrize("token", [b"key\0user\0pass", b"n,,n=a-secret,r=another", b"k\0" + b"secret" * 10 + b"\0p"])
def test_the_mechanism_decides_and_not_the_shape(mechanism: bytes | None, token: bytes) -> None:
    assert Login(mechanism).redacted(token, lambda name: name) == b"x" * len(token)
