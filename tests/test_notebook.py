"""What values show of themselves is escaped, and short."""

from kcli.notebook import card, quoted, shortened


def test_literals_are_cut() -> None:
    assert quoted("it's") == '"it\'s"' and quoted(b"\0") == r"b'\x00'"
    assert quoted("x" * 61) == "'" + "x" * 60 + "'...(61)"
    assert len(quoted(b"\xff" * 10_000_000)) < 300


def test_long_lines_are_cut() -> None:
    assert shortened("x" * 1000, 10) == "x" * 10 + "…"
    assert shortened("x", 10) == "x"
    assert shortened("\x1b[2J a\u202eb ü") == r"\x1b[2J a\u202eb ü"


def test_a_card_is_safe_in_a_page() -> None:
    made = card("<t>", {"<n>": "</table><script>", "none": None}, {"body": b'{"a":"<b>\xff"}' * 10_000})
    assert "<script>" not in made and "<t>" not in made and "<n>" not in made and "<b>\ufffd" not in made
    assert "&lt;script&gt;" in made and "none" not in made
    assert len(made) < 50_000
