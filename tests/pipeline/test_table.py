"""Tables out of their text."""

from __future__ import annotations

from kcli.pipeline.table import Column, Table, define


def test_a_line_is_a_column() -> None:
    tables: dict[str, Table] = {}
    define(tables, "t", "A table.", "\na int32 one thing\n", "b  string  another thing\n", dated=False)
    table = tables["t"]
    assert table.columns == (Column("a", "int32", "one thing"), Column("b", "string", "another thing"))
    assert (table.names, table.dated) == (["a", "b"], False)
