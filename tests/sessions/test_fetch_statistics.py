"""The figures of a session."""

from tests.sessions.reports import evicted_rows, report
from tests.sessions.test_incremental_checks import size


def test_figures() -> None:
    rows = evicted_rows()
    made = report(rows)
    assert made.fetches == len(rows) == made.kinds.total() and made.kinds["full"] == 1 and made.granted == 1
    assert made.faults == made.errors == {"FETCH_SESSION_ID_NOT_FOUND": 1}
    assert made.records_bytes == sum(map(size, rows)) == made.delivered.total()
    assert made.wanted == {f"orders[{index}]" for index in range(7)}
    shown = made.as_dict()
    assert shown["latencyMs"]["max"] == 5.0 and shown["partitions"] == 7 and shown["sessionFaults"]
    assert shown["bytesPerResponse"] == round(made.response_bytes / len(rows), 1)
