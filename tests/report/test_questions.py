"""The questions: each is bounded, and runs on a report's tables, empty ones too."""

from __future__ import annotations

from pathlib import Path

import pytest

from kcli.report.prepared import PREPARED
from kcli.report.questions import QUESTIONS, ReportQuestion

pytest.importorskip("duckdb")


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda each: each.name)
def test_an_answer_is_bounded(question: ReportQuestion) -> None:
    assert "LIMIT" in question.sql or question.name == "totals"


def test_names_are_told_apart() -> None:
    names = [each.name for each in QUESTIONS]
    assert len(set(names) | set(PREPARED)) == len(names) + len(PREPARED)


def test_no_table_has_a_row(tmp_path: Path) -> None:
    from kcli.report.asking import ask_all
    from kcli.report.tables import Tables

    with Tables(tmp_path) as tables:
        tables.derive()
        answers = ask_all(tables)
    assert {name: len(asked.rows) for name, asked in answers.by_name.items() if asked.rows} == {"totals": 1}
    assert answers.first_ns is None
