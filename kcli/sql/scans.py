"""A table that DuckDB reads as a stream of record batches, made again for each reading."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from kcli.errors import InputError, UsageError

# The record batches of one kind of input: (names of wanted columns) -> batches that have these columns.
Source = Callable[[frozenset[str]], Iterator[Any]]


class Scan:
    """A table made of several sources, one after another, as an Arrow C stream.

    Column names have the table's name in front, so that a plan tells which table's columns it reads; a view restores
    them. Columns that are not wanted are null. An error of an input ends its source, not the query: `failures` has it,
    and any other exception that stopped the reading.
    """

    def __init__(self, name: str, schema: Any, sources: Sequence[Source], *, once: bool = False) -> None:
        """Make a scan. once: an input can be read only once, as standard input."""
        import pyarrow

        self.name, self.schema, self.sources, self.once = name, schema, sources, once
        self.arrow = pyarrow
        self.wide = pyarrow.schema([field.with_name(f"{name}.{field.name}") for field in schema])
        self.wanted = frozenset(schema.names)
        self.failures: list[BaseException] = []
        self.reads = 0

    def __arrow_c_schema__(self) -> Any:
        return self.wide.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        reader = self.arrow.RecordBatchReader.from_batches(self.wide, self.batches())
        return reader.__arrow_c_stream__(requested_schema)

    def batches(self) -> Iterator[Any]:
        """Yield all record batches, with the long column names. Raises UsageError for a second reading if `once`."""
        try:
            self.reads += 1
            if self.once and self.reads > 1:
                raise UsageError("standard input can be read once, and this query reads it twice (a file expected)")
            for source in self.sources:
                yield from self.fitted(source)
        except GeneratorExit:
            raise
        except BaseException as error:
            self.failures.append(error)
            raise

    def fitted(self, source: Source) -> Iterator[Any]:
        """Yield the batches of one source; an InputError ends it."""
        try:
            for batch in source(self.wanted):
                yield self.fit(batch)
        except InputError as error:
            self.failures.append(error)

    def fit(self, batch: Any) -> Any:
        """Return a batch with all columns of the table; columns that are missing or not wanted are null."""
        present = set(batch.schema.names) & self.wanted
        arrays = [
            fit_array(batch.column(field.name), field.type) if field.name in present
            else self.arrow.nulls(batch.num_rows, field.type)
            for field in self.schema
        ]  # fmt: skip
        return self.arrow.RecordBatch.from_arrays(arrays, schema=self.wide)


def fit_array(array: Any, kind: Any) -> Any:
    """Cast an array to a type. Raises InputError if that is not possible."""
    import pyarrow

    if array.type == kind:
        return array
    try:
        return array.cast(kind)
    except pyarrow.ArrowException as error:
        raise InputError(f"a column of {array.type} where {kind} is expected: {error}") from None
