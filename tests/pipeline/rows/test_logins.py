"""Who connections logged in as."""

import pytest

from kcli.pipeline.rows.logins import name_of_login


@pytest.mark.parametrize(
    ("token", "name"),
    [
        (b"\0alice\0secret", "alice"), (b"admin\0bob\0s", "bob"), ("\0zo\u00eb\0s".encode(), "zo\u00eb"),
        (b"\0\0s", None),
        (b"n,,n=carol,r=fyko", "carol"), (b"y,a=x,n=a=2Cb=3Dc,r=1", "a,b=c"), (b"n,,n=t,r=1,tokenauth=true", "t"),
        (b"c=biws,r=fyko,p=AAAA", None), (b"n,,\x01auth=Bearer x\x01\x01", None), (b"\xff\xfe", None), (b"", None),
    ],
)  # fmt: skip
def test_a_token_says_who(token: bytes, name: str | None) -> None:
    assert name_of_login(token) == name
