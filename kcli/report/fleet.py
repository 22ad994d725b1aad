"""The questions of `kcli pipeline report`, answered by DuckDB in this process."""

from collections.abc import Iterator

from kcli.pipeline.queries import QUESTIONS
from kcli.pipeline.report import MOST, Answered, opened
from kcli.sql.given_tables import open_engine
from kcli.sql.inputs import sort_inputs


def ask_here(output: str) -> Iterator[Answered]:
    """Yield each question's answer, in order, over the tables in a folder. Raises InputError if it holds none."""
    opened(output)
    with open_engine(sort_inputs([output]), {}) as engine:
        for question in QUESTIONS:
            with engine.answer(question.sql) as answer:
                found = answer.read_all()
            rows = [tuple(row.values()) for row in found.slice(0, MOST).to_pylist()]
            yield Answered(question, tuple(found.schema.names), rows)
