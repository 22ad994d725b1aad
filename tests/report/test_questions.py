"""The questions: each is bounded, and runs on a report's tables, empty ones too."""

import re
from pathlib import Path

import pytest

from kcli.pipeline import queries
from kcli.report.prepared import FLEET_TABLES, FLEET_VIEWS
from kcli.report.questions import CAPTURED, QUESTIONS, ReportQuestion
from kcli.rules.prepared import TOPIC

duckdb = pytest.importorskip("duckdb")


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda each: each.name)
def test_an_answer_is_bounded(question: ReportQuestion) -> None:
    assert "LIMIT" in question.sql or question.name == "totals"


@pytest.mark.parametrize("question", [*QUESTIONS, *CAPTURED, *queries.QUESTIONS], ids=lambda each: each.name)
def test_no_two_rows_tie(question: ReportQuestion | queries.Question) -> None:
    """What rows are grouped by, they are sorted by: the page is the same each time."""
    grouped, _, sorted_by = question.sql.rpartition("ORDER BY")
    keys = re.split(r",(?![^(]*\))", grouped.rpartition("GROUP BY")[2]) if "GROUP BY" in grouped else []
    order = re.findall(r"\w+", sorted_by)
    # Those which the other keys come from, and what a place stands for.
    alone = {"lost": ["event", "reason"], "network": ["connection"], "connections": ["connection"], "topics": ["topic"]}
    for key in map(str.strip, alone.get(question.name, keys)):
        alias = re.search(re.escape(key) + r" AS (\w+)", grouped)
        names = {key.rpartition(".")[2], alias[1] if alias else key}
        assert names & {*order}, key


def test_names_are_told_apart() -> None:
    names = [each.name for each in QUESTIONS]
    prepared = {*FLEET_TABLES, *FLEET_VIEWS, "page_calls"}
    assert len({*names} | prepared) == len(names) + len(prepared)


def test_no_table_has_a_row(tmp_path: Path) -> None:
    from kcli.report.asking import ask_fleet
    from kcli.report.engine import ReportEngine

    with ReportEngine(tmp_path) as tables:
        answers = ask_fleet(tables)
    assert {name: len(asked.rows) for name, asked in answers.by_name.items() if asked.rows} == {"totals": 1}
    assert answers.first_ns is None


@pytest.mark.parametrize("question", [*QUESTIONS, *CAPTURED], ids=lambda question: question.name)
def test_no_name_of_a_topic_is_told_twice(question: ReportQuestion) -> None:
    """The store puts a list of all topics into it. Beside its twin in a GROUP BY it took 0.9 GB for 2,000 topics."""
    assert TOPIC not in question.sql.partition("GROUP BY")[2]


def test_reasons_that_differ_in_numbers_are_one_row() -> None:
    """The first stands for all; TLS 1.2 is not lost as a number."""
    rows = [("a", f"no response to {number}: the connection ends") for number in (3, 4, 4)]
    rows += [("b", "TLS 1.3, TLS_AES_128_GCM_SHA256: encrypted")]
    [lost] = [each.sql for each in QUESTIONS if each.name == "lost"]
    with duckdb.connect() as store:
        store.execute("CREATE TABLE undecodable (event VARCHAR, reason VARCHAR, bytes INT, connection VARCHAR)")
        store.executemany("INSERT INTO undecodable VALUES (?, ?, 1, 'c')", rows)
        assert [row[1:3] for row in store.sql(lost).fetchall()] == [
            ("no response to 3: the connection ends, and 1 alike", 3),
            ("TLS 1.3, TLS_AES_128_GCM_SHA256: encrypted", 1),
        ]
