"""Columns in a terminal's cells."""

import pytest
from rich.cells import cell_len

from kcli.cli.terminal.cells import align, cut, cut_start, fit, line_size, narrowed, pad, width, without_spared, wrap

TEXTS = ["", "plain", "日本語", "e\u0301e\u0301", "👍 ok", "\x1b[2J", "\u202ex\n"]


@pytest.mark.parametrize("text", TEXTS)
def test_a_padded_text_fills_its_cells(text: str) -> None:
    assert cell_len(pad(text, 12)) == 12
    assert pad(text, 12).rstrip() == pad(text, 12, right=True).lstrip()
    assert cell_len(pad(text, 12, right=True)) == 12


@pytest.mark.parametrize("text", [text * 5 for text in TEXTS[1:]])
@pytest.mark.parametrize("size", [5, 6])
def test_a_cut_text_fits(text: str, size: int) -> None:
    shown = cut(text, size)
    assert width(shown) <= size
    assert shown.endswith("…")
    assert cut("short", 5) == "short"
    assert width(fit(text, size)) == width(fit(text[:1], size)) == size


def test_lines_are_broken_between_words_and_within_long_ones() -> None:
    assert wrap("some words and more", 10) == ["some words", "and more"]
    assert wrap("日本語 日本語 日本語", 10) == ["日本語", "日本語", "日本語"]
    assert all(width(line) <= 6 for line in wrap("日本語" * 5 + "\x1b", 6))


def test_columns_stand_below_each_other() -> None:
    lines = align([["a", "b"], ["日本", "x"], ["\x1b", "\n"], ["e\u0301", "y"]])
    assert lines == ["a     b", "日本  x", "\\x1b  \\n", "e\u0301     y"]


def test_the_widest_columns_are_taken_in_first() -> None:
    assert sorted(narrowed([30, 5, 20], 40, 6)) == [5, 17, 18]
    assert narrowed([30, 5], 40, 6) == [30, 5]
    assert narrowed([30, 30], 4, 6) == [6, 6] and narrowed([], -2, 6) == []


def test_the_start_is_cut() -> None:
    assert cut_start("10.0.0.1:9092-10.0.0.2:41202", 15) == "…10.0.0.2:41202"
    assert cut_start("short", 15) == "short"
    assert width(cut_start("数据" * 9, 6)) <= 6 and cut_start("a\nb" * 9, 5).isprintable()


def test_columns_that_are_spared_go_first() -> None:
    sizes = {"time": 8, "conn": 3, "bytes": 5, "what": 10}
    assert line_size(sizes.values()) == 32
    assert without_spared(sizes, ("bytes", "conn"), 32) == sizes
    assert without_spared(sizes, ("bytes", "conn"), 31) == {"time": 8, "conn": 3, "what": 10}
    assert without_spared(sizes, ("bytes", "conn"), 3) == {"time": 8, "what": 10}
    assert line_size(()) == 0
