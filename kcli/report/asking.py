"""The questions asked: the same of captures, and of a fleet's tables by DuckDB or Spark."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Protocol

from kcli.report.prepared import FLEET_TABLES, FLEET_VIEWS, PAGE_CALLS, SPAN
from kcli.report.questions import FLEET, QUESTIONS, ReportQuestion

BUCKETS = 150  # of time, at most
MS, SECOND = 1_000_000, 1_000_000_000
MINUTE, HOUR, DAY = 60 * SECOND, 3600 * SECOND, 86_400 * SECOND
STEPS = (
    *(n * MS for n in (1, 2, 5, 10, 20, 50, 100, 200, 500)), *(n * SECOND for n in (1, 2, 5, 10, 15, 30)),
    *(n * MINUTE for n in (1, 2, 5, 10, 15, 30)), *(n * HOUR for n in (1, 2, 3, 6, 12)),
    *(n * DAY for n in (1, 2, 7, 30, 365)),
)  # fmt: skip


class QuestionEngine(Protocol):
    """An engine that runs SQL over the tables."""

    def define(self, name: str, sql: str) -> None:
        """Define the query as a view of that name."""

    def run(self, sql: str) -> tuple[Sequence[str], Sequence[Sequence[Any]]]:
        """Run a query; return the names of the columns, and the rows."""


class FleetEngine(QuestionEngine, Protocol):
    """An engine over tables of `kcli pipeline run`."""

    def prepare(self, name: str, sql: str) -> None:
        """Store the query's rows as a table of that name."""


@dataclass(frozen=True, slots=True)
class AnsweredQuestion:
    """A question with its answer: the names of the columns, and rows of texts, numbers, bools and None."""

    question: ReportQuestion
    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]

    def dicts(self) -> list[dict[str, Any]]:
        """Return the rows by column."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]

    def total(self, column: str) -> int:
        """Return the sum of a column."""
        at = self.columns.index(column)
        return sum(row[at] or 0 for row in self.rows)


@dataclass(frozen=True, slots=True)
class Answers:
    """All of them by name. first_ns, last_ns: of the exchanges, None without any. step: ns, a bucket of time."""

    by_name: dict[str, AnsweredQuestion]
    first_ns: int | None
    last_ns: int | None
    step: int


def ask_fleet(engine: FleetEngine) -> Answers:
    """Return the answer to each question of a fleet's page."""
    for name, sql in FLEET_VIEWS.items():
        engine.define(name, sql)
    for name, sql in FLEET_TABLES.items():
        engine.prepare(name, sql)
    return ask_all(engine, FLEET)


def ask_all(engine: QuestionEngine, more: Sequence[ReportQuestion]) -> Answers:
    """Return the answer to each question, in order, and to those that follow them."""
    _, [[first, last]] = engine.run(SPAN)
    step = step_of(0 if first is None else last - first)
    engine.define("page_calls", PAGE_CALLS.replace("{step}", str(step)))
    return Answers({each.name: ask(engine, each) for each in (*QUESTIONS, *more)}, first, last, step)


def ask(engine: QuestionEngine, question: ReportQuestion) -> AnsweredQuestion:
    columns, rows = engine.run(question.sql)
    return AnsweredQuestion(question, tuple(columns), [tuple(map(plain, row)) for row in rows])


def step_of(span: int) -> int:
    """Return the width of a time bucket (ns) for a span: a round one, so that there are at most BUCKETS."""
    return next((step for step in STEPS if span <= step * (BUCKETS - 1)), max(STEPS[-1], span // (BUCKETS - 1) + 1))


def plain(value: Any) -> Any:
    """Return a number for a sum that comes as a Decimal, which JSON does not know."""
    return int(value) if isinstance(value, Decimal) else value
