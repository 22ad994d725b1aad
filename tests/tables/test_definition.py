"""Tables out of their text."""

import pytest

from kcli.pipeline.fact_tables import FACTS
from kcli.sql.definitions import TABLES
from kcli.tables.definition import COMMENTS, Column, Table, columns, define, schema_of


def test_a_line_is_a_column() -> None:
    tables: dict[str, Table] = {}
    define(tables, "t", "A table.", "\na int32 one thing\n", "b  string?  another thing\n", dated=False)
    table = tables["t"]
    assert table.columns == (Column("a", "int32", "one thing", False), Column("b", "string", "another thing"))
    assert (table.names, table.dated) == (["a", "b"], False)


def test_each_kind_is_an_arrow_type_and_the_comment_goes_with_it() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    made = schema_of(columns("a instant when\nb strings many\nc headers pairs\nd bool whether\ne float64? how long"))
    assert made.field("a").type == pyarrow.timestamp("us", "UTC") and made.field("d").type == pyarrow.bool_()
    assert made.field("b").type == pyarrow.list_(pyarrow.string()) and made.field("e").type == pyarrow.float64()
    assert made.field("c").type.value_type.names == ["key", "value"]
    assert made.field("a").metadata == {b"comment": b"when"}


def test_a_column_without_a_comment_has_the_one_of_its_name() -> None:
    assert [each.text for each in columns("topic string?\ntopic string? another")] == [COMMENTS["topic"], "another"]
    missing = [
        f"{table.name}.{each.name}" for table in (FACTS | TABLES).values() for each in table.columns if not each.text
    ]
    assert missing == []
