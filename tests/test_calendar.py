"""Timestamps of records as dates."""

import pytest

from kcli.calendar import FIRST_MS, LAST_MS, date_text, has_date


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (1_700_000_000_123, "2023-11-14T22:13:20.123"),
        (0, "1970-01-01T00:00:00.000"),
        (-86_400_000, "1969-12-31T00:00:00.000"),
        (-1, "-"),
        (LAST_MS, "9999-12-31T23:59:59.999"),
        (LAST_MS + 1, str(LAST_MS + 1)),
        (FIRST_MS, "0001-01-01T00:00:00.000"),
        (FIRST_MS - 1, str(FIRST_MS - 1)),
        (1_700_000_000_000_000_000, "1700000000000000000"),
    ],
)
def test_a_date_where_a_calendar_has_one_else_the_number(ms: int, text: str) -> None:
    assert date_text(ms) == text and has_date(ms) == ("T" in text)
