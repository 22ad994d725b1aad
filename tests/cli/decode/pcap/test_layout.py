"""Widths of columns, and where text is broken; real captures at many widths stand in test_pcap_table.py."""

import pytest

from kcli.cli.decode.pcap.table import layout


@pytest.mark.parametrize("absolute", [False, True])
def test_columns_fit(absolute: bool) -> None:
    for width in range(60, 251):
        made = layout(width, absolute)
        left, right = made.left("12:00:00.000", "c1", "client", "Fetch"), made.right("1.0", "1.1 k / 812 k")
        assert len(left) + made.room + len(right) <= width


def test_text_goes_beside_the_columns_or_below() -> None:
    wide = layout(100)
    left = wide.left("+0.000 s", "c1", "a", "Fetch 1")
    assert [part.strip() for part in wide.broken("one two", left)] == ["one two"]
    assert len(wide.broken("word " * 20, left)) == 3
    first, below = wide.broken(f"ask -> {'x' * 60}", left)
    assert (first.strip(), below) == ("", f"    ask -> {'x' * 60}")
    narrow = layout(60)
    assert narrow.broken("pay-in -> NOT_LEADER", left) == ["", "    pay-in -> NOT_LEADER"]
    assert layout(None).broken("word " * 50, left) == ["word " * 50]
