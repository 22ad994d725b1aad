"""The table `metadata`: records of snapshots and metadata logs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from kcli.errors import InputError, all_of
from kcli.input_names import unicode_name
from kcli.jsontext import dumps, loads
from kcli.snapshots.json_lines import RecordLines
from kcli.snapshots.reading.files import open_file
from kcli.sql.scans import Source
from kcli.tables.captured import CAPTURED
from kcli.tables.definition import schema_of

ROWS = 5000


def metadata_source(paths: Sequence[str], dialect: str | None, secrets: bool) -> Source:
    """Return the records of all files, one row each. Raises InputError after the last row for records that cannot be
    read.
    """

    def batches(_wanted: frozenset[str]) -> Iterator[Any]:
        import pyarrow

        schema = schema_of(CAPTURED["metadata"].columns)
        failures: list[InputError] = []
        for path in paths:
            rows = rows_of(path, RecordLines(dialect, secrets), failures)
            while some := list(islice(rows, ROWS)):
                yield pyarrow.RecordBatch.from_pylist(some, schema=schema)
        if failures:
            raise all_of(failures)

    return batches


def rows_of(path: str, lines: RecordLines, failures: list[InputError]) -> Iterator[dict[str, Any]]:
    with open_file(path) as file:
        for piece in lines.lines(file.data, file.mapped):
            for line in bytes(piece).splitlines():
                row = loads(line)
                if "event" not in row:
                    yield {
                        "offset": row["offset"], "type": row["type"], "version": row["version"],
                        "data": dumps(row["data"]), "reason": row.get("reason"), "file": unicode_name(path),
                    }  # fmt: skip
    failures += [InputError(problem, file=path) for problem in lines.problems]
