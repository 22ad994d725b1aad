"""Tables in Parquet files, written by the pipeline, by `decode pcap` and `decode segment`, or by another program."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from kcli.errors import InputError
from kcli.file_kinds import recognized
from kcli.sql.inputs import start_of
from kcli.sql.scans import Source
from kcli.sql.views import TRAFFIC, WRITTEN

ROWS = 20_000
EXCHANGE_FILE = {"api_key", "request", "event"}  # columns of `decode pcap --format parquet`
RECORD_FILE = {"baseOffset", "timestampType", "headers"}  # of `decode segment --format parquet`
RECORDS_FILE = {"topic", "partition", "offset", "timestamp_ms", "key", "value", "headers"}  # of `records`


def written_sources(files: Sequence[tuple[str | None, str]]) -> Iterator[tuple[str, Any, Source]]:
    """Yield (table, schema, source) of each file. Raises InputError for a file that is not Parquet."""
    summed = {Path(path).parents[1] for table, path in files if table == "connections"}  # the pipeline's folders
    for table, path in files:
        schema = schema_in(path)
        if table is None:
            yield from sources_of_file(path, schema)
            continue
        yield WRITTEN.get(table, table), with_file(plain(schema)), parquet_source(path)
        if table == "exchanges" and summed.isdisjoint(Path(path).parents):
            yield TRAFFIC, schema, parquet_source(path)


def schema_in(path: str) -> Any:
    """Return the schema of a file. Raises InputError if it is not Parquet."""
    import pyarrow.parquet

    try:
        return pyarrow.parquet.read_schema(path)
    except (pyarrow.ArrowException, OSError) as error:
        kind = recognized(start_of(path))
        raise InputError(f"not a Parquet file: {f'it {kind}' if kind else error}", file=path) from None


def sources_of_file(path: str, schema: Any) -> Iterator[tuple[str, Any, Source]]:
    """Yield (table, schema, source) of a file that is in no folder of tables, by its columns."""
    names = set(schema.names)
    if names >= EXCHANGE_FILE:
        exchanges = parquet_source(path, lambda batch: of_kind(batch, events=False))
        yield "exchanges", schema, exchanges
        yield TRAFFIC, schema, exchanges
        yield "events", schema, parquet_source(path, lambda batch: of_kind(batch, events=True))
        return
    if names >= RECORD_FILE or names >= RECORDS_FILE:
        yield "records", schema, record_source(path)
    name = re.sub(r"\W", "_", Path(path).name.partition(".")[0]) or "written"
    if not names >= RECORD_FILE and not (names >= RECORDS_FILE and name.lower() == "records"):
        yield name, with_file(plain(schema)), parquet_source(path)


def plain(schema: Any) -> Any:
    """Return a schema with the value types in place of dictionaries."""
    import pyarrow

    kinds = ((field, field.type) for field in schema)
    return pyarrow.schema(
        [field.with_type(kind.value_type) if pyarrow.types.is_dictionary(kind) else field for field, kind in kinds]
    )


def with_file(schema: Any) -> Any:
    """Return a schema with the column `file`, which is added if it is missing."""
    import pyarrow

    return schema if "file" in schema.names else schema.append(pyarrow.field("file", pyarrow.string()))


def parquet_source(path: str, change: Any = lambda batch: batch) -> Source:
    """Return the rows of a file. change: applied to each batch. Raises InputError if the file is damaged."""

    def batches(wanted: frozenset[str]) -> Iterator[Any]:
        import pyarrow.parquet

        try:
            with pyarrow.parquet.ParquetFile(path) as file:
                names = file.schema_arrow.names
                read = [each for each in names if each in wanted or each == "event"] or names[:1]
                for batch in file.iter_batches(ROWS, columns=read):
                    yield change(batch if "file" in names else add_file(batch, path))
        except (pyarrow.ArrowException, OSError) as error:
            raise InputError(f"can't be read as Parquet: {error}", file=path) from None

    return batches


def add_file(batch: Any, path: str) -> Any:
    import pyarrow

    return batch.append_column("file", pyarrow.repeat(pyarrow.scalar(path), batch.num_rows))


def of_kind(batch: Any, *, events: bool) -> Any:
    """Return only the events of a batch, or only its exchanges."""
    import pyarrow.compute

    kinds = batch.column("event")
    return batch.filter(pyarrow.compute.is_valid(kinds) if events else pyarrow.compute.is_null(kinds))


def record_source(path: str) -> Source:
    """Return the records in a file of `records` or `decode segment`, whose column names may be those of the JSON."""

    def change(batch: Any) -> Any:
        return batch.rename_columns([snake(name) for name in batch.schema.names])

    def batches(wanted: frozenset[str]) -> Iterator[Any]:
        from kcli.payloads.record_table import as_text

        names_wanted = wanted | {camel for camel in CAMEL if snake(camel) in wanted}
        for batch in parquet_source(path, change)(names_wanted):
            arrays = [as_text(array) for array in batch.columns]
            yield type(batch).from_arrays(arrays, names=batch.schema.names)

    return batches


CAMEL = (
    "baseOffset", "timestampType", "isTransactional", "partitionLeaderEpoch", "producerId", "producerEpoch",
    "baseSequence", "timestampMs",
)  # fmt: skip


def snake(name: str) -> str:
    """Turn "baseOffset" into "base_offset"."""
    return re.sub(r"[A-Z]", lambda found: f"_{found[0].lower()}", name)
