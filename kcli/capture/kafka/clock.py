"""Times of a capture as text and back: nanoseconds since 1970, UTC."""

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from kcli.calendar import EPOCH
from kcli.errors import UsageError

SECOND = 1_000_000_000
# The end of 2261; a later time becomes this one, as in a capture. Times to which some is added still fit int64.
LAST_NS = 9_214_646_399_999_999_999
LAST = 253402300799  # 9999-12-31T23:59:59Z
UNITS = {
    "ns": 1, "us": 1000, "µs": 1000, "ms": 1_000_000, "s": SECOND, "m": 60 * SECOND, "min": 60 * SECOND,
    "h": 3600 * SECOND, "d": 86400 * SECOND,
}  # fmt: skip
NUMBER = r"(\d{1,15}(?:\.\d{1,9})?)"
PART = rf"{NUMBER} ?(ns|us|µs|ms|s|min|m|h|d)(?![a-z])"
CLOCK = re.compile(r"\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?")  # a time without a date
ZONED = re.compile(r"(.*\d) +([A-Za-z][\w+/-]*)")  # a time with a zone's name
HALF_A_DAY = 43200 * SECOND


def instant(ns: int) -> str:
    """Format a time (ns) as ISO 8601 with microseconds: "2026-11-21T00:52:34.167123Z"."""
    seconds, rest = divmod(ns, SECOND)
    at = EPOCH + timedelta(seconds=min(seconds, LAST))
    return f"{at:%Y-%m-%dT%H:%M:%S}.{rest // 1000:06d}Z"


def moment(ns: int) -> datetime:
    """Return a time (ns) as a datetime in UTC, to the microsecond."""
    return EPOCH + timedelta(microseconds=min(ns // 1000, LAST * 1_000_000))


def milliseconds(ns: int) -> float:
    """Return ns as ms, to the microsecond, as in `latencyMs`."""
    return (ns // 1000) / 1000


def parse_instant(when: str | float | datetime) -> int:
    """Return the ns since 1970 of an ISO 8601 time, a datetime (UTC without a zone), or seconds since 1970. Raises
    UsageError.
    """
    return max(-LAST_NS, min(nanoseconds(when), LAST_NS))


def nanoseconds(when: str | float | datetime) -> int:
    """Return ns since 1970. A time without a zone is UTC; a number is seconds, also as text. Raises UsageError."""
    at = when
    if not isinstance(at, datetime):
        try:
            if not isinstance(at, str):
                return round(float(at) * SECOND)
            if not at.startswith("+"):  # a time after the first packet, on command lines
                return exact(at)
        except (ValueError, OverflowError, TypeError):
            pass
        try:
            at = datetime.fromisoformat(str(at))
        except ValueError:
            expected = "an ISO 8601 time (2026-11-21T09:14:02.5Z) or seconds since 1970"
            raise UsageError(f"{when}: no time; {expected}") from None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    elapsed = at - EPOCH
    return (elapsed.days * 86400 + elapsed.seconds) * SECOND + elapsed.microseconds * 1000


def exact(seconds: str) -> int:
    """Return the ns of decimal seconds without rounding: a float has 15 digits, a time to the millisecond 13.

    Raises ValueError or OverflowError for text that is no number.
    """
    from decimal import Decimal

    round(float(seconds) * SECOND)
    return round(Decimal(seconds) * SECOND)


def parse_duration(text: str, unit: str) -> int:
    """Return the ns of "10ms", "1.5s" or "1m30s". unit: that of a number without one. Raises UsageError."""
    bare = text.strip().lower()
    if re.fullmatch(NUMBER, bare):
        return exact(bare) * UNITS[unit] // SECOND
    if not re.fullmatch(f"(?:{PART} ?)+", bare):
        raise UsageError(f"{text or repr('')}: no duration (10ms, 1.5s or 2m expected)")
    return sum(exact(number) * UNITS[name] // SECOND for number, name in re.findall(PART, bare))


def parse_local_instant(when: str, begin: Callable[[], int]) -> int:
    """Return the ns of a time in the forms of `parse_instant`, with a zone's name, or without a day: "09:14:02",
    "2026-11-21 10:14:02 Europe/Berlin", "10:14 local". A time without a zone is UTC. A time without a day is the first
    such time that is at most 12 hours before `begin()` (ns). Raises UsageError.
    """
    found = ZONED.fullmatch(when.strip())
    zone = UTC if found is None else zone_of(found[2])
    text = when.strip() if found is None else found[1]
    if not CLOCK.fullmatch(text):
        return parse_instant(when if found is None else datetime_in(text, zone))
    try:
        clock = time.fromisoformat(text.zfill(len(text) + (text[1] == ":")))
    except ValueError:
        raise UsageError(f"{when}: no time") from None
    start = begin()
    first = moment(start).astimezone(clock.tzinfo or zone).date()
    made = at_clock(first, clock, zone)
    return made if made >= start - HALF_A_DAY else at_clock(first + timedelta(days=1), clock, zone)


def at_clock(day: date, clock: time, zone: tzinfo | None) -> int:
    """Return the ns of a time on that day."""
    at = datetime.combine(day, clock)
    return parse_instant(at if at.tzinfo else at.replace(tzinfo=zone).astimezone(UTC))


def datetime_in(text: str, zone: tzinfo | None) -> datetime:
    """Return a time in a zone. zone: None for this machine's. Raises UsageError."""
    try:
        return datetime.fromisoformat(text).replace(tzinfo=zone).astimezone(UTC)
    except (ValueError, OverflowError):
        raise UsageError(f"{text}: no time") from None


def zone_of(name: str) -> tzinfo | None:
    """Return the zone with this name; None for "local", this machine's. Raises UsageError."""
    if name.lower() == "local":
        return None
    if name.upper() in ("UTC", "Z"):
        return UTC
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(name)
    except (ValueError, KeyError, OSError):
        raise UsageError(f"{name}: no such time zone") from None


def day_time(moment: str, *, dated: bool) -> str:
    """Shorten an ISO 8601 time to the time of day in seconds. dated: with the date."""
    day, _, clock = moment.partition("T")
    return f"{day} {clock[:8]}" if dated else clock[:8]
