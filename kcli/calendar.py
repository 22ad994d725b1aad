"""Timestamps of records, in ms since 1970, as dates of the years 1 to 9999."""

import time
from datetime import UTC, datetime, timedelta

FIRST_MS, LAST_MS = -62_135_596_800_000, 253_402_300_799_999
NS_IN_US, NS_IN_MS = 1000, 1_000_000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NO_TIME = -1  # the timestamp of a record without one


def now_ms() -> int:
    """Return the current time in ms since 1970."""
    return time.time_ns() // NS_IN_MS


def has_date(ms: int) -> bool:
    """Return whether a timestamp (ms) is set and is in the years 1 to 9999."""
    return FIRST_MS <= ms <= LAST_MS and ms != NO_TIME


def date_text(ms: int) -> str:
    """Format a timestamp (ms) as "2026-11-21T01:22:07.846", "-" if it is not set, or as a number outside the years 1 to
    9999.
    """
    if ms == NO_TIME:
        return "-"
    if not has_date(ms):
        return str(ms)
    return moment_text(EPOCH + timedelta(milliseconds=ms), "milliseconds")


def moment_text(moment: datetime, unit: str = "microseconds") -> str:
    """Format a time without its UTC offset. unit: the smallest one, as in datetime.isoformat. The year has four digits,
    which strftime does not guarantee on every system.
    """
    return moment.replace(tzinfo=None).isoformat(timespec=unit)
