"""The report's questions: each has a name, SQL over known tables, and both engines run it."""

import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from kcli.pipeline.context import Options
from kcli.pipeline.local_engine import LocalEngine
from kcli.pipeline.queries import QUESTIONS, Question
from kcli.pipeline.report import ask, open_tables
from kcli.pipeline.run import run_pipeline
from kcli.pipeline.tables import TABLES
from tests.capture.wires import DATA


def test_names_are_unique() -> None:
    assert len({each.name for each in QUESTIONS}) == len(QUESTIONS)


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda each: each.name)
def test_sql_asks_tables_that_are_there(question: Question) -> None:
    asked = set(re.findall(r"\bFROM (\w+)", question.sql))
    assert asked
    assert asked <= set(TABLES)
    assert question.empty.endswith(".")


def plain(value: Any) -> Any:
    return float(value) if isinstance(value, (Decimal, float)) else value


def test_spark_and_duckdb_answer_alike(spark: Any, samples: Path, output: Path) -> None:
    """Each question, over tables, by Spark and by DuckDB, and over the captures."""
    pytest.importorskip("duckdb")
    from kcli.sql.given_tables import open_engine
    from kcli.sql.inputs import sort_inputs

    captures = [samples / "old-librdkafka-on-3.9.pcap", samples / "kcat-codecs.pcap", DATA / "kraft-boot.pcap.zst"]
    inputs = [str(path) for path in captures]
    run_pipeline(LocalEngine(), inputs, Options(str(output)))
    open_tables(spark, str(output))
    answers = {each.question.name: each for each in ask(spark)}
    assert sum(bool(each.rows) for each in answers.values()) >= len(QUESTIONS) - 1
    for given in ([str(output)], inputs):
        with open_engine(sort_inputs(given), {}) as engine:
            for question in QUESTIONS:
                theirs = answers[question.name]
                with engine.answer(question.sql) as answer:
                    ours = answer.read_all()
                assert tuple(ours.schema.names) == theirs.columns
                rows = [[*map(plain, row.values())] for row in ours.to_pylist()]
                expected = [[*map(plain, row)] for row in theirs.rows]
                assert len(rows) == len(expected), question.name
                for row, other in zip(rows, expected, strict=True):
                    assert row == [
                        pytest.approx(value, rel=1e-6, abs=0.011) if isinstance(value, float) else value
                        for value in other
                    ], question.name
