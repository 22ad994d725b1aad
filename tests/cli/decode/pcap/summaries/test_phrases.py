"""Short text for long values."""

from kcli.cli.decode.pcap.summaries.phrases import cut, listed


def test_long_lists_and_values_are_cut() -> None:
    assert listed(["a", "b", "c"]) == "a, b, c" and listed("abcde") == "a, b, c and 2 more"
    assert cut("x" * 50) == "x" * 40 + "… (50 characters)"
