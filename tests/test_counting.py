"""Numbers of things in text."""

import re
from pathlib import Path

import pytest

from kcli.counting import bytes_text, counted, few_of, rounded_bytes, singular, span_text


@pytest.mark.parametrize(
    ("number", "words", "text"),
    [
        (0, ("exchange",), "0 exchanges"),
        (1, ("exchange",), "1 exchange"),
        (1200, ("exchange",), "1,200 exchanges"),
        (1, ("fetch", "fetches"), "1 fetch"),
        (2, ("batch is", "batches are"), "2 batches are"),
    ],
)
def test_a_number_and_its_noun(number: int, words: tuple[str, ...], text: str) -> None:
    assert counted(number, *words) == text


def test_one_of_several() -> None:
    names = ["topics", "entries", "transactionStates", "features", "data", "progress", "batches", "addresses"]
    assert [*map(singular, names)] == [
        "topic",
        "entry",
        "transactionState",
        "feature",
        "data",
        "progress",
        "batch",
        "address",
    ]


SPANS = ((0, "0.0 s"), (0.012, "0.012 s"), (0.5, "0.5 s"), (28.84, "28.8 s"), (143.8, "2.4 min"), (7200, "2.0 h"),
         (127_978, "35.5 h"), (864_000, "10.0 d"))  # fmt: skip


@pytest.mark.parametrize(("seconds", "text"), SPANS)
def test_a_span_of_time_has_a_unit_that_fits(seconds: float, text: str) -> None:
    assert span_text(seconds) == text


SIZES = ((0, "0 B", "0 B"), (999, "999 B", "999 B"), (1000, "1.0 kB", "1 kB"), (1234, "1.2 kB", "1.23 kB"),
         (98_765, "98.8 kB", "98.8 kB"), (160_000, "160 kB", "160 kB"), (999_600, "1.0 MB", "1 MB"),
         (12_440_000, "12.4 MB", "12.4 MB"), (3 * 10**9, "3.0 GB", "3 GB"),
         (5 * 10**15, "5000 TB", "5000 TB"))  # fmt: skip


@pytest.mark.parametrize(("size", "in_column", "in_sentence"), SIZES)
def test_a_size_has_a_unit_that_fits(size: int, in_column: str, in_sentence: str) -> None:
    assert (bytes_text(size), rounded_bytes(size)) == (in_column, in_sentence)


def test_a_size_in_two_digits() -> None:
    assert [rounded_bytes(size, 2) for size in (0.4, 1300, 84_400, 117_400)] == ["0 B", "1.3 kB", "84 kB", "117 kB"]


def test_the_first_names_of_many() -> None:
    assert few_of(["a", "b", "c"], 2) == "a, b and 1 more" and few_of(["a"]) == "a"
    assert few_of(["a"] * 1502, 1) == "a and 1,501 more"


# A list that counts what it does not name, in a line of its own or not.
REST = re.compile(r"""(?<![\s(,]) and \{[^{}]+\} more["']""")


def test_one_way_to_count_the_names_that_are_not_shown() -> None:
    sources = (Path(__file__).parents[1] / "kcli").rglob("*.py")
    assert {path.name for path in sources if REST.search(path.read_text())} == {
        "counting.py",
        "rule.py",  # of addresses that are no list: the first, and a number
    }
