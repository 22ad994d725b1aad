"""Are the tables of `kcli sql` those of `kcli pipeline run`? Each of some captures through both, row for row.

python -m tools.compare_tables FILE|DIR...
"""

import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pyarrow.parquet

from kcli.errors import InputError
from kcli.pipeline.context import Options
from kcli.pipeline.formats.runs import runs_of
from kcli.pipeline.run import run_pipeline
from kcli.pipeline.spark_engine import SparkEngine
from kcli.pipeline.storage import StoragePath
from kcli.pipeline.tables import TABLES
from kcli.sql.engine import Engine
from kcli.sql.given_tables import open_engine
from kcli.sql.inputs import sort_inputs

__all__ = ["differences"]

COUNTED = ("lineage",)  # whose rows depend on how connections were shared out: their sums are compared


def differences(spark: Any, captures: list[str], output: str, **options: Any) -> dict[str, tuple[int, int, int]]:
    """By table (rows, rows that only the pipeline has, rows that only `kcli sql` has) of captures that are read as one.
    output: a new folder. The tables across connections are those of Spark's queries."""
    run_pipeline(SparkEngine(spark, fitting_rows=0), captures, Options(output, **options))
    with open_engine(sort_inputs(captures), {}) as engine:
        return {name: compared(list(pipeline_rows(output, name)), engine, name) for name in TABLES}


def compared(theirs: list[dict[str, Any]], engine: Engine, table: str) -> tuple[int, int, int]:
    """The same of one table."""
    ours = list(sql_rows(engine, table))
    if table in COUNTED:
        ours, theirs = summed(ours), summed(theirs)
    left, right = (Counter(str(sorted(row.items())) for row in rows) for rows in (theirs, ours))
    return len(ours), (left - right).total(), (right - left).total()


def pipeline_rows(output: str, table: str) -> Iterator[dict[str, Any]]:
    """The rows of a table that the pipeline has written."""
    for file in runs_of(StoragePath(output)).stored()[table]:
        yield from pyarrow.parquet.read_table(file.uri, columns=TABLES[table].names).to_pylist()


def sql_rows(engine: Engine, table: str) -> Iterator[dict[str, Any]]:
    """The same as `kcli sql` answers."""
    columns = ", ".join(f'"{name}"' for name in TABLES[table].names)
    try:
        with engine.answer(f"SELECT {columns} FROM {table}") as answer:
            for batch in answer:
                yield from batch.to_pylist()
    except InputError:
        pass  # the capture is damaged, which both say


def summed(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The sums of numbers by scope, and the first and last time."""
    made: dict[str, dict[str, Any]] = {}
    for row in rows:
        sums = made.setdefault(row["scope"], {"scope": row["scope"], "run": row["run"]})
        for name, value in row.items():
            if name != "run" and isinstance(value, int):
                sums[name] = sums.get(name, 0) + value
    return list(made.values())


def main(paths: list[str]) -> int:
    from kcli.pipeline.spark import session

    inputs = sort_inputs(paths).captures
    rows, wrong = Counter[str](), 0
    with warnings.catch_warnings(), tempfile.TemporaryDirectory(prefix="kcli-tables-") as folder:
        warnings.simplefilter("ignore")
        spark = session("local[2]", log=f"{folder}/spark.log", brief=True)
        for number, path in enumerate(inputs):
            found = differences(spark, [path], f"{folder}/{number}")
            bad = {name: counts for name, counts in found.items() if any(counts[1:])}
            rows.update({name: counts[0] for name, counts in found.items()})
            wrong += len(bad)
            print(f"{path}: {bad or 'the same'}", flush=True)
    print(f"{len(inputs)} captures; {wrong} tables that differ; rows: {dict(rows)}")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
