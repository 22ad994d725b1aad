"""Durations: a number of seconds, or with units; the shortest that an option takes."""

import click
import pytest

from kcli.cli.options.duration import Duration


@pytest.mark.parametrize(("least", "text", "seconds"), [(None, "90", 90.0), (0.1, "100ms", 0.1), (0, "0", 0.0)])
def test_a_duration(least: float | None, text: str, seconds: float) -> None:
    assert Duration(least).convert(text, None, None) == seconds


@pytest.mark.parametrize(
    ("least", "text", "why"),
    [
        (None, "0", "a duration expected"),
        (0.1, "50ms", r"0\.1s or more expected"),
        (0, "-1", "a duration expected"),
        (0, "soon", "a duration expected"),
    ],
)
def test_a_wrong_duration(least: float | None, text: str, why: str) -> None:
    with pytest.raises(click.BadParameter, match=why):
        Duration(least).convert(text, None, None)
