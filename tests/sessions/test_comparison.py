"""Reports of captured and live sessions side by side."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from kcli.errors import UsageError
from kcli.sessions.comparison import compare
from kcli.sessions.fetch_statistics import SessionReport
from tests.sessions.captured import Row
from tests.sessions.reports import evicted_rows, report
from tests.sessions.test_incremental_checks import incremental


@pytest.fixture
def rows() -> list[Row]:
    return evicted_rows()


def test_equal_sessions_have_no_differences(rows: list[Row]) -> None:
    assert compare(report(rows), report(rows), "strict") == []


def test_none_compares_nothing(rows: list[Row]) -> None:
    assert compare(report(rows), report(rows[:3]), "none") == []
    with pytest.raises(UsageError, match="loose"):
        compare(report(rows), report(rows), "loose")  # type: ignore[arg-type]


def altered(rows: list[Row], alter: Any) -> SessionReport:
    changed = copy.deepcopy(rows)
    alter(changed)
    return report(changed)


def less_records(rows: list[Row]) -> None:
    rows[0]["response"]["responses"][0]["partitions"][0]["records"]["sizeInBytes"] -= 1


def another_error(rows: list[Row]) -> None:
    rows[0]["response"]["responses"][0]["partitions"][0]["errorCode"] = 6


def a_fault(rows: list[Row]) -> None:
    incremental(rows)["response"]["errorCode"] = 71


def a_fetch_less(rows: list[Row]) -> None:
    del rows[5]


def no_session(rows: list[Row]) -> None:
    rows[0]["response"]["sessionId"] = 0


def another_partition(rows: list[Row]) -> None:
    rows[0]["request"]["topics"][0]["partitions"][0]["partition"] = 99


def nothing_of_one(rows: list[Row]) -> None:
    for row in rows:
        for topic in row["response"]["responses"]:
            topic["partitions"] = [p for p in topic["partitions"] if p["partitionIndex"] != 4]


def a_lost_answer(rows: list[Row]) -> None:
    incremental(rows)["response"] = None


@pytest.mark.parametrize(
    ("alter", "level", "what"),
    [
        (less_records, "strict", "error and bytes of orders"),
        (less_records, "shape", None),
        (another_error, "shape", "NOT_LEADER_OR_FOLLOWER of orders"),
        (a_fault, "shape", "responses with INVALID_FETCH_SESSION_EPOCH"),
        (a_fetch_less, "shape", "incremental fetches"),
        (no_session, "shape", "sessions granted"),
        (no_session, "strict", "in a session"),
        (another_partition, "shape", "partitions requested by one side only"),
        (nothing_of_one, "shape", "records of orders[4]"),
        (nothing_of_one, "strict", "partitions of one response only"),
        (a_lost_answer, "shape", "fetches without a response"),
    ],
)
def test_differences(rows: list[Row], alter: Any, level: Any, what: str | None) -> None:
    found = compare(report(rows), altered(rows, alter), level)
    if what is None:
        assert found == []
    else:
        assert any(what in difference.what for difference in found), found
        assert str(found[0]).startswith("s") and found[0].as_dict()["session"] == "s"


def test_an_eviction_that_does_not_come_again_is_no_difference(rows: list[Row]) -> None:
    def calm(changed: list[Row]) -> None:
        changed[-1]["response"]["errorCode"] = 0

    assert compare(report(rows), altered(rows, calm), "shape") == []
    assert compare(report(rows), altered(rows, calm), "strict")
