"""The tables' columns: one place says what they are, everything else follows."""

import pytest

from kcli.pipeline.fact_tables import FACTS
from kcli.pipeline.schemas import arrow_schema, spark_columns
from kcli.pipeline.tables import TABLES


@pytest.mark.parametrize("name", [*TABLES, *FACTS])
def test_every_column_has_a_type_in_both_worlds_and_a_text(name: str) -> None:
    table = TABLES.get(name) or FACTS[name]
    assert arrow_schema(name).names == table.names == [column for column, _ in spark_columns(table)]
    assert all(column.text for column in table.columns)
    assert len(set(table.names)) == len(table.names)


def test_a_columns_comment_is_in_its_schema() -> None:
    field = arrow_schema("quorum").field("epoch")
    assert field.metadata == {b"comment": b"leader epoch of the snapshot's last record"}
