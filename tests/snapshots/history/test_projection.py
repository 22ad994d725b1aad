from kcli.snapshots.history.projection import Snapshots, growth_by_type, per_day, project
from kcli.snapshots.reading.log_spans import LogSpan
from kcli.snapshots.rules.policy import DEFAULTS

DAY, HOUR = 86_400_000, 3_600_000
LOG = LogSpan(
    0, size=1000, records=20, types={"A": [1, 100], "B": [9, 700]}, first_ms=DAY, last_ms=2 * DAY, epoch=1, end=20
)
SETTINGS = dict(zip(DEFAULTS, (3000, HOUR, 1, 1, 10_000, 7 * DAY, 0, 7 * DAY), strict=True))


def test_growth() -> None:
    assert per_day(LOG.size, LOG) == 1000
    assert growth_by_type(LOG) == [("B", 9, 700, 700), ("A", 1, 100, 100)]
    assert per_day(1, LogSpan(0)) is None
    assert per_day(1, LogSpan(0, first_ms=5, last_ms=5)) is None


def test_what_comes_when() -> None:
    snapshots = Snapshots(2, 900, 50, oldest_ms=DAY, newest_ms=2 * DAY - HOUR)
    found = project(LOG, [LogSpan(15, size=2000), LogSpan(18, size=500)], snapshots, SETTINGS)
    assert found.by_bytes == 2 * DAY + DAY // 2  # 500 bytes are left, at 1,000 a day
    assert found.by_age == 2 * DAY
    assert found.folder_per_day == 1000 + 24 * 50  # a snapshot an hour
    assert found.full == 2 * DAY + (10_000 - 1000 - 900) * DAY // 2200
    assert found.expires == 8 * DAY


def test_what_never_comes() -> None:
    never = SETTINGS | dict.fromkeys(list(DEFAULTS)[4:], -1) | {list(DEFAULTS)[1]: 0}
    found = project(LOG, [], Snapshots(1, 9, 9, 5, 5), never)
    assert (found.by_age, found.full, found.expires) == (None, None, None)
    assert found.folder_per_day == round(1000 + 1000 / 3000 * 9)
    nothing = project(LogSpan(-1), [], Snapshots(), SETTINGS)
    assert (nothing.by_bytes, nothing.by_age, nothing.folder_per_day, nothing.full, nothing.expires) == (None,) * 5
    overdue = project(LOG, [LogSpan(0, size=9999)], Snapshots(), SETTINGS)
    assert overdue.by_bytes == LOG.last_ms
