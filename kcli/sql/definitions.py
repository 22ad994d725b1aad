"""The definitions of all tables of `kcli sql`: those of captures, segments and snapshots, and the pipeline's; each has
the column `file`.
"""

from dataclasses import replace

from kcli.pipeline import tables as pipeline
from kcli.tables.captured import CAPTURED
from kcli.tables.definition import Column, Table

FILE = Column(
    "file",
    "string",
    "the capture with its last packet; unanswered: with its request; in tables across connections: all captures read",
    False,
)


def with_file(table: Table) -> Table:
    """Return a table with the column `file`, which is added if it is missing."""
    return table if "file" in table.names else replace(table, columns=(*table.columns, FILE))


# The pipeline's other tables; its `exchanges` are those of CAPTURED without some columns.
PIPELINED: dict[str, Table] = {
    name: with_file(table) for name, table in pipeline.TABLES.items() if name not in CAPTURED
}
TABLES: dict[str, Table] = {**CAPTURED, **PIPELINED}
