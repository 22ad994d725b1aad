"""Numbers of things in text."""

from __future__ import annotations

import pytest

from kcli.counting import counted, singular


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
