"""Tokens of SASL keep their form and size, with other users and no secret."""

from __future__ import annotations

import pytest

from kcli.redact.logins import redacted_login


@pytest.mark.parametrize(
    ("token", "made"),
    [
        (b"\0alice\0pass-word", b"\0ECILA\0xxxxxxxxx"),
        (b"root\0alice\0pw", b"TOOR\0ECILA\0xx"),
        (b"n,,n=alice,r=n0nce", b"n,,n=ECILA,r=xxxxx"),
        (b"n,a=bob,n=alice,r=n0nce", b"n,a=BOB,n=ECILA,r=xxxxx"),
        (b"r=n0nce,s=c2FsdA==,i=4096", b"x" * 25),
        (b"n,,\1auth=Bearer token\1\1", b"x" * 23),
        (b"\x60\x82\x02", b"xxx"),
        (b"", b""),
    ],
)
def test_tokens(token: bytes, made: bytes) -> None:
    assert redacted_login(token, lambda name: name.upper()[::-1]) == made
