"""Columns of exchanges."""

from kcli.tables.exchanges import address_of


def test_an_address_without_its_port() -> None:
    assert [address_of(end) for end in ("10.0.0.1:9", "[::1]:9")] == ["10.0.0.1", "::1"]
