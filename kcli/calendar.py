"""Timestamps of records, ms since 1970, where a calendar has them: in the years 1 to 9999."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

FIRST_MS, LAST_MS = -62_135_596_800_000, 253_402_300_799_999
NS_IN_US, NS_IN_MS = 1000, 1_000_000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NO_TIME = -1  # what a record without a timestamp has


def now_ms() -> int:
    """Return the time now."""
    return time.time_ns() // NS_IN_MS


def has_date(ms: int) -> bool:
    """Return whether a calendar has a timestamp, and a record has it."""
    return FIRST_MS <= ms <= LAST_MS and ms != NO_TIME


def date_text(ms: int) -> str:
    """Write a timestamp as "2026-11-21T01:22:07.846"; as the number that it is where no calendar has it."""
    if ms == NO_TIME:
        return "-"
    if not has_date(ms):
        return str(ms)
    return moment_text(EPOCH + timedelta(milliseconds=ms), "milliseconds")


def moment_text(moment: datetime, unit: str = "microseconds") -> str:
    """Write a time down to a unit of datetime.isoformat, without its offset. A year has four digits: strftime does not
    see to that on every system.
    """
    return moment.replace(tzinfo=None).isoformat(timespec=unit)
