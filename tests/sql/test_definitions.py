"""The tables of `kcli sql`: the pipeline's among them, each with a file."""

from kcli.pipeline import tables as pipeline
from kcli.sql.definitions import PIPELINED, TABLES
from kcli.tables.captured import CAPTURED


def test_the_pipelines_tables_are_there_with_a_file() -> None:
    assert TABLES.keys() == CAPTURED.keys() | pipeline.TABLES.keys()
    assert PIPELINED.keys() == pipeline.TABLES.keys() - CAPTURED.keys()
    for name, table in PIPELINED.items():
        known = pipeline.TABLES[name]
        assert table.names == [*known.names, *(["file"] if "file" not in known.names else [])]
