"""Times as text and back."""

import pytest

from kcli.capture.kafka.clock import LAST_NS, instant, milliseconds, parse_instant
from kcli.errors import UsageError


def test_instants_have_microseconds_and_no_more() -> None:
    assert instant(0) == "1970-01-01T00:00:00.000000Z"
    assert instant(1_795_223_668_123_456_789) == "2026-11-21T01:14:28.123456Z"
    assert instant(2**64 - 1) == "2554-07-21T23:34:33.709551Z"


@pytest.mark.parametrize(("ns", "ms"), [(0, 0.0), (1999, 0.001), (14_812_345, 14.812), (-1, -0.001)])
def test_milliseconds_to_the_microsecond(ns: int, ms: float) -> None:
    assert milliseconds(ns) == ms


@pytest.mark.parametrize(
    "text", ["2026-11-21T01:14:28.5Z", "2026-11-21T02:14:28.5+01:00", "2026-11-21 01:14:28.5", "1795223668.5"]
)
def test_times_are_understood_in_several_forms(text: str) -> None:
    assert parse_instant(text) == 1_795_223_668_500_000_000


@pytest.mark.parametrize("text", ["2262-04-12", "9999-12-31T23:59:59Z", "1e30"])
def test_times_end_with_2261(text: str) -> None:
    assert parse_instant(text) == LAST_NS
    assert parse_instant(instant(parse_instant(text))) <= LAST_NS


@pytest.mark.parametrize("text", ["yesterday", "", "2026-13-01", "inf", "nan", "1e300"])
def test_what_is_no_time_says_so(text: str) -> None:
    with pytest.raises(UsageError, match="no time"):
        parse_instant(text)


def test_all_digits_of_seconds_count() -> None:
    assert parse_instant("1795255718.585") == 1_795_255_718_585_000_000
    assert parse_instant("1795255718.123456789") == 1_795_255_718_123_456_789
