"""Numbers of things in text."""

from __future__ import annotations

import pytest

from kcli.counting import counted, singular, span_text


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
