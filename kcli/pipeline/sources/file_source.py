"""The common part of the data sources: paths, options, columns, and rows as Arrow batches."""

from __future__ import annotations

import contextlib
import operator
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from kcli.errors import InputError, UsageError
from kcli.extras import require
from kcli.filelike import CAPTURE_SUFFIXES
from kcli.jsontext import loads
from kcli.pipeline.series import SETTLE, settled
from kcli.pipeline.storage import StoragePath, StoredFile, gather

COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "EqualTo": operator.eq,
    "GreaterThan": operator.gt,
    "GreaterThanOrEqual": operator.ge,
    "LessThan": operator.lt,
    "LessThanOrEqual": operator.le,
}


try:
    from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
except ModuleNotFoundError:
    require("a data source of kcli", "spark")
    raise

ROWS = 5_000  # rows in an Arrow batch


ARROW = {"timestamp": ("us", "UTC")}


Column = tuple[str, str]  # name, Spark's type


class Input(InputPartition):
    """The input of one task."""

    def __init__(self, value: Any) -> None:
        super().__init__(value)


def shows_secrets(options: Mapping[str, str]) -> bool:
    """Return whether the option `secrets` is "true"; else passwords, keys and tokens are left out."""
    return is_on(options, "secrets")


def is_on(options: Mapping[str, str], name: str) -> bool:
    """Return whether an option is "true", in any case."""
    return options.get(name, "").lower() == "true"


class KcliSource(DataSource):
    """The common part of the sources: paths, options, columns. Subclasses define `columns` and `suffixes`, and `rows`
    or `batches`.
    """

    columns: Sequence[Column] = ()
    suffixes: tuple[str, ...] = CAPTURE_SUFFIXES

    def schema(self) -> str:
        return ", ".join(f"`{name}` {kind}" for name, kind in self.chosen())

    def chosen(self) -> list[Column]:
        """Return the columns of the option `columns`, or all without it. Raises UsageError."""
        names = self.options.get("columns")
        if not names:
            return list(self.columns)
        known = dict(self.columns)
        wanted = [name.strip() for name in names.split(",")]
        for name in wanted:
            if name not in known:
                raise UsageError(f"{name}: no such column of {self.name()} (there are: {', '.join(known)})")
        return [(name, known[name]) for name in wanted]

    def paths(self) -> list[str]:
        """Return the paths of the options `path` and `paths`. Raises UsageError if there is none."""
        path, paths = self.options.get("path"), self.options.get("paths")
        if not path and not paths:
            raise UsageError(f"{self.name()} needs a path: .load(path)")
        return [each for text in (path, paths) if text for each in listed(text)]

    def files(self) -> list[StoredFile]:
        """Return the files that the paths name. Raises UsageError if there is no path; raises InputError if there is no
        such file.
        """
        return gather(self.paths(), self.suffixes)

    def reader(self, schema: Any) -> FileReader:
        names = [field.name for field in schema.fields]
        return (FilteringReader if is_on(self.options, "pushdown") else FileReader)(self, names)

    def streamReader(self, schema: Any) -> StreamReader:  # noqa: N802 - the API's name
        return StreamReader(self, [field.name for field in schema.fields])

    # For subclasses

    def inputs(self) -> list[Any]:
        """Return the input of each task."""
        return list(self.files())

    def rows(self, task: Any, wanted: frozenset[str]) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a task with all columns; an unwanted column may be None."""
        raise NotImplementedError

    def batches(self, task: Any, wanted: Sequence[str], condition: Any) -> Iterator[Any] | None:
        """Return the rows of a task as record batches, with at least the wanted columns; None if the source has `rows`
        instead.

        condition: a pyarrow.dataset.Expression; rows for which it is false may be left out; None without one
        """
        return None

    def position(self) -> dict[str, Any]:
        """Return the present end of a stream: the complete files."""
        settle = float(self.options.get("settle", SETTLE))
        return {"files": sorted(file.uri for file in settled(self.files(), time.time(), settle))}

    def inputs_between(self, start: dict[str, Any], end: dict[str, Any]) -> list[Any]:
        """Return the input of each task for the files between two positions."""
        before = set(start.get("files", ()))
        return self.tasks_of_new([uri for uri in end["files"] if uri not in before])

    def tasks_of_new(self, uris: Sequence[str]) -> list[Any]:
        """Return the input of each task for new files."""
        return [StoragePath(uri).stored(StoragePath(uri).info()) for uri in uris]


def listed(text: str) -> list[str]:
    """Return the paths in an option's text: a JSON array, which Spark writes for several, or separated by commas."""
    if text.startswith("["):
        with contextlib.suppress(InputError):
            made = loads(text)
            if isinstance(made, list) and all(isinstance(each, str) for each in made):
                return made
    return text.split(",")


