"""Short text for long values."""

from __future__ import annotations

from kcli.cli.summaries.phrases import count, cut, listed


def test_long_lists_and_values_are_cut() -> None:
    assert listed(["a", "b", "c"]) == "a, b, c" and listed("abcde") == "a, b, c and 2 more"
    assert cut("x" * 50) == "x" * 40 + "… (50 characters)"


def test_counts() -> None:
    assert [count(1, "partition"), count(1200, "partition"), count(2, "entry", "entries")] == [
        "1 partition",
        "1,200 partitions",
        "2 entries",
    ]
