"""Time in buckets, and answers in values that JSON knows."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest

from kcli.report.asking import BUCKETS, STEPS, ask_fleet, step_of
from kcli.report.prepared import FLEET_TABLES, FLEET_VIEWS


@pytest.mark.parametrize("span", [0, 1, 10**6, 10**9, 3600 * 10**9, 86_400 * 10**9, 10**18, 2**63])
def test_buckets_are_few_and_round(span: int) -> None:
    step = step_of(span)
    assert span // step < BUCKETS
    assert step in STEPS or span > STEPS[-1] * (BUCKETS - 1)
    assert step == STEPS[0] or span // BUCKETS * 6 > step or step > STEPS[-1]


class Engine:
    def __init__(self) -> None:
        self.prepared: dict[str, str] = {}
        self.views: dict[str, str] = {}

    def define(self, name: str, sql: str) -> None:
        self.views[name] = sql

    def prepare(self, name: str, sql: str) -> None:
        self.prepared[name] = sql

    def run(self, sql: str) -> tuple[Sequence[str], Sequence[Sequence[Any]]]:
        if sql.startswith("SELECT min(completed_ns)"):
            return ["first_ns", "last_ns"], [[0, 3600 * 10**9]]
        return ["n", "text"], [[Decimal(3), "a"], [None, "b"]]


def test_all_are_asked_once() -> None:
    engine = Engine()
    answers = ask_fleet(engine)
    assert answers.step == 30 * 10**9
    assert [*engine.views] == [*FLEET_VIEWS, "page_calls"] and [*engine.prepared] == [*FLEET_TABLES]
    assert str(answers.step) in engine.views["page_calls"]
    asked = answers.by_name["apis"]
    assert asked.rows == [(3, "a"), (None, "b")] and type(asked.rows[0][0]) is int
    assert asked.total("n") == 3
    assert asked.dicts() == [{"n": 3, "text": "a"}, {"n": None, "text": "b"}]