class FileReader(DataSourceReader):
    """Reads a source's rows as Arrow batches of the wanted columns."""

    def __init__(self, source: KcliSource, wanted: Sequence[str]) -> None:
        self.source, self.wanted = source, list(wanted)
        self.tests: list[ColumnComparison] = []
        self.filtered: set[str] = set()

    def partitions(self) -> Sequence[InputPartition]:
        return [Input(each) for each in self.source.inputs()] or [Input(None)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        if partition.value is None:
            return
        kinds = dict(self.source.columns)
        condition = condition_of(self.tests, self.source.columns)
        made = self.source.batches(partition.value, sorted({*self.wanted, *self.filtered}), condition)
        if made is None:
            yield from self.read_rows(partition)
            return
        for batch in made:
            for each in passing(batch, condition):
                arrays = [each.column(name).cast(arrow_type(kinds[name])) for name in self.wanted]
                yield record_batch(arrays, self.wanted, each.num_rows)

    def read_rows(self, partition: InputPartition) -> Iterator[Any]:
        """Read a task of a source that has `rows`."""
        rows: list[tuple[Any, ...]] = []
        tests = self.tests
        for row in self.source.rows(partition.value, frozenset(self.wanted) | self.filtered):
            if all(test(row) for test in tests):
                rows.append(row)
            if len(rows) >= ROWS:
                yield self.batch(rows)
                rows = []
        if rows:
            yield self.batch(rows)

    def batch(self, rows: list[tuple[Any, ...]]) -> Any:
        """Return these rows as an Arrow batch of the wanted columns."""
        import pyarrow

        names = [name for name, _ in self.source.columns]
        kinds = dict(self.source.columns)
        by_name = dict(zip(names, zip(*rows, strict=True), strict=True))
        arrays = [pyarrow.array(by_name[name], arrow_type(kinds[name])) for name in self.wanted]
        return pyarrow.record_batch(arrays, names=self.wanted)


class FilteringReader(FileReader):
    """A reader that takes filters. Spark refuses a reader with this method if its own setting is off."""

    def pushFilters(self, filters: list[Any]) -> Iterable[Any]:  # noqa: N802 - the API's name
        names = [name for name, _ in self.source.columns]
        self.tests, rest = split(filters, names)
        self.filtered = {names[test.index] for test in self.tests}
        return rest


class StreamReader(DataSourceStreamReader):
    """Reads the files that are new since the last batch. Positions are those of the source."""

    def __init__(self, source: KcliSource, wanted: Sequence[str]) -> None:
        self.source, self.inner = source, FileReader(source, wanted)

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - the API's name
        return {}

    def latestOffset(self, *_: Any) -> dict[str, Any]:  # noqa: N802 - the API's name
        return self.source.position()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        return [Input(each) for each in self.source.inputs_between(start, end)] or [Input(None)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        return self.inner.read(partition)


def record_batch(arrays: list[Any], names: Sequence[str], count: int) -> Any:
    """Return a record batch of columns; there may be none, but `count` rows."""
    import pyarrow

    if arrays:
        return pyarrow.record_batch(arrays, names=list(names))
    return pyarrow.RecordBatch.from_struct_array(pyarrow.array([{}] * count, pyarrow.struct([])))


def passing(batch: Any, condition: Any) -> list[Any]:
    """Return the rows of a batch for which a condition is true, as record batches."""
    import pyarrow

    if condition is None:
        return [batch]
    return list(pyarrow.Table.from_batches([batch]).filter(condition).to_batches())


def plain_arrays(batch: Any) -> Any:
    """Return a copy of a batch without dictionaries, because its texts may be in memory that is reused."""
    import numpy
    import pyarrow

    copy = batch.take(pyarrow.array(numpy.arange(batch.num_rows)))
    kinds = [
        field.with_type(field.type.value_type) if pyarrow.types.is_dictionary(field.type) else field
        for field in copy.schema
    ]
    columns = [column.cast(field.type) for column, field in zip(copy.columns, kinds, strict=True)]
    return pyarrow.record_batch(columns, schema=pyarrow.schema(kinds))


def condition_of(tests: Sequence[ColumnComparison], columns: Sequence[Column]) -> Any:
    """Return tests of rows as one expression over columns; None without tests."""
    import pyarrow.compute

    made = None
    for test in tests:
        name, kind = columns[test.index]
        found = test.of_column(pyarrow.compute.field(name), arrow_type(kind))
        made = found if made is None else made & found
    return made


def arrow_type(kind: str) -> Any:
    """Return the Arrow type of a Spark type."""
    import pyarrow

    if kind == "timestamp":
        return pyarrow.timestamp("us", "UTC")
    if kind.startswith("array<"):
        return pyarrow.list_(arrow_type(kind[6:-1]))
    if kind.startswith("struct<"):
        fields = (field.partition(":") for field in kind[7:-1].split(","))
        return pyarrow.struct([(name, arrow_type(inner)) for name, _, inner in fields])
    if kind.startswith("map<"):
        key, _, value = kind[4:-1].partition(",")
        return pyarrow.map_(arrow_type(key.strip()), arrow_type(value.strip()))
    names: dict[str, Callable[[], Any]] = {
        "string": pyarrow.string, "binary": pyarrow.binary, "boolean": pyarrow.bool_, "tinyint": pyarrow.int8,
        "smallint": pyarrow.int16, "int": pyarrow.int32, "bigint": pyarrow.int64, "double": pyarrow.float64,
    }  # fmt: skip
    return names[kind]()


class ColumnComparison:
    """A comparison of one column with a value. It is never true for null, as in SQL."""

    def __init__(self, index: int, compare: Callable[[Any, Any], bool], value: Any) -> None:
        self.index, self.compare, self.value = index, compare, value

    def __call__(self, row: tuple[Any, ...]) -> bool:
        found = row[self.index]
        found = found.decode() if isinstance(found, bytes) and isinstance(self.value, str) else found
        return found is not None and self.compare(found, self.value)

    def of_column(self, column: Any, kind: Any) -> Any:
        """Return the comparison as a condition (pyarrow.compute.Expression) of a column of this Arrow type."""
        import pyarrow

        if self.compare is is_there:
            return column.is_valid()
        if self.compare is is_member:
            return column.isin(pyarrow.array(self.value, kind))
        return self.compare(column, pyarrow.scalar(self.value, kind))


def is_member(found: Any, values: Sequence[Any]) -> bool:
    return found in values


def is_there(found: Any, _nothing: Any) -> bool:
    return found is not None


def split(filters: Iterable[Any], columns: Sequence[str]) -> tuple[list[ColumnComparison], list[Any]]:
    """Return (filters to evaluate here, filters for Spark)."""
    tests: list[ColumnComparison] = []
    rest: list[Any] = []
    for each in filters:
        test = test_of(each, columns)
        if test is None:
            rest.append(each)
        else:
            tests.append(test)
    return tests, rest


def test_of(each: Any, columns: Sequence[str]) -> ColumnComparison | None:
    name = type(each).__name__
    path: tuple[str, ...] = getattr(each, "attribute", ())
    if len(path) != 1 or path[0] not in columns:
        return None
    index = columns.index(path[0])
    if name in COMPARISONS:
        return ColumnComparison(index, COMPARISONS[name], plain(each.value))
    if name == "In":
        return ColumnComparison(index, is_member, tuple(plain(value) for value in each.value))
    return ColumnComparison(index, is_there, None) if name == "IsNotNull" else None


def plain(value: Any) -> Any:
    """Return a time as in the rows, in microseconds since 1970; other values unchanged."""
    if isinstance(value, datetime):
        return round(value.timestamp() * 1_000_000)
    return value
