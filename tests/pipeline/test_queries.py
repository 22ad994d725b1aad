"""The report's questions: each has a name, SQL over known tables, and charts of columns that are there."""

from __future__ import annotations

import re

import pytest

from kcli.pipeline.queries import QUESTIONS, Question
from kcli.pipeline.tables import TABLES


def test_names_are_unique() -> None:
    assert len({each.name for each in QUESTIONS}) == len(QUESTIONS)


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda each: each.name)
def test_sql_asks_tables_that_are_there(question: Question) -> None:
    asked = set(re.findall(r"\bFROM (\w+)", question.sql))
    assert asked
    assert asked <= set(TABLES)
    assert question.empty.endswith(".")
    for name in (*question.chart.label, *(column for column, _ in question.chart.values)) if question.chart else ():
        assert re.search(rf"\b{name}\b", question.sql)
