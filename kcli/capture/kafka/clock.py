"""The capture's timestamps as text and back: nanoseconds since 1970, UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from kcli.errors import UsageError

SECOND = 1_000_000_000
LAST_NS = (1 << 63) - 1  # in 2262: what is later counts as that, as in a capture
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LAST = 253402300799  # 9999-12-31T23:59:59Z


def instant(ns: int) -> str:
    """ISO 8601 with microseconds: "2026-11-21T00:52:34.167123Z"."""
    seconds, rest = divmod(ns, SECOND)
    at = EPOCH + timedelta(seconds=min(seconds, LAST))
    return f"{at:%Y-%m-%dT%H:%M:%S}.{rest // 1000:06d}Z"


def moment(ns: int) -> datetime:
    """The same as a datetime in UTC, to the microsecond."""
    return EPOCH + timedelta(microseconds=min(ns // 1000, LAST * 1_000_000))


def milliseconds(ns: int) -> float:
    """To the microsecond, as `latencyMs` is written."""
    return (ns // 1000) / 1000


def parse_instant(when: str | float | datetime) -> int:
    """Nanoseconds of an ISO 8601 time, a datetime (UTC where it names no zone), or seconds since 1970. UsageError."""
    return max(-LAST_NS, min(nanoseconds(when), LAST_NS))


def nanoseconds(when: str | float | datetime) -> int:
    at = when
    if not isinstance(at, datetime):
        try:
            return exact(at) if isinstance(at, str) else round(float(at) * SECOND)
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
    """Nanoseconds of seconds in digits, all of which count: a float has 15, and a time to the millisecond 13.

    ValueError, OverflowError: they are no number.
    """
    from decimal import Decimal

    round(float(seconds) * SECOND)
    return round(Decimal(seconds) * SECOND)
